import { lstatSync } from 'node:fs';
import { listFolder } from './list-folder';
import { encodePath, decodePath, fsPath } from './path-bytes';
import { isMissing } from './refs';
import { runGit, safeFlags } from './run';
import { modes, type TreeEntry } from './tree-format';
import type { Trees } from './trees';

interface Known {
  mtimeNs: bigint;
  folders: string[];
  files: number;
  /** Not listed: the number of links says that it has as many folders as its tree, and a file keeps it in the tree. */
  counted: boolean;
  subtrees?: { tree: string; folders: Map<string, string> };
}

type Maybe<T> = T | Promise<T>;

/** git's rules for ignored paths; `name` names those outside the tree: while they and the tree's own stay, so do the answers. */
export interface IgnoreRules {
  env: NodeJS.ProcessEnv;
  excludesFile: string;
  name: string;
}

/**
 * git does not know empty folders. This walk looks at each folder's time first, and lists only those that
 * changed since the last walk: a folder becomes empty or full only by changing. A folder never seen before need not be
 * listed where the file system counts folders in the number of links.
 */
export class EmptyFolders {
  private known = new Map<string, Known>();
  /** Looked at since the scan began. */
  private fresh: Map<string, Known | null> | null = null;
  /** The volume whose numbers of links were found to count folders; null: not known to. */
  private counts: bigint | null = null;
  /** Answers to what was asked while git looked at the files. */
  private early: Promise<Map<string, boolean>> | null = null;
  /** The trees of all folders are being read; what fails is met again, and told, by whoever needs it. */
  private priming: Promise<void> | null = null;
  /** git's answers about ignored folders, by path and rules. */
  private readonly answers = new Map<string, boolean>();

  constructor(
    private readonly root: string,
    private readonly trees: Trees,
  ) {}

  /** `tree` tells which folders are surely the workspace's; others are asked of git's ignore rules. */
  async find(tree: string, rules: IgnoreRules): Promise<string[]> {
    const empty: string[] = [];
    const strangers: string[] = [];
    await this.priming;
    const top = this.list('');
    if (top) await this.walk('', top, tree, empty, strangers);
    this.fresh = null;
    const ignored = await this.ignored(strangers, tree, rules);
    for (const folder of strangers) if (!ignored.has(folder)) this.walkStranger(folder, empty);
    const inside = await this.ignored(empty, tree, rules);
    return empty.filter((folder) => !inside.has(folder)).sort();
  }

  private async walk(folder: string, list: Known, tree: string, empty: string[], strangers: string[]): Promise<void> {
    if (list.folders.length === 0) return;
    const subtrees = await this.subtreesOf(list, tree);
    const found: Array<{ path: string; name: string; oid: string | undefined; below: Known | null }> = [];
    for (const name of list.folders) {
      const path = folder === '' ? name : `${folder}/${name}`;
      const oid = subtrees.get(name);
      const below = this.look(path, oid);
      // Awaiting only where there is something to wait for.
      found.push({ path, name, oid, below: below instanceof Promise ? await below : below });
    }
    // Another folder in the place of one that is gone: the number alone does not tell.
    if (list.counted && found.some(({ below }) => below === null)) {
      const listed = this.list(folder, true);
      if (listed) await this.walk(folder, listed, tree, empty, strangers);
      return;
    }
    for (const { path, name, oid, below } of found) {
      if (oid) {
        if (below && below.folders.length > 0) await this.walk(path, below, oid, empty, strangers);
      } else if (name !== '.git') {
        if (below && below.folders.length === 0 && below.files === 0) empty.push(path);
        else strangers.push(path);
      }
    }
  }

  /** The folders of a tree, remembered with the listing: an edit changes the trees above it, and no others. */
  private async subtreesOf(list: Known, tree: string): Promise<Map<string, string>> {
    if (list.subtrees?.tree === tree) return list.subtrees.folders;
    const folders = this.trees.foldersAtHand(tree) ?? (await this.trees.folders(tree));
    list.subtrees = { tree, folders };
    return folders;
  }

  private walkStranger(folder: string, empty: string[]): void {
    const seen = this.list(folder);
    // Counted by a tree that it is not in any more: the number alone does not tell what it holds.
    const list = seen?.counted ? this.list(folder, true) : seen;
    if (!list) return;
    if (list.folders.length === 0 && list.files === 0) empty.push(folder);
    for (const name of list.folders) if (name !== '.git') this.walkStranger(`${folder}/${name}`, empty);
  }

  /**
   * Looks at the folders of an earlier tree while git looks at the files; `find` then has little left to look at. `shapes` are the folders of trees as
   * far as somebody else knows them.
   */
  async prefetch(tree: string, rules: IgnoreRules, shapes: () => Map<string, Map<string, string>>): Promise<void> {
    const strangers: string[] = [];
    this.early = null;
    const fresh = new Map<string, Known | null>();
    this.fresh = fresh;
    // A process that has looked at nothing yet would ask for each folder's tree by itself.
    if (this.known.size === 0) {
      if (this.trees.foldersAtHand(tree) === null) this.trees.prime(shapes());
      await (this.priming = this.trees.primeBelow(tree).catch(() => undefined));
    }
    let sliceEnds = Date.now() + 8;
    const walk = async (folder: string, oid: string): Promise<void> => {
      const found = folder === '' ? this.list('') : this.look(folder, oid);
      const list = found instanceof Promise ? await found : found;
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
        const path = folder === '' ? name : `${folder}/${name}`;
        if (below) await walk(path, below);
        else if (name !== '.git') strangers.push(path);
      }
    };
    await walk('', tree);
    if (this.fresh !== fresh) return;
    this.early = this.askEarly(strangers, tree, rules);
    this.early.catch(() => undefined); // heard by whoever takes it
  }

  /**
   * Asked of the files on disk, whose ignore rules may be others than this tree's: the answers hold only where the tree that is
   * found has the same, and so they are kept apart until then.
   */
  private async askEarly(strangers: string[], tree: string, rules: IgnoreRules): Promise<Map<string, boolean>> {
    const keys = await this.keys(strangers, tree, rules);
    const open = strangers.filter((path) => !this.answers.has(keys.get(path)!));
    const found = open.length > 0 ? await this.checkIgnore(open, rules) : new Set<string>();
    return new Map(open.map((path) => [keys.get(path)!, found.has(path)]));
  }

  /** A folder that the tree has: counted where that is enough, else listed. */
  private look(folder: string, tree: string | undefined): Maybe<Known | null> {
    if (tree === undefined || this.counts === null || this.fresh?.has(folder)) return this.list(folder);
    const found = this.stat(folder);
    if (found === null || 'folders' in found) return found;
    // A folder that was known but changed is listed: it changed by what it holds.
    if (found.nlink < 2n || found.dev !== this.counts || this.known.has(folder)) return this.list(folder);
    const decide = (folders: Map<string, string>): Known | null => {
      if (BigInt(folders.size) !== found.nlink - 2n) return this.list(folder);
      const { mtimeNs } = found;
      const list: Known = {
        mtimeNs,
        folders: [...folders.keys()],
        files: 1,
        counted: true,
        subtrees: { tree, folders },
      };
      this.known.set(folder, list);
      return list;
    };
    const folders = this.trees.foldersAtHand(tree);
    return folders ? decide(folders) : this.trees.folders(tree).then(decide);
  }

  /** What is known of a folder that has not changed since, else its stat data; null when it is not there. */
  private stat(folder: string): Known | { mtimeNs: bigint; nlink: bigint; dev: bigint } | null {
    try {
      const { mtimeNs, nlink, dev, mode } = lstatSync(fsPath(this.root, folder), { bigint: true });
      if ((Number(mode) & 0o170000) !== 0o040000) return null;
      const known = this.known.get(folder);
      // A folder changed within the clock's tick may change again without showing it.
      if (known && known.mtimeNs === mtimeNs && Date.now() - Number(mtimeNs / 1_000_000n) > 100) return known;
      return { mtimeNs, nlink, dev };
    } catch (error) {
      if (isMissing(error) || isClosed(error)) return null;
      throw error;
    }
  }

  private list(folder: string, anew = false): Known | null {
    const seen = anew ? undefined : this.fresh?.get(folder);
    if (seen !== undefined) return seen;
    const found = this.stat(folder);
    if (found === null || ('folders' in found && !anew)) return found;
    const folders: string[] = [];
    let files = 0;
    try {
      for (const entry of listFolder(fsPath(this.root, folder))) {
        if (entry.isFolder) folders.push(decodePath(entry.name));
        else files += 1;
      }
    } catch (error) {
      if (isMissing(error) || isClosed(error)) return null;
      throw error;
    }
    const list: Known = { mtimeNs: found.mtimeNs, folders, files, counted: false };
    this.known.set(folder, list);
    // Believed only where the top shows it; a file system that says the same of every folder shows it there.
    if (folder === '' && 'nlink' in found)
      this.counts = folders.length > 0 && found.nlink === BigInt(folders.length) + 2n ? found.dev : null;
    return list;
  }

  private async ignored(paths: string[], tree: string, rules: IgnoreRules): Promise<Set<string>> {
    const keys = await this.keys(paths, tree, rules);
    const early = await this.takeEarly();
    for (const key of keys.values()) if (early.has(key)) this.answers.set(key, early.get(key)!);
    const open = paths.filter((path) => !this.answers.has(keys.get(path)!));
    if (open.length > 0) {
      const found = await this.checkIgnore(open, rules);
      if (this.answers.size > 20_000) this.answers.clear();
      for (const path of open) this.answers.set(keys.get(path)!, found.has(path));
    }
    return new Set(paths.filter((path) => this.answers.get(keys.get(path)!)));
  }

  private async keys(paths: string[], tree: string, rules: IgnoreRules): Promise<Map<string, string>> {
    const keys = new Map<string, string>();
    for (const path of paths) keys.set(path, `${path}\0${rules.name}\0${await this.ignoreFiles(path, tree)}`);
    return keys;
  }

  private async takeEarly(): Promise<Map<string, boolean>> {
    const { early } = this;
    this.early = null;
    // What could not be asked early is asked now, and then a failure is told.
    return (await early?.catch(() => null)) ?? new Map<string, boolean>();
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

  private async checkIgnore(paths: string[], { env, excludesFile }: IgnoreRules): Promise<Set<string>> {
    // The slash tells git that it is a folder; said with the dot, a name like `:(x)` is a name.
    const input = Buffer.concat(paths.flatMap((p) => [encodePath(`./${p}/`), Buffer.from([0])]));
    const result = await runGit(
      [...safeFlags, '-c', `core.excludesFile=${excludesFile}`, 'check-ignore', '--no-index', '-z', '--stdin'],
      { cwd: this.root, env, input, accept: [1] },
    );
    return new Set(splitNul(result.stdout).map((part) => decodePath(part.subarray(2)).replace(/\/$/, '')));
  }
}

/** A folder that cannot be looked at: git says so too, and then it is in the record. */
function isClosed(error: unknown): boolean {
  const codes = ['EACCES', 'EPERM', 'ENAMETOOLONG', 'ELOOP', 'EIO', 'ESTALE', 'ENOTCONN'];
  return codes.includes((error as NodeJS.ErrnoException).code ?? '');
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
