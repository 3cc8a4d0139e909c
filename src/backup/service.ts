import { Emitter } from '../core/emitter';
import { CheckpointsError } from '../core/errors';
import type { SessionEvent } from '../core/sessions';
import type {
  BackupApi,
  BackupOptions,
  BackupProblem,
  BackupProgress,
  BackupReport,
  BackupStatus,
  RestorePreview,
  RestoreRequest,
  RunOptions,
  SessionRestoreReport,
  VerifyReport,
} from './api';
import { Catalog } from './catalog';
import { absolute, destinationOf, suggestedFolders, type Destination } from './destination';
import { BackupFolder } from './folder';
import { LocalState } from './local-state';
import { withLongLock } from './long-lock';
import { thisMachine } from './machine';
import { Noticed } from './noticed';
import { Comparison } from './preview';
import { restoreSessions } from './restore';
import { backUp, emptyReport, problemOf } from './run';
import { Scheduler, usualTiming, type RunOutcome, type Timing } from './scheduler';
import { readStatus } from './status';
import { SyncLog } from './sync-log';
import { BackupError, messageOf } from './trouble';
import { verifyBackup } from './verify';

/** The session backup of one host: when to run, and what to say about it. The work is in the files beside this one. */
export class BackupService implements BackupApi {
  private readonly changed = new Emitter<BackupStatus>();
  private readonly noticedSince = new Noticed();
  private readonly scheduler: Scheduler;
  private current: BackupStatus | null = null;
  private progress: BackupProgress | null = null;
  private runs = 0;
  private readonly ending = new AbortController();

  constructor(
    private readonly options: BackupOptions,
    timing: Timing = usualTiming,
  ) {
    this.scheduler = new Scheduler(
      () => this.scheduled(),
      () => this.lastRun(),
      timing,
    );
  }

  get lastStatus(): BackupStatus | null {
    return this.current;
  }

  onDidChangeStatus(listener: (status: BackupStatus) => void): () => void {
    return this.changed.on(listener);
  }

  async status(): Promise<BackupStatus> {
    const destination = await this.destination();
    const facts = await readStatus(destination, this.options.home);
    const status: BackupStatus = {
      ...facts,
      state: this.stateOf(destination, facts.problem),
      running: this.progress,
      runs: this.runs,
      suggestions: destination.path === null ? suggestedFolders(this.env) : [],
    };
    this.tell(status);
    return status;
  }

  async run(options: RunOptions = {}): Promise<BackupReport> {
    const destination = await this.destination();
    if (destination.path === null) return off();
    const state = new LocalState(this.options.home, destination.path);
    const started = Date.now();
    let report: BackupReport;
    try {
      const work = (confirm: () => Promise<void>): Promise<BackupReport> =>
        this.runAlone(destination, state, options, confirm);
      report = await withLongLock(state.runLock, work, options.waitMs);
    } catch (error) {
      if (CheckpointsError.is(error, 'cancelled')) throw error;
      report = { ...off(), path: destination.path, problem: problemOf(error), durationMs: Date.now() - started };
      // Whoever is at it tells how it ends.
      if (report.problem?.trouble !== 'busy') await state.update({ problem: report.problem });
    }
    if (report.problem === null) this.scheduler.settled(started);
    if (report.problem) this.options.log?.(`backup: ${report.problem.trouble}: ${report.problem.message}`);
    await this.status();
    return report;
  }

  private async runAlone(
    destination: Destination,
    state: LocalState,
    options: RunOptions,
    confirm: () => Promise<void>,
  ): Promise<BackupReport> {
    const { backupId, suspects } = await state.read();
    const startedAt = new Date();
    this.runs += 1;
    this.show({ operation: 'backup', done: 0, total: 0 });
    const noticed = this.noticedSince.take();
    try {
      // First the folder: without it there is nothing to ask OpenCode for.
      const folder = await BackupFolder.open(destination.path ?? '', backupId, options.startAnew);
      await state.update({ backupId: folder.id, lastRunAt: startedAt.toISOString() });
      const machine = await thisMachine(this.options.home);
      const touched = new Map([...suspects.map((id) => [id, Date.now()] as const), ...noticed.touched]);
      const report = await backUp({
        folder,
        machine,
        gateway: await this.options.gateway(),
        generations: Math.max(1, (await this.options.config())['backup.generations']),
        touched,
        deleted: noticed.deleted,
        signal: options.signal,
        confirm,
        progress: (done, total) => this.show({ operation: 'backup', done, total }),
      });
      if (report.problem) noticed.giveBack();
      await state.update({
        problem: report.problem,
        ...(report.problem ? {} : { lastSuccessAt: new Date().toISOString(), suspects: [] }),
      });
      await this.loosely(() => new SyncLog(folder, machine, destination.debug).ran(report));
      return report;
    } catch (error) {
      noticed.giveBack();
      throw error;
    } finally {
      this.progress = null;
    }
  }

  async preview(options: { from?: string; deleted?: boolean; signal?: AbortSignal } = {}): Promise<RestorePreview> {
    const catalog = await this.catalog(options.from);
    // Nobody has to have OpenCode to be told that nothing is there.
    if (catalog.sessions.size === 0) return { path: catalog.folder.path, sessions: [], unreadable: catalog.unreadable };
    const machine = await thisMachine(this.options.home);
    const comparison = await Comparison.open(catalog, await this.options.gateway(), machine.id);
    const shown = [...catalog.sessions.values()].filter(({ deleted }) => options.deleted !== false || !deleted);
    const sessions = [];
    for (const session of shown) {
      if (options.signal?.aborted) throw new CheckpointsError('cancelled', 'Cancelled');
      sessions.push(await comparison.describe(session));
    }
    sessions.sort((a, b) => (b.versions[0]?.updatedAt ?? 0) - (a.versions[0]?.updatedAt ?? 0));
    return { path: catalog.folder.path, sessions, unreadable: catalog.unreadable };
  }

  async restore(request: RestoreRequest = {}): Promise<SessionRestoreReport> {
    const catalog = await this.catalog(request.from);
    const machine = await thisMachine(this.options.home);
    const state = new LocalState(this.options.home, catalog.folder.path);
    try {
      return await withLongLock(state.restoreLock, async () => {
        const report = await restoreSessions({
          catalog,
          gateway: await this.options.gateway(),
          machine: machine.id,
          state,
          directory: request.directory ?? this.options.root,
          request,
          progress: (done, total) => this.show({ operation: 'restore', done, total }),
        });
        const { debug } = await this.destination();
        if (catalog.folder.id !== '')
          await this.loosely(() => new SyncLog(catalog.folder, machine, debug).restored(report));
        return report;
      });
    } finally {
      this.show(null);
    }
  }

  async verify(options: { signal?: AbortSignal } = {}): Promise<VerifyReport> {
    const catalog = await this.catalog();
    try {
      const report = await verifyBackup(
        catalog,
        (done, total) => this.show({ operation: 'verify', done, total }),
        options.signal,
      );
      const suspects = [...new Set(report.damaged.flatMap(({ session }) => (session === null ? [] : [session])))];
      await new LocalState(this.options.home, catalog.folder.path).update({ suspects });
      return report;
    } finally {
      this.show(null);
    }
  }

  noticed(event: SessionEvent): void {
    if (!this.noticedSince.add(event)) return;
    const wasPending = this.scheduler.pending;
    this.scheduler.touch();
    if (!wasPending && this.current?.state === 'idle') this.tell({ ...this.current, state: 'pending' });
  }

  /** A run of our own is cut short between two sessions: what it has not saved is saved by the next one. */
  close(): Promise<void> {
    this.ending.abort();
    return this.scheduler.close();
  }

  private async scheduled(): Promise<RunOutcome> {
    try {
      const { problem } = await this.run({ signal: this.ending.signal });
      return problem === null || problem.trouble === 'off' ? 'done' : 'again';
    } catch (error) {
      this.options.log?.(`backup: ${messageOf(error)}`);
      return 'again';
    }
  }

  private async lastRun(): Promise<number> {
    try {
      const { path } = await this.destination();
      if (path === null) return 0;
      const { lastRunAt } = await new LocalState(this.options.home, path).read();
      return lastRunAt === null ? 0 : Date.parse(lastRunAt);
    } catch (error) {
      // The run itself will meet the same error, and tell it.
      this.options.log?.(`backup: ${messageOf(error)}`);
      return 0;
    }
  }

  /** Throws `no-backup` when there is none to read. */
  private async catalog(from?: string): Promise<Catalog> {
    const path = from === undefined ? (await this.destination()).path : absolute(from, this.env);
    if (path === null) throw new CheckpointsError('no-backup', 'No backup path configured');
    const folder = await BackupFolder.look(path).catch((error: unknown) => {
      throw unreadable(error, path);
    });
    if (!folder) throw new CheckpointsError('no-backup', `No backup is at ${path}`, { details: { path } });
    return Catalog.open(folder);
  }

  private async destination(): Promise<Destination> {
    return destinationOf(await this.options.config(), this.env);
  }

  private get env(): NodeJS.ProcessEnv {
    return this.options.env ?? process.env;
  }

  private stateOf({ path }: Destination, problem: BackupProblem | null): BackupStatus['state'] {
    if (path === null) return 'off';
    if (this.progress) return 'running';
    if (problem) return 'problem';
    return this.scheduler.pending ? 'pending' : 'idle';
  }

  private show(progress: BackupProgress | null): void {
    this.progress = progress;
    if (!this.current || this.current.state === 'off') return;
    const state = this.stateOf({ path: this.current.path, source: null, debug: false }, this.current.problem);
    this.tell({ ...this.current, running: progress, state });
  }

  private tell(status: BackupStatus): void {
    this.current = status;
    this.changed.fire(status);
  }

  /** The log is for people; a backup does not fail for it. */
  private async loosely(work: () => Promise<void>): Promise<void> {
    await work().catch((error: unknown) => this.options.log?.(`sync.log: ${messageOf(error)}`));
  }
}

/** A file in its place, or a folder that does not let itself be read. */
function unreadable(error: unknown, path: string): unknown {
  if (!(error instanceof BackupError)) return error;
  const { trouble, message } = error;
  return trouble === 'destination-missing'
    ? new CheckpointsError('no-backup', message, { cause: error, details: { path } })
    : new CheckpointsError('backup-failed', message, { cause: error, details: { trouble } });
}

function off(): BackupReport {
  return emptyReport('', { trouble: 'off', message: 'No backup path configured', at: new Date().toISOString() });
}
