import type { Database, SqlValue } from 'sql.js';
import { CheckpointsError } from '../core/errors';
import { loadSqlite, type WasmSource } from '../index/sqlite';
import type { ImportProblem } from './model';

export type Row = Record<string, SqlValue>;

/** The rows of a checkpoints.db, whatever columns it has; of a damaged one all that can be reached from either end. */
export async function readRows(
  bytes: Uint8Array,
  file: string,
  wasm: WasmSource,
): Promise<{ rows: Row[]; problems: ImportProblem[] }> {
  const sql = await loadSqlite(wasm);
  const db = new sql.Database(bytes);
  try {
    mustHaveTable(db, file);
    const rows = new Map<number, Row>();
    const problems: ImportProblem[] = [];
    // A page that is gone ends a walk; the rows behind it are reached from the other side.
    for (const order of ['ASC', 'DESC'] as const) {
      const failure = walk(db, order, rows);
      if (failure === null) break;
      if (order === 'ASC')
        problems.push({ item: file, message: `The database is damaged (${failure}): some rows may be lost.` });
    }
    return { rows: [...rows].sort(([a], [b]) => a - b).map(([, row]) => row), problems };
  } finally {
    db.close();
  }
}

function mustHaveTable(db: Database, file: string): void {
  let found: SqlValue[][];
  try {
    found = db.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'checkpoints'")[0]?.values ?? [];
  } catch (error) {
    throw new CheckpointsError('invalid-argument', `${file} is not a database: ${textOf(error)}.`, { cause: error });
  }
  if (found.length === 0) throw new CheckpointsError('invalid-argument', `${file} has no table of checkpoints.`);
}

/** The reason why it ended early, or null. */
function walk(db: Database, order: 'ASC' | 'DESC', rows: Map<number, Row>): string | null {
  try {
    // Not by an index: it may be the damaged part.
    const statement = db.prepare(`SELECT rowid AS rowid_, * FROM checkpoints NOT INDEXED ORDER BY rowid ${order}`);
    try {
      while (statement.step()) {
        const { rowid_: rowid, ...row } = statement.getAsObject();
        rows.set(Number(rowid), row);
      }
    } finally {
      statement.free();
    }
    return null;
  } catch (error) {
    return textOf(error);
  }
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
