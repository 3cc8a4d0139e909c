import type { RestoreOptions } from './api';
import { hasAllPaths, usersChanges } from './attribution';
import type { ConversationPort } from './conversation';
import { CheckpointsError } from './errors';
import { skippedAt, uncertainAt } from './fast-lane';
import { isWhole } from './files-facet';
import { attributionWindow, lastWorking } from './last-working';
import type { Checkpoint, PathReason, PlanEntry, RestoreRecord, RestoreScope } from './model';
import { covering, isMassDelete, planFiles, planFolders, planUnread, type FolderPlan } from './plan';
import type { CaptureFacts, FileChange, SnapshotStore } from './ports';

/** What is to be brought back: all that a plan needs, for which nothing is made. */
export interface PlanJob {
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
}

/** Path by path, what would be done to the files. */
export interface PlannedFiles {
  entries: PlanEntry[];
  changes: FileChange[];
  /** Also what is left as it is. */
  differing: FileChange[];
  massDelete: boolean;
  fileCount: number;
  /** What came from elsewhere and is not to be trusted. */
  hostile: PathReason[];
}

export const nothingPlanned: PlannedFiles = {
  entries: [],
  changes: [],
  differing: [],
  massDelete: false,
  fileCount: 0,
  hostile: [],
};

/** Finds out what a restore would do to the files as they are, and changes nothing. */
export class RestorePlanner {
  constructor(
    private readonly store: SnapshotStore,
    private readonly conversation: ConversationPort | null,
  ) {}

  /** `look`: for people, with the flags that cost reading older checkpoints. */
  async files(job: PlanJob, facts: CaptureFacts, look: boolean): Promise<PlannedFiles> {
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

  async folders(job: PlanJob, facts: CaptureFacts): Promise<FolderPlan> {
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
}
