import { isDeepStrictEqual } from 'node:util';
import { refuseNotAgreed, rememberHeld } from './agreed';
import type { RestoreOptions, WorkspaceApi } from './api';
import { hasAllPaths, usersChanges } from './attribution';
import { unlessCancelled } from './cancelling';
import type { ConversationPort } from './conversation';
import { CheckpointsError } from './errors';
import { skippedAt, uncertainAt } from './fast-lane';
import { hasFiles, isWhole } from './files-facet';
import type {
  Checkpoint,
  PathReason,
  PlanEntry,
  RestorePlan,
  RestoreRecord,
  RestoreResult,
  RestoreScope,
  TaskState,
} from './model';
import {
  covering,
  foldersBeside,
  isMassDelete,
  isUnread,
  planFiles,
  planFolders,
  planUnread,
  type FolderPlan,
} from './plan';
import type { CaptureFacts, FileChange, RecoveryReport, SnapshotStore } from './ports';
import { asSentence } from './text';

/** How many of the newest checkpoints are asked who changed a path last. */
const attributionWindow = 200;
const lockWaitMs = 30_000;
const inTurn: ReadonlyArray<Checkpoint['trigger']> = ['turn', 'tool', 'idle'];
/** Each costs a request. */
const askedForWork = 5;

/** The task facet, where a host has one. */
export interface TaskPort {
  read(): Promise<TaskState | null>;
  /** Exactly this state, nothing merged; null clears it. */
  replace(task: TaskState | null): Promise<void>;
  /** A restore of the task is over: its saves, the one before it among them, are told to other tools. */
  replaced?(workspace: Pick<WorkspaceApi, 'create' | 'list' | 'adopt'>): Promise<unknown>;
}

export interface RestoreJob {
  operation: RestoreRecord['operation'];
  target: Checkpoint;
  scope: RestoreScope[];
  options: RestoreOptions;
  /** Exactly these paths, for undo and redo; null: everything that differs. */
  only?: string[] | null;
  /** The same for empty folders. */
  onlyFolders?: ReadonlySet<string> | null;
  /** Other content than the target's tree, for revert-turn: computed from the files as they are. */
  changes?: (facts: CaptureFacts) => Promise<FileChange[]>;
  /** Makes the safety checkpoint's record. */
  compose: (facts: CaptureFacts) => Checkpoint;
}

/** All that a plan needs: nothing is made for it. */
export type PlanJob = Omit<RestoreJob, 'compose'>;

interface Planned {
  entries: PlanEntry[];
  changes: FileChange[];
  /** Also what is left as it is. */
  differing: FileChange[];
  massDelete: boolean;
  fileCount: number;
  /** What came from elsewhere and is not to be trusted. */
  hostile: PathReason[];
}

const nothingPlanned: Planned = {
  entries: [],
  changes: [],
  differing: [],
  massDelete: false,
  fileCount: 0,
  hostile: [],
};

/** Sessions that were in a turn when they were last seen, newest first: only these can be at work. */
function lastWorking(checkpoints: readonly Checkpoint[]): string[] {
  const last = new Map<string, Checkpoint>();
  for (const checkpoint of checkpoints)
    if (checkpoint.session && checkpoint.origin === null && inTurn.includes(checkpoint.trigger)) {
      last.delete(checkpoint.session.id);
      last.set(checkpoint.session.id, checkpoint);
    }
  const open = [...last].filter(([, { trigger }]) => trigger !== 'idle').map(([id]) => id);
  return open.reverse().slice(0, askedForWork);
}

/** Plans and carries out what changes the user's files. */
export class Restorer {
  constructor(
    private readonly store: SnapshotStore,
    private readonly task: TaskPort | null,
    private readonly conversation: ConversationPort | null = null,
  ) {}

  async plan(job: PlanJob): Promise<RestorePlan> {
    const { target, scope } = job;
    this.check(job);
    const facts = scope.includes('files') ? await this.store.peek(job.options.signal) : null;
    const planned = facts ? await this.planned(job, facts, true) : nothingPlanned;
    const folders = facts ? foldersBeside(planned.entries, await this.folders(job, facts)) : null;
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

  /** `look`: for people, with the flags that cost reading older checkpoints. */
  private async planned(job: PlanJob, facts: CaptureFacts, look: boolean): Promise<Planned> {
    const { target, options } = job;
    const paths = options.paths ?? [];
    const all = await this.differences(job, facts);
    const only = job.only ? new Set(job.only) : target.files.only && !job.changes ? new Set(target.files.only) : null;
    const changes = await this.asFirstNamed(job, only ? all.filter((change) => only.has(change.path)) : all);
    // What was shown and is gone by itself since is no mistake.
    const named = paths.filter((path) => options.agreed?.has(path) !== true);
    if (named.length > 0) await this.checkPaths(named, facts, target.files);
    const flags = look || options.keepUserEdits === true;
    const refused = target.origin === null ? [] : await this.store.refusals(changes, true);
    const whyNot = new Map(refused.map(({ path, reason }) => [path, reason]));
    const entries = planFiles({
      changes,
      target,
      now: facts,
      leftOut: await this.leftOut(job, changes),
      ...(flags ? await this.yours(changes, facts) : { yours: new Set(), unsure: new Set() }),
      uncertain: await this.uncertain(target, facts),
      chosen: new Set([...paths, ...(job.only ?? [])]),
      keepUserEdits: options.keepUserEdits === true,
      keep: new Set(options.keep),
    }).map((entry): PlanEntry => {
      const reason = whyNot.get(entry.path);
      return reason === undefined ? entry : { ...entry, action: 'skip', reason };
    });
    // Undo, redo and revert touch what they know; a checkpoint of some files says nothing about others.
    if (!only && !job.changes) entries.push(...planUnread({ now: facts, target }, entries, options.paths));
    const acts = new Set(entries.filter((e) => e.action === 'write' || e.action === 'delete').map((e) => e.path));
    const deletions = entries.filter((entry) => entry.action === 'delete').length;
    // Counting files is only worth it when there is much to delete, and then only as far as it matters.
    const enough = look ? undefined : deletions * 3;
    const counted = look || deletions > 20 ? await this.store.countFiles(facts.tree, enough) : 0;
    const massDelete = isMassDelete(deletions, counted);
    const fileCount = massDelete && !look ? await this.store.countFiles(facts.tree) : counted;
    return {
      entries,
      changes: changes.filter((change) => acts.has(change.path)),
      differing: changes,
      massDelete,
      fileCount,
      hostile: refused.filter(({ hostile }) => hostile),
    };
  }

  private async differences({ target, options, changes }: PlanJob, facts: CaptureFacts): Promise<FileChange[]> {
    if (changes) return (await changes(facts)).filter(({ path }) => covering(options.paths)(path));
    // To the store an empty list means everything.
    return options.paths?.length === 0 ? [] : this.store.diff(facts.tree, target.files.tree, options.paths);
  }

  private async checkPaths(paths: string[], ...sides: Array<Pick<CaptureFacts, 'tree' | 'emptyDirs'>>): Promise<void> {
    const empty = sides.flatMap((side) => side.emptyDirs);
    for (const path of paths) {
      if (path === '' || empty.some(covering([path]))) continue;
      const found = await Promise.all(sides.map(({ tree }) => this.store.lookup(tree, path)));
      if (found.some((version) => version !== null)) continue;
      const why =
        this.store.present([path]).length > 0
          ? 'not in the checkpoint; it is left out of all of them (ignored, a secret or too large)'
          : 'neither in the checkpoint nor in the workspace';
      throw new CheckpointsError('not-in-checkpoint', `${path} is ${why}.`);
    }
  }

  private async yours(changes: FileChange[], facts: CaptureFacts): Promise<Record<'yours' | 'unsure', Set<string>>> {
    if (changes.length === 0) return { yours: new Set(), unsure: new Set() };
    const ids = [...this.store.refs().keys()].sort().slice(-attributionWindow);
    const checkpoints = (await this.store.read(ids)).filter(isWhole);
    const paths = async (from: string | null): Promise<Set<string>> =>
      new Set(from ? (await this.store.diff(from, facts.tree)).map((change) => change.path) : []);
    const full = await this.truncated(checkpoints);
    return usersChanges(
      checkpoints,
      await paths(facts.previous?.tree ?? null),
      changes.map((change) => change.path),
      {
        changesOf: ({ id }: Pick<Checkpoint, 'id'>) => full.get(id) ?? null,
        sinceBase: await paths(facts.base),
        calls: facts.calls,
        // Where nobody can be asked, nobody is at work: the mistake then flags an agent's edit as yours, never yours as an agent's.
        running: (await this.conversation?.atWork(lastWorking(checkpoints))) ?? new Set<string>(),
      },
    );
  }

  /** All changed paths of the checkpoints whose records could not hold them. */
  private async truncated(checkpoints: readonly Checkpoint[]): Promise<Map<string, string[]>> {
    const out = new Map<string, string[]>();
    for (const [i, checkpoint] of checkpoints.entries()) {
      const before = checkpoints[i - 1];
      if (!before || hasAllPaths(checkpoint)) continue;
      const changed = await this.store.diff(before.files.tree, checkpoint.files.tree);
      out.set(
        checkpoint.id,
        changed.map((change) => change.path),
      );
    }
    return out;
  }

  /** An ignored file was left out until a tool named it: as it was then is as near as anybody knows, and it is not deleted. */
  private async asFirstNamed({ operation, target, only }: PlanJob, changes: FileChange[]): Promise<FileChange[]> {
    const deletions = changes.filter((change) => change.after === null).map((change) => change.path);
    const goesBack = operation === 'restore' || operation === 'revert-turn';
    if (!goesBack || only || target.origin !== null || deletions.length === 0) return changes;
    const first = await this.store.firstNamed(target, deletions);
    if (first.size === 0) return changes;
    return changes.flatMap((change) => {
      const after = change.after ?? first.get(change.path) ?? null;
      const isSame = after !== null && after.oid === change.before?.oid && after.mode === change.before.mode;
      return isSame ? [] : [{ ...change, after }];
    });
  }

  /** Nothing that was out then is deleted. What undo and redo delete, the restore had brought. */
  private async leftOut({ target, only }: PlanJob, changes: FileChange[]): Promise<Map<string, string>> {
    const deletions = changes.filter((change) => change.after === null).map((change) => change.path);
    if (deletions.length === 0 || only) return new Map();
    const skipped = (await skippedAt(this.store, target)).map(({ path, reason }) => [path, reason] as const);
    return new Map([...skipped, ...(await this.store.leftOut(target, deletions))]);
  }

  /** At a point of the fast lane it is not known what these were. */
  private async uncertain(target: Checkpoint, facts: CaptureFacts): Promise<Set<string>> {
    const known = await uncertainAt(this.store, target);
    // The files here tell nothing about somebody else's.
    return new Set(known ?? (target.origin === null ? facts.uncertain : []));
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
    let planned: Planned = nothingPlanned;
    let include: string[] = [];
    const expected = withFiles && !job.changes && hasFiles(job.target) ? job.target.files.tree : undefined;
    for (;;) {
      const unseen: string[] = [];
      const { checkpoint: safety, facts } = await this.store.capture(
        { waitMs: lockWaitMs, signal: options.signal, exclusive: true, include, target: expected },
        async (now) => {
          if (withFiles) planned = await this.planned(job, now, false);
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

  private refuseHostile({ target }: RestoreJob, { hostile }: Planned): void {
    if (hostile.length === 0) return;
    const named = hostile.slice(0, 5).map(({ path, reason }) => `${JSON.stringify(path)} (${reason})`);
    const more = hostile.length > named.length ? ` and ${hostile.length - named.length} more` : '';
    throw new CheckpointsError(
      'untrusted-tree',
      `The checkpoint "${target.title}" came from elsewhere and must not write ${named.join(', ')}${more}.`,
      { details: { paths: hostile.map(({ path }) => path) } },
    );
  }

  private refuseMassDelete(job: RestoreJob, planned: Planned): void {
    const deliberate = job.operation === 'undo' || job.operation === 'redo' || job.options.allowMassDelete === true;
    if (!planned.massDelete || deliberate) return;
    const count = planned.entries.filter((entry) => entry.action === 'delete').length;
    throw new CheckpointsError(
      'mass-delete',
      `This would delete ${count} of ${planned.fileCount} files. Confirm that this is what you want.`,
      { details: { deletions: count, files: planned.fileCount } },
    );
  }

  private async carryOut(
    job: RestoreJob,
    planned: Planned,
    safety: Checkpoint,
    facts: CaptureFacts,
  ): Promise<RestoreResult> {
    const { target, scope, options } = job;
    const folders = await this.folders(job, facts);
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
          tree: result.tree,
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
      ...(session?.prompt === undefined ? {} : { prompt: session.prompt }),
      ...(session?.todosLost ? { todosLost: session.todosLost } : {}),
      undo: safety.id,
    };
  }

  private async folders(job: PlanJob, facts: CaptureFacts): Promise<FolderPlan> {
    const { target, options, scope } = job;
    if (!scope.includes('files') || job.changes) return { make: [], remove: [] };
    const { make, remove } = planFolders(target, facts, covering(options.paths), job.onlyFolders);
    if (remove.length === 0 || job.only) return { make, remove };
    const out = await this.store.leftOut(
      target,
      remove.map((folder) => `${folder}/`),
    );
    return { make, remove: remove.filter((folder) => !out.has(`${folder}/`)) };
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
