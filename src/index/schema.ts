/**
 * The tables of index.db. `checkpoints` begins with the columns that checkpoint databases for OpenCode have always had (`created_at` in
 * milliseconds, `metadata` as JSON), so that `sqlite3 index.db` answers ordinary questions; docs/formats.md lists the others.
 */

/** Another number, another layout: the file is rebuilt from the refs. */
export const schemaVersion = 1;
/** "CPIX": tells our file from any other SQLite database. */
export const applicationId = 0x43504958;

/** Column, type. The order is that of the values in rows.ts; `seq` before them is the row's own number. */
export const columns = [
  ['id', 'TEXT NOT NULL UNIQUE'],
  ['session_id', 'TEXT'],
  ['name', 'TEXT'],
  ['description', 'TEXT'],
  ['message_count', 'INTEGER NOT NULL'],
  ['git_commit', 'TEXT'],
  ['created_at', 'INTEGER NOT NULL'],
  ['metadata', "TEXT NOT NULL DEFAULT '{}'"],
  ['title', 'TEXT NOT NULL'],
  ['trigger', 'TEXT NOT NULL'],
  ['pinned', 'INTEGER NOT NULL'],
  ['message_id', 'TEXT'],
  ['session_title', 'TEXT'],
  ['session_parent', 'TEXT'],
  ['turn', 'INTEGER'],
  ['prompt', 'TEXT'],
  ['model', 'TEXT'],
  ['agent', 'TEXT'],
  ['cost', 'REAL'],
  ['tokens', 'INTEGER'],
  ['tree', 'TEXT NOT NULL'],
  ['commit_id', 'TEXT NOT NULL'],
  ['lane', 'TEXT NOT NULL'],
  ['added', 'INTEGER NOT NULL'],
  ['modified', 'INTEGER NOT NULL'],
  ['deleted', 'INTEGER NOT NULL'],
  ['paths', 'TEXT NOT NULL'],
  ['git_branch', 'TEXT'],
  ['git_dirty', 'INTEGER'],
  ['cause_tool', 'TEXT'],
  ['cause_call', 'TEXT'],
  ['cause_paths', 'TEXT'],
  ['task_title', 'TEXT'],
  ['task_status', 'TEXT'],
  ['restore_operation', 'TEXT'],
  ['restore_target', 'TEXT'],
  ['origin_machine', 'TEXT'],
  ['origin_user', 'TEXT'],
  // What the record has beyond its columns, as JSON (see rows.ts).
  ['more', 'TEXT'],
] as const;

export type Column = (typeof columns)[number][0];
export const columnNames = columns.map(([name]) => name);

/** Indexed for search; the text itself stays in `checkpoints` (an external content table). sql.js has FTS4, not FTS5. */
export const searchColumns = ['name', 'title', 'description', 'prompt', 'paths'] as const;

/** Where they are among the values of a row. */
export const searchPositions = searchColumns.map((name) => columnNames.indexOf(name));

export const createSchema = `
CREATE TABLE checkpoints (seq INTEGER PRIMARY KEY, ${columns.map((column) => column.join(' ')).join(', ')});
CREATE INDEX idx_checkpoints_session ON checkpoints (session_id, created_at DESC);
CREATE INDEX idx_checkpoints_name ON checkpoints (session_id, name);
CREATE VIRTUAL TABLE search USING fts4(content="checkpoints", ${searchColumns.join(', ')}, tokenize=unicode61 "remove_diacritics=2");
PRAGMA application_id = ${applicationId};
PRAGMA user_version = ${schemaVersion};
`;

/**
 * The database lives in memory and is written as a whole: its own journal and syncs have nothing to protect, and nobody else opens it (with
 * the lock kept, SQLite does not look for a foreign journal before every read).
 */
export const settings = `
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA journal_mode = MEMORY;
PRAGMA synchronous = OFF;
PRAGMA temp_store = MEMORY;
`;

const marks = (count: number): string => Array.from({ length: count }, () => '?').join(', ');

export const insertRow = `INSERT INTO checkpoints (seq, ${columnNames.join(', ')}) VALUES (${marks(columns.length + 1)})`;
/** Plain values: INSERT ... SELECT would make search write a segment of its own for every row. */
export const insertSearch = `INSERT INTO search (docid, ${searchColumns.join(', ')}) VALUES (${marks(searchColumns.length + 1)})`;
/** Before the row itself: search reads the old text from it to know what to forget. */
export const deleteSearch = 'DELETE FROM search WHERE docid = (SELECT seq FROM checkpoints WHERE id = ?)';
export const deleteRow = 'DELETE FROM checkpoints WHERE id = ?';
export const selectRow = `SELECT ${columnNames.join(', ')} FROM checkpoints WHERE seq = ?`;
