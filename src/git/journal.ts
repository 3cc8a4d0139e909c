import { rmSync } from 'node:fs';
import { CheckpointsError } from '../core/errors';
import type { CheckpointId } from '../core/model';
import type { ApplyRequest, FileChange } from '../core/ports';
import { readJson, writeFileDurably } from './durable';
import { ownIdentity, type ProcessIdentity } from './process-identity';

/**
 * Lies beside the store only while a restore is under way. `staging`: nothing of the user's was touched yet;
 * `applying`: files may be old or new, and everything needed to finish is in the store.
 */
export interface Journal {
  version: 1;
  phase: 'staging' | 'applying';
  safety: CheckpointId;
  tree: string;
  stage: string;
  changes: FileChange[];
  makeFolders: string[];
  removeFolders: string[];
  record: ApplyRequest['record'];
  owner: ProcessIdentity;
  startedAt: string;
}

export function writeJournal(path: string, journal: Omit<Journal, 'version' | 'owner'>): void {
  writeFileDurably(path, JSON.stringify({ version: 1, owner: ownIdentity(), ...journal }));
}

export function readJournal(path: string): Journal | null {
  let value: Partial<Journal> | null;
  try {
    value = readJson(path) as Partial<Journal> | null;
  } catch (error) {
    throw new CheckpointsError('store-broken', `${path} is damaged. Run doctor --repair to set it aside.`, {
      cause: error,
    });
  }
  if (value === null) return null;
  if (value.version !== 1 || !Array.isArray(value.changes) || typeof value.safety !== 'string')
    throw new CheckpointsError('store-broken', `${path} is not understood. Run doctor --repair to set it aside.`);
  return value as Journal;
}

export function removeJournal(path: string): void {
  rmSync(path, { force: true });
}
