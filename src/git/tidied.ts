import { join } from 'node:path';
import { readJson, writeFileDurably } from './durable';
import { isFull } from './file-failure';

/** When the store was last looked after, and whether deleted checkpoints still take space. Only a hint: losing it costs time. */
export interface TidiedState {
  at: number;
  garbage: boolean;
}

const name = 'tidied.json';

export function readTidied(folder: string): TidiedState {
  let value: Partial<TidiedState> | null;
  try {
    value = readJson(join(folder, name)) as Partial<TidiedState> | null;
  } catch {
    value = null; // damaged: as if never looked after
  }
  return { at: typeof value?.at === 'number' ? value.at : 0, garbage: value?.garbage === true };
}

export function writeTidied(folder: string, change: Partial<TidiedState>): void {
  try {
    writeFileDurably(join(folder, name), `${JSON.stringify({ ...readTidied(folder), ...change })}\n`);
  } catch (error) {
    if (!isFull(error)) throw error; // a full disk is told by what needs the room
  }
}
