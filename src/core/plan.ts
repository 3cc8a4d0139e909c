import type { Checkpoint, PlanEntry } from './model';
import type { CaptureFacts, FileChange } from './ports';

export interface PlanInput {
  /** From the files as they are now to the checkpoint's. */
  changes: FileChange[];
  target: Pick<Checkpoint, 'files'>;
  now: Pick<CaptureFacts, 'skipped' | 'partial'>;
  /** What the checkpoint lacks and may have been there all the same: it was left out. Why. */
  leftOut: ReadonlyMap<string, string>;
  /** Changed by the user's own hand since the agent's last change. */
  yours: ReadonlySet<string>;
  /** Changed while an agent worked on other paths: by whom is not known. */
  unsure: ReadonlySet<string>;
  /** The checkpoint cannot know what these were at its moment. */
  uncertain: ReadonlySet<string>;
  /** Exact paths the user asked for: they are not kept for being uncertain. */
  chosen: ReadonlySet<string>;
  keepUserEdits: boolean;
  /** Stay as they are, whoever changed them. */
  keep: ReadonlySet<string>;
}

/** What a restore of files would do, path by path. */
export function planFiles(input: PlanInput): PlanEntry[] {
  const unread = input.now.partial.map(({ path, reason }): [string, string] => [path, cannotRead(reason)]);
  const out = new Map([...input.now.skipped.map(({ path, reason }): [string, string] => [path, reason]), ...unread]);
  const unknownThen = new Map(input.target.files.partial.map(({ path, reason }) => [path, reason]));
  return input.changes.map((change) => planOne(change, input, out, unknownThen));
}

function planOne(
  change: FileChange,
  input: PlanInput,
  out: Map<string, string>,
  unknownThen: Map<string, string>,
): PlanEntry {
  const { path } = change;
  const flags = {
    ...(input.yours.has(path) ? { yours: true } : {}),
    ...(input.unsure.has(path) ? { unsure: true } : {}),
  };
  const reason = out.get(path) ?? lies(path, out);
  if (reason !== undefined) return { path, action: 'skip', reason, ...flags };
  const then = unknownThen.get(path) ?? lies(path, unknownThen);
  if (then !== undefined)
    return { path, action: 'skip', reason: `could not be read when the checkpoint was made (${then})`, ...flags };
  const left = change.after ? undefined : (input.leftOut.get(path) ?? lies(path, input.leftOut));
  if (left !== undefined)
    return { path, action: 'skip', reason: `left out when the checkpoint was made (${left})`, ...flags };
  if (input.keepUserEdits && input.unsure.has(path)) return { path, action: 'keep', reason: 'maybe yours', ...flags };
  if (input.keep.has(path) || (input.keepUserEdits && input.yours.has(path)))
    return { path, action: 'keep', reason: 'yours', ...flags };
  if (input.uncertain.has(path) && !input.chosen.has(path))
    return { path, action: 'keep', reason: 'uncertain', ...flags };
  return { path, action: change.after ? 'write' : 'delete', ...flags };
}

const cannotRead = (reason: string): string => `cannot be read (${reason})`;

/** Skipped because of how it is now, not because of what the checkpoint is: a restore could not do what was asked of it. */
export const isUnread = ({ action, reason }: PlanEntry): boolean =>
  action === 'skip' && reason?.startsWith('cannot be read (') === true;

/**
 * What could not be read now and is not in the plan: whether it differs from the checkpoint is not known. What could not be read then
 * either is nothing that a restore could bring back.
 */
export function planUnread(
  { now, target }: Pick<PlanInput, 'now' | 'target'>,
  planned: readonly PlanEntry[],
  paths: readonly string[] | undefined,
): PlanEntry[] {
  const covers = covering(paths);
  const holds = (folder: string): boolean => paths?.some((path) => path.startsWith(`${folder}/`)) === true;
  const known = new Set([...planned, ...target.files.partial].map(({ path }) => path));
  return now.partial
    .filter(({ path }) => (covers(path) || holds(path)) && !known.has(path))
    .map(({ path, reason }) => ({ path, action: 'skip', reason: cannotRead(reason) }));
}

/** The reason of a folder that the path lies in. */
function lies(path: string, reasons: ReadonlyMap<string, string>): string | undefined {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    const reason = reasons.get(path.slice(0, end));
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** Whether a path lies in what was asked for. Without paths everything does, with none of them nothing. */
export function covering(paths: readonly string[] | undefined): (path: string) => boolean {
  if (paths === undefined) return () => true;
  return (path) => paths.some((one) => one === '' || path === one || path.startsWith(`${one}/`));
}

export interface FolderPlan {
  make: string[];
  remove: string[];
}

/** Empty folders: those of the checkpoint come back, those made since go if they are still empty. */
export function planFolders(
  target: Pick<Checkpoint, 'files'>,
  now: Pick<CaptureFacts, 'emptyDirs'>,
  covers: (path: string) => boolean,
  only: ReadonlySet<string> | null = null,
): FolderPlan {
  // The fast lane does not look at folders, so it cannot say what they were; nor can what holds single files.
  if (target.files.lane === 'paths' || target.files.only) return { make: [], remove: [] };
  const then = new Set(target.files.emptyDirs);
  const here = new Set(now.emptyDirs);
  const asked = (folder: string): boolean => covers(folder) && (only === null || only.has(folder));
  return {
    make: target.files.emptyDirs.filter((folder) => asked(folder) && !here.has(folder)),
    remove: now.emptyDirs.filter((folder) => asked(folder) && !then.has(folder)),
  };
}

/** As a plan tells of them: those that the files tell of already are left out. Null where no other is left. */
export function foldersBeside(entries: readonly PlanEntry[], { make, remove }: FolderPlan): FolderPlan | null {
  const isOf = (folder: string, action: PlanEntry['action']): boolean =>
    entries.some((entry) => entry.action === action && entry.path.startsWith(`${folder}/`));
  const beside = {
    make: make.filter((folder) => !isOf(folder, 'delete')),
    remove: remove.filter((folder) => !isOf(folder, 'write')),
  };
  return beside.make.length + beside.remove.length > 0 ? beside : null;
}

/** More than 20 files and more than a third of the workspace's. */
export function isMassDelete(deletions: number, fileCount: number): boolean {
  return deletions > 20 && deletions * 3 > fileCount;
}
