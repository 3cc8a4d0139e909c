import type {
  CreateOptions,
  DiffOptions,
  DiffResult,
  ListFilter,
  LostCheckpoints,
  Operation,
  PlanOptions,
  Problem,
  RestoreOptions,
  Stats,
  Tidied,
  WorkspaceApi,
  WorkspaceEvent,
} from './api';
import { Activity } from './activity';
import { endOfTurn, turnEnd } from './attribution';
import type { Config, ConfigProblem } from './config';
import type { ConversationPort } from './conversation';
import { Cleanup } from './cleanup';
import { CheckpointsError } from './errors';
import { ForkRecovery, type MissingFork } from './fork-recovery';
import { GoingBack } from './going-back';
import { History } from './history';
import { importRecord, type ImportedCheckpoint } from './imported';
import type { Change, Checkpoint, CheckpointId, RestorePlan, RestoreResult, RestoreScope, Trigger } from './model';
import type { CaptureFacts, CaptureRequest, QueryIndex, RecoveryReport, SnapshotStore } from './ports';
import { composeRecord } from './record';
import { Restorer, type TaskPort } from './restorer';
import { statistics } from './statistics';
import type { SyncService } from './sync';
import { shorten } from './text';
import { cleanName } from './titles';
import { turnKey } from './turns';
import { removeAll } from './removal';

export interface WorkspaceDependencies {
  store: SnapshotStore;
  config: () => Config;
  /** What of the settings was not understood. */
  configProblems?: () => ConfigProblem[];
  /** Without it, lists are read from the store itself. */
  index?: QueryIndex | null;
  /** Where lists did without one: the index to leave behind at the end, null where it has all of these already. */
  indexAtEnd?: ((refs: Map<CheckpointId, string>) => Promise<QueryIndex | null>) | null;
  /** The index is derived: what goes wrong with it at the end is only told. */
  onIndexProblem?: (error: unknown) => void;
  task?: TaskPort | null;
  conversation?: ConversationPort | null;
  sync?: ((workspace: SyncHost) => SyncService) | null;
  clock?: () => number;
}

/** What an exchange with others needs of the workspace it is for. */
export interface SyncHost {
  resolve(reference: string): Promise<Checkpoint>;
  /** Others' checkpoints have come in. */
  changed(ids: CheckpointId[]): void;
}

const patienceMs = 30_000;

/** One workspace and everything a host does with it. */
export class Workspace implements WorkspaceApi {
  private readonly store: SnapshotStore;
  private readonly history: History;
  private readonly activity: Activity;
  private readonly restorer: Restorer;
  private readonly goingBack: GoingBack;
  private readonly cleanup: Cleanup;
  private readonly forks: ForkRecovery;
  private readonly exchange: SyncService | null;
  /** What a restore that had died became, at the last start. */
  recovered: RecoveryReport | null = null;

  constructor(private readonly deps: WorkspaceDependencies) {
    const { store, task = null, conversation = null } = deps;
    const now = (): number => this.now();
    this.store = store;
    this.history = new History(store, deps.index ?? null);
    this.activity = new Activity({ store, refs: () => this.history.refs(), now });
    this.cleanup = new Cleanup({
      store,
      config: deps.config,
      list: () => this.list(),
      now,
      onPruned: (ids) => this.activity.announce('pruned', ids),
    });
    this.restorer = new Restorer(store, task, conversation);
    const { history, activity, restorer } = this;
    const taskReplaced = async (): Promise<unknown> => task?.replaced?.(this);
    const recover = (): Promise<unknown> => this.recover();
    this.goingBack = new GoingBack({
      store,
      history,
      activity,
      restorer,
      task,
      conversation,
      recover,
      taskReplaced,
      now,
    });
    this.forks = new ForkRecovery(store, conversation);
    this.exchange =
      deps.sync?.({
        resolve: (reference) => this.resolve(reference),
        changed: (ids) => this.activity.announce('external', ids),
      }) ?? null;
  }

  get root(): string {
    return this.store.root;
  }

  get folder(): string {
    return this.store.folder;
  }

  get operation(): Operation | null {
    return this.activity.operation;
  }

  get sync(): SyncService {
    const { exchange } = this;
    if (exchange)
      return {
        push: (...given) => this.activity.during('sync', 'Pushing checkpoints', () => exchange.push(...given)),
        fetch: (...given) => this.activity.during('sync', 'Fetching checkpoints', () => exchange.fetch(...given)),
        exportBundle: (...given) => this.activity.during('sync', 'Exporting', () => exchange.exportBundle(...given)),
        importBundle: (...given) => this.activity.during('sync', 'Importing', () => exchange.importBundle(...given)),
      };
    throw new CheckpointsError('not-supported', 'There is no way to other machines from here.');
  }

  /** Finishes what a crash left. Every host calls it first. */
  async recover(): Promise<RecoveryReport | null> {
    this.recovered = (await this.store.recover((report) => this.restorer.finishTask(report))) ?? this.recovered;
    const missing = await this.forks.missing();
    if (missing) this.recovered = { ...(this.recovered ?? reportOf(missing)), forkMissing: true };
    return this.recovered;
  }

  missingFork(): Promise<MissingFork | null> {
    return this.forks.missing();
  }

  async finishFork(): Promise<{ id: string } | null> {
    const missing = await this.forks.missing();
    if (!missing) return null;
    return this.activity.during('restore', `Forking at “${shorten(missing.target.title, 60)}”`, async () => {
      const session = await this.forks.finish();
      this.activity.announce('restored', [missing.target.id, missing.safety.id]);
      return session;
    });
  }

  forgetFork(): void {
    this.forks.forget();
  }

  create(options: CreateOptions & { automatic: true }): Promise<Checkpoint | null>;
  create(options?: CreateOptions): Promise<Checkpoint>;
  async create(options: CreateOptions = {}): Promise<Checkpoint | null> {
    const name = options.name === undefined || options.name === null ? null : cleanName(options.name);
    return this.activity.during('capture', 'Creating a checkpoint', async () => {
      const task = options.task === undefined ? ((await this.deps.task?.read()) ?? null) : options.task;
      let newest: CheckpointId | null = null;
      const { checkpoint } = await this.store.capture(
        {
          paths: options.paths,
          moment: momentOf(options),
          waitMs: options.automatic ? this.deps.config().captureBudget : patienceMs,
          signal: options.signal,
        },
        (facts) => {
          if (options.automatic && this.saysNothing(options, facts)) {
            newest = facts.previous?.id ?? null;
            return null;
          }
          return composeRecord({ ...options, name, task }, facts, this.now());
        },
      );
      if (checkpoint) this.activity.announce('created', [checkpoint.id]);
      else if (options.trigger === 'idle' && newest !== null) await this.endTurn(options, newest);
      return checkpoint;
    });
  }

  /** Nothing changed since the newest checkpoint: what follows it is no longer the agent's, which the turn's last point remembers. */
  private async endTurn({ session, turn }: CreateOptions, newest: CheckpointId): Promise<void> {
    if (!session || !turn) return;
    const isOwn = (point: Checkpoint): boolean =>
      point.origin === null && turnKey(point) === turnKey({ session, turn });
    // Most often it is the newest itself; else another session, or a person, made one since.
    const own = (await this.store.read([newest])).find(isOwn);
    const last = own ?? (await this.list({ session: session.id })).find(isOwn);
    if (last === undefined || endOfTurn(last) !== null || last.id > newest) return;
    try {
      const metadata = turnEnd(newest);
      await this.store.update(last.id, (now) => ({ ...now, metadata: { ...now.metadata, ...metadata } }));
      this.activity.announce('updated', [last.id]);
    } catch (error) {
      // Deleted meanwhile: then there is nothing to remember it by.
      if (!CheckpointsError.is(error, 'unknown-reference')) throw error;
    }
  }

  async adopt(imports: readonly ImportedCheckpoint[]): Promise<{ added: Checkpoint[]; known: Checkpoint[] }> {
    return this.activity.during('import', 'Importing checkpoints', async () => {
      const result = await this.store.adopt(
        imports.map(({ files = [], ...given }) => ({
          files,
          compose: (facts) => importRecord(given, facts, this.now()),
        })),
      );
      if (result.added.length > 0)
        this.activity.announce(
          'created',
          result.added.map(({ id }) => id),
        );
      return result;
    });
  }

  /** An automatic point that equals the one before it in the same turn. The point before a prompt is always made. */
  private saysNothing(options: CreateOptions, facts: CaptureFacts): boolean {
    const { previous } = facts;
    if (options.trigger === 'turn' || !previous || previous.tree !== facts.tree) return false;
    return options.trigger === 'idle' || previous.session === (options.session?.id ?? null);
  }

  list(filter: ListFilter = {}): Promise<Checkpoint[]> {
    return this.history.list(filter);
  }

  lost(): LostCheckpoints {
    return this.store.lost();
  }

  resolve(reference: string): Promise<Checkpoint> {
    return this.history.resolve(reference);
  }

  deletable(reference: string): Promise<Pick<Checkpoint, 'id' | 'title'>> {
    return this.history.deletable(reference);
  }

  diff(from?: string, to?: string, options: DiffOptions = {}): Promise<DiffResult> {
    return this.history.diff(from, to, options);
  }

  changes(reference: string): Promise<Change[]> {
    return this.history.changes(reference);
  }

  cat(reference: string, path: string): Promise<Uint8Array> {
    return this.history.cat(reference, path);
  }

  stat(reference: string, path: string): ReturnType<History['stat']> {
    return this.history.stat(reference, path);
  }

  async plan(reference: string, options: PlanOptions = {}): Promise<RestorePlan> {
    const target = await this.resolve(reference);
    return this.restorer.plan({ operation: 'restore', target, scope: scopeOf(options), options });
  }

  /** What `restore` refuses for, told before anybody is asked: throws `session-busy`. */
  async refuseAtWork(reference: string, options: RestoreOptions = {}): Promise<void> {
    const target = await this.resolve(reference);
    await this.restorer.refuseAtWork({ operation: 'restore', target, scope: scopeOf(options), options });
  }

  async restore(reference: string, options: RestoreOptions = {}): Promise<RestoreResult> {
    const target = await this.resolve(reference);
    return this.goingBack.restore(target, scopeOf(options), options);
  }

  undoState(): ReturnType<GoingBack['undoState']> {
    return this.goingBack.undoState();
  }

  undo(options: RestoreOptions = {}): Promise<RestoreResult> {
    return this.goingBack.undo(options);
  }

  redo(options: RestoreOptions = {}): Promise<RestoreResult> {
    return this.goingBack.redo(options);
  }

  revertTurn(reference: string, options: RestoreOptions = {}): Promise<RestoreResult> {
    return this.goingBack.revertTurn(reference, options);
  }

  planUndo(options: PlanOptions = {}): Promise<RestorePlan> {
    return this.goingBack.planUndo(options);
  }

  planRedo(options: PlanOptions = {}): Promise<RestorePlan> {
    return this.goingBack.planRedo(options);
  }

  planRevertTurn(reference: string, options: PlanOptions = {}): Promise<RestorePlan> {
    return this.goingBack.planRevertTurn(reference, options);
  }

  async rename(reference: string, name: string): Promise<Checkpoint> {
    const clean = cleanName(name);
    return this.edit(reference, (checkpoint) => ({ ...checkpoint, name: clean, title: clean }));
  }

  async describe(reference: string, description: string): Promise<Checkpoint> {
    return this.edit(reference, (checkpoint) => ({
      ...checkpoint,
      description: description === '' ? null : description,
    }));
  }

  async pin(reference: string, pinned: boolean): Promise<Checkpoint> {
    return this.edit(reference, (checkpoint) => ({ ...checkpoint, pinned }));
  }

  private async edit(reference: string, change: (checkpoint: Checkpoint) => Checkpoint): Promise<Checkpoint> {
    const { id } = await this.resolve(reference);
    const checkpoint = await this.store.update(id, change);
    this.activity.announce('updated', [id]);
    return checkpoint;
  }

  async remove(references: string[]): Promise<CheckpointId[]> {
    // All are resolved before any is deleted: one bad reference changes nothing.
    const ids: CheckpointId[] = [];
    for (const reference of references) ids.push((await this.deletable(reference)).id);
    return this.removeIds([...new Set(ids)]);
  }

  async clear(session?: string): Promise<CheckpointId[]> {
    const all = await this.list(session === undefined ? {} : { session });
    const ids = all.filter((c) => c.origin === null).map((c) => c.id);
    if (session !== undefined) return this.removeIds(ids);
    // Also what no list shows. A damaged ref is the doctor's: git does not delete it.
    const { refs, records } = this.lost();
    const there = this.store.refs();
    return this.removeIds([...new Set([...ids, ...refs, ...records.filter((id) => there.has(id))])]);
  }

  private async removeIds(ids: CheckpointId[]): Promise<CheckpointId[]> {
    await removeAll(this.store, ids);
    if (ids.length > 0) this.store.markTidied({ garbage: true });
    if (ids.length > 0) this.activity.announce('deleted', ids);
    return ids;
  }

  async stats(): Promise<Stats> {
    return statistics(this.store, await this.list());
  }

  async prune(options: { dryRun?: boolean } = {}): Promise<{ deleted: CheckpointId[]; freedBytes: number }> {
    return this.activity.during('prune', 'Cleaning up the store', async () => {
      if (options.dryRun) return this.cleanup.foresee();
      // Another process may have died in a restore since this one began; what that needs must not be freed.
      await this.recover();
      return this.cleanup.prune();
    });
  }

  async tidy(options: { signal?: AbortSignal } = {}): Promise<Tidied | null> {
    try {
      return await this.cleanup.tidy(options.signal);
    } finally {
      // Nothing else is happening. A window may be open for days, and ended without a word.
      if (this.deps.index && options.signal?.aborted !== true) await this.writeIndex(this.deps.index);
    }
  }

  private async writeIndex(index: QueryIndex): Promise<void> {
    try {
      await this.history.fill(index);
      await index.flush();
    } catch (error) {
      this.deps.onIndexProblem?.(error);
    }
  }

  async doctor(options: { repair?: boolean } = {}): Promise<Problem[]> {
    const found = await this.activity.during('doctor', 'Checking the store', () =>
      this.store.doctor(options.repair === true),
    );
    for (const { message } of this.configProblems()) found.push({ reason: 'config', message, repaired: false });
    const missing = await this.forks.missing();
    return missing ? [...found, await this.forkProblem(missing, options.repair === true)] : found;
  }

  private async forkProblem({ target }: MissingFork, repair: boolean): Promise<Problem> {
    const message = `A restore of "${target.title}" was interrupted: its files are there, its conversation was not forked.`;
    const problem = { reason: 'fork-missing', message, repaired: false };
    if (!repair) return problem;
    try {
      const session = await this.finishFork();
      return { ...problem, message: `${message} It is now: ${session?.id ?? 'by another window'}.`, repaired: true };
    } catch (error) {
      // What else was repaired is repaired: this one is told with its reason.
      if (!CheckpointsError.is(error)) throw error;
      return { ...problem, message: `${message} That failed again: ${error.message}` };
    }
  }

  configProblems(): ConfigProblem[] {
    return this.deps.configProblems?.() ?? [];
  }

  onDidChange(listener: (event: WorkspaceEvent) => void): () => void {
    return this.activity.onDidChange(listener);
  }

  onDidChangeOperation(listener: (operation: Operation | null) => void): () => void {
    return this.activity.onDidChangeOperation(listener);
  }

  private now(): number {
    return (this.deps.clock ?? Date.now)();
  }

  async close(): Promise<void> {
    this.activity.close();
    await this.closeIndex();
    await this.store.close();
  }

  /** What was made since the last list is in it, too: whoever opens the file with another program finds all there is. */
  private async closeIndex(): Promise<void> {
    try {
      const index = this.deps.index ?? (await this.deps.indexAtEnd?.(this.history.refs())) ?? null;
      if (index) await this.history.fill(index).finally(() => index.close());
    } catch (error) {
      this.deps.onIndexProblem?.(error);
    }
  }
}

/** Its files were done when it died. */
function reportOf({ safety, target }: MissingFork): RecoveryReport {
  const scope = safety.restore?.scope ?? ['conversation'];
  return { outcome: 'finished', safety: safety.id, target: target.id, scope, restored: [], deleted: [], kept: [] };
}

const edges: Partial<Record<Trigger, 'begins' | 'ends'>> = { turn: 'begins', idle: 'ends' };

function momentOf({ session, cause, trigger = 'manual' }: CreateOptions): CaptureRequest['moment'] {
  if (!session) return undefined;
  return { session: session.id, call: cause ?? null, turn: edges[trigger] ?? null };
}

function scopeOf(options: PlanOptions): RestoreScope[] {
  return options.scope ?? ['files'];
}
