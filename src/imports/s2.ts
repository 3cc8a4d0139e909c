import { lstat, readFile } from 'node:fs/promises';
import path from 'node:path';
import { CheckpointsError } from '../core/errors';
import { importedSave } from '../core/imported-task';
import type { Checkpoint } from '../core/model';
import { taskKey } from '../core/task';
import { stateFiles } from '../core/task-files';
import {
  fromHistoryFile,
  fromStateFile,
  isSave,
  savedAt,
  snapshotName,
  withKnownStatus,
  type HistoryEntry,
} from '../core/task-format';
import { parseJson } from '../core/text';
import { alreadyHere, nothingFound, type Found } from './model';

/** Tells our own exports, which lie in the same place, from what another program wrote there. */
type IsOurs = (text: string) => boolean;

export const s2Default = (root: string): string => path.join(root, '.opencode', 'state');

/** Larger than any state that was ever written by it in earnest. */
const largest = 64 * 1024 * 1024;

/** Task states: the live one and its history. Ours lie in the same place; what is known already is not imported again. */
export async function readS2(given: string, saves: readonly Checkpoint[], isOurs: IsOurs): Promise<Found> {
  const folder = await stateFolder(given);
  const found = nothingFound();
  const known = new Set(saves.filter(isSave).map((save) => `${savedAt(save)} ${snapshotName(save)}`));
  const states = new Set(saves.flatMap((save) => (isSave(save) && save.task ? [taskKey(save.task)] : [])));
  const history = path.join(folder, stateFiles.history);
  for (const entry of await entriesOf(history, found, isOurs)) {
    states.add(taskKey(entry.task));
    if (known.has(`${entry.savedAt} ${entry.name}`)) found.skipped.push({ item: entry.name, reason: alreadyHere });
    else found.items.push(importedSave(entry, stateFiles.history));
  }
  const live = await liveOf(path.join(folder, stateFiles.state), found, isOurs);
  if (live === null) return found;
  if (states.has(taskKey(live.task))) found.skipped.push({ item: stateFiles.state, reason: alreadyHere });
  else found.items.push(importedSave(live, stateFiles.state));
  return found;
}

/** The folder of the state, the workspace that has it, or one of the files. */
async function stateFolder(given: string): Promise<string> {
  const names: readonly string[] = [stateFiles.state, stateFiles.history];
  if ((await lstat(given)).isFile() && names.includes(path.basename(given))) return path.dirname(given);
  for (const folder of [given, s2Default(given)])
    for (const file of [stateFiles.state, stateFiles.history])
      if ((await readText(path.join(folder, file))) !== null) return folder;
  throw new CheckpointsError('invalid-argument', `${given} has no ${stateFiles.state} and no ${stateFiles.history}.`);
}

async function entriesOf(file: string, found: Found, isOurs: IsOurs): Promise<HistoryEntry[]> {
  return guarded(file, found, isOurs, [], (value) => {
    const { entries, warnings } = fromHistoryFile(value);
    for (const message of warnings) found.problems.push({ item: file, message });
    return entries;
  });
}

async function liveOf(file: string, found: Found, isOurs: IsOurs): Promise<HistoryEntry | null> {
  return guarded<HistoryEntry | null>(file, found, isOurs, null, (value) => {
    const known = withKnownStatus(value);
    const { live, warnings } = fromStateFile(known.value, '');
    if (live.updatedAt === '') throw new CheckpointsError('invalid-argument', 'It does not say when it was saved.');
    for (const message of [...known.warnings, ...warnings]) found.problems.push({ item: file, message });
    return { name: `auto-${Date.parse(live.updatedAt)}`, savedAt: live.updatedAt, task: live.task };
  });
}

/** A file that is damaged is a problem, not the end: the other one may be whole. */
async function guarded<T>(
  file: string,
  found: Found,
  isOurs: IsOurs,
  none: T,
  read: (value: unknown) => T,
): Promise<T> {
  const text = await readText(file);
  if (text === null) return none;
  if (isOurs(text)) {
    found.skipped.push({ item: file, reason: 'was written by Checkpoints itself' });
    return none;
  }
  try {
    return read(parseJson(text));
  } catch (error) {
    if (!(error instanceof SyntaxError) && !CheckpointsError.is(error, 'invalid-argument')) throw error;
    found.problems.push({ item: file, message: `It cannot be read: ${error.message}` });
    return none;
  }
}

async function readText(file: string): Promise<string | null> {
  try {
    const info = await lstat(file);
    if (info.isFile() && info.size <= largest) return await readFile(file, 'utf8');
    return '';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw error;
  }
}
