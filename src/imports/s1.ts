import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { CheckpointsError } from '../core/errors';
import type { ImportedCheckpoint } from '../core/imported';
import type { SessionAnchor } from '../core/model';
import { usableName } from '../core/titles';
import type { WasmSource } from '../index/sqlite';
import { belongsElsewhere } from './belonging';
import { nothingFound, type Found, type ImportProblem } from './model';
import { readRows, type Row } from './s1-database';

/** Hard-coded in that plugin, whatever XDG says. */
export const s1Default = (home = homedir()): string => path.join(home, '.local', 'share', 'opencode', 'checkpoints.db');

/** Later than this no clock was ever right; JavaScript's own dates end there, too. */
const lastTime = 8_640_000_000_000_000;

/** Bookmarks in conversations: a name, a count of messages, no files. */
export async function readS1(file: string, root: string, named: boolean, wasm: WasmSource): Promise<Found> {
  const database = (await stat(file)).isDirectory() ? path.join(file, 'checkpoints.db') : file;
  if (!existsSync(database)) throw new CheckpointsError('invalid-argument', `${file} has no checkpoints.db.`);
  const unfinished = unfinishedIn(database);
  const { rows, problems } = await readRows(await readFile(database), database, wasm).catch((error: unknown) => {
    // All of it may be in what was not finished.
    if (unfinished[0] === undefined || !CheckpointsError.is(error, 'invalid-argument')) throw error;
    throw new CheckpointsError('invalid-argument', `${error.message} ${unfinished[0].message}`, { cause: error });
  });
  const found: Found = { ...nothingFound(), problems: [...problems, ...unfinished] };
  for (const row of rows) readRow(row, root, named, found);
  return found;
}

/** What SQLite keeps beside a database while a change is under way, or after one that died. It cannot be read from here, but SQLite itself ends it. */
function unfinishedIn(database: string): ImportProblem[] {
  const message = `A change was not finished: the newest rows may be missing. \`sqlite3 ${database} .tables\` finishes it; import again then.`;
  const beside = ['-journal', '-wal'].map((ending) => database + ending);
  return beside.filter((file) => existsSync(file)).map((item) => ({ item, message }));
}

function readRow(row: Row, root: string, named: boolean, found: Found): void {
  const label = `row ${row['id'] ?? '?'}`;
  const id = row['id'];
  const session = textOf(row['session_id']);
  const more = readMetadata(row['metadata']);
  const madeAt = timeOf(row['created_at']) ?? timeOf(more.values['timestamp']);
  if (typeof id !== 'number' || session === null || madeAt === null) {
    const what = typeof id !== 'number' ? 'number' : session === null ? 'session' : 'time';
    found.problems.push({ item: label, message: `It has no ${what} and was left out.` });
    return;
  }
  const directory = textOf(more.values['directory']);
  const elsewhere = belongsElsewhere(directory, root, named);
  const givenName = textOf(row['name']) ?? '';
  const name = usableName(givenName);
  if (elsewhere !== null) {
    found.skipped.push({ item: `${label} (${name ?? 'no name'})`, reason: elsewhere });
    return;
  }
  const count = row['message_count'];
  const counted = typeof count === 'number' && Number.isInteger(count) && count > 0;
  if (!counted)
    found.problems.push({
      item: `${label} (${name ?? 'no name'})`,
      message: 'The old plugin could not count its messages: it comes without its conversation.',
    });
  if (more.problem) found.problems.push({ item: `${label} (${name ?? 'no name'})`, message: more.problem });
  const hash = textOf(row['git_commit']);
  const commit = hash !== null && /^[0-9a-f]{7,64}$/.test(hash) ? hash : null;
  const item: ImportedCheckpoint = {
    key: JSON.stringify(['s1', session, id, madeAt]),
    madeAt,
    name,
    description: description(textOf(row['description']), givenName, name),
    session: counted ? anchor(session, count) : null,
    git: commit === null ? null : { commit, branch: null, dirty: false },
    metadata: { legacyId: id, legacySession: session, source: 'checkpoints.db', ...(directory ? { directory } : {}) },
  };
  found.items.push(item);
}

function anchor(session: string, messageCount: number): SessionAnchor {
  return { id: session, messageId: null, messageCount, title: null, parent: null };
}

/** A name that had to be shortened is kept whole in the description. */
function description(text: string | null, given: string, name: string | null): string | null {
  if (name === null || name === given.normalize('NFC').trim()) return text;
  return text === null ? given : `${given}\n\n${text}`;
}

function readMetadata(value: unknown): { values: Record<string, unknown>; problem: string | null } {
  if (value === null || value === undefined || value === '') return { values: {}, problem: null };
  try {
    const parsed: unknown = JSON.parse(String(value));
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed))
      return { values: parsed as Record<string, unknown>, problem: null };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return { values: {}, problem: 'Its metadata cannot be read: it comes without.' };
}

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
const timeOf = (value: unknown): number | null =>
  typeof value === 'number' && value > 0 && value <= lastTime ? Math.floor(value) : null;
