import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writeAtomic } from '../core/atomic-file';
import { readConfigFile } from '../core/config';
import { CheckpointsError } from '../core/errors';

/** What this extension wrote into the global file, and what stood there before: only its own is taken back. */
export interface Written {
  value: string;
  before?: unknown;
}

export interface Memory {
  get(): Written | undefined;
  set(written: Written | undefined): PromiseLike<void>;
}

type Content = Record<string, unknown>;

/** The file as it shall be, for a setting that may be empty. What the user wrote there stays where the setting says nothing. */
const placeStore = (
  content: Content,
  wanted: string,
  written: Written | undefined,
): { content: Content; written: Written | undefined } => {
  const { storeLocation: now, ...rest } = content;
  const ours = written !== undefined && now === written.value;
  if (wanted === '') {
    const before = ours ? written.before : now;
    return { content: before === undefined ? rest : { ...rest, storeLocation: before }, written: undefined };
  }
  if (now === wanted) return { content, written: ours ? written : undefined };
  const before = ours ? written.before : now;
  return {
    content: { ...content, storeLocation: wanted },
    written: before === undefined ? { value: wanted } : { value: wanted, before },
  };
};

/**
 * Where the store lies is known before any workspace is, so that setting goes into the global file, which plugin and
 * command line read.
 */
export const writeStoreLocation = async (path: string, wanted: string, memory: Memory): Promise<void> => {
  const written = memory.get();
  if (wanted === '' && written === undefined) return;
  const { values, problem } = readConfigFile(path);
  if (problem !== null) throw new CheckpointsError('invalid-argument', problem.message);
  if (typeof values !== 'object' || Array.isArray(values))
    throw new CheckpointsError('invalid-argument', `${path} must hold a JSON object.`);
  const content: Content = { ...values };
  const next = placeStore(content, wanted, written);
  // Remembered before it is written and forgotten after it is gone: what is ours must never be taken for the user's.
  if (next.written !== undefined) await memory.set(next.written);
  if (next.content['storeLocation'] !== content['storeLocation']) {
    await mkdir(dirname(path), { recursive: true });
    await writeAtomic(path, `${JSON.stringify(next.content, null, 2)}\n`);
  }
  if (next.written === undefined) await memory.set(undefined);
};
