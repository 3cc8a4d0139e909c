import type { PlanOptions, RestoreOptions } from './api';
import type { Activity } from './activity';
import { unlessCancelled } from './cancelling';
import type { ConversationPort } from './conversation';
import { CheckpointsError } from './errors';
import { isWhole } from './files-facet';
import type { History } from './history';
import type {
  Checkpoint,
  PathReason,
  RestorePlan,
  RestoreRecord,
  RestoreResult,
  RestoreScope,
  SessionAnchor,
} from './model';
import { covering } from './plan';
import type { CaptureFacts, SnapshotStore } from './ports';
import { composeRecord } from './record';
import type { PlanJob } from './planner';
import type { Restorer, TaskPort } from './restorer';
import { shorten } from './text';
import { revertTurnChanges, turnAround } from './turn-revert';
import { undoStacks } from './undo';

export interface GoingBackParts {
  store: SnapshotStore;
  history: History;
  activity: Activity;
  restorer: Restorer;
  task: TaskPort | null;
  conversation: ConversationPort | null;
  /** Finishes what another process left when it died: this one may have been open for days. */
  recover(): Promise<unknown>;
  /** The task was replaced, and the restore is over. */
  taskReplaced(): Promise<unknown>;
  now(): number;
}

/** The folders that a restore may have emptied, filled, made or removed. */
function foldersOf(paths: string[], folders: string[]): Set<string> {
  const out = new Set(folders);
  for (const path of paths)
    for (let end = path.lastIndexOf('/'); end > 0 && !out.has(path.slice(0, end)); end = path.lastIndexOf('/', end - 1))
      out.add(path.slice(0, end));
  return out;
}

/** Restore, undo, redo, revert: each with its safety checkpoint, announced when it is done. */
export class GoingBack {
  constructor(private readonly parts: GoingBackParts) {}

  restore(target: Checkpoint, scope: RestoreScope[], options: RestoreOptions): Promise<RestoreResult> {
    return this.run({ operation: 'restore', target, scope, options });
  }

  async undoState(): Promise<{ undo: Checkpoint | null; redo: Checkpoint | null }> {
    const all = await this.parts.history.list({ trigger: 'restore' });
    return undoStacks(all.filter((c) => c.origin === null).reverse());
  }

  async undo(options: RestoreOptions = {}): Promise<RestoreResult> {
    const job = await this.undoJob(options);
    const result = await this.run(job);
    const made = job.target.restore?.session;
    return made ? { ...result, fork: { id: made } } : result;
  }

  async planUndo(options: PlanOptions = {}): Promise<RestorePlan> {
    return this.parts.restorer.plan(await this.undoJob(options));
  }

  async redo(options: RestoreOptions = {}): Promise<RestoreResult> {
    return this.run(await this.redoJob(options));
  }

  async planRedo(options: PlanOptions = {}): Promise<RestorePlan> {
    return this.parts.restorer.plan(await this.redoJob(options));
  }

  private nothing(reason: 'nothing-to-undo' | 'nothing-to-redo', message: string): CheckpointsError {
    const { refs, records } = this.parts.store.lost();
    const lost = refs.length + records.length;
    if (lost === 0) return new CheckpointsError(reason, message);
    const may = lost === 1 ? '1 checkpoint is lost' : `${lost} checkpoints are lost`;
    return new CheckpointsError(reason, `${message} ${may}, and it may be for want of that.`, { details: { lost } });
  }

  private async undoJob(options: RestoreOptions): Promise<PlanJob> {
    const { undo } = await this.undoState();
    if (!undo) throw this.nothing('nothing-to-undo', 'There is no restore to undo.');
    return this.jobBack('undo', undo, options);
  }

  private async redoJob(options: RestoreOptions): Promise<PlanJob> {
    const { redo } = await this.undoState();
    if (!redo) throw this.nothing('nothing-to-redo', 'There is nothing to redo.');
    return this.jobBack('redo', redo, options);
  }

  private async jobBack(operation: 'undo' | 'redo', target: Checkpoint, options: RestoreOptions): Promise<PlanJob> {
    // A task that was not there before the restore is not there after its undo.
    const scope = (target.restore?.scope ?? ['files']).filter(
      (s) => s !== 'conversation' && (s !== 'task' || this.parts.task),
    );
    const only = await this.touchedBy(target);
    const onlyFolders = only && target.restore?.folders ? foldersOf(only, target.restore.folders) : null;
    return { operation, target, scope: scope.length > 0 ? scope : ['files'], options, only, onlyFolders };
  }

  /** What the restore after this safety checkpoint wrote or deleted; null: its record is too old to say. */
  private async touchedBy({ files, restore }: Checkpoint): Promise<string[] | null> {
    if (!restore) return null;
    if (restore.touched || !restore.tree) return restore.touched;
    return (await this.parts.store.diff(files.tree, restore.tree)).map(({ path }) => path);
  }

  /** `named`: what people called for, where that is not the target itself. */
  private run(job: PlanJob, named = job.target): Promise<RestoreResult> {
    const { operation, target } = job;
    const doing = operation === 'revert-turn' ? 'Reverting' : 'Restoring';
    return this.parts.activity.during(operation, `${doing} “${shorten(named.title, 60)}”`, async () => {
      await this.parts.recover();
      const task = (await this.parts.task?.read()) ?? null;
      if (this.parts.conversation) job.options.onProgress?.({ done: 0, total: 0, part: 'asking' });
      const session = await unlessCancelled(this.sessionNow(target), job.options.signal);
      const result = await this.parts.restorer.run({
        ...job,
        compose: (facts) => this.safetyRecord(operation, target, facts, { task, session }),
      });
      this.parts.activity.announce('restored', [named.id, ...(result.undo ? [result.undo] : [])]);
      if (job.scope.includes('task')) await this.parts.taskReplaced();
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
    const going = { targetTitle: target.title, targetTrigger: target.name === null ? target.trigger : null };
    return composeRecord({ trigger: 'restore', ...now, announced, ...going }, facts, this.parts.now());
  }

  /** A safety checkpoint holds all of the conversation there is; without a server, all that any checkpoint of it knows. */
  private async sessionNow({ session, origin }: Checkpoint): Promise<SessionAnchor | null> {
    if (session === null || origin !== null) return session;
    const asked = await this.parts.conversation?.anchorNow(session.id);
    if (asked) return asked;
    const known = (await this.parts.history.list({ session: session.id })).flatMap((one) =>
      one.origin === null && one.session !== null ? [one.session] : [],
    );
    return known.reduce((most, one) => (one.messageCount > most.messageCount ? one : most), session);
  }

  async revertTurn(reference: string, options: RestoreOptions = {}): Promise<RestoreResult> {
    const conflicts: PathReason[] = [];
    const target = await this.parts.history.resolve(reference);
    const result = await this.run(await this.revertJob(target, options, conflicts), target);
    return { ...result, conflicts: conflicts.filter(({ path }) => covering(options.paths)(path)) };
  }

  async planRevertTurn(reference: string, options: PlanOptions = {}): Promise<RestorePlan> {
    const target = await this.parts.history.resolve(reference);
    return this.parts.restorer.plan(await this.revertJob(target, options, []));
  }

  /** `conflicts` are those of the last look at the files. */
  private async revertJob(target: Checkpoint, options: RestoreOptions, conflicts: PathReason[]): Promise<PlanJob> {
    const checkpoints = (await this.parts.history.list()).filter((c) => c.origin === null && isWhole(c)).reverse();
    const turn = turnAround(target, checkpoints);
    return {
      operation: 'revert-turn',
      target: turn.before,
      scope: ['files'],
      options,
      changes: (facts) => {
        conflicts.length = 0;
        return revertTurnChanges(this.parts.store, { ...turn, checkpoints }, facts, conflicts);
      },
    };
  }
}
