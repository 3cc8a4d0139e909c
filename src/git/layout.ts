import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CheckpointsError } from '../core/errors';
import { readJson, writeFileDurably } from './durable';
import { inWords, storeFailure } from './file-failure';
import { makeFolder } from './folders';
import type { HashName } from './pack-writer';
import { workspaceFolder } from './roots';

const formatVersion = 1;

export interface WorkspaceFile {
  root: string;
  format: number;
  created: string;
  objectFormat: HashName;
}

/** Where everything of one workspace lies. */
export interface Layout {
  home: string;
  folder: string;
  gitDir: string;
  objects: string;
  /** Objects hard-linked from the user's repository; an alternate of `objects`. */
  borrowed: string;
  leases: string;
  scan: string;
  journal: string;
  /** Which checkpoints there are, beside the repository that has them. */
  refLog: string;
}

export function layoutOf(home: string, root: string): Layout {
  return layoutIn(home, workspaceFolder(home, root));
}

export function layoutIn(home: string, folder: string): Layout {
  const gitDir = join(folder, 'snapshots.git');
  return {
    home,
    folder,
    gitDir,
    objects: join(gitDir, 'objects'),
    borrowed: join(folder, 'borrowed', 'objects'),
    leases: join(folder, 'leases'),
    scan: join(folder, 'scan'),
    journal: join(folder, 'journal.json'),
    refLog: join(folder, 'refs.log'),
  };
}

/** Raw bytes whatever the user's .gitattributes say; this file has the highest precedence. */
export const rawAttributes = '* -text -eol -ident -filter -working-tree-encoding -export-ignore -export-subst\n';

/** Opens the store of a workspace, or makes it. A store of a newer format is refused, not touched. */
export function ensureStore(layout: Layout, root: string, objectFormat: () => HashName): WorkspaceFile {
  const path = join(layout.folder, 'workspace.json');
  const known = readWorkspaceFile(path);
  if (known && existsSync(layout.gitDir)) return known;
  try {
    makeFolder(layout.home, 0o700);
    chmodSync(layout.home, 0o700);
    makeFolder(layout.folder);
    const file = known ?? newWorkspaceFile(root, formatOf(layout) ?? objectFormat());
    makeRepository(layout, file.objectFormat);
    if (!known) writeFileDurably(path, `${JSON.stringify(file, null, 2)}\n`);
    return readWorkspaceFile(path) ?? file;
  } catch (error) {
    throw cannotBeMade(error, layout.folder);
  }
}

/** A home that is a file, a drive that is gone: whatever the file system says, it is about where the store should be. */
function cannotBeMade(error: unknown, folder: string): unknown {
  const failure = storeFailure(error, folder);
  const byFileSystem = failure === error && inWords(error) !== null;
  if (!byFileSystem) return failure;
  return new CheckpointsError('store-readonly', `The store cannot be made (${folder}): ${(error as Error).message}.`, {
    cause: error,
  });
}

/** Half of one counts: what is missing is made anew when it is opened. */
export function hasStore({ folder, gitDir }: Layout): boolean {
  return existsSync(join(folder, 'workspace.json')) || existsSync(gitDir);
}

export function newWorkspaceFile(root: string, objectFormat: HashName): WorkspaceFile {
  return { root, format: formatVersion, created: new Date().toISOString(), objectFormat };
}

/** What the repository says of itself, where there is one. */
function formatOf({ gitDir }: Layout): HashName | null {
  if (!existsSync(gitDir)) return null;
  return /^\s*objectformat\s*=\s*sha256\s*$/im.test(readFileSync(join(gitDir, 'config'), 'utf8')) ? 'sha256' : 'sha1';
}

/** There is no branch; git asks for the file all the same, or takes the folder for no repository. */
export const storeHead = 'ref: refs/heads/none\n';

export function readWorkspaceFile(path: string): WorkspaceFile | null {
  let value: Partial<WorkspaceFile> | null;
  try {
    value = readJson(path) as Partial<WorkspaceFile> | null;
  } catch (error) {
    // Another user's store is whole: no doctor can help, and none may put a new one in its place.
    if (['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? ''))
      throw new CheckpointsError('store-readonly', `The store may not be read (${dirname(path)}).`, {
        cause: error,
        details: { forbidden: true },
      });
    throw new CheckpointsError('store-broken', `${path} is damaged.`, { cause: error });
  }
  if (value === null) return null;
  if (typeof value.root !== 'string' || typeof value.format !== 'number')
    throw new CheckpointsError('store-broken', `${path} is damaged.`);
  if (value.format > formatVersion)
    throw new CheckpointsError(
      'not-supported',
      `This store was written by a newer version (format ${value.format}). Update Checkpoints for OpenCode.`,
    );
  return {
    root: value.root,
    format: value.format,
    created: value.created ?? '',
    objectFormat: value.objectFormat === 'sha256' ? 'sha256' : 'sha1',
  };
}

/** The workspaces that have a store there, but for those whose file cannot be read: their own doctor tells. */
export function knownRoots(home: string): Array<{ folder: string; root: string }> {
  return storesIn(join(home, 'workspaces')).flatMap((folder) => {
    try {
      const file = readWorkspaceFile(join(folder, 'workspace.json'));
      return file ? [{ folder, root: file.root }] : [];
    } catch (error) {
      if (!CheckpointsError.is(error)) throw error;
      return [];
    }
  });
}

function storesIn(all: string): string[] {
  try {
    return readdirSync(all).map((id) => join(all, id));
  } catch {
    return []; // none yet, or not ours to read: then none is known
  }
}

/** Written whole under another name and renamed, so that two first captures at once meet one repository. */
function makeRepository(layout: Layout, objectFormat: HashName): void {
  if (existsSync(layout.gitDir)) return;
  const draft = `${layout.gitDir}.new-${process.pid}-${randomBytes(4).toString('hex')}`;
  makeFolder(join(draft, 'objects', 'pack'));
  makeFolder(join(draft, 'objects', 'info'));
  makeFolder(join(draft, 'refs', 'checkpoints'));
  makeFolder(join(draft, 'info'));
  makeFolder(join(layout.borrowed, 'pack'));
  writeFileSync(join(draft, 'HEAD'), storeHead);
  writeFileSync(join(draft, 'config'), storeConfig(objectFormat, true));
  writeFileSync(join(draft, 'info', 'attributes'), rawAttributes);
  writeFileSync(join(draft, 'objects', 'info', 'alternates'), '../../borrowed/objects\n');
  try {
    renameSync(draft, layout.gitDir);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(layout.gitDir)) throw error;
  }
}

export function storeConfig(objectFormat: HashName, bare: boolean): string {
  const lines = [
    '[core]',
    `\trepositoryformatversion = ${objectFormat === 'sha256' ? 1 : 0}`,
    `\tbare = ${bare}`,
    '\tfilemode = true',
    '\tsymlinks = true',
    '\tautocrlf = false',
    '\tlogallrefupdates = false',
    '\tuntrackedCache = true',
    '[gc]',
    '\tauto = 0',
    '[status]',
    '\tshowUntrackedFiles = all',
  ];
  if (objectFormat === 'sha256') lines.push('[extensions]', '\tobjectformat = sha256');
  return `${lines.join('\n')}\n`;
}
