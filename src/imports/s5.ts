import { lstat, readFile, readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { CheckpointsError } from '../core/errors';
import type { ImportedCheckpoint } from '../core/imported';
import type { Checkpoint } from '../core/model';
import { alreadyHere, nothingFound, type Found } from './model';
import { entriesOf, type Entry } from './s5-manifest';

export const s5Default = (home = homedir()): string => path.join(home, '.openorca', 'checkpoints');

const manifest = 'manifest.json';

/** First versions of files: what a session found before it changed them becomes one checkpoint that holds these files. */
export async function readS5(
  given: string,
  root: string,
  named: boolean,
  known: readonly Checkpoint[],
): Promise<Found> {
  const found = nothingFound();
  const folders = await sessionFolders(given);
  if (folders.length === 0) throw new CheckpointsError('invalid-argument', `${given} is no ${manifest}, and has none.`);
  const seen = new Set(known.flatMap(importedEntries));
  for (const folder of folders) {
    const entries = await entriesOf(path.join(folder, manifest), root, named, found);
    await takeSession(path.basename(folder), entries, seen, found);
  }
  return found;
}

async function takeSession(
  session: string,
  entries: readonly Entry[],
  seen: ReadonlySet<string>,
  found: Found,
): Promise<void> {
  const fresh: Entry[] = [];
  for (const entry of entries) {
    if (seen.has(keyOf(session, entry))) found.skipped.push({ item: entry.label, reason: alreadyHere });
    else if (await isThere(entry, found)) fresh.push(entry);
  }
  if (fresh.length > 0) found.items.push(itemOf(session, fresh));
}

/** The same entry is the same whenever the manifest is read: it only ever grows. */
function keyOf(session: string, { path: file, madeAt }: Pick<Entry, 'path' | 'madeAt'>): string {
  return JSON.stringify([session, file, madeAt]);
}

interface Kept {
  session: string;
  files: Array<{ path: string; madeAt: number }>;
}

function importedEntries({ trigger, metadata }: Checkpoint): string[] {
  const kept = metadata['openorca'] as Partial<Kept> | undefined;
  if (trigger !== 'import' || typeof kept?.session !== 'string' || !Array.isArray(kept.files)) return [];
  const { session } = kept;
  return kept.files.map((file) => keyOf(session, file));
}

function itemOf(session: string, entries: Entry[]): ImportedCheckpoint {
  const madeAt = Math.min(...entries.map((entry) => entry.madeAt));
  const files = entries.map((entry) => ({ path: entry.path, madeAt: entry.madeAt }));
  const kept: Kept = { session, files };
  return {
    key: JSON.stringify(['s5', session, files]),
    madeAt,
    name: null,
    title: `Originals of OpenOrca session ${session}`,
    metadata: { source: manifest, openorca: kept },
    files: entries.map(({ path: file, backup }) => ({ path: file, read: () => readFile(backup) })),
  };
}

async function isThere({ backup, label, size }: Entry, found: Found): Promise<boolean> {
  const info = await lstat(backup).catch((error: NodeJS.ErrnoException) => error);
  if (info instanceof Error || !info.isFile()) {
    const why = info instanceof Error ? info.code : 'not a file';
    found.problems.push({ item: label, message: `Its saved content is missing (${path.basename(backup)}: ${why}).` });
    return false;
  }
  if (size !== null && size !== info.size)
    found.problems.push({
      item: label,
      message: `Its saved content has ${info.size} bytes, the manifest says ${size}. It was taken as it is.`,
    });
  return true;
}

/** A manifest, the folder of one session, or the folder of all. */
async function sessionFolders(given: string): Promise<string[]> {
  if ((await lstat(given)).isFile()) return path.basename(given) === manifest ? [path.dirname(given)] : [];
  if (await isManifest(path.join(given, manifest))) return [given];
  const folders: string[] = [];
  for (const entry of await readdir(given, { withFileTypes: true })) {
    const folder = path.join(given, entry.name);
    if (entry.isDirectory() && (await isManifest(path.join(folder, manifest)))) folders.push(folder);
  }
  return folders.sort();
}

async function isManifest(file: string): Promise<boolean> {
  return (await lstat(file).catch(() => null))?.isFile() === true;
}
