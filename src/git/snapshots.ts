import { existsSync, readFileSync } from 'node:fs';
import { CheckpointsError } from '../core/errors';
import type { Config } from '../core/config';
import type { GitFacet, Lane, PathReason } from '../core/model';
import type { Base } from './base';
import { readPaths, type NamedPaths, type ReadResult } from './capture';
import { EmptyFolders } from './empty-folders';
import { Exclusions } from './exclusions';
import { FirstIndex } from './first-index';
import type { Layout } from './layout';
import { hashObject, type PackWriter, type HashName } from './pack-writer';
import { comparePaths } from './path-bytes';
import { isMissing } from './refs';
import { Scanner, type ScanOutput, type ScanSources } from './scanner';
import { seed } from './seed';
import type { Leaf, Trees } from './trees';
import { stampOf, UserFacts } from './user-facts';
import { gitFacet, isDirty, readHead, type UserRepo } from './user-repo';

/** One look at the workspace's files. */
export interface Snapshot {
  tree: string;
  lane: Lane;
  skipped: PathReason[];
  partial: PathReason[];
  emptyDirs: string[];
  forced: string[];
  git: GitFacet | null;
  /** How many files there are, where the look had to count them. */
  files: number | null;
  /** The base's counter when the look began. */
  startedAtSeq: number;
  /** For the scanner's index: what it was, and what is to be added to it. */
  lag: { base: string; changes: Map<string, Leaf | null>; bytes: number } | null;
}

interface Rules {
  excludesFile: string;
  excludePatterns: string[];
  /** Names them all: while it stays the same, so do they. */
  ignoring: string;
}

/** So many files or bytes may be read again at each scan before the scanner's index is caught up. */
const lagLimit = { files: 64, bytes: 4 << 20 };

/** The two lanes: `scan` looks at everything, `paths` at what is known to be named. */
export class Snapshots {
  private readonly scanner: Scanner;
  private readonly folders: EmptyFolders;
  private readonly user: UserFacts;
  /** What the scanner's own index is, and what it does not know yet of the last scan's tree. */
  private last: Snapshot | null = null;
  private seeded: { tree: string; files: number } | null = null;

  constructor(
    private readonly root: string,
    private readonly layout: Layout,
    private readonly algorithm: HashName,
    private readonly trees: Trees,
  ) {
    this.scanner = new Scanner(root, layout, algorithm);
    this.folders = new EmptyFolders(root, trees);
    this.user = new UserFacts(root, (commit) => trees.ofCommit(commit));
  }

  async paths(base: Base, named: NamedPaths, config: Config, writer: PackWriter): Promise<Snapshot> {
    const exclusions = new Exclusions(config.exclude);
    const all = new Set([...Object.keys(base.named), ...named.inside]);
    const known = await this.known(base.tree, all);
    const read = await readPaths(this.root, all, exclusions, config.maxFileSize, writer, { known });
    const tree = await this.trees.update(base.tree, read.leaves, writer);
    const { repo } = await this.user.facts();
    const head = repo ? await readHead(this.root, repo) : null;
    const git = head ? gitFacet(head, base.git?.commit !== head.commit || base.git.dirty || tree !== base.tree) : null;
    const filled = new Set([...all].flatMap(parentFolders));
    return {
      tree,
      lane: 'paths',
      skipped: [...read.skipped, ...named.outside],
      partial: read.partial,
      emptyDirs: base.emptyDirs.filter((folder) => !filled.has(folder)),
      forced: base.forced,
      git,
      files: null,
      startedAtSeq: base.seq,
      lag: null,
    };
  }

  async scan(
    base: Base | null,
    config: Config,
    writer: PackWriter,
    signal: AbortSignal | undefined,
    include: string[],
  ): Promise<Snapshot> {
    const exclusions = new Exclusions(config.exclude);
    const { repo, excludesFile } = await this.user.facts();
    this.scanner.rules = exclusions.fingerprint(config.maxFileSize);
    const excludePatterns = [...excludeLines(repo?.infoExclude), ...exclusions.folderPatterns];
    const ignoring = [excludesFile, stampOf(excludesFile), ...excludePatterns].join('\n');
    const rules = { excludesFile, excludePatterns, ignoring };
    const found =
      repo && !existsSync(this.scanner.published)
        ? await this.firstLook(base, repo, config, exclusions, rules, signal)
        : await this.look(base, rules, signal);

    const forcedBefore = new Set([...(base?.forced ?? []), ...Object.keys(base?.named ?? {}), ...include]);
    const seen = new Set([...found.added, ...found.changed, ...found.deleted]);
    const { passedOver, unreadable } = await this.sortOut(found);
    const candidates = new Set([...seen, ...passedOver, ...forcedBefore]);
    const first = found.base === null ? new FirstIndex(this.algorithm, Date.now()) : null;
    const read = await readPaths(this.root, candidates, exclusions, config.maxFileSize, writer, {
      signal,
      onFound: first ? (path, file, oid) => first.add(path, file, oid) : undefined,
      known: base && !first ? await this.known(base.tree, candidates) : undefined,
    });
    const from = found.base ?? this.trees.emptyTree;
    const tree = first ? this.firstTree(read.leaves, writer) : await this.trees.update(from, read.leaves, writer);
    const emptyDirs = await this.folders.find(tree, { env: this.scanner.environment(), excludesFile, name: ignoring });

    const forced: string[] = [];
    for (const path of forcedBefore)
      if (read.leaves.get(path) && !seen.has(path) && !(found.base && (await this.trees.lookup(found.base, path))))
        forced.push(path);
    for (const path of base?.forced ?? []) if (!forced.includes(path) && read.leaves.get(path)) forced.push(path);

    const partial = [...read.partial, ...unreadable];
    const git = await this.facet(repo, tree, read.skipped.length + forced.length + found.nested.length > 0);
    const snapshot: Snapshot = {
      tree,
      lane: 'scan',
      skipped: read.skipped,
      partial,
      emptyDirs,
      forced,
      git,
      files: first ? leafCount(read.leaves) : await this.countFrom(found, read.leaves),
      startedAtSeq: base?.seq ?? 0,
      // What could not be read must not look as if it had been.
      lag: found.base && unreadable.length === 0 ? lagOf(found, read) : null,
    };
    if (first) this.scanner.install(first.finish(this.scanner.mark(tree), found.nested), first.startedAt);
    this.last = first ? null : snapshot;
    return snapshot;
  }

  private firstTree(leaves: Map<string, Leaf | null>, writer: PackWriter): string {
    const list = [...leaves].flatMap(([path, leaf]) => (leaf ? [{ path, ...leaf }] : []));
    list.sort((a, b) => comparePaths(a.path, b.path));
    const { root, trees } = this.trees.build(list, (data) => hashObject('tree', data, this.algorithm));
    for (const [oid, data] of trees) writer.add('tree', data, oid);
    return root;
  }

  /** Where the scan built on a fresh seed: its count, and what the scan added and took away. */
  private async countFrom(found: ScanOutput, leaves: Map<string, Leaf | null>): Promise<number | null> {
    if (this.seeded === null || this.seeded.tree !== found.base) return null;
    let { files } = this.seeded;
    for (const [path, leaf] of leaves) {
      const before = (await this.trees.lookup(found.base, path)) !== null;
      files += Number(leaf !== null) - Number(before);
    }
    return files;
  }

  /** The base is referenced, so what it holds is in the store. */
  private async known(tree: string, paths: ReadonlySet<string>): Promise<Map<string, Leaf | null>> {
    const out = new Map<string, Leaf | null>();
    await this.trees.warm(tree, paths);
    for (const path of paths) out.set(path, await this.trees.lookup(tree, path));
    return out;
  }

  /** What git passed over may be gone: whoever reads it finds out. Other than files of the tree it names nothing. */
  private async sortOut(found: ScanOutput): Promise<{ passedOver: string[]; unreadable: PathReason[] }> {
    const passedOver: string[] = [];
    const unreadable = [...found.unreadable];
    for (const one of found.unseen) {
      if (found.base && (await this.trees.lookup(found.base, one.path))) passedOver.push(one.path);
      else unreadable.push(one);
    }
    return { passedOver, unreadable };
  }

  /** Without an index yet: builds on the user's repository where that is possible, and proves it while git looks. */
  private async firstLook(
    base: Base | null,
    repo: UserRepo,
    config: Config,
    exclusions: Exclusions,
    rules: Rules,
    signal?: AbortSignal,
  ): Promise<ScanOutput> {
    const start = seed(repo, this.layout, this.algorithm, this.trees, exclusions, config.maxFileSize);
    if (!start) return this.look(base, rules, signal);
    const proved = start.proved.then((answer) => answer === 'as it is');
    proved.catch(() => undefined); // heard by whoever awaits it; a scan that fails first does not
    const index = start.finish(this.scanner.mark(start.tree));
    const sources = { head: (await readHead(this.root, repo)).commit, ...rules };
    const looking = this.scanner.tryScan(sources, { index, readSince: start.readSince, proved }, signal);
    this.prefetch(start.tree, rules);
    const found = await looking;
    if (found) {
      this.seeded = { tree: start.tree, files: start.files };
      return found;
    }
    const right = await start.proved;
    if (right === 'as it is') throw new CheckpointsError('git-failed', 'The first look at the files failed.');
    this.seeded = { tree: right.tree, files: right.files };
    this.scanner.install(right.finish(this.scanner.mark(right.tree)), right.readSince);
    return this.look(base, rules, signal, sources.head);
  }

  /** While git looks at the files. */
  private prefetch(tree: string, { excludesFile, ignoring }: Rules): void {
    const ignore = { env: this.scanner.environment(), excludesFile, name: ignoring };
    // Its failure is met again, and told, by the walk that needs the answer.
    void this.folders.prefetch(tree, ignore).catch(() => undefined);
  }

  /** Asks git what changed. */
  private async look(
    base: Base | null,
    rules: Rules,
    signal?: AbortSignal,
    head: string | null = base?.commit ?? null,
  ): Promise<ScanOutput> {
    const looking = this.scanTrusted({ head, ...rules }, signal);
    this.prefetch(base?.tree ?? this.seeded?.tree ?? this.trees.emptyTree, rules);
    try {
      return await looking;
    } catch (error) {
      // A damaged index is only a cache: once more without it.
      if (!CheckpointsError.is(error, 'git-failed') || !existsSync(this.scanner.published)) throw error;
      this.scanner.discard();
      return this.scanner.scan({ head: base?.commit ?? null, ...rules }, signal);
    }
  }

  /** An index whose tree is gone (everything that used it was deleted) cannot be built on. */
  private async scanTrusted(sources: ScanSources, signal?: AbortSignal): Promise<ScanOutput> {
    const found = await this.scanner.scan(sources, signal);
    if (found.base === null || (await this.trees.exists(found.base))) return found;
    this.scanner.discard();
    return this.scanner.scan({ ...sources, head: null }, signal);
  }

  private async facet(repo: UserRepo | null, tree: string, incomparable: boolean): Promise<GitFacet | null> {
    if (!repo) return null;
    const { head, tree: committed } = await this.user.head(repo);
    if (committed === tree) return gitFacet(head, false);
    return gitFacet(head, incomparable || committed === null ? await isDirty(this.root) : true);
  }

  /** Lets the scanner's index catch up, after the checkpoint is safe. Its failure costs time, not truth. */
  async settle(snapshot: Snapshot, options: { fully?: boolean } = {}): Promise<void> {
    const { lag } = snapshot;
    // Another scan took the index further meanwhile.
    if (!lag || lag.changes.size === 0 || this.last !== snapshot) return;
    if (!options.fully && lag.changes.size < lagLimit.files && lag.bytes < lagLimit.bytes) return;
    this.last = null;
    await this.scanner.absorb(lag.base, snapshot.tree, lag.changes);
    this.last = { ...snapshot, lag: { base: snapshot.tree, changes: new Map(), bytes: 0 } };
  }

  /** The last scan's look with what a restore changed since, where the last scan is what the restore started from. */
  afterRestore(from: string, to: string, applied: Map<string, Leaf | null>): Snapshot | null {
    const { last } = this;
    if (!last?.lag || last.tree !== from) return null;
    const changes = new Map([...last.lag.changes, ...applied]);
    this.last = { ...last, tree: to, lag: { ...last.lag, changes } };
    return this.last;
  }

  /** What was found out already need not be asked again. */
  expectRepo(repo: UserRepo | null): void {
    this.user.expect(repo);
  }

  close(): void {
    this.scanner.close();
  }
}

/** New paths that stay out of the tree are no lag: they would be there at every scan. */
function lagOf(found: ScanOutput, read: ReadResult): Snapshot['lag'] {
  const indexed = new Set([...found.changed, ...found.deleted, ...found.unseen.map(({ path }) => path)]);
  const changes = new Map([...read.leaves].filter(([path, leaf]) => leaf !== null || indexed.has(path)));
  return { base: found.base!, changes, bytes: read.bytes };
}

function leafCount(leaves: Map<string, Leaf | null>): number {
  let count = 0;
  for (const leaf of leaves.values()) if (leaf) count += 1;
  return count;
}

function parentFolders(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(0, -1).map((_, i) => parts.slice(0, i + 1).join('/'));
}

function excludeLines(path: string | undefined): string[] {
  if (!path) return [];
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
