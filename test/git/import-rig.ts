import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import initSqlJs from 'sql.js';

export const wasm = { file: resolve(__dirname, '../../node_modules/sql.js/dist/sql-wasm.wasm') };

export interface OldRow {
  id?: number | null;
  session_id?: string;
  name?: string;
  description?: string | null;
  message_count?: number | string;
  git_commit?: string | null;
  created_at?: number | string;
  metadata?: string;
}

/** A checkpoints.db as the old plugin makes it. */
export async function oldDatabase(file: string, rows: OldRow[]): Promise<void> {
  const sql = await initSqlJs({ wasmBinary: new Uint8Array(readFileSync(wasm.file)).buffer });
  const db = new sql.Database();
  db.exec(`CREATE TABLE checkpoints(id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, name TEXT NOT NULL,
      description TEXT, message_count INTEGER NOT NULL, git_commit TEXT, created_at INTEGER NOT NULL, metadata TEXT NOT NULL DEFAULT '{}');
    CREATE INDEX idx_checkpoints_session ON checkpoints(session_id, created_at DESC);
    CREATE INDEX idx_checkpoints_name ON checkpoints(session_id, name)`);
  for (const row of rows)
    db.run('INSERT INTO checkpoints VALUES (?,?,?,?,?,?,?,?)', [
      row.id ?? null,
      row.session_id ?? 'ses_old',
      row.name ?? 'a bookmark',
      row.description ?? null,
      row.message_count ?? 6,
      row.git_commit ?? null,
      row.created_at ?? 1_760_000_000_000,
      row.metadata ?? '{}',
    ]);
  put(file, db.export());
  db.close();
}

export function put(file: string, content: string | Uint8Array): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

/** OpenOrca's folder of one session: the manifest, and the content of each file beside it. */
export function oldManifest(
  folder: string,
  files: Array<{
    filePath?: string;
    path?: string;
    content: string | Uint8Array | null;
    at: string;
    size?: number;
    as?: string;
  }>,
): void {
  const entries = files.map((file, i) => {
    const backupFile = file.as ?? `20251009_08000${i}_0123456789ab.bak`;
    if (file.content !== null) put(join(folder, backupFile), file.content);
    const size = file.size ?? (file.content === null ? 1 : Buffer.from(file.content).length);
    const name = file.filePath === undefined ? { path: file.path } : { filePath: file.filePath };
    return { ...name, backupFile, timestamp: file.at, sizeBytes: size };
  });
  put(join(folder, 'manifest.json'), JSON.stringify(entries, null, 2));
}
