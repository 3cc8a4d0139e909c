import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckpointId } from '../core/model';
import { readJson, writeFileDurably } from './durable';
import { isAlive, ownIdentity, type ProcessIdentity } from './process-identity';

/**
 * `fork.json`: a restore that also forks the conversation is under way, or died. Unlike the journal it keeps nobody from opening the
 * workspace: a fork of a long session takes its time, and the files are done by then.
 */
interface ForkMark {
  version: 1;
  safety: CheckpointId;
  owner: ProcessIdentity;
}

const pathIn = (folder: string): string => join(folder, 'fork.json');

export function writeForkMark(folder: string, safety: CheckpointId): void {
  writeFileDurably(pathIn(folder), JSON.stringify({ version: 1, safety, owner: ownIdentity() } satisfies ForkMark));
}

export function removeForkMark(folder: string): void {
  rmSync(pathIn(folder), { force: true });
}

/** The safety checkpoint of a restore whose process died before the fork was made; null when there is none. */
export function deadForkMark(folder: string): CheckpointId | null {
  const path = pathIn(folder);
  let mark: Partial<ForkMark> | null;
  try {
    mark = readJson(path) as Partial<ForkMark> | null;
  } catch (error) {
    // Only a failing disk leaves half of it. The record of the safety checkpoint tells the same, without being asked.
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  if (mark?.version !== 1 || typeof mark.safety !== 'string' || !mark.owner) return null;
  const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0);
  return isAlive(mark.owner, age) ? null : mark.safety;
}
