import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CheckpointsError } from '../core/errors';
import type { CheckpointId, PathReason } from '../core/model';
import type { ApplyRequest, ApplyResult, FileChange, FileVersion } from '../core/ports';
import { syncFolders } from './durable';
import { inWords, isFull } from './file-failure';
import { parentOf } from './file-reader';
import { refuseForeign, removeJournal, writeJournal, type Journal } from './journal';
import type { Layout } from './layout';
import { ambiguous } from './names';
import {
  asideOf,
  besideOf,
  eachContent,
  fewFiles,
  makeStage,
  numbered,
  stagedAt,
  stageFolder,
  type Step,
} from './stage';
import type { GitStore } from './store';
import type { Leaf } from './tree-format';
import { WorkingFiles, type Places } from './working-files';

/**
 * Stages all new content beside the store (or in the root, on another volume), writes the journal, then deletes
 * and renames. A full disk is met while staging, when nothing was touched, or what was done is taken back; a path that cannot be
 * changed is left as it is, and named. A death later is finished by `recoverRestore`, since before and after of every path are in the store.
 */
export async function applyFiles(store: GitStore, request: ApplyRequest): Promise<ApplyResult> {
  const refused = (await store.refusals(request.changes, request.foreign)).map(({ path, reason }) => ({
    path,
    reason,
  }));
  const skip = new Map(refused.map((entry) => [entry.path, entry.reason]));
  const changes = request.changes.filter((change) => !skip.has(change.path));
  refuseForeign(store.layout.journal);
  const files = workingFiles(store, changes);
  const stage = stageFolder(store);
  const journal = {
    safety: request.safety,
    tree: request.tree,
    stage,
    changes,
    makeFolders: request.makeFolders,
    removeFolders: request.removeFolders,
    record: request.record,
    startedAt: new Date().toISOString(),
  };
  // Nothing is touched before the second one, so this one need not know what is going to be.
  writeJournal(store.layout.journal, { phase: 'staging', ...journal, changes: [] });
  try {
    await stageAll(store, files, changes, stage, request);
    writeJournal(store.layout.journal, { phase: 'applying', ...journal });
    // The two volumes are written out when each of them likes: the files' must not be first.
    if (!stage.startsWith(store.folder)) syncFolders(foldersOf(store.layout));
  } catch (error) {
    rmSync(stage, { recursive: true, force: true });
    removeJournal(store.layout.journal);
    throw withPaths(error, changes);
  }
  const outcome: Outcome = { done: new Set(), skipped: [] };
  try {
    await perform(files, numbered(changes), stage, outcome, { onProgress: request.onProgress });
  } catch (error) {
    if (!isFull(error)) throw error;
    const left = await takeBack(store, files, journal, outcome);
    rmSync(stage, { recursive: true, force: true });
    removeJournal(store.layout.journal);
    throw noRoom(error, left);
  }
  outcome.skipped.push(...folders(files, request, changes));
  const result = await finish(store, files, journal, outcome);
  const skipped = [...refused, ...result.skipped];
  await fillIn(store, journal, { ...result, skipped });
  if (changes.length > fewFiles) store.afterwards(() => syncVolume(store.root));
  // What was moved aside is in the store as well; nobody waits until its space is free.
  if (stage.startsWith(store.folder)) store.afterwards(() => rm(stage, { recursive: true, force: true }));
  else rmSync(stage, { recursive: true, force: true });
  if (!request.keepJournal) removeJournal(store.layout.journal);
  return { ...result, skipped, failed: result.skipped.length };
}

/** What brings back the files as they were lies in these. */
const foldersOf = ({ folder, gitDir, objects }: Layout): string[] => [
  join(objects, 'pack'),
  join(gitDir, 'refs'),
  join(gitDir, 'refs', 'checkpoints'),
  folder,
];

/** For these changes. */
export function workingFiles({ root, file }: GitStore, changes: readonly FileChange[]): WorkingFiles {
  const paths = changes.map(({ path }) => path);
  return new WorkingFiles(root, file.objectFormat, ambiguous(root, paths));
}

/** Whose content is lost says more than its name in the store. */
function withPaths(error: unknown, changes: readonly FileChange[]): unknown {
  if (!CheckpointsError.is(error, 'store-broken')) return error;
  const lost = changes.filter(({ after }) => after && error.message.includes(after.oid)).map(({ path }) => path);
  if (lost.length === 0) return error;
  const message = `The store has lost the content of ${lost.join(', ')}. Nothing was changed; the other files can be restored by their paths.`;
  return new CheckpointsError('store-broken', message, { cause: error });
}

/** More touched paths than this are found again by comparing trees. */
const touchedLimit = 5000;

/** Undo knows a restore by its safety checkpoint's record, so it is there before the journal goes. */
export async function fillIn(
  store: GitStore,
  journal: Pick<Journal, 'safety' | 'record' | 'makeFolders' | 'removeFolders'>,
  result: ApplyResult,
): Promise<void> {
  const touched = [...result.restored, ...result.deleted];
  const tree = touched.length > touchedLimit ? result.tree : null;
  if (tree !== null) await store.checkpoints.holdRestored(journal.safety, tree);
  await store.checkpoints.update(journal.safety, (checkpoint) => ({
    ...checkpoint,
    restore: {
      ...journal.record,
      restored: result.restored.length,
      deleted: result.deleted.length,
      skipped: result.skipped.length,
      touched: tree === null ? touched : null,
      ...(tree === null ? {} : { tree }),
      folders: [...journal.makeFolders, ...journal.removeFolders],
    },
  }));
}

async function stageAll(
  store: GitStore,
  files: WorkingFiles,
  changes: FileChange[],
  stage: string,
  { signal }: Pick<ApplyRequest, 'signal'>,
): Promise<void> {
  const refuseCancelled = (): void => {
    if (signal?.aborted) throw new CheckpointsError('cancelled', 'Cancelled; nothing was changed.');
  };
  refuseCancelled(); // also where nothing but deletions comes
  makeStage(stage, changes.length);
  const sync = changes.filter((change) => change.after).length <= fewFiles;
  await eachContent(store.reader, numbered(changes), (i, after, data) => {
    refuseCancelled();
    files.stage(stagedAt(stage, i), after.mode, data, sync);
  });
}

export interface Outcome {
  done: Set<string>;
  skipped: PathReason[];
}

/** Deletions first, deepest first: a file may become a folder, a folder a link. */
export async function perform(
  files: WorkingFiles,
  steps: Step[],
  stage: string,
  outcome: Outcome,
  /** `atOnce`: nothing is moved aside first, however many there are. */
  { onProgress, atOnce = steps.length <= fewFiles }: Pick<ApplyRequest, 'onProgress'> & { atOnce?: boolean } = {},
): Promise<void> {
  const deletions = steps.filter(({ change }) => !change.after).reverse();
  const writes = steps.filter(({ change }) => change.after);
  let sliceEnds = Date.now() + 15;
  for (const { change, i } of [...deletions, ...writes]) {
    const aside = atOnce ? null : asideOf(stage, i);
    const why = performOne(files, change, { staged: stagedAt(stage, i), aside, beside: besideOf(stage, change.path) });
    if (why) outcome.skipped.push({ path: change.path, reason: why });
    else outcome.done.add(change.path);
    if (!why && !change.after) outcome.skipped.push(...removeEmptied(files, change.path));
    onProgress?.({ done: outcome.done.size + outcome.skipped.length, total: steps.length });
    if (Date.now() > sliceEnds) {
      await new Promise((next) => setImmediate(next));
      sliceEnds = Date.now() + 15;
    }
  }
}

/** Only what still is what the safety checkpoint holds may be replaced. */
function performOne(files: WorkingFiles, change: FileChange, places: Places): string | null {
  const now = files.leafAt(change.path);
  if (now === 'unreadable') return 'cannot be read, so it would not be saved';
  if (!sameVersion(now, change.before)) return 'changed meanwhile';
  try {
    if (change.after) return files.place(places, change.path, change.after.mode);
    files.delete(change.path, places.aside);
    return null;
  } catch (error) {
    const why = inWords(error);
    // A full disk would meet every path; and what is no longer as it was is for the recovery.
    if (why === null || isFull(error) || !sameVersion(files.leafAt(change.path), change.before)) throw error;
    return why;
  }
}

/** Folders that a deletion has left with nothing in them; those that could not be removed. */
export function removeEmptied(files: WorkingFiles, path: string): PathReason[] {
  return removeUpwards(files, parentOf(path));
}

/** One that is gone already may be so because of a death right before its parent's turn. */
function removeUpwards(files: WorkingFiles, from: string): PathReason[] {
  let folder = from;
  return tried(
    () => {
      while (folder !== '' && files.removeIfEmpty(folder)) folder = parentOf(folder);
    },
    () => folder,
  );
}

/** What the file system does not allow is named, with the reason. A full disk ends the restore. */
export function tried(work: () => void, path: () => string): PathReason[] {
  try {
    work();
    return [];
  } catch (error) {
    const reason = inWords(error);
    if (reason === null || isFull(error)) throw error;
    return [{ path: path(), reason }];
  }
}

/** There was no room for the rest: what was done is undone. The paths that could not be. */
async function takeBack(
  store: GitStore,
  files: WorkingFiles,
  { changes, stage }: Pick<Journal, 'changes' | 'stage'>,
  { done }: Outcome,
): Promise<PathReason[]> {
  // Numbers of their own: what lies in the stage is still what the journal says.
  const back = changes.flatMap(({ path, before, after }, i) =>
    done.has(path) ? [{ change: { path, before: after, after: before }, i: changes.length + i }] : [],
  );
  makeStage(stage, changes.length * 2);
  await eachContent(store.reader, back, (i, after, data) => files.stage(stagedAt(stage, i), after.mode, data, false));
  const outcome: Outcome = { done: new Set(), skipped: [] };
  // The recovery looks for what lies aside under the journal's numbers alone.
  await perform(files, back, stage, outcome, { atOnce: true });
  // Folders were made for what could not be placed in them; some were there before, with nothing in them.
  for (const { path, before } of changes)
    if (before === null && !done.has(path)) outcome.skipped.push(...removeEmptied(files, path));
  const empty = (await store.base.read())?.emptyDirs ?? [];
  return [...outcome.skipped, ...makeFolders(files, empty)];
}

function noRoom(error: unknown, left: PathReason[]): CheckpointsError {
  const now =
    left.length === 0
      ? 'Nothing was restored: everything is as it was before.'
      : `Everything is as it was before, but for ${left.map(({ path, reason }) => `${path} (${reason})`).join(', ')}.`;
  return new CheckpointsError('disk-full', `The disk of the workspace is full. ${now}`, { cause: error });
}

/** The data of many new files may still be in memory only: git leaves it there, we do not. Nobody waits for it. */
async function syncVolume(root: string): Promise<void> {
  if (process.platform !== 'linux') return;
  await new Promise((next) => setImmediate(next)); // the restore is told to be done first: starting a process takes its time
  const child = spawn('sync', ['-f', root], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined); // a system without it: then the kernel's own time counts
  child.unref();
}

export function folders(
  files: WorkingFiles,
  request: Pick<ApplyRequest, 'makeFolders' | 'removeFolders'>,
  changes: FileChange[],
): PathReason[] {
  const written = new Set(changes.filter((c) => c.after).map((c) => c.path));
  const removed = [...request.removeFolders].sort().reverse();
  const made = request.makeFolders.filter((folder) => !written.has(folder));
  return [...removed.flatMap((folder) => removeUpwards(files, folder)), ...makeFolders(files, made)];
}

/** Those that could not be made. */
function makeFolders(files: WorkingFiles, paths: readonly string[]): PathReason[] {
  return paths.flatMap((folder) =>
    tried(
      () => void files.makeFolder(folder),
      () => folder,
    ),
  );
}

/** Reads everything back, and makes what is there now the base of the next capture. */
export async function finish(
  store: GitStore,
  files: WorkingFiles,
  {
    tree,
    changes,
    makeFolders,
    removeFolders,
    record,
  }: Pick<Journal, 'tree' | 'changes' | 'makeFolders' | 'removeFolders' | 'record'>,
  outcome: Outcome,
): Promise<ApplyResult> {
  const restored: string[] = [];
  const deleted: string[] = [];
  const skipped = [...outcome.skipped];
  const applied = new Map<string, Leaf | null>();
  for (const change of changes) {
    if (!outcome.done.has(change.path)) continue;
    if (!sameVersion(files.leafAt(change.path), change.after)) {
      skipped.push({ path: change.path, reason: 'changed again right after it was restored' });
      continue;
    }
    applied.set(change.path, change.after);
    (change.after ? restored : deleted).push(change.path);
  }
  const made = await newTrees(store, tree, applied, record.target);
  if (made) store.restored(tree, made.after, applied);
  // What the tree does not know is read again by the next capture.
  const unsure = changes.map(({ path }) => path).filter((path) => !made || (!made.isOurs && !applied.has(path)));
  const emptyDirs = (empty: string[]): string[] => {
    const left = empty.filter((folder) => !removeFolders.includes(folder) && !holds(folder, restored));
    return [...new Set([...left, ...makeFolders])];
  };
  await store.base.set(made?.base ?? (await store.base.read())?.tree ?? tree, emptyDirs, unsure);
  return { restored, deleted, skipped, failed: skipped.length, tree: made?.after ?? null };
}

/** What the files are now, and what the base becomes; null where the store has lost the trees for that: a recovery must not stop every command by it. */
async function newTrees(
  store: GitStore,
  tree: string,
  applied: Map<string, Leaf | null>,
  targetId: CheckpointId | null,
): Promise<{ after: string; base: string; isOurs: boolean } | null> {
  const writer = store.newWriter();
  try {
    const [target] = targetId === null ? [] : await store.read([targetId]);
    // Nothing is cleaned up while files are restored: what the checkpoint has need not be written again.
    const to = target?.files.tree;
    const isTarget = to !== undefined && (await store.trees.isAll(applied, tree, to));
    const after = isTarget ? to : await store.trees.update(tree, applied, writer, to);
    // Between a death and its recovery others may have captured: what they saw counts, with what was restored.
    const seen = (await store.base.read())?.tree ?? tree;
    const isOurs = seen === tree;
    const base = isOurs ? after : await store.trees.update(seen, applied, writer);
    await writer.flush();
    return { after, base, isOurs };
  } catch (error) {
    if (!CheckpointsError.is(error, 'store-broken')) throw error;
    return null;
  }
}

function holds(folder: string, paths: string[]): boolean {
  return paths.some((path) => path.startsWith(`${folder}/`));
}

export function sameVersion(a: FileVersion | null | 'unreadable', b: FileVersion | null): boolean {
  if (a === 'unreadable') return false;
  return a === null || b === null ? a === b : a.mode === b.mode && a.oid === b.oid;
}
