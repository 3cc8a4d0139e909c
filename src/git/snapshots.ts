import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CheckpointsError } from '../core/errors';
import type { Config } from '../core/config';
import type { GitFacet, Lane, PathReason } from '../core/model';
import type { Base } from './base';
import { readPaths, type NamedPaths, type ReadResult } from './capture';
import { EmptyFolders } from './empty-folders';
import { Exclusions } from './exclusions';
import { FirstIndex } from './first-index';
import type { Layout } from './layout';
import { excludedByNested } from './nested-excluded';
import { ignoresCase, ListedNames, namesakes } from './names';
import { hashObject, type PackWriter, type HashName } from './pack-writer';
import { comparePaths } from './path-bytes';
import { ignoredIn } from './ignored-in';
import { excludeLines, rulesOf, type Rules } from './scan-rules';
import { Scanner, type ScanOutput } from './scanner';
import { readSeed, seed, type Seed, type SeedIndex, type SeedSource, type UnprovedSeed } from './seed';
import { TrackedIgnored } from './tracked-ignored';
import type { Leaf } from './tree-format';
import type { Trees } from './trees';
import { stampOf, UserFacts, type ExpectedFacts } from './user-facts';
import { gitFacet, isDirty, isSparse, readHead, type UserRepo } from './user-repo';

/** One look at the workspace's files. */
export interface Snapshot {
  tree: string;
  lane: Lane;
  skipped: PathReason[];
  partial: PathReason[];
  emptyDirs: string[];
  forced: string[];
  brought: string[];
  /** The patterns of the settings. */
  exclude: readonly string[];
  git: GitFacet | null;
  /** How many files there are, where the look had to count them. */
  files: number | null;
  /** The base's counter when the look began. */
  startedAtSeq: number;
  /** For the scanner's index: what it was, and what is to be added to it. */
  lag: Lag | null;
}

interface Lag {
  base: string;
  changes: Map<string, Leaf | null>;
  bytes: number;
  /** The index was made anew, and does not know ignored files of the tree: without them it is not published. */
  must: boolean;
}

/** Paths that are read whatever ignore rules say: tools named them, or a restore is about to overwrite them. */
interface AlsoRead {
  named?: string[];
  brought?: string[];
  /** Something to do while git looks at the files. */
  meanwhile?: () => void;
}

/** So many files or bytes may be read again at each scan before the scanner's index is caught up. */
const lagLimit = { files: 64, bytes: 4 << 20 };
/** So many are as dear to read again as the index is to catch up. */
const muchLag = { files: 1000, bytes: 16 << 20 };

/** The two lanes: `scan` looks at everything, `paths` at what is known to be named. */
export class Snapshots {
  private readonly scanner: Scanner;
  private readonly folders: EmptyFolders;
  private readonly user: UserFacts;
  private readonly tracked: TrackedIgnored;
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
    this.tracked = new TrackedIgnored(root, layout.scan, trees);
    this.user = new UserFacts(root, (commit) => trees.ofCommit(commit));
  }

  async paths(base: Base, named: NamedPaths, config: Config, writer: PackWriter): Promise<Snapshot> {
    const exclusions = new Exclusions(config.exclude);
    const all = new Set([...Object.keys(base.named), ...named.inside]);
    const known = await this.known(base.tree, all);
    const isName = this.isName();
    const read = await readPaths(this.root, all, exclusions, config.maxFileSize, writer, { known, isName });
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
      brought: base.brought.filter((path) => !all.has(path)),
      exclude: config.exclude,
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
    also: AlsoRead = {},
  ): Promise<Snapshot> {
    try {
      return await this.lookAtAll(base, config, writer, signal, also);
    } catch (error) {
      if (!CheckpointsError.is(error, 'store-broken')) throw error;
      // The store has lost something of the last look. The files are there: all of them are read, and kept again.
      this.scanner.discard();
      return this.lookAtAll(base && { ...base, tree: this.trees.emptyTree, commit: '' }, config, writer, signal, also);
    }
  }

  private async lookAtAll(
    base: Base | null,
    config: Config,
    writer: PackWriter,
    signal: AbortSignal | undefined,
    also: AlsoRead,
  ): Promise<Snapshot> {
    const exclusions = new Exclusions(config.exclude);
    const { repo, excludesFile } = await this.user.facts();
    this.scanner.rules = exclusions.fingerprint(config.maxFileSize);
    const rules = rulesOf(repo, excludesFile, exclusions);
    const known = existsSync(this.scanner.published) ? await this.look(base, rules, signal, also.meanwhile) : null;
    const all = known ?? (await this.lookAnew(base, repo, config, exclusions, rules, signal));
    const out = await excludedByNested(this.root, all.nested, all.added, this.layout.scan);
    const found = out.size > 0 ? { ...all, added: all.added.filter((path) => !out.has(path)) } : all;
    // Renamed in case alone, git finds the new name, and the old one is there to it as well.
    const isName = this.isName(found.added);
    if (isName && found.base) found.deleted.push(...(await namesakes(this.trees, found.base, found.added)));

    const named = new Set([...Object.keys(base?.named ?? {}), ...(also.named ?? [])]);
    const forcedBefore = new Set([...(base?.forced ?? []), ...named, ...(also.brought ?? [])]);
    const seen = new Set([...found.added, ...found.changed, ...found.deleted]);
    const ignored = await this.trackedAbsent(found, repo, rules);
    // An index that was made anew, or has not caught up, does not have all of the last snapshot. What ignore rules hide of that by now is still the workspace's.
    if (base && base.tree !== found.base) ignored.push(...(await this.pathsIn(base.tree, found.base)));
    const unnamed = ignored.filter((path) => exclusions.why(path) === null);
    const { passedOver, unreadable } = await this.sortOut(found);
    const candidates = new Set([...seen, ...passedOver, ...forcedBefore, ...unnamed]);
    const first = found.base === null ? new FirstIndex(this.algorithm, Date.now()) : null;
    const read = await readPaths(this.root, candidates, exclusions, config.maxFileSize, writer, {
      signal,
      onFound: first ? (path, file, oid) => first.add(path, file, oid) : undefined,
      known: base && !first ? await this.known(base.tree, candidates) : undefined,
      isName,
    });
    // Of what cannot be read now the tree keeps what it had, also where the scanner's index has not got that yet.
    const unread = new Set(base ? read.partial.map(({ path }) => path) : []);
    for (const [path, leaf] of base ? await this.known(base.tree, unread) : []) if (leaf) read.leaves.set(path, leaf);
    const from = found.base ?? this.trees.emptyTree;
    const tree = first
      ? this.firstTree(read.leaves, writer)
      : await this.treeWith(from, read.leaves, base?.tree, writer);
    const asked = { env: this.scanner.environment(), excludesFile, name: rules.ignoring };
    const emptyDirs = await this.folders.find(tree, asked);

    const forced: string[] = [];
    const isThere = (path: string): boolean => Boolean(read.leaves.get(path));
    for (const path of forcedBefore)
      if (isThere(path) && !seen.has(path) && !(found.base && (await this.trees.fileAt(found.base, path))))
        forced.push(path);
    // One that a tool named and that is gone may come back, by an undo for instance: it still belongs to the workspace.
    for (const path of base?.forced ?? [])
      if (!forced.includes(path) && (isThere(path) || base?.brought.includes(path) !== true)) forced.push(path);

    const partial = [...read.partial, ...unreadable];
    const must = !known && base !== null && unnamed.some((path) => read.leaves.get(path) && !seen.has(path));
    if (!must) this.scanner.release();
    const git = await this.facet(
      repo,
      tree,
      read.skipped.length + forced.filter(isThere).length + found.nested.length > 0,
    );
    const snapshot: Snapshot = {
      tree,
      lane: 'scan',
      skipped: read.skipped,
      partial,
      emptyDirs,
      forced,
      brought: forced.filter((path) => !named.has(path) && isBrought(path, base, also)),
      exclude: config.exclude,
      git,
      files: first ? leafCount(read.leaves) : await this.countFrom(found, read.leaves),
      startedAtSeq: base?.seq ?? 0,
      // What could not be read must not look as if it had been.
      lag: found.base && unreadable.length === 0 ? lagOf(found, read, must) : null,
    };
    if (first) this.scanner.install(first.finish(this.scanner.mark(tree), found.nested), first.startedAt);
    this.last = first ? null : snapshot;
    return snapshot;
  }

  /** Where all that the scanner's index does not know is what the last look found, that look's tree is there already. */
  private async treeWith(
    from: string,
    leaves: Map<string, Leaf | null>,
    last: string | undefined,
    writer: PackWriter,
  ): Promise<string> {
    if (last !== undefined && last !== from && leaves.size > 0) {
      const same = await this.trees.isAll(leaves, from, last).catch((error: unknown) => {
        if (CheckpointsError.is(error, 'store-broken')) return false; // what is lost cannot be compared
        throw error;
      });
      if (same) return last;
    }
    return this.trees.update(from, leaves, writer, last);
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
      const before = (await this.trees.fileAt(found.base, path)) !== null;
      files += Number(leaf !== null) - Number(before);
    }
    return files;
  }

  /** Undefined where each file has one name. `listed` are known to be names. */
  private isName(listed: readonly string[] = []): ((path: string) => boolean) | undefined {
    if (!ignoresCase(this.root)) return undefined;
    const [known, names] = [new Set(listed), new ListedNames(this.root)];
    return (path) => known.has(path) || names.has(path);
  }

  /** The base is referenced, so what it holds is in the store. */
  private async known(tree: string, paths: ReadonlySet<string>): Promise<Map<string, Leaf | null>> {
    const out = new Map<string, Leaf | null>();
    await this.trees.warm(tree, paths);
    for (const path of paths) out.set(path, await this.trees.fileAt(tree, path));
    return out;
  }

  /** What git passed over may be gone: whoever reads it finds out. Other than files of the tree it names nothing. */
  private async sortOut(found: ScanOutput): Promise<{ passedOver: string[]; unreadable: PathReason[] }> {
    const passedOver: string[] = [];
    const unreadable = [...found.unreadable];
    for (const one of found.unseen) {
      if (found.base && (await this.trees.fileAt(found.base, one.path))) passedOver.push(one.path);
      else unreadable.push(one);
    }
    return { passedOver, unreadable };
  }

  /** What the user's git tracks in spite of ignore rules, as far as the scanner's index does not have it. */
  private async trackedAbsent(
    found: ScanOutput,
    repo: UserRepo | null,
    { ignoring, excludesFile }: Rules,
  ): Promise<string[]> {
    const changed = [...found.added, ...found.changed, ...found.deleted];
    const files = changed.filter((path) => path === '.gitignore' || path.endsWith('/.gitignore'));
    const rules = [ignoring, ...files.map((path) => `${path} ${stampOf(join(this.root, path))}`)].join('\n');
    const ignore = { env: this.scanner.environment(), excludesFile };
    const question = { index: repo?.index ?? null, nested: found.nested, rules, ignore };
    return [...(await this.tracked.absentFrom(found.base, question))];
  }

  /** Paths that the one tree has other than the other. */
  private async pathsIn(tree: string, other: string | null): Promise<string[]> {
    try {
      return (await this.trees.diff(other ?? this.trees.emptyTree, tree)).map(({ path }) => path);
    } catch (error) {
      if (CheckpointsError.is(error, 'store-broken')) return []; // what is lost cannot be asked for
      throw error;
    }
  }

  /** Without an index to go on from. */
  private async lookAnew(
    base: Base | null,
    repo: UserRepo | null,
    config: Config,
    exclusions: Exclusions,
    rules: Rules,
    signal?: AbortSignal,
  ): Promise<ScanOutput> {
    const stamp = repo && stampOf(repo.index);
    const source = repo && readSeed(repo, this.layout, this.algorithm);
    if (source) {
      const { layout, algorithm, trees } = this;
      const make = (): UnprovedSeed | null =>
        seed(source, repo, layout, algorithm, trees, exclusions, config.maxFileSize);
      const user = { repo, stamp: stamp!, hold: base !== null };
      const found = await this.lookSeeded(source, make, user, rules, signal).catch((error: unknown) => {
        // The user's repository has lost what its HEAD names: the files are there all the same, and need this most.
        if (CheckpointsError.is(error, 'store-broken')) return null;
        throw error;
      });
      if (found) return found;
    }
    const looking = this.scanner.scanAll({ head: base?.commit || null, ...rules }, signal);
    this.prefetch(base?.tree ?? this.trees.emptyTree, rules);
    return looking;
  }

  /** Builds on the user's repository, and finds out what of it while git looks: that is the longest way. null: nothing can be built on. */
  private async lookSeeded(
    { guess }: SeedSource,
    make: () => UnprovedSeed | null,
    { repo, stamp, hold }: { repo: UserRepo; stamp: string; hold: boolean },
    rules: Rules,
    signal?: AbortSignal,
  ): Promise<ScanOutput | null> {
    const sources = { head: (await readHead(this.root, repo)).commit, ...rules };
    const wrong = new AbortController();
    const given = signal ? AbortSignal.any([signal, wrong.signal]) : wrong.signal;
    const tryOne = (
      { tree, readSince, finish }: SeedIndex,
      proved: () => Promise<boolean>,
      until = signal,
    ): Promise<ScanOutput | null> => {
      const index = finish(this.scanner.mark(tree));
      return this.scanner.tryScan(sources, { index, readSince, proved, hold }, until);
    };
    let proof: ReturnType<UnprovedSeed['prove']> | null = null;
    const isProved = async (): Promise<boolean> => proof !== null && (await proof) === 'as it is';
    const guessed = guess && tryOne(guess, isProved, given);
    guessed?.catch(() => undefined); // heard below
    const start = make();
    if (guessed && start?.isGuess !== true) {
      wrong.abort();
      await guessed.catch(() => undefined); // before another looks: they share an index
    }
    if (!start) return null;
    const looking = guessed && start.isGuess ? guessed : tryOne(start, isProved);
    proof = start.prove();
    proof.catch(() => undefined); // heard by whoever awaits it; a scan that fails first does not
    this.prefetch(start.tree, rules);
    let used: Seed = start;
    // What is still being proved must not meddle with the look that comes instead.
    let found = await looking.finally(() => proof?.catch(() => undefined));
    if (!found) {
      const answer = await proof;
      if (answer !== 'as it is') found = await tryOne((used = answer), () => Promise.resolve(true));
    }
    if (!found) throw new CheckpointsError('git-failed', 'The first look at the files failed.');
    this.seeded = { tree: used.tree, files: used.files };
    if (used.whole) this.tracked.seeded(stamp, used.tree);
    return found;
  }

  /** While git looks at the files. */
  private prefetch(tree: string, { excludesFile, ignoring }: Rules): void {
    const ignore = { env: this.scanner.environment(), excludesFile, name: ignoring };
    // Its failure is met again, and told, by the walk that needs the answer.
    void this.folders.prefetch(tree, ignore, () => this.scanner.shapes()).catch(() => undefined);
  }

  /** Asks git what changed since the published index; null, and it is forgotten, where that cannot be built on. */
  private async look(
    base: Base | null,
    rules: Rules,
    signal?: AbortSignal,
    meanwhile?: () => void,
  ): Promise<ScanOutput | null> {
    const looking = this.scanner.scan({ head: base?.commit || null, ...rules }, signal);
    this.prefetch(base?.tree ?? this.trees.emptyTree, rules);
    meanwhile?.();
    try {
      const found = await looking;
      // Its tree is gone when everything that used it was deleted.
      if (!found || found.base === null || (await this.trees.exists(found.base))) return found;
    } catch (error) {
      // A damaged index is only a cache: once more without it.
      if (!CheckpointsError.is(error, 'git-failed') || !existsSync(this.scanner.published)) throw error;
    }
    this.scanner.discard();
    return null;
  }

  private async facet(repo: UserRepo | null, tree: string, incomparable: boolean): Promise<GitFacet | null> {
    if (!repo) return null;
    const { head, tree: committed } = await this.user.head(repo);
    const ask = committed !== tree && (incomparable || committed === null || isSparse(repo));
    return gitFacet(head, ask ? await isDirty(this.root, repo, this.layout.scan) : committed !== tree);
  }

  /** What the scanner's index has to catch up with: null where it is little, `much` where the next scan must not go without. */
  lagging({ lag }: Snapshot): 'some' | 'much' | null {
    if (!lag || !(lag.must || exceeds(lag, lagLimit))) return null;
    return lag.must || exceeds(lag, muchLag) ? 'much' : 'some';
  }

  /** Lets the scanner's index catch up, after the checkpoint is safe. Its failure costs time, not truth. */
  async settle(snapshot: Snapshot, options: { fully?: boolean } = {}): Promise<void> {
    const { lag } = snapshot;
    // Another scan took the index further meanwhile.
    if (!lag || this.last !== snapshot) return;
    if (this.lagging(snapshot) === null && !(options.fully && lag.changes.size > 0)) return;
    this.last = null;
    if (!(await this.scanner.absorb(lag.base, snapshot.tree, lag.changes, (tree) => this.trees.entries(tree)))) return;
    this.last = { ...snapshot, lag: { base: snapshot.tree, changes: new Map(), bytes: 0, must: false } };
  }

  /** The last scan's look with what a restore changed since, where the last scan is what the restore started from. */
  afterRestore(from: string, to: string, applied: Map<string, Leaf | null>): Snapshot | null {
    const { last } = this;
    if (!last?.lag || last.tree !== from) return null;
    const changes = new Map([...last.lag.changes, ...applied]);
    this.last = { ...last, tree: to, lag: { ...last.lag, changes } };
    return this.last;
  }

  /** See `ignoredIn`; a scan was made before. */
  async ignoredIn(
    tree: string,
    paths: string[],
    config: Config,
    content: (oid: string) => Promise<Buffer>,
  ): Promise<Set<string>> {
    const { repo, excludesFile } = await this.user.facts();
    const { trees, layout, scanner } = this;
    const rules = {
      env: scanner.environment(),
      excludesFile,
      otherLines: [...excludeLines(repo?.infoExclude), ...config.exclude],
    };
    return ignoredIn({ trees, content, scan: layout.scan, ...rules }, tree, paths);
  }

  /** What was found out already need not be asked again. */
  expect(facts: ExpectedFacts): void {
    this.user.expect(facts);
  }

  close(): void {
    this.scanner.close();
  }
}

function isBrought(path: string, base: Base | null, also: AlsoRead): boolean {
  return base?.forced.includes(path) ? base.brought.includes(path) : also.brought?.includes(path) === true;
}

/** New paths that stay out of the tree are no lag: they would be there at every scan. */
function lagOf(found: ScanOutput, read: ReadResult, must: boolean): Lag {
  const indexed = new Set([...found.changed, ...found.deleted, ...found.unseen.map(({ path }) => path)]);
  const changes = new Map([...read.leaves].filter(([path, leaf]) => leaf !== null || indexed.has(path)));
  return { base: found.base!, changes, bytes: read.bytes, must };
}

const exceeds = ({ changes, bytes }: Lag, limit: typeof lagLimit): boolean =>
  changes.size >= limit.files || bytes >= limit.bytes;

function leafCount(leaves: Map<string, Leaf | null>): number {
  let count = 0;
  for (const leaf of leaves.values()) if (leaf) count += 1;
  return count;
}

function parentFolders(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(0, -1).map((_, i) => parts.slice(0, i + 1).join('/'));
}
