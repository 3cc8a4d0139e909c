import { CheckpointsError } from '../core/errors';
import type { GitObject, ObjectReader } from './object-reader';
import type { PackReader } from './pack-reader';
import { hashObject, type PackWriter } from './pack-writer';
import { comparePaths } from './path-bytes';
import { formatTree, modes, parseFolders, parseTree, treeEntry, type Leaf, type TreeEntry } from './tree-format';

export interface TreeChange {
  path: string;
  before: Leaf | null;
  after: Leaf | null;
}

export interface BuiltTrees {
  root: string;
  trees: Map<string, Buffer>;
}

const isFolder = (leaf: Leaf | null | undefined): boolean => leaf?.mode === modes.tree;
const same = (a: Leaf | null | undefined, b: Leaf | null | undefined): boolean =>
  a === b || (!!a && !!b && a.mode === b.mode && a.oid === b.oid);

/** So many trees are read without giving others a turn. */
const readAtOnce = 64;

/** So many changes are remembered. */
const diffKept = 20_000;

/** More than ever write at once. */
const writersKept = 8;

/** Reads, changes and compares trees; keeps the parsed ones it met. */
export class Trees {
  private cache = new Map<string, TreeEntry[]>();
  private cachedEntries = 0;
  /** The trees made last, not parsed yet. */
  private raw = new Map<string, Buffer>();
  /** Trees that wait in a writer, and so cannot be read again: whatever else is forgotten, these are not. */
  private readonly unwritten = new Map<PackWriter, Map<string, TreeEntry[]>>();
  /** The folders of trees that were not read: what the user's index says of them. */
  private shapes = new Map<string, Map<string, string>>();
  private lastDiff: { from: string; to: string; changes: Promise<readonly TreeChange[]> } | null = null;

  constructor(
    private readonly reader: ObjectReader,
    private readonly oidBytes: number,
    /** Enough for the trees of a large workspace, small beside an editor. */
    private readonly entriesKept = 150_000,
    /** Where a few can be read without waiting for git. */
    private readonly packs: PackReader | null = null,
  ) {}

  get emptyTree(): string {
    return this.oidBytes === 20
      ? '4b825dc642cb6eb9a060e54bf8d69288fbee4904'
      : '6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321';
  }

  async entries(oid: string): Promise<TreeEntry[]> {
    const known = this.entriesAtHand(oid);
    if (known) return known;
    const object = await this.reader.read(oid);
    if (object?.type !== 'tree') throw new CheckpointsError('store-broken', `The store has lost the folder ${oid}.`);
    return this.parsed(oid, object.data);
  }

  /** What `entries` would say, where nothing has to be read for it. */
  entriesAtHand(oid: string): TreeEntry[] | null {
    const known = this.cache.get(oid);
    if (known) {
      // To the end of the line: the longest unused go first. While there is much room nobody goes.
      if (this.cachedEntries > this.entriesKept / 2) {
        this.cache.delete(oid);
        this.cache.set(oid, known);
      }
      return known;
    }
    if (oid === this.emptyTree) return [];
    for (const waiting of this.unwritten.values()) {
      const entries = waiting.get(oid);
      if (entries) return entries;
    }
    const raw = this.raw.get(oid);
    return raw ? this.parsed(oid, raw) : null;
  }

  /** The folders of a tree by name, where nothing has to be read for it. */
  foldersAtHand(oid: string): Map<string, string> | null {
    const shape = this.shapes.get(oid);
    if (shape) return shape;
    const raw = this.cache.has(oid) ? undefined : this.raw.get(oid);
    if (raw) return parseFolders(raw, this.oidBytes);
    const entries = this.entriesAtHand(oid);
    return entries && foldersOf(entries);
  }

  /** Folders by name of each of these trees. */
  prime(shapes: Map<string, Map<string, string>>): void {
    this.shapes = shapes;
  }

  /** All of them below `root`, asked for level by level: one by one each answer would be waited for. What is missing is left out. */
  async primeBelow(root: string): Promise<void> {
    const shapes = new Map<string, Map<string, string>>();
    const shapeOf = async (oid: string): Promise<void> => {
      const known = this.foldersAtHand(oid);
      const object = known ? null : await this.reader.read(oid);
      if (known) shapes.set(oid, known);
      else if (object?.type === 'tree') shapes.set(oid, parseFolders(object.data, this.oidBytes));
    };
    for (let level = [root]; level.length > 0;) {
      await Promise.all(level.map(shapeOf));
      const below = level.flatMap((oid) => [...(shapes.get(oid)?.values() ?? [])]);
      level = [...new Set(below)].filter((oid) => !shapes.has(oid));
    }
    this.prime(shapes);
  }

  /** Reads what is on the way to these paths: a few at once, the rest in one go, as far as it is known which trees those are. */
  async warm(root: string, paths: Iterable<string>): Promise<void> {
    const wanted = new Set<string>();
    let left = readAtOnce;
    const find = (read: (oid: string) => GitObject | null): void => {
      for (const path of paths) {
        let oid: string | undefined = root;
        for (const part of path.split('/')) {
          if (oid === undefined) break;
          if (this.entriesAtHand(oid) === null && !wanted.has(oid)) {
            const object = left > 0 ? read(oid) : null;
            left -= 1;
            if (object?.type === 'tree') this.parsed(oid, object.data);
            else wanted.add(oid);
          }
          oid = this.foldersAtHand(oid)?.get(part);
        }
      }
    };
    if (this.packs) this.packs.reading(find);
    else find(() => null);
    await Promise.all([...wanted].map((oid) => this.entries(oid)));
  }

  async folders(oid: string): Promise<Map<string, string>> {
    return this.foldersAtHand(oid) ?? foldersOf(await this.entries(oid));
  }

  private parsed(oid: string, data: Buffer): TreeEntry[] {
    const entries = parseTree(data, this.oidBytes);
    this.remember(oid, entries);
    return entries;
  }

  /** The tree of a commit; null where the store does not have it. */
  async ofCommit(oid: string): Promise<string | null> {
    const object = await this.reader.read(oid);
    return object?.type === 'commit' ? object.data.toString('latin1', 5, 5 + this.oidBytes * 2) : null;
  }

  async exists(oid: string): Promise<boolean> {
    return oid === this.emptyTree || (await this.reader.read(oid))?.type === 'tree';
  }

  private remember(oid: string, entries: TreeEntry[]): void {
    if (this.cache.has(oid)) return;
    this.cache.set(oid, entries);
    this.cachedEntries += entries.length + 1;
    // Oldest first out.
    for (const [old, list] of this.cache) {
      if (this.cachedEntries <= this.entriesKept) break;
      this.cache.delete(old);
      this.cachedEntries -= list.length + 1;
    }
  }

  async lookup(root: string, path: string): Promise<Leaf | null> {
    let oid = root;
    const parts = path.split('/');
    for (const [i, part] of parts.entries()) {
      const entry = (await this.entries(oid)).find((e) => e.name === part);
      if (!entry) return null;
      if (i === parts.length - 1) return { mode: entry.mode, oid: entry.oid };
      if (entry.mode !== modes.tree) return null;
      oid = entry.oid;
    }
    return { mode: modes.tree, oid: root };
  }

  /** The file or link at a path; null where there is nothing, or a folder. */
  async fileAt(root: string, path: string): Promise<Leaf | null> {
    const found = await this.lookup(root, path);
    return isFolder(found) ? null : found;
  }

  /** Every file and link below `root`. */
  async list(root: string, prefix = '', out = new Map<string, Leaf>()): Promise<Map<string, Leaf>> {
    const entries = await this.entries(root);
    const folders: Array<Promise<unknown>> = [];
    for (const entry of entries) {
      if (entry.mode === modes.tree) folders.push(this.list(entry.oid, `${prefix}${entry.name}/`, out));
      else out.set(prefix + entry.name, { mode: entry.mode, oid: entry.oid });
    }
    await Promise.all(folders);
    return out;
  }

  /** The first paths in git's order. */
  async first(root: string, limit: number): Promise<string[]> {
    const out: string[] = [];
    const walk = async (oid: string, prefix: string): Promise<void> => {
      for (const entry of await this.entries(oid)) {
        if (out.length >= limit) return;
        if (entry.mode === modes.tree) await walk(entry.oid, `${prefix}${entry.name}/`);
        else out.push(prefix + entry.name);
      }
    };
    await walk(root, '');
    return out;
  }

  /** Files below `root`; from `enough` on it may stop. */
  async count(root: string, enough = Infinity): Promise<number> {
    let files = 0;
    const walk = async (oid: string): Promise<void> => {
      if (files >= enough) return;
      const folders: string[] = [];
      for (const entry of await this.entries(oid)) {
        if (entry.mode === modes.tree) folders.push(entry.oid);
        else files += 1;
      }
      if (enough === Infinity) await Promise.all(folders.map(walk));
      else for (const folder of folders) await walk(folder);
    };
    await walk(root);
    return files;
  }

  /**
   * A new root with some paths set or (null) removed; only the folders on the way are rewritten. Where they become those of
   * `twin`, a tree that surely is in the store and stays there, they are not written.
   */
  async update(root: string, changes: Map<string, Leaf | null>, writer: PackWriter, twin?: string): Promise<string> {
    if (changes.size === 0) return root;
    return (await this.updateFolder(root, groupByFolder(changes), writer, twin)) ?? this.write([], writer);
  }

  private async updateFolder(
    oid: string | null,
    group: Folder,
    writer: PackWriter,
    twin: string | undefined,
  ): Promise<string | null> {
    const entries = new Map<string, TreeEntry>();
    if (oid) for (const entry of await this.entries(oid)) entries.set(entry.name, entry);
    let changed = oid === null;
    // Removals first: a file that becomes a folder is one removal and one addition of the same name.
    for (const [name, leaf] of group.leaves) {
      const old = entries.get(name);
      if (leaf === null) {
        // A removed file must not take a folder of the same name with it.
        if (old && (old.mode !== modes.tree || group.whole.has(name))) {
          entries.delete(name);
          changed = true;
        }
      } else if (!same(old, leaf)) {
        entries.set(name, { name, ...leaf });
        changed = true;
      }
    }
    const twins = twin !== undefined && group.folders.size > 0 ? await this.foldersIfThere(twin) : null;
    for (const [name, sub] of group.folders) {
      const old = entries.get(name);
      const onlyRemovals = sub.additions === 0;
      if (old && old.mode !== modes.tree && onlyRemovals) continue;
      if (!old && onlyRemovals) continue;
      const updated = await this.updateFolder(isFolder(old) ? old!.oid : null, sub, writer, twins?.get(name));
      if (updated === null) {
        if (entries.delete(name)) changed = true;
      } else if (old?.oid !== updated || old.mode !== modes.tree) {
        entries.set(name, { name, mode: modes.tree, oid: updated });
        changed = true;
      }
    }
    if (entries.size === 0) return null;
    return changed ? this.write([...entries.values()], writer, twin) : oid;
  }

  /** What a damaged store has lost is written again. */
  private async foldersIfThere(oid: string): Promise<Map<string, string> | null> {
    return (await this.isThere(oid)) ? this.folders(oid) : null;
  }

  private async isThere(oid: string): Promise<boolean> {
    return this.cache.has(oid) || this.exists(oid);
  }

  private async write(entries: TreeEntry[], writer: PackWriter, twin?: string): Promise<string> {
    const data = formatTree(entries);
    const oid = hashObject('tree', data, writer.algorithm);
    if (oid !== twin || !(await this.isThere(oid))) {
      writer.add('tree', data, oid);
      this.hold(writer, oid, entries);
    }
    this.remember(oid, entries);
    return oid;
  }

  private hold(writer: PackWriter, oid: string, entries: TreeEntry[]): void {
    let waiting = this.unwritten.get(writer);
    if (!waiting) {
      this.unwritten.set(writer, (waiting = new Map()));
      writer.onFlushed(() => this.unwritten.get(writer)?.clear());
      // A capture that failed leaves its writer behind.
      for (const [old] of this.unwritten) {
        if (this.unwritten.size <= writersKept) break;
        this.unwritten.delete(old);
      }
    }
    waiting.set(oid, entries);
  }

  /**
   * All trees of a full list in git's order of paths, which is the order of the trees' entries as well: the root's id and
   * every tree by its id.
   */
  build(leaves: ReadonlyArray<Leaf & { path: string }>, hash: (data: Buffer) => string): BuiltTrees {
    const trees = new Map<string, Buffer>();
    const make = (from: number, to: number, skip: number): string => {
      const parts: Buffer[] = [];
      for (let i = from; i < to;) {
        const { path, mode, oid } = leaves[i]!;
        const slash = path.indexOf('/', skip);
        if (slash < 0) {
          parts.push(treeEntry(mode, path.slice(skip), oid));
          i += 1;
          continue;
        }
        const prefix = path.slice(0, slash + 1);
        let end = i + 1;
        while (end < to && leaves[end]!.path.startsWith(prefix)) end += 1;
        parts.push(treeEntry(modes.tree, path.slice(skip, slash), make(i, end, slash + 1)));
        i = end;
      }
      const data = Buffer.concat(parts);
      const oid = hash(data);
      trees.set(oid, data);
      return oid;
    };
    const root = make(0, leaves.length, 0);
    this.raw = trees;
    return { root, trees };
  }

  /** File by file; folders that are the same object are not entered. A restore asks for the same more than once. */
  async diff(from: string, to: string, under: string[] = []): Promise<TreeChange[]> {
    if (from === to) return [];
    if (under.length > 0) return this.compared(from, to, under);
    const { lastDiff } = this;
    if (lastDiff?.from === from && lastDiff.to === to) return [...(await lastDiff.changes)];
    const changes = this.compared(from, to, under);
    const kept = (this.lastDiff = { from, to, changes });
    const forget = (): void => {
      if (this.lastDiff === kept) this.lastDiff = null;
    };
    changes.then((all) => all.length > diffKept && forget(), forget);
    return [...(await changes)];
  }

  private async compared(from: string, to: string, under: string[]): Promise<TreeChange[]> {
    const out: TreeChange[] = [];
    await this.diffFolder(from, to, '', out, under, Infinity);
    return out.sort((a, b) => comparePaths(a.path, b.path));
  }

  /** Whether these changes of `from` are all that makes `to` of it. */
  async isAll(changes: ReadonlyMap<string, Leaf | null>, from: string, to: string): Promise<boolean> {
    const all = await this.diff(from, to);
    return all.length === changes.size && all.every(({ path, after }) => same(changes.get(path), after));
  }

  /** null as soon as there are more. */
  async diffUpTo(limit: number, from: string, to: string, under: string[] = []): Promise<TreeChange[] | null> {
    const out: TreeChange[] = [];
    await this.diffFolder(from, to, '', out, under, limit);
    return out.length > limit ? null : out.sort((a, b) => comparePaths(a.path, b.path));
  }

  private async diffFolder(
    from: string | null,
    to: string | null,
    prefix: string,
    out: TreeChange[],
    under: string[],
    limit: number,
  ): Promise<void> {
    if (from === to || out.length > limit) return;
    const sides = await Promise.all([from ? this.entries(from) : [], to ? this.entries(to) : []]);
    const [before, after] = withoutCommonEnds(...sides);
    const old = new Map(before.map((e) => [e.name, e]));
    const now = new Map(after.map((e) => [e.name, e]));
    const names = new Set([...old.keys(), ...now.keys()]);
    const folders: Array<Promise<void>> = [];
    for (const name of names) {
      const a = old.get(name);
      const b = now.get(name);
      if (same(a, b)) continue;
      const path = prefix + name;
      if (!touches(path, under)) continue;
      if (isFolder(a) || isFolder(b))
        folders.push(
          this.diffFolder(isFolder(a) ? a!.oid : null, isFolder(b) ? b!.oid : null, `${path}/`, out, under, limit),
        );
      const before = a && !isFolder(a) ? { mode: a.mode, oid: a.oid } : null;
      const after = b && !isFolder(b) ? { mode: b.mode, oid: b.oid } : null;
      if ((before || after) && covered(path, under)) out.push({ path, before, after });
    }
    await Promise.all(folders);
  }
}

/** Most of a folder is the same on both sides. */
function withoutCommonEnds(before: TreeEntry[], after: TreeEntry[]): [TreeEntry[], TreeEntry[]] {
  const isSame = (a: TreeEntry, b: TreeEntry): boolean => a.name === b.name && same(a, b);
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && isSame(before[start]!, after[start]!)) start += 1;
  let end = 0;
  while (end < shorter - start && isSame(before.at(-1 - end)!, after.at(-1 - end)!)) end += 1;
  return [before.slice(start, before.length - end), after.slice(start, after.length - end)];
}

function foldersOf(entries: TreeEntry[]): Map<string, string> {
  const folders = new Map<string, string>();
  for (const entry of entries) if (entry.mode === modes.tree) folders.set(entry.name, entry.oid);
  return folders;
}

/** `path` is one of `under`, or lies below one of them. No list means everything. */
export function covered(path: string, under: string[]): boolean {
  return under.length === 0 || under.some((p) => p === '' || path === p || path.startsWith(`${p}/`));
}

function touches(path: string, under: string[]): boolean {
  return covered(path, under) || under.some((p) => p.startsWith(`${path}/`));
}

interface Folder {
  leaves: Map<string, Leaf | null>;
  folders: Map<string, Folder>;
  /** Names whose removal means the whole folder. */
  whole: Set<string>;
  /** Paths set anywhere below. */
  additions: number;
}

const emptyFolder = (): Folder => ({ leaves: new Map(), folders: new Map(), whole: new Set(), additions: 0 });

/** A key with a trailing slash stands for a whole folder. */
function groupByFolder(changes: Map<string, Leaf | null>): Folder {
  const top = emptyFolder();
  for (const [key, leaf] of changes) {
    const wholeFolder = key.endsWith('/');
    const parts = (wholeFolder ? key.slice(0, -1) : key).split('/');
    let folder = top;
    if (leaf) folder.additions += 1;
    for (const part of parts.slice(0, -1)) {
      let next = folder.folders.get(part);
      if (!next) folder.folders.set(part, (next = emptyFolder()));
      folder = next;
      if (leaf) folder.additions += 1;
    }
    const name = parts.at(-1)!;
    folder.leaves.set(name, leaf);
    if (wholeFolder) folder.whole.add(name);
  }
  return top;
}
