import type {
  CreateOptions,
  DiffOptions,
  DiffResult,
  ListFilter,
  Operation,
  PlanOptions,
  Problem,
  RestoreOptions,
  Stats,
  Tidied,
  WorkspaceApi,
  WorkspaceEvent,
} from './api';
import type { Config } from './config';
import type { ConversationPort } from './conversation';
import { Cleanup } from './cleanup';
import { CheckpointsError } from './errors';
import { Emitter } from './emitter';
import { ForkRecovery, type MissingFork } from './fork-recovery';
import { comparable, hasFiles, isWhole } from './files-facet';
import { matches } from './filter';
import { importRecord, type ImportedCheckpoint } from './imported';
import type {
  Change,
  Checkpoint,
  CheckpointId,
  PathReason,
  RestorePlan,
  RestoreRecord,
  RestoreResult,
  RestoreScope,
  SessionAnchor,
} from './model';
import type { CaptureFacts, QueryIndex, RecoveryReport, SnapshotStore } from './ports';
import { composeRecord } from './record';
import { parseReference, resolveReference } from './references';
import { Restorer, type TaskPort } from './restorer';
import type { SyncService } from './sync';
import { cleanName } from './titles';
import { revertTurnChanges, turnAround } from './turn-revert';
import { undoStacks } from './undo';

export interface WorkspaceDependencies {
  store: SnapshotStore;
  config: () => Config;
  /** Without it, lists are read from the store itself. */
  index?: QueryIndex | null;
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
  private readonly restorer: Restorer;
  private readonly cleanup: Cleanup;
  private readonly forks: ForkRecovery;
  private readonly exchange: SyncService | null;
  private readonly changed = new Emitter<WorkspaceEvent>();
  private readonly operations = new Emitter<Operation | null>();
  private readonly running: Operation[] = [];
  private unwatch: (() => void) | null = null;
  private seen = new Map<CheckpointId, string>();
  /** What a restore that had died became, at the last start. */
  recovered: RecoveryReport | null = null;

  constructor(private readonly deps: WorkspaceDependencies) {
    this.store = deps.store;
    this.cleanup = new Cleanup({
      store: deps.store,
      config: deps.config,
      list: () => this.list(),
      now: () => this.now(),
      onPruned: (ids) => this.announce('pruned', ids),
    });
    this.restorer = new Restorer(deps.store, deps.task ?? null, deps.conversation ?? null);
    this.forks = new ForkRecovery(deps.store, deps.conversation ?? null);
    this.exchange =
      deps.sync?.({
        resolve: (reference) => this.resolve(reference),
        changed: (ids) => this.announce('external', ids),
      }) ?? null;
  }

  get root(): string {
    return this.store.root;
  }

  get folder(): string {
    return this.store.folder;
  }

  get operation(): Operation | null {
    return this.running.at(-1) ?? null;
  }

  get sync(): SyncService {
    const { exchange } = this;
    if (exchange)
      return {
        push: (...given) => this.during('sync', 'Pushing checkpoints', () => exchange.push(...given)),
        fetch: (...given) => this.during('sync', 'Fetching checkpoints', () => exchange.fetch(...given)),
        exportBundle: (...given) => this.during('sync', 'Exporting', () => exchange.exportBundle(...given)),
        importBundle: (...given) => this.during('sync', 'Importing', () => exchange.importBundle(...given)),
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
    return this.during('restore', `Forking at ${missing.target.title}`, async () => {
      const session = await this.forks.finish();
      this.announce('restored', [missing.target.id, missing.safety.id]);
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
    return this.during('capture', 'Creating a checkpoint', async () => {
      const task = options.task === undefined ? ((await this.deps.task?.read()) ?? null) : options.task;
      const { checkpoint } = await this.store.capture(
        {
          paths: options.paths,
          waitMs: options.automatic ? this.deps.config().captureBudget : patienceMs,
          signal: options.signal,
        },
        (facts) => {
          if (options.automatic && this.saysNothing(options, facts)) return null;
          return composeRecord({ ...options, name, task }, facts, this.now());
        },
      );
      if (checkpoint) this.announce('created', [checkpoint.id]);
      return checkpoint;
    });
  }

  async adopt(imports: readonly ImportedCheckpoint[]): Promise<{ added: Checkpoint[]; known: Checkpoint[] }> {
    return this.during('import', 'Importing checkpoints', async () => {
      const result = await this.store.adopt(
        imports.map(({ files = [], ...given }) => ({
          files,
          compose: (facts) => importRecord(given, facts, this.now()),
        })),
      );
      if (result.added.length > 0)
        this.announce(
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

  async list(filter: ListFilter = {}): Promise<Checkpoint[]> {
    const { index } = this.deps;
    if (index) {
      await index.sync(this.refs(), (ids) => this.store.read(ids));
      return index.query(filter);
    }
    const { limit, ...rest } = filter;
    // The newest few need not be looked for among all.
    if (Object.values(rest).every((value) => value === undefined)) return this.all(limit);
    const found = (await this.all()).filter((checkpoint) => matches(checkpoint, filter));
    return limit === undefined ? found : found.slice(0, limit);
  }

  /** Newest first. */
  private async all(limit?: number): Promise<Checkpoint[]> {
    const ids = [...this.refs().keys()].sort().reverse();
    return this.store.read(ids.slice(0, limit));
  }

  /** Local and fetched ones: every id once. */
  private refs(): Map<CheckpointId, string> {
    return new Map([...this.store.fetchedRefs(), ...this.store.refs()]);
  }

  async resolve(reference: string): Promise<Checkpoint> {
    const parsed = parseReference(reference);
    if (parsed.kind === 'text' && parsed.fullId && parsed.idPrefix) {
      const [found] = await this.store.read([parsed.idPrefix]);
      if (found) return found;
    }
    return resolveReference(reference, await this.list());
  }

  async diff(from?: string, to?: string, options: DiffOptions = {}): Promise<DiffResult> {
    const left = await this.resolve(from ?? 'latest');
    const right = to === undefined ? null : await this.resolve(to);
    const without = [left, right].find((one) => one !== null && !hasFiles(one));
    if (without) throw new CheckpointsError('no-files', `"${without.title}" comes from a program that kept no files.`);
    const tree = right ? right.files.tree : (await this.store.peek()).tree;
    const paths = comparable(right ? [left, right] : [left], options.paths);
    const result =
      paths?.length === 0
        ? { changes: [], ...(options.patch ? { patch: '' } : {}) }
        : await this.store.changes(left.files.tree, tree, { ...options, paths });
    return { from: left.id, to: right?.id ?? null, ...result };
  }

  async changes(reference: string): Promise<Change[]> {
    const checkpoint = await this.resolve(reference);
    if (!hasFiles(checkpoint)) return [];
    // What holds single files has nothing before it: all of them are new.
    const previous = isWhole(checkpoint) ? await this.wholeBefore(checkpoint.id) : null;
    const { changes } = await this.store.changes(previous?.files.tree ?? '', checkpoint.files.tree);
    return changes;
  }

  private async wholeBefore(id: CheckpointId): Promise<Checkpoint | null> {
    const older = this.store.siblings(id).filter((other) => other < id);
    for (const other of older.reverse()) {
      const [found] = await this.store.read([other]);
      if (found && isWhole(found)) return found;
    }
    return null;
  }

  async cat(reference: string, path: string): Promise<Uint8Array> {
    const checkpoint = await this.resolve(reference);
    const version = await this.store.lookup(checkpoint.files.tree, path);
    if (!version || version.mode === 0o40000)
      throw new CheckpointsError('not-in-checkpoint', `${path} is not a file of the checkpoint "${checkpoint.title}".`);
    return this.store.content(version);
  }

  async stat(reference: string, path: string): Promise<{ size: number; kind: 'file' | 'link' | 'folder' } | null> {
    const checkpoint = await this.resolve(reference);
    if (path === '') return { size: 0, kind: 'folder' };
    const version = await this.store.lookup(checkpoint.files.tree, path);
    if (!version) return null;
    if (version.mode === 0o40000) return { size: 0, kind: 'folder' };
    return { size: await this.store.size(version), kind: version.mode === 0o120000 ? 'link' : 'file' };
  }

  async plan(reference: string, options: PlanOptions = {}): Promise<RestorePlan> {
    const target = await this.resolve(reference);
    return this.restorer.plan({ operation: 'restore', target, scope: scopeOf(options), options });
  }

  async restore(reference: string, options: RestoreOptions = {}): Promise<RestoreResult> {
    const target = await this.resolve(reference);
    return this.runRestore('restore', target, scopeOf(options), options);
  }

  async undoState(): Promise<{ undo: Checkpoint | null; redo: Checkpoint | null }> {
    const all = await this.list({ trigger: 'restore' });
    return undoStacks(all.filter((c) => c.origin === null).reverse());
  }

  async undo(options: RestoreOptions = {}): Promise<RestoreResult> {
    const { undo } = await this.undoState();
    if (!undo) throw new CheckpointsError('nothing-to-undo', 'There is no restore to undo.');
    return this.goBack('undo', undo, options);
  }

  async redo(options: RestoreOptions = {}): Promise<RestoreResult> {
    const { redo } = await this.undoState();
    if (!redo) throw new CheckpointsError('nothing-to-redo', 'There is no undo to redo.');
    return this.goBack('redo', redo, options);
  }

  private goBack(operation: 'undo' | 'redo', to: Checkpoint, options: RestoreOptions): Promise<RestoreResult> {
    // A task that was not there before the restore is not there after its undo.
    const scope = (to.restore?.scope ?? ['files']).filter(
      (s) => s !== 'conversation' && (s !== 'task' || this.deps.task),
    );
    return this.runRestore(operation, to, scope.length > 0 ? scope : ['files'], options, to.restore?.touched ?? null);
  }

  private runRestore(
    operation: RestoreRecord['operation'],
    target: Checkpoint,
    scope: RestoreScope[],
    options: RestoreOptions,
    only?: string[] | null,
  ): Promise<RestoreResult> {
    return this.during(operation, `Restoring ${target.title}`, async () => {
      const task = (await this.deps.task?.read()) ?? null;
      const session = await this.sessionNow(target);
      const result = await this.restorer.run({
        operation,
        target,
        scope,
        options,
        only,
        compose: (facts) => this.safetyRecord(operation, target, facts, { task, session }),
      });
      this.announce('restored', [target.id, ...(result.undo ? [result.undo] : [])]);
      return result;
    });
  }

  private safetyRecord(
    operation: RestoreRecord['operation'],
    target: Checkpoint,
    facts: CaptureFacts,
    now: Pick<Checkpoint, 'task' | 'session'>,
  ): Checkpoint {
    const announced = { operation, target: target.id } as const;
    return composeRecord({ trigger: 'restore', ...now, announced, targetTitle: target.title }, facts, this.now());
  }

  /** A safety checkpoint holds all of the conversation there is; without a server, all that any checkpoint of it knows. */
  private async sessionNow({ session, origin }: Checkpoint): Promise<SessionAnchor | null> {
    if (session === null || origin !== null) return session;
    const asked = await this.deps.conversation?.anchorNow(session.id);
    if (asked) return asked;
    const known = (await this.list({ session: session.id })).flatMap((one) =>
      one.origin === null && one.session !== null ? [one.session] : [],
    );
    return known.reduce((most, one) => (one.messageCount > most.messageCount ? one : most), session);
  }

  async revertTurn(reference: string, options: RestoreOptions = {}): Promise<RestoreResult> {
    const target = await this.resolve(reference);
    const turn = turnAround(target, (await this.list()).filter((c) => c.origin === null && isWhole(c)).reverse());
    return this.during('revert-turn', `Reverting ${target.title}`, async () => {
      let conflicts: PathReason[] = [];
      const task = (await this.deps.task?.read()) ?? null;
      const session = await this.sessionNow(turn.before);
      const result = await this.restorer.run({
        operation: 'revert-turn',
        target: turn.before,
        scope: ['files'],
        options,
        changes: (facts) => revertTurnChanges(this.store, turn, facts, (conflicts = [])),
        compose: (facts) => this.safetyRecord('revert-turn', turn.before, facts, { task, session }),
      });
      this.announce('restored', [target.id, ...(result.undo ? [result.undo] : [])]);
      return { ...result, conflicts };
    });
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
    this.announce('updated', [id]);
    return checkpoint;
  }

  async remove(references: string[]): Promise<CheckpointId[]> {
    // All are resolved before any is deleted: one bad reference changes nothing.
    const ids: CheckpointId[] = [];
    for (const reference of references) ids.push((await this.resolve(reference)).id);
    return this.removeIds([...new Set(ids)]);
  }

  async clear(session?: string): Promise<CheckpointId[]> {
    const all = await this.list(session === undefined ? {} : { session });
    return this.removeIds(all.filter((c) => c.origin === null).map((c) => c.id));
  }

  private async removeIds(ids: CheckpointId[]): Promise<CheckpointId[]> {
    await this.store.remove(ids);
    if (ids.length > 0) this.store.markTidied({ garbage: true });
    if (ids.length > 0) this.announce('deleted', ids);
    return ids;
  }

  async stats(): Promise<Stats> {
    const all = await this.list();
    const sizes = this.store.sizes();
    const groups = new Map<string | null, Checkpoint[]>();
    for (const checkpoint of all) {
      const session = checkpoint.session?.id ?? null;
      groups.set(session, [...(groups.get(session) ?? []), checkpoint]);
    }
    const perSession = await Promise.all(
      [...groups].map(async ([session, own]) => ({
        session,
        title: own.find((c) => c.session?.title)?.session?.title ?? null,
        checkpoints: own.length,
        bytes: await this.store.ownBytes(
          own.map((c) => c.files.commit),
          all.filter((c) => (c.session?.id ?? null) !== session).map((c) => c.files.commit),
        ),
      })),
    );
    const sessions = [...groups.keys()].filter((session) => session !== null).length;
    return { checkpoints: all.length, sessions, ...sizes, store: this.folder, perSession };
  }

  async prune(options: { dryRun?: boolean } = {}): Promise<{ deleted: CheckpointId[]; freedBytes: number }> {
    return this.during('prune', 'Cleaning up the store', () =>
      options.dryRun ? this.cleanup.foresee() : this.cleanup.prune(),
    );
  }

  tidy(options: { signal?: AbortSignal } = {}): Promise<Tidied | null> {
    return this.cleanup.tidy(options.signal);
  }

  async doctor(options: { repair?: boolean } = {}): Promise<Problem[]> {
    const found = await this.during('doctor', 'Checking the store', () => this.store.doctor(options.repair === true));
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

  onDidChange(listener: (event: WorkspaceEvent) => void): () => void {
    if (!this.unwatch) {
      this.seen = this.refs();
      this.unwatch = this.store.watch(() => this.lookOutside());
    }
    const end = this.changed.on(listener);
    return () => {
      end();
      if (this.changed.size === 0) {
        this.unwatch?.();
        this.unwatch = null;
      }
    };
  }

  /** Tells changes of other processes from our own, which were announced already. */
  private lookOutside(): void {
    const now = this.refs();
    const ids = [...now].filter(([id, commit]) => this.seen.get(id) !== commit).map(([id]) => id);
    for (const id of this.seen.keys()) if (!now.has(id)) ids.push(id);
    this.seen = now;
    if (ids.length > 0) this.changed.fire({ kind: 'external', ids });
  }

  private announce(kind: WorkspaceEvent['kind'], ids: CheckpointId[]): void {
    if (this.unwatch) this.seen = this.refs();
    this.changed.fire({ kind, ids });
  }

  onDidChangeOperation(listener: (operation: Operation | null) => void): () => void {
    return this.operations.on(listener);
  }

  private async during<T>(kind: Operation['kind'], title: string, work: () => Promise<T>): Promise<T> {
    const operation: Operation = { kind, title, startedAt: this.now() };
    this.running.push(operation);
    this.operations.fire(this.operation);
    try {
      return await work();
    } finally {
      this.running.splice(this.running.indexOf(operation), 1);
      this.operations.fire(this.operation);
    }
  }

  private now(): number {
    return (this.deps.clock ?? Date.now)();
  }

  async close(): Promise<void> {
    this.unwatch?.();
    this.unwatch = null;
    await this.deps.index?.close();
    await this.store.close();
  }
}

/** Its files were done when it died. */
function reportOf({ safety, target }: MissingFork): RecoveryReport {
  const scope = safety.restore?.scope ?? ['conversation'];
  return { outcome: 'finished', safety: safety.id, target: target.id, scope, restored: [], deleted: [], kept: [] };
}

function scopeOf(options: PlanOptions): RestoreScope[] {
  return options.scope ?? ['files'];
}
