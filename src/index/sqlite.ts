import { readFile } from 'node:fs/promises';
import initSqlJs, { type SqlJsStatic } from 'sql.js';
import { CheckpointsError } from '../core/errors';

/** Where SQLite's WebAssembly is: a file (in a build it lies beside the bundle), or its bytes. */
export type WasmSource = { file: string } | { bytes: Uint8Array };

export async function loadSqlite(wasm: WasmSource): Promise<SqlJsStatic> {
  try {
    const bytes = 'bytes' in wasm ? wasm.bytes : await readFile(wasm.file);
    return await initSqlJs({ wasmBinary: new Uint8Array(bytes).buffer });
  } catch (error) {
    const where = 'file' in wasm ? ` from ${wasm.file}` : '';
    throw new CheckpointsError('not-supported', `The index could not be loaded${where}.`, { cause: error });
  }
}
