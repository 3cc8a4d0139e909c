import { existsSync, lstatSync } from 'node:fs';
import { CheckpointsError } from '../core/errors';
import type { LostCheckpoints } from '../core/api';
import type { Config } from '../core/config';
import { isWhole } from '../core/files-facet';
import type { Change, Checkpoint, CheckpointId } from '../core/model';
import type {
  AdoptRequest,
  ApplyRequest,
  ApplyResult,
  CaptureFacts,
  CaptureRequest,
  FileChange,
  FileVersion,
  RecoveryReport,
  Refusal,
  SnapshotStore,
} from '../core/ports';
import { adoptAll } from './adopt';
import { applyFiles } from './apply';
import type { Base, BaseState } from './base';
import { BaseRef, isOvertaken, nextBase, previousFrom } from './base-ref';
import { normalisePaths } from './capture';
import { captureFacts } from './capture-facts';
import { describeChanges } from './changes';
import { CheckpointRefs, withCommit } from './checkpoint-refs';
import { diagnose } from './doctor';
import { Exclusions } from './exclusions';
import { deadForkMark, removeForkMark, writeForkMark } from './fork-mark';
import { Fetched } from './fetched';
import { removeJournal } from './journal';
import { storeFailure } from './file-failure';
import type { Layout, WorkspaceFile } from './layout';
import { LeftOut } from './left-out';
import { Leases, type Lease } from './leases';
import { checkpointRefs, LostRefs } from './lost-refs';
import { collect, storeSizes } from './maintenance';
import { withRoom } from './make-room';
import { mergeTexts } from './merge';
import { ownBytes } from './own-bytes';
import { ObjectReader } from './object-reader';
import { consolidate, hasManyPacks } from './packing';
import { PackReader } from './pack-reader';
import { hashObject, PackWriter } from './pack-writer';
import { fsPath } from './path-bytes';
import { RecentContents } from './recent-contents';
import { checkpointMessage, encodeCommit } from './records';
import { RefLog } from './ref-log';
import { recoverRestore } from './recovery';
import { refusals } from './refusals';
import { isMissing, Refs } from './refs';
import { Safekeeping, unsound } from './secure';
import { Settling } from './settling';
import { Snapshots, type Snapshot } from './snapshots';
import { SyncState } from './sync-state';
import { readTidied, writeTidied } from './tidied';
import type { Leaf } from './tree-format';
import { Trees } from './trees';
import type { ExpectedFacts } from './user-facts';
import { watchRefs } from './watch';

type Compose = Parameters<SnapshotStore['capture']>[1];

/** The store of one workspace over a bare git repository: refs are the truth. */
export class GitStore implements SnapshotStore {
  readonly folder: string;
  readonly refsOf: Refs;
  readonly reader: ObjectReader;
  readonly trees: Trees;
  readonly leases: Leases;
  readonly syncState: SyncState;
  readonly fetched: Fetched;
  readonly lostRefs: LostRefs;
  readonly checkpoints: CheckpointRefs;
  readonly base: BaseRef;
  private readonly recent = new RecentContents();
  private readonly snapshots: Snapshots;
  private readonly safekeeping: Safekeeping;
  private readonly left: LeftOut;
  private queue: Promise<unknown> = Promise.resolve();
  private chores: Promise<unknown> = Promise.resolve();
  /** The fast lane does not wait for it. */
  private readonly settling = new Settling((error) => {
    if (!CheckpointsError.is(error, 'busy') && !CheckpointsError.is(error, 'cancelled'))
      this.log(`the scanner's index was not caught up: ${String(error)}`);
  });
  private settlingWaits = new AbortController();

  constructor(
    readonly root: string,
    readonly layout: Layout,
    readonly file: WorkspaceFile,
    private readonly config: () => Config,
    private readonly log: (message: string) => void = () => undefined,
    /** Makes what is not there yet; called before anything is written. */
    private readonly ready: () => void = () => undefined,
  ) {
    this.folder = layout.folder;
    this.refsOf = new Refs(layout.gitDir, new RefLog(layout.refLog, checkpointRefs, log));
    this.reader = new ObjectReader(layout.gitDir);
    const packs = new PackReader([layout.objects, layout.borrowed], file.objectFormat);
    this.trees = new Trees(this.reader, file.objectFormat === 'sha1' ? 20 : 32, undefined, packs);
    this.leases = new Leases(layout.leases);
    this.snapshots = new Snapshots(root, layout, file.objectFormat, this.trees);
    const newWriter = (): PackWriter => this.newWriter();
    this.syncState = new SyncState(this.refsOf, this.reader, newWriter);
    this.fetched = new Fetched({ refs: this.refsOf, reader: this.reader, state: this.syncState, newWriter, log });
    const { refsOf: refs, reader, fetched } = this;
    this.lostRefs = new LostRefs(refs, reader);
    this.checkpoints = new CheckpointRefs({ refs, lost: this.lostRefs, reader, fetched, newWriter, log });
    this.base = new BaseRef(refs, reader, newWriter);
    const { trees, snapshots, checkpoints, base } = this;
    this.safekeeping = new Safekeeping({ root, reader, trees, packs, newWriter, algorithm: file.objectFormat });
    this.left = new LeftOut({ trees, snapshots, checkpoints, base, reader, config });
  }

  /** What `open` found out about the user's repository. */
  expect(facts: ExpectedFacts): void {
    this.snapshots.expect(facts);
  }

  newWriter(): PackWriter {
    return new PackWriter(this.layout.objects, this.file.objectFormat, undefined, this.recent);
  }

  /** One capture at a time in a process; between processes the base decides. */
  private serially<T>(work: () => Promise<T>): Promise<T> {
    const next = this.queue.then(work, work);
    this.queue = next.catch(() => undefined);
    return next;
  }

  async capture(
    request: CaptureRequest,
    compose: Compose,
  ): Promise<{ checkpoint: Checkpoint | null; facts: CaptureFacts }> {
    return this.serially(async () => {
      if (request.exclusive) return this.captureLeased(request, compose);
      return this.sharing('capture', request.waitMs, request.signal, () => this.captureLeased(request, compose));
    });
  }

  private async captureLeased(
    request: CaptureRequest,
    compose: Compose,
  ): Promise<{ checkpoint: Checkpoint | null; facts: CaptureFacts }> {
    if (request.exclusive) this.safekeeping.forget();
    const writer = this.newWriter();
    const named = request.paths ? normalisePaths(this.root, request.paths) : null;
    let snapshot: Snapshot | null = null;
    for (let attempt = 0; attempt < 40; attempt++) {
      const base = await this.base.read();
      const fast = named !== null && base !== null && !existsSync(this.layout.journal); // what a dead restore changed the base does not know
      if (snapshot && isOvertaken(snapshot, base)) snapshot = null;
      if (!fast && snapshot === null) await this.settled(request.exclusive === true);
      if (fast) snapshot = await this.snapshots.paths(base, named, this.config(), writer);
      else
        snapshot ??= await this.snapshots.scan(base, this.config(), writer, request.signal, {
          named: named?.inside,
          brought: request.include,
          meanwhile: () => this.readAhead(base, request),
        });
      const previous = await this.previousOf(base);
      const facts = await captureFacts(this.trees, snapshot, base, previous);
      // Planning a restore reads the files as they are now: a merge needs their content.
      if (request.exclusive) await writer.flush();
      const checkpoint = await compose(facts);
      // Only a checkpoint tells of it: what is not told is found again by the next scan.
      if (checkpoint === null && facts.uncertain.length > 0) return { checkpoint, facts };
      const state = nextBase(base, snapshot, facts, checkpoint, named?.inside ?? [], request.moment);
      const commits = this.addCommits(writer, snapshot.tree, checkpoint, state);
      await writer.flush();
      const published = await this.publish(base, commits, checkpoint);
      if (!published) continue;
      this.settleLater(snapshot);
      return { checkpoint: checkpoint && withCommit(checkpoint, snapshot.tree, commits.checkpoint!), facts };
    }
    throw new CheckpointsError('busy', 'Too many other captures at the same time. Try again.');
  }

  /** While git looks at the files. */
  private readAhead(base: Base | null, { exclusive, target }: CaptureRequest): void {
    if (base && exclusive && target !== undefined) this.safekeeping.begin(base.tree, target);
  }

  private settleLater(snapshot: Snapshot | null, waitMs = 0): void {
    const lag = snapshot && this.snapshots.lagging(snapshot);
    if (!lag) return;
    const { signal } = this.settlingWaits;
    // Somebody else's restore or clean-up is more important: the next scan brings another chance.
    const settle = (): Promise<void> => this.sharing('settle', waitMs, signal, () => this.snapshots.settle(snapshot));
    this.settling.later(settle, lag === 'much');
  }

  /** The scanner is free. Whoever holds the exclusive lease does not wait for those who wait for it. */
  private async settled(exclusive: boolean): Promise<void> {
    if (exclusive) {
      this.settlingWaits.abort();
      this.settlingWaits = new AbortController();
    }
    await this.settling.free();
  }

  /** A restore wrote these files: the scanner need not read them again. Done when the restore's lease is given back. */
  restored(from: string, to: string, applied: Map<string, Leaf | null>): void {
    this.settleLater(this.snapshots.afterRestore(from, to, applied), 2_000);
  }

  async peek(signal?: AbortSignal): Promise<CaptureFacts> {
    return this.serially(async () => {
      return this.sharing('look', 10_000, signal, async () => {
        await this.settled(false);
        const writer = this.newWriter();
        const base = await this.base.read();
        const snapshot = await this.snapshots.scan(base, this.config(), writer, signal);
        await writer.flush();
        return captureFacts(this.trees, snapshot, base, await this.previousOf(base));
      });
    });
  }

  /** The scanner's index may lag behind and name older content; before that is freed it knows the files as they are. */
  async catchUp(): Promise<void> {
    await this.settled(true);
    const writer = this.newWriter();
    const snapshot = await this.snapshots.scan(await this.base.read(), this.config(), writer, undefined);
    await writer.flush();
    await this.snapshots.settle(snapshot, { fully: true });
  }

  /** The newest checkpoint; the base remembers it, unless it was deleted since. */
  private async previousOf(base: Base | null): Promise<CaptureFacts['previous']> {
    const known = base?.previous;
    if (known && this.checkpoints.isOwn(known.id)) return known;
    for (const id of [...this.checkpoints.refs().keys()].sort().reverse()) {
      const [record] = await this.read([id]);
      if (record && isWhole(record)) return previousFrom(record);
    }
    return null;
  }

  private addCommits(
    writer: PackWriter,
    tree: string,
    checkpoint: Checkpoint | null,
    state: BaseState,
  ): { base: string; checkpoint: string | null } {
    return {
      base: this.base.add(writer, tree, state),
      checkpoint: checkpoint
        ? writer.add('commit', encodeCommit(tree, checkpointMessage(checkpoint), Date.parse(checkpoint.createdAt)))
        : null,
    };
  }

  /**
   * The base first, then the checkpoint's ref: a death in between leaves a base that knows more than it needs,
   * never a checkpoint whose named paths the next capture would forget. What a scan found uncertain only its
   * checkpoint tells, which comes first: the next scan finds it again.
   */
  private async publish(
    base: Base | null,
    commits: { base: string; checkpoint: string | null },
    checkpoint: Checkpoint | null,
  ): Promise<boolean> {
    const id = checkpoint?.id;
    const ref = checkpointRefs + (id ?? '');
    const moves = [this.base.move(base, commits.base)];
    if (id && commits.checkpoint) moves.push({ ref, from: null, to: commits.checkpoint });
    if (checkpoint?.files.uncertain) moves.reverse();
    const other = await this.refsOf.swapInOrder(moves);
    if (other === ref) throw new CheckpointsError('conflict', `The checkpoint ${id} exists already.`);
    return other === null;
  }

  adopt(requests: readonly AdoptRequest[]): Promise<{ added: Checkpoint[]; known: Checkpoint[] }> {
    return this.sharing('import', 30_000, undefined, () =>
      adoptAll(this, requests, this.config(), (id) => checkpointRefs + id),
    );
  }

  refs(): Map<CheckpointId, string> {
    return this.checkpoints.refs();
  }

  lost(): LostCheckpoints {
    return this.checkpoints.lost();
  }

  fetchedRefs(): Map<CheckpointId, string> {
    return this.checkpoints.fetchedRefs();
  }

  siblings(id: CheckpointId): CheckpointId[] {
    return this.checkpoints.siblings(id);
  }

  read(ids: CheckpointId[]): Promise<Checkpoint[]> {
    return this.checkpoints.read(ids);
  }

  async update(
    id: CheckpointId,
    change: (checkpoint: Checkpoint) => Checkpoint,
    options: { exclusive?: boolean } = {},
  ): Promise<Checkpoint> {
    if (options.exclusive) return this.checkpoints.update(id, change);
    return this.sharing('update', 15_000, undefined, () => this.checkpoints.update(id, change));
  }

  async remove(ids: CheckpointId[]): Promise<void> {
    if (ids.length === 0) return;
    // Not while a clean-up writes the log of refs anew: what is deleted meanwhile would be in it.
    const remove = (): Promise<void> => this.sharing('delete', 15_000, undefined, () => this.checkpoints.remove(ids));
    await withRoom(this.layout, remove);
  }

  diff(from: string, to: string, paths: string[] = []): Promise<FileChange[]> {
    return this.trees.diff(from, to, paths);
  }

  changes(
    from: string,
    to: string,
    options: { paths?: string[]; patch?: boolean } = {},
  ): Promise<{ changes: Change[]; patch?: string }> {
    const left = from || this.trees.emptyTree; // no tree: before the first checkpoint
    const content = (oid: string): Buffer | Promise<Buffer> => this.recent.get(oid) ?? this.reader.blob(oid);
    const unsoundAmong = (oids: string[]): Promise<Set<string>> => unsound(this.reader, oids, this.file.objectFormat);
    const sources = { gitDir: this.layout.gitDir, trees: this.trees, content, unsound: unsoundAmong };
    return describeChanges(sources, left, to, options);
  }

  lookup(tree: string, path: string): Promise<FileVersion | null> {
    return path === '' ? Promise.resolve(null) : this.trees.lookup(tree, path);
  }

  content(version: FileVersion): Promise<Uint8Array> {
    return this.reader.blob(version.oid);
  }

  async size(version: FileVersion): Promise<number> {
    return (await this.reader.blob(version.oid)).length;
  }

  countFiles(tree: string, enough?: number): Promise<number> {
    return this.trees.count(tree, enough);
  }

  present(paths: string[]): string[] {
    return paths.filter((path) => {
      try {
        lstatSync(fsPath(this.root, path));
        return true;
      } catch (error) {
        const code = (error as NodeJS.ErrnoException).code;
        // A link leads to where no name can be so long: nothing is there either.
        if (isMissing(error) || code === 'ENAMETOOLONG') return false;
        // Who may not look cannot know: reading it will say why.
        if (code === 'EACCES') return true;
        throw error;
      }
    });
  }

  mergeFile(ours: Uint8Array, base: Uint8Array, theirs: Uint8Array): Promise<Uint8Array | null> {
    return mergeTexts(this.folder, ours, base, theirs);
  }

  async addContent(data: Uint8Array): Promise<string> {
    const writer = this.newWriter();
    const oid = writer.add('blob', Buffer.from(data));
    await writer.flush();
    return oid;
  }

  hashOf(data: Buffer): string {
    return hashObject('blob', data, this.file.objectFormat);
  }

  exclusively<T>(purpose: string, waitMs: number, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    return this.holding(() => this.leases.exclusive(purpose, waitMs, signal), work);
  }

  /** Objects that were written stay until `work` is done, though no ref may name them yet. */
  sharing<T>(purpose: string, waitMs: number, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    return this.holding(() => this.leases.shared(purpose, waitMs, signal), work);
  }

  private async holding<T>(take: () => Promise<Lease>, work: () => Promise<T>): Promise<T> {
    let lease: Lease | null = null;
    try {
      this.ready();
      lease = await take();
      return await work();
    } catch (error) {
      throw storeFailure(error, this.folder, this.root);
    } finally {
      lease?.release();
    }
  }

  apply(request: ApplyRequest): Promise<ApplyResult> {
    return applyFiles(this, request);
  }

  refusals(changes: readonly FileChange[], foreign: boolean): Promise<Refusal[]> {
    const exclusions = new Exclusions(this.config().exclude);
    return refusals({ root: this.root, exclusions, content: (v) => this.content(v) }, changes, foreign);
  }

  leftOut(target: Pick<Checkpoint, 'files'>, paths: string[]): Promise<Map<string, string>> {
    return this.left.from(target, paths);
  }

  firstNamed(target: Pick<Checkpoint, 'id' | 'files'>, paths: string[]): Promise<Map<string, FileVersion>> {
    return this.left.firstNamed(target, paths);
  }

  secure(tree: string, changes: readonly FileChange[]): Promise<void> {
    return this.safekeeping.secure(tree, changes);
  }

  closeJournal(): void {
    removeJournal(this.layout.journal);
  }

  forkBegins(safety: CheckpointId): void {
    writeForkMark(this.folder, safety);
  }

  forkEnded(): void {
    removeForkMark(this.folder);
  }

  deadFork(): CheckpointId | null {
    return deadForkMark(this.folder);
  }

  recover(rest: (report: RecoveryReport) => Promise<void> = async () => undefined): Promise<RecoveryReport | null> {
    return recoverRestore(this, rest);
  }

  ownBytes(commits: string[], others: string[]): Promise<number> {
    return ownBytes(this, commits, others);
  }

  watch(listener: () => void): () => void {
    return watchRefs(this.layout.gitDir, listener, (error) => this.log(`watching the store failed: ${String(error)}`));
  }

  sizes(): { bytes: number; borrowedBytes: number } {
    return storeSizes(this.layout);
  }

  collect(
    waitMs: number,
    options: { yielding?: boolean; signal?: AbortSignal } = {},
  ): Promise<{ freedBytes: number; whole: boolean }> {
    return withRoom(this.layout, () => collect(this, waitMs, options));
  }

  async pack(signal?: AbortSignal): Promise<boolean> {
    if (!hasManyPacks(this)) return false;
    return this.sharing('pack', 0, signal, async () => (await consolidate(this, signal)) > 0);
  }

  tidied(): { at: number; garbage: boolean } {
    return readTidied(this.folder);
  }

  markTidied(change: { at?: number; garbage?: boolean }): void {
    writeTidied(this.folder, change);
  }

  doctor(repair: boolean): Promise<Array<{ reason: string; message: string; repaired: boolean }>> {
    return diagnose(this, repair, this.config);
  }

  /** Something that nobody has to wait for; closing does. */
  afterwards(work: () => Promise<unknown>): void {
    this.chores = Promise.all([this.chores, work()]).catch((error: unknown) => this.log(`left over: ${String(error)}`));
  }

  /** The files of the store are about to be others. */
  forgetOpenFiles(): void {
    this.reader.close();
    this.snapshots.close();
  }

  async close(): Promise<void> {
    await this.queue.catch(() => undefined);
    this.settlingWaits.abort();
    await this.settling.finished();
    await this.chores;
    this.reader.close();
    this.snapshots.close();
  }
}
