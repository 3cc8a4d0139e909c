import { isDeepStrictEqual } from 'node:util';
import { refuseNotAgreed, rememberHeld } from './agreed';
import type { WorkspaceApi } from './api';
import { unlessCancelled } from './cancelling';
import type { ConversationPort } from './conversation';
import { CheckpointsError } from './errors';
import { hasFiles } from './files-facet';
import { attributionWindow, lastWorking } from './last-working';
import type { Checkpoint, PlanEntry, RestorePlan, RestoreResult, TaskState } from './model';
import { foldersBeside, isUnread } from './plan';
import { nothingPlanned, RestorePlanner, type PlanJob, type PlannedFiles } from './planner';
import type { CaptureFacts, FileChange, RecoveryReport, SnapshotStore } from './ports';
import { asSentence } from './text';

const lockWaitMs = 30_000;

/** The task facet, where a host has one. */
export interface TaskPort {
  read(): Promise<TaskState | null>;
  /** Exactly this state, nothing merged; null clears it. */
  replace(task: TaskState | null): Promise<void>;
  /** A restore of the task is over: its saves, the one before it among them, are told to other tools. */
  replaced?(workspace: Pick<WorkspaceApi, 'create' | 'list' | 'adopt'>): Promise<unknown>;
}

export interface RestoreJob extends PlanJob {
  /** Makes the safety checkpoint's record. */
  compose: (facts: CaptureFacts) => Checkpoint;
}

/** Carries out what changes the user's files, as it was planned. */
export class Restorer {
  private readonly planner: RestorePlanner;

  constructor(
    private readonly store: SnapshotStore,
    private readonly task: TaskPort | null,
    private readonly conversation: ConversationPort | null = null,
  ) {
    this.planner = new RestorePlanner(store, conversation);
  }

  async plan(job: PlanJob): Promise<RestorePlan> {
    const { target, scope } = job;
    this.check(job);
    const facts = scope.includes('files') ? await this.store.peek(job.options.signal) : null;
    const planned = facts ? await this.planner.files(job, facts, true) : nothingPlanned;
    const folders = facts ? foldersBeside(planned.entries, await this.planner.folders(job, facts)) : null;
    const plan: RestorePlan = {
      target: target.id,
      scope,
      entries: planned.entries,
      ...(folders ? { folders } : {}),
      massDelete: planned.massDelete,
      fileCount: planned.fileCount,
      ...(scope.includes('conversation') ? { conversation: await this.talk().plan(target) } : {}),
      ...(scope.includes('task') ? { task: target.task } : {}),
    };
    return rememberHeld(plan, planned.differing);
  }

  private check({ operation, target, scope }: Pick<RestoreJob, 'operation' | 'target' | 'scope'>): void {
    if (scope.length === 0) throw new CheckpointsError('invalid-argument', 'Nothing was chosen to be restored.');
    if (scope.includes('files') && !hasFiles(target))
      throw new CheckpointsError('no-files', `"${target.title}" comes from a program that kept no files.`);
    if (scope.includes('conversation') && target.session === null)
      throw new CheckpointsError('no-conversation', `The checkpoint "${target.title}" has no conversation.`);
    if (scope.includes('task') && (!this.task || (target.task === null && operation === 'restore')))
      throw new CheckpointsError('no-task', `The checkpoint "${target.title}" has no task state.`);
  }

  private talk(): ConversationPort {
    if (this.conversation) return this.conversation;
    throw new CheckpointsError('server-unreachable', 'There is no way to OpenCode from here.');
  }

  async run(job: RestoreJob): Promise<RestoreResult> {
    this.check(job);
    // What can be known beforehand is known before any file is touched.
    const { signal } = job.options;
    const talk = job.scope.includes('conversation')
      ? await unlessCancelled(this.talk().plan(job.target), signal)
      : null;
    const allAnswered = await unlessCancelled(this.refuseAtWork(job), signal);
    const result = await this.store.exclusively(job.operation, lockWaitMs, signal, () => this.runAlone(job));
    return {
      ...result,
      ...(allAnswered ? {} : { serverSilent: true }),
      ...(talk?.unfinished ? { unfinished: true } : {}),
    };
  }

  /** Throws `session-busy`: an agent at work would change the files again meanwhile. False when a server did not say in time whether there is one. */
  async refuseAtWork({ target, scope, options: { force, exempt } }: PlanJob): Promise<boolean> {
    if (force) return true;
    if (scope.includes('conversation')) await this.talk().refuseBusy(target, exempt);
    // Another one, a fork for instance, may be at the same files.
    if (!scope.includes('files') || !this.conversation) return true;
    return this.conversation.refuseAtWork(await this.sessionsAtStake(target, exempt), exempt);
  }

  /** The one that goes back, and the one that worked here last; where that is the exempt one, all that may still be at it. */
  private async sessionsAtStake(target: Checkpoint, exempt?: string): Promise<string[]> {
    const newest = [...this.store.refs().keys()].sort().slice(exempt === undefined ? -1 : -attributionWindow);
    const last = await this.store.read(newest);
    const others = exempt === undefined ? last.flatMap(({ session }) => session?.id ?? []) : lastWorking(last);
    return [...new Set([...(target.session ? [target.session.id] : []), ...others])];
  }

  private async runAlone(job: RestoreJob): Promise<RestoreResult> {
    const { scope, options } = job;
    options.onProgress?.({ done: 0, total: 0, part: 'safety' });
    const withFiles = scope.includes('files');
    let planned: PlannedFiles = nothingPlanned;
    let include: string[] = [];
    const expected = withFiles && !job.changes && hasFiles(job.target) ? job.target.files.tree : undefined;
    for (;;) {
      const unseen: string[] = [];
      const { checkpoint: safety, facts } = await this.store.capture(
        { waitMs: lockWaitMs, signal: options.signal, exclusive: true, include, target: expected },
        async (now) => {
          if (withFiles) planned = await this.planner.files(job, now, false);
          // What is ignored is not seen by a plan; it is looked at below, and held the same when it was.
          refuseNotAgreed(
            options.agreed,
            planned.changes.filter(({ path }) => !include.includes(path)),
          );
          unseen.push(...this.unseen(planned.changes, include));
          if (unseen.length > 0) return null;
          this.refuseHostile(job, planned);
          this.refuseMassDelete(job, planned);
          await this.store.secure(now.tree, planned.changes);
          return job.compose(now);
        },
      );
      if (safety) return this.carryOut(job, planned, safety, facts);
      include = [...include, ...unseen];
    }
  }

  /** Files that ignore rules leave out, but the checkpoint has: they are captured before they are overwritten. */
  private unseen(changes: FileChange[], known: string[]): string[] {
    const fresh = changes.filter((change) => change.before === null).map((change) => change.path);
    return this.store.present(fresh).filter((path) => !known.includes(path));
  }

  private refuseHostile({ target }: RestoreJob, { hostile }: PlannedFiles): void {
    if (hostile.length === 0) return;
    const named = hostile.slice(0, 5).map(({ path, reason }) => `${JSON.stringify(path)} (${reason})`);
    const more = hostile.length > named.length ? ` and ${hostile.length - named.length} more` : '';
    throw new CheckpointsError(
      'untrusted-tree',
      `The checkpoint "${target.title}" came from elsewhere and must not write ${named.join(', ')}${more}.`,
      { details: { paths: hostile.map(({ path }) => path) } },
    );
  }

  private refuseMassDelete(job: RestoreJob, planned: PlannedFiles): void {
    const deliberate = job.operation === 'undo' || job.operation === 'redo' || job.options.allowMassDelete === true;
    if (!planned.massDelete || deliberate) return;
    const count = planned.entries.filter((entry) => entry.action === 'delete').length;
    throw new CheckpointsError(
      'mass-delete',
      `This would delete ${count} of ${planned.fileCount} files. Confirm that this is what you want.`,
      { details: { deletions: count, files: planned.fileCount, operation: job.operation } },
    );
  }

  private async carryOut(
    job: RestoreJob,
    planned: PlannedFiles,
    safety: Checkpoint,
    facts: CaptureFacts,
  ): Promise<RestoreResult> {
    const { target, scope, options } = job;
    const folders = await this.planner.folders(job, facts);
    const kept = planned.entries.filter((entry) => entry.action === 'keep');
    const skipped = planned.entries.filter((entry) => entry.action === 'skip');
    const applied = {
      safety: safety.id,
      record: { operation: job.operation, target: target.id, scope, session: null, kept: kept.length },
      foreign: target.origin !== null,
    };
    const withTask = scope.includes('task');
    // Before any file is touched: a death from here on leaves word of what is missing. What an older one left is overtaken.
    if (scope.includes('conversation')) this.store.forkBegins(safety.id);
    else this.store.forkEnded();
    options.onProgress?.({ done: 0, total: planned.changes.length });
    const result = await this.store.apply({
      ...applied,
      keepJournal: withTask,
      tree: facts.tree,
      changes: planned.changes,
      makeFolders: folders.make,
      removeFolders: folders.remove,
      signal: options.signal,
      onProgress: options.onProgress,
    });
    const session = await this.orElse(
      async () => {
        if (withTask) {
          await this.task?.replace(target.task);
          this.store.closeJournal();
        }
        if (!scope.includes('conversation')) return null;
        const { length } = planned.changes;
        options.onProgress?.({ done: length, total: length, part: 'conversation' });
        return this.talk().fork(target, scope.includes('files') ? result : null, options.signal);
      },
      async () => {
        const touched = new Set([...result.restored, ...result.deleted]);
        await this.store.apply({
          ...applied,
          record: { ...applied.record, scope: ['files'] },
          tree: result.tree ?? facts.tree,
          changes: planned.changes
            .filter((change) => touched.has(change.path))
            .map(({ path, before, after }) => ({ path, before: after, after: before })),
          makeFolders: folders.remove,
          removeFolders: folders.make,
        });
        if (withTask) await this.task?.replace(safety.task);
        await this.store.update(safety.id, (checkpoint) => ({ ...checkpoint, restore: null }), { exclusive: true });
        this.store.forkEnded();
      },
    );
    if (session)
      await this.store.update(
        safety.id,
        ({ restore, ...rest }) => ({ ...rest, restore: restore && { ...restore, session: session.id } }),
        { exclusive: true },
      );
    this.store.forkEnded();
    const failed = result.failed + skipped.filter(isUnread).length;
    const reasons = (entries: PlanEntry[]) => entries.map(({ path, reason }) => ({ path, reason: reason ?? '' }));
    return {
      restored: result.restored,
      deleted: result.deleted,
      kept: reasons(kept),
      skipped: [...reasons(skipped), ...result.skipped],
      ...(failed > 0 ? { failed } : {}),
      session: session && { id: session.id },
      ...(withTask ? { task: true as const } : {}),
      ...(session?.prompt === undefined ? {} : { prompt: session.prompt }),
      ...(session?.todosLost ? { todosLost: session.todosLost } : {}),
      // A fork stays: an undo would take back the restore before this one.
      undo: scope.some((one) => one !== 'conversation') ? safety.id : null,
    };
  }

  /** After a death: the task as well, unless somebody changed it since. A conversation is forked only by those who see the answer. */
  async finishTask({ target, safety, scope }: RecoveryReport): Promise<void> {
    if (!scope.includes('task') || !this.task || target === null) return;
    const [to] = await this.store.read([target]);
    const [before] = await this.store.read([safety]);
    if (!to || !before || !isDeepStrictEqual(await this.task.read(), before.task)) return;
    await this.task.replace(to.task);
  }

  /** Rolls back when `work` fails. Either way it is told where the files are now. */
  private async orElse<T>(work: () => Promise<T>, rollBack: () => Promise<void>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const text = (one: unknown): string => (one instanceof Error ? one.message : String(one));
      const told = (where: string): CheckpointsError =>
        new CheckpointsError(
          CheckpointsError.is(error) ? error.reason : 'server-failed',
          `${asSentence(text(error))} ${where}`,
          {
            cause: error,
            details: CheckpointsError.is(error) ? error.details : undefined,
          },
        );
      try {
        await rollBack();
      } catch (second) {
        throw told(`The files are as they were at the checkpoint: taking them back failed, too (${text(second)}).`);
      }
      // What a server keeps of a copy that failed was told already.
      const left = CheckpointsError.is(error) && error.details !== undefined && 'left' in error.details;
      throw told(
        left
          ? 'Nothing was restored: files and task are as they were before.'
          : 'Nothing was restored: everything is as it was before.',
      );
    }
  }
}
