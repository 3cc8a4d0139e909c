import { lstatSync, readdirSync } from 'node:fs';
import { encodePath, decodePath, fsPath } from './path-bytes';
import { isMissing } from './refs';
import { runGit, safeFlags } from './run';
import type { Trees } from './trees';
import { modes } from './trees';

interface Known {
  mtimeNs: bigint;
  folders: string[];
  files: number;
}

/**
 * git does not know empty folders. This walk looks at each folder's time first, and lists only those that
 * changed since the last walk: a folder becomes empty or full only by changing.
 */
export class EmptyFolders {
  private known = new Map<string, Known>();

  constructor(
    private readonly root: string,
    private readonly trees: Trees,
  ) {}

  /** `tree` tells which folders are surely the workspace's; others are asked of git's ignore rules. */
  async find(tree: string, env: NodeJS.ProcessEnv, excludesFile: string): Promise<string[]> {
    const empty: string[] = [];
    const strangers: string[] = [];
    await this.walk('', tree, empty, strangers);
    if (strangers.length > 0) {
      const ignored = await this.ignored(strangers, env, excludesFile);
      for (const folder of strangers) if (!ignored.has(folder)) this.walkStranger(folder, empty);
    }
    const inside = await this.ignored(empty, env, excludesFile);
    return empty.filter((folder) => !inside.has(folder)).sort();
  }

  private async walk(folder: string, tree: string | null, empty: string[], strangers: string[]): Promise<void> {
    const list = this.list(folder);
    if (!list) return;
    const subtrees = new Map<string, string>();
    if (tree) for (const e of await this.trees.entries(tree)) if (e.mode === modes.tree) subtrees.set(e.name, e.oid);
    for (const name of list.folders) {
      const path = folder === '' ? name : `${folder}/${name}`;
      const oid = subtrees.get(name);
      if (oid) await this.walk(path, oid, empty, strangers);
      else if (name !== '.git') {
        const below = this.list(path);
        if (below && below.folders.length === 0 && below.files === 0) empty.push(path);
        else strangers.push(path);
      }
    }
  }

  private walkStranger(folder: string, empty: string[]): void {
    const list = this.list(folder);
    if (!list) return;
    if (list.folders.length === 0 && list.files === 0) empty.push(folder);
    for (const name of list.folders) if (name !== '.git') this.walkStranger(`${folder}/${name}`, empty);
  }

  private list(folder: string): Known | null {
    const path = fsPath(this.root, folder);
    try {
      const { mtimeNs } = lstatSync(path, { bigint: true });
      const known = this.known.get(folder);
      // A folder changed within the clock's tick may change again without showing it.
      if (known && known.mtimeNs === mtimeNs && Date.now() - Number(mtimeNs / 1_000_000n) > 100) return known;
      const folders: string[] = [];
      let files = 0;
      for (const entry of readdirSync(path, { withFileTypes: true, encoding: 'buffer' }) as unknown as DirentBytes[]) {
        if (entry.isDirectory()) folders.push(decodePath(entry.name));
        else files += 1;
      }
      const list = { mtimeNs, folders, files };
      this.known.set(folder, list);
      return list;
    } catch (error) {
      if (isMissing(error) || (error as NodeJS.ErrnoException).code === 'EACCES') return null;
      throw error;
    }
  }

  private async ignored(paths: string[], env: NodeJS.ProcessEnv, excludesFile: string): Promise<Set<string>> {
    if (paths.length === 0) return new Set();
    // The slash tells git that it is a folder.
    const input = Buffer.concat(paths.flatMap((p) => [encodePath(`${p}/`), Buffer.from([0])]));
    const result = await runGit(
      [...safeFlags, '-c', `core.excludesFile=${excludesFile}`, 'check-ignore', '--no-index', '-z', '--stdin'],
      { cwd: this.root, env, input, accept: [1] },
    );
    const out = new Set<string>();
    for (const part of splitNul(result.stdout)) out.add(decodePath(part).replace(/\/$/, ''));
    return out;
  }
}

interface DirentBytes {
  name: Buffer;
  isDirectory(): boolean;
}

export function splitNul(data: Buffer): Buffer[] {
  const out: Buffer[] = [];
  for (let at = 0; at < data.length;) {
    const end = data.indexOf(0, at);
    out.push(data.subarray(at, end < 0 ? undefined : end));
    at = end < 0 ? data.length : end + 1;
  }
  return out;
}
