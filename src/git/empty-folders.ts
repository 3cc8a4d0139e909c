import { lstatSync } from 'node:fs';
import { listFolder } from './list-folder';
import { encodePath, decodePath, fsPath } from './path-bytes';
import { isMissing } from './refs';
import { runGit, safeFlags } from './run';
import { modes, type TreeEntry, type Trees } from './trees';

interface Known {
  mtimeNs: bigint;
  folders: string[];
  files: number;
  subtrees?: { tree: string; folders: Map<string, string> };
}

/**
 * git does not know empty folders. This walk looks at each folder's time first, and lists only those that
 * changed since the last walk: a folder becomes empty or full only by changing.
 */
export class EmptyFolders {
  private known = new Map<string, Known>();
  /** Looked at since the scan began. */
  private fresh: Map<string, Known | null> | null = null;
  /** git's answers about ignored folders, by path and rules. */
  private readonly answers = new Map<string, boolean>();

  constructor(
    private readonly root: string,
    private readonly trees: Trees,
  ) {}

  /**
   * `tree` tells which folders are surely the workspace's; others are asked of git's ignore rules. `rules` names the
   * rules outside the tree: while they and the tree's own ignore files stay, so do git's answers.
   */
  async find(tree: string, env: NodeJS.ProcessEnv, excludesFile: string, rules: string): Promise<string[]> {
    const empty: string[] = [];
    const strangers: string[] = [];
    await this.walk('', tree, empty, strangers);
    this.fresh = null;
    const ask = (paths: string[]): Promise<Set<string>> => this.ignored(paths, tree, rules, env, excludesFile);
    const ignored = await ask(strangers);
    for (const folder of strangers) if (!ignored.has(folder)) this.walkStranger(folder, empty);
    const inside = await ask(empty);
    return empty.filter((folder) => !inside.has(folder)).sort();
  }

  private async walk(folder: string, tree: string, empty: string[], strangers: string[]): Promise<void> {
    const list = this.list(folder);
    if (!list || list.folders.length === 0) return;
    const subtrees = await this.subtreesOf(list, tree);
    for (const name of list.folders) {
      const path = folder === '' ? name : `${folder}/${name}`;
      const oid = subtrees.get(name);
      // Awaiting only where there is something to wait for: most folders have no folders.
      if (oid) {
        const below = this.list(path);
        if (below && below.folders.length > 0) await this.walk(path, oid, empty, strangers);
      } else if (name !== '.git') {
        const below = this.list(path);
        if (below && below.folders.length === 0 && below.files === 0) empty.push(path);
        else strangers.push(path);
      }
    }
  }

  /** The folders of a tree, remembered with the listing: an edit changes the trees above it, and no others. */
  private async subtreesOf(list: Known, tree: string): Promise<Map<string, string>> {
    if (list.subtrees?.tree === tree) return list.subtrees.folders;
    const folders = new Map<string, string>();
    for (const e of await this.trees.entries(tree)) if (e.mode === modes.tree) folders.set(e.name, e.oid);
    list.subtrees = { tree, folders };
    return folders;
  }

  private walkStranger(folder: string, empty: string[]): void {
    const list = this.list(folder);
    if (!list) return;
    if (list.folders.length === 0 && list.files === 0) empty.push(folder);
    for (const name of list.folders) if (name !== '.git') this.walkStranger(`${folder}/${name}`, empty);
  }

  /** Looks at the folders of an earlier tree while git looks at the files; `find` then has little left to look at. */
  async prefetch(tree: string): Promise<void> {
    const fresh = new Map<string, Known | null>();
    this.fresh = fresh;
    let sliceEnds = Date.now() + 8;
    const walk = async (folder: string, oid: string): Promise<void> => {
      const list = this.list(folder);
      fresh.set(folder, list);
      if (!list || list.folders.length === 0) return;
      const subtrees = await this.subtreesOf(list, oid);
      for (const name of list.folders) {
        if (Date.now() > sliceEnds) {
          await new Promise((next) => setImmediate(next));
          sliceEnds = Date.now() + 8;
        }
        // git was faster: what is left is looked at when it is asked for.
        if (this.fresh !== fresh) return;
        const below = subtrees.get(name);
        if (below) await walk(folder === '' ? name : `${folder}/${name}`, below);
      }
    };
    await walk('', tree);
  }

  private list(folder: string): Known | null {
    const seen = this.fresh?.get(folder);
    if (seen !== undefined) return seen;
    const path = fsPath(this.root, folder);
    try {
      const { mtimeNs } = lstatSync(path, { bigint: true });
      const known = this.known.get(folder);
      // A folder changed within the clock's tick may change again without showing it.
      if (known && known.mtimeNs === mtimeNs && Date.now() - Number(mtimeNs / 1_000_000n) > 100) return known;
      const folders: string[] = [];
      let files = 0;
      for (const entry of listFolder(path)) {
        if (entry.isFolder) folders.push(decodePath(entry.name));
        else files += 1;
      }
      const list: Known = { mtimeNs, folders, files };
      this.known.set(folder, list);
      return list;
    } catch (error) {
      if (isMissing(error) || (error as NodeJS.ErrnoException).code === 'EACCES') return null;
      throw error;
    }
  }

  private async ignored(
    paths: string[],
    tree: string,
    rules: string,
    env: NodeJS.ProcessEnv,
    excludesFile: string,
  ): Promise<Set<string>> {
    const keys = new Map<string, string>();
    for (const path of paths) keys.set(path, `${path}\0${rules}\0${await this.ignoreFiles(path, tree)}`);
    const open = paths.filter((path) => !this.answers.has(keys.get(path)!));
    if (open.length > 0) {
      const found = await this.checkIgnore(open, env, excludesFile);
      if (this.answers.size > 20_000) this.answers.clear();
      for (const path of open) this.answers.set(keys.get(path)!, found.has(path));
    }
    return new Set(paths.filter((path) => this.answers.get(keys.get(path)!)));
  }

  /** The ignore files above a path, as the tree has them. */
  private async ignoreFiles(path: string, tree: string): Promise<string> {
    let oid: string | undefined = tree;
    let out = '';
    for (const part of path.split('/')) {
      if (!oid) break;
      const entries: TreeEntry[] = await this.trees.entries(oid);
      out += `${entries.find((e) => e.name === '.gitignore')?.oid ?? '-'} `;
      oid = entries.find((e) => e.name === part && e.mode === modes.tree)?.oid;
    }
    return out;
  }

  private async checkIgnore(paths: string[], env: NodeJS.ProcessEnv, excludesFile: string): Promise<Set<string>> {
    // The slash tells git that it is a folder.
    const input = Buffer.concat(paths.flatMap((p) => [encodePath(`${p}/`), Buffer.from([0])]));
    const result = await runGit(
      [...safeFlags, '-c', `core.excludesFile=${excludesFile}`, 'check-ignore', '--no-index', '-z', '--stdin'],
      { cwd: this.root, env, input, accept: [1] },
    );
    return new Set(splitNul(result.stdout).map((part) => decodePath(part).replace(/\/$/, '')));
  }
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
