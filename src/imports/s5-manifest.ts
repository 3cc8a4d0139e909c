import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseJson } from '../core/text';
import { isInside, realOf } from './belonging';
import type { Found } from './model';

export interface Entry {
  /** Relative to the root, with slashes. */
  path: string;
  label: string;
  /** Milliseconds. */
  madeAt: number;
  /** Where its content is kept. */
  backup: string;
  size: number | null;
}

/**
 * The manifest's entries that belong to this workspace. Written names are `filePath` (absolute); its documentation says `path` (relative): then the
 * name of the copy may tell which folder is meant, and otherwise it belongs to whoever names the place (`named`).
 */
export async function entriesOf(manifest: string, root: string, named: boolean, found: Found): Promise<Entry[]> {
  const list = await parse(manifest, found);
  const entries = new Map<string, Entry>();
  const folder = path.dirname(manifest);
  let outside = 0;
  let anywhere = 0;
  for (const [i, value] of list.entries()) {
    const entry = readEntry(value, folder, root);
    if (typeof entry === 'string') found.problems.push({ item: `${manifest}, entry ${i + 1}`, message: entry });
    else if (entry === null) outside++;
    else if (!named && isAnybodys(entry, root)) anywhere++;
    else if (!isEarlier(entries.get(entry.path), entry)) entries.set(entry.path, entry);
  }
  const skip = (count: number, reason: string): void => {
    if (count > 0) found.skipped.push({ item: manifest, reason: `${count} of ${list.length} files ${reason}` });
  };
  skip(outside, 'belong to other folders');
  skip(anywhere, `do not say which folder they belong to; name ${folder} to import them here`);
  return [...entries.values()];
}

/** OpenOrca names a copy after the time and the beginning of a hash of the file's whole path. */
function isAnybodys({ label, backup }: Entry, root: string): boolean {
  if (path.isAbsolute(label)) return false;
  const digest = /_([0-9a-f]{6,64})\.bak$/.exec(backup)?.[1];
  const whole = createHash('sha256').update(path.resolve(root, label)).digest('hex');
  return digest === undefined || !whole.startsWith(digest);
}

async function parse(manifest: string, found: Found): Promise<unknown[]> {
  try {
    const value = parseJson(await readFile(manifest, 'utf8'));
    if (Array.isArray(value)) return value;
    found.problems.push({ item: manifest, message: 'It is no list of files.' });
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    found.problems.push({ item: manifest, message: `It cannot be read: ${error.message}` });
  }
  return [];
}

/** The first version of a path counts, whatever stands first. */
function isEarlier(known: Entry | undefined, entry: Entry): boolean {
  return known !== undefined && known.madeAt <= entry.madeAt;
}

/** A sentence: what is wrong with it. null: it belongs to another folder. */
function readEntry(value: unknown, folder: string, root: string): Entry | string | null {
  if (typeof value !== 'object' || value === null) return 'It is no entry.';
  const { filePath, path: documented, backupFile, timestamp, sizeBytes } = value as Record<string, unknown>;
  const given = typeof filePath === 'string' && filePath !== '' ? filePath : documented;
  if (typeof given !== 'string' || given === '') return 'It names no file.';
  if (typeof backupFile !== 'string' || backupFile === '') return `${given}: it does not say where its content is.`;
  // A manifest must not make us read anything but what lies beside it.
  if (backupFile !== path.basename(backupFile) || /[\\/]/.test(backupFile) || backupFile === '..' || backupFile === '.')
    return `${given}: its content is said to lie outside of the folder.`;
  const madeAt = typeof timestamp === 'string' ? Date.parse(timestamp) : NaN;
  if (Number.isNaN(madeAt)) return `${given}: it has no time.`;
  const file = realParent(path.resolve(root, given));
  if (!isInside(path.dirname(file), root) || file === root) return null;
  return {
    path: path.relative(root, file).split(path.sep).join('/'),
    label: given,
    madeAt,
    backup: path.join(folder, backupFile),
    size: typeof sizeBytes === 'number' ? sizeBytes : null,
  };
}

/** The folders on the way may be links; the file itself is what the workspace calls it. */
function realParent(file: string): string {
  return path.join(realOf(path.dirname(file)), path.basename(file));
}
