import { existsSync, lstatSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CheckpointsError } from '../core/errors';
import type { CheckpointId, PathReason } from '../core/model';
import type { ApplyResult, FileChange, RecoveryReport } from '../core/ports';
import {
  fillIn,
  finish,
  folders,
  perform,
  removeEmptied,
  sameVersion,
  tried,
  workingFiles,
  type Outcome,
} from './apply';
import { inWords, isFull } from './file-failure';
import { readJournal, removeJournal, type Journal } from './journal';
import { unsound } from './secure';
import { asideOf, besideOf, eachContent, makeStage, stagedAt, type Step } from './stage';
import type { GitStore } from './store';
import type { WorkingFiles } from './working-files';

/**
 * A journal without its process: what was only staged is dropped, what was begun is finished. A path that is
 * neither what it was nor what it should become was edited since: it is kept, and named.
 */
export async function recoverRestore(
  store: GitStore,
  rest: (report: RecoveryReport) => Promise<void>,
): Promise<RecoveryReport | null> {
  if (!existsSync(store.layout.journal)) return null;
  return store.exclusively('recovery', 30_000, undefined, async () => {
    const journal = readJournal(store.layout.journal);
    if (!journal) return null;
    const report = journal.phase === 'staging' ? dropped(journal) : await finished(store, journal);
    if (report.outcome === 'finished') await rest(report);
    // Where it lies in a workspace that may not be written it stays, and out of every checkpoint.
    tried(
      () => rmSync(journal.stage, { recursive: true, force: true }),
      () => journal.stage,
    );
    removeJournal(store.layout.journal);
    return report;
  });
}

/** A link is there, too, wherever it leads. */
function existsAt(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function dropped({ safety, record: { target, scope } }: Journal): RecoveryReport {
  return { outcome: 'rolled-back', safety, target, scope, restored: [], deleted: [], kept: [] };
}

async function finished(store: GitStore, journal: Journal): Promise<RecoveryReport> {
  const files = workingFiles(store, journal.changes);
  const done = new Set<string>();
  const kept: PathReason[] = [];
  const again: Step[] = [];
  for (const [i, change] of journal.changes.entries()) {
    // Nothing is there, and both the old and the new file lie aside: it died between the two renames.
    const aside = asideOf(journal.stage, i);
    if (files.leafAt(change.path) === null && existsAt(aside) && existsAt(stagedAt(journal.stage, i)))
      kept.push(
        ...tried(
          () => files.putBack(aside, change.path),
          () => change.path,
        ),
      );
    const now = files.leafAt(change.path);
    if (sameVersion(now, change.after)) done.add(change.path);
    else if (sameVersion(now, change.before)) again.push({ change, i });
    else kept.push({ path: change.path, reason: 'edited after the interruption' });
  }
  // On another volume it may have died while one of these was on its way; a stage in the root has the name of one there, and goes later.
  const besides = new Set(journal.changes.map(({ path }) => besideOf(journal.stage, path)));
  for (const beside of besides)
    if (join(store.root, beside) !== journal.stage)
      kept.push(
        ...tried(
          () => files.delete(beside),
          () => beside,
        ),
      );
  const outcome: Outcome = { done: new Set(), skipped: [] };
  // It may have died after a file was deleted and before its folder was. Where case does not count, that is in the way of a new name.
  for (const { path, after } of journal.changes)
    if (!after && done.has(path)) outcome.skipped.push(...removeEmptied(files, path));
  const { steps, left } = await stillPossible(store, journal, again);
  outcome.skipped.push(...left);
  const why = await stageAgain(store, files, journal, steps);
  if (why === null) await perform(files, steps, journal.stage, outcome);
  else outcome.skipped.push(...steps.map(({ change: { path } }) => ({ path, reason: why })));
  outcome.skipped.push(...folders(files, journal, journal.changes));
  for (const path of outcome.done) done.add(path);
  const result = await finish(store, files, journal, { done, skipped: [] });
  kept.push(...outcome.skipped, ...result.skipped);
  await fillInIfThere(store, journal, { ...result, skipped: kept });
  const { safety, record } = journal;
  const { restored, deleted } = result;
  return { outcome: 'finished', safety, target: record.target, scope: record.scope, restored, deleted, kept };
}

/**
 * What the store has lost since keeps nobody from going on. A file whose new content is lost stays as it is, and so does one that nothing would bring back
 * once it is overwritten.
 */
async function stillPossible(
  store: GitStore,
  { tree, safety }: Journal,
  again: Step[],
): Promise<{ steps: Step[]; left: PathReason[] }> {
  const wanted = again.flatMap(({ change: { after } }) => (after ? [after.oid] : []));
  const lost = await unsound(store.reader, wanted, store.file.objectFormat);
  const isSaved = await canBeBroughtBack(
    store,
    tree,
    safety,
    again.map(({ change }) => change),
  );
  const whyNot = ({ before, after }: FileChange): string | null => {
    if (after && lost.has(after.oid)) return `the store has lost its content (${after.oid})`;
    return before && !isSaved ? 'the store has lost the checkpoint that would bring it back' : null;
  };
  const left = again.flatMap(({ change }) => {
    const reason = whyNot(change);
    return reason === null ? [] : [{ path: change.path, reason }];
  });
  return { steps: again.filter(({ change }) => whyNot(change) === null), left };
}

/** Whether the safety checkpoint is there, or was deleted, and has what these paths hold; content that it has lost is saved once more. */
async function canBeBroughtBack(
  store: GitStore,
  tree: string,
  safety: CheckpointId,
  changes: FileChange[],
): Promise<boolean> {
  const { gone } = await store.lostRefs.sorted();
  if (gone.has(safety)) return false;
  if (store.checkpoints.isOwn(safety) && (await store.read([safety])).length === 0) return false;
  try {
    await store.secure(tree, changes);
    return true;
  } catch (error) {
    if (!CheckpointsError.is(error, 'store-broken')) throw error;
    return false;
  }
}

/** Since the restore died its safety checkpoint may have been deleted, or have lost its ref. Nobody must be kept from going on by that. */
async function fillInIfThere(
  store: GitStore,
  journal: Pick<Journal, 'safety' | 'record' | 'makeFolders' | 'removeFolders'>,
  result: ApplyResult,
): Promise<void> {
  const { found } = await store.lostRefs.sorted();
  const lost = found.get(journal.safety);
  if (lost !== undefined) await store.lostRefs.bringBack(new Map([[journal.safety, lost]]));
  try {
    await fillIn(store, journal, result);
  } catch (error) {
    if (!CheckpointsError.is(error, 'unknown-reference')) throw error;
  }
}

/** Why nothing can be staged any more, where its volume does not allow it. A full disk is for a later start. */
async function stageAgain(
  store: GitStore,
  files: WorkingFiles,
  { stage, changes }: Journal,
  again: Step[],
): Promise<string | null> {
  try {
    rmSync(stage, { recursive: true, force: true });
    makeStage(stage, changes.length);
    await eachContent(store.reader, again, (i, after, data) =>
      files.stage(stagedAt(stage, i), after.mode, data, false),
    );
    return null;
  } catch (error) {
    const why = CheckpointsError.is(error, 'store-broken') ? error.message : inWords(error);
    if (why === null || isFull(error)) throw error;
    return why;
  }
}
