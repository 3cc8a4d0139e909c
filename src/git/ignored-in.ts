import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { splitNul } from './empty-folders';
import { parentOf } from './file-reader';
import { decodePath, encodePath, fsPath } from './path-bytes';
import { runGit, safeFlags } from './run';
import { modes, type TreeEntry } from './tree-format';
import type { Trees } from './trees';

export interface IgnoredInParts {
  trees: Trees;
  content(oid: string): Promise<Buffer>;
  /** Where scratch folders of this process lie. */
  scan: string;
  /** git with the rules of now that lie outside the files. */
  env: NodeJS.ProcessEnv;
  excludesFile: string;
  /** Lines of ignore files elsewhere; git knows them. */
  otherLines: string[];
}

/**
 * Which of these paths the ignore files of a tree leave out, with the user's rules outside of it as they are now. A folder is a
 * path that ends with a slash. git is asked, in a folder that holds these ignore files and nothing else.
 */
export async function ignoredIn(parts: IgnoredInParts, tree: string, paths: string[]): Promise<Set<string>> {
  if (paths.length === 0) return new Set();
  const files = await ignoreFiles(parts.trees, tree, paths);
  const rules = parts.otherLines.some((line) => line.trim() !== '' && !line.startsWith('#'));
  if (files.size === 0 && !rules && !existsSync(parts.excludesFile)) return new Set();
  const scratch = join(parts.scan, `${process.pid}-${randomBytes(4).toString('hex')}`);
  mkdirSync(scratch, { recursive: true });
  try {
    for (const [folder, oid] of files) {
      mkdirSync(fsPath(scratch, folder), { recursive: true });
      writeFileSync(fsPath(scratch, folder === '' ? '.gitignore' : `${folder}/.gitignore`), await parts.content(oid));
    }
    const flags = [...safeFlags, '-c', `core.excludesFile=${parts.excludesFile}`];
    const result = await runGit([...flags, 'check-ignore', '--no-index', '-z', '--stdin'], {
      cwd: scratch,
      env: { ...parts.env, GIT_WORK_TREE: scratch },
      // Said like this, a name like `:x` is a name.
      input: Buffer.concat(paths.flatMap((path) => [encodePath(`./${path}`), Buffer.from([0])])),
      accept: [1],
    });
    return new Set(splitNul(result.stdout).map((path) => decodePath(path.subarray(2))));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** The ignore files in the folders above these paths: folder -> content. A link is none to git. */
async function ignoreFiles(trees: Trees, root: string, paths: string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const seen = new Map<string, string | null>([['', root]]);
  const look = async (folder: string, tree: string | null): Promise<TreeEntry[]> => {
    const entries = tree === null ? [] : await trees.entries(tree);
    const file = entries.find(({ name }) => name === '.gitignore');
    if (file && (file.mode === modes.file || file.mode === modes.executable)) found.set(folder, file.oid);
    return entries;
  };
  const treeAt = async (folder: string): Promise<string | null> => {
    const known = seen.get(folder);
    if (known !== undefined) return known;
    const above = await treeAt(parentOf(folder));
    const name = folder.slice(folder.lastIndexOf('/') + 1);
    const entry = above === null ? undefined : (await trees.entries(above)).find((one) => one.name === name);
    const tree = entry?.mode === modes.tree ? entry.oid : null;
    seen.set(folder, tree);
    await look(folder, tree);
    return tree;
  };
  await look('', root);
  for (const path of paths) await treeAt(parentOf(path.replace(/\/$/, '')));
  return found;
}
