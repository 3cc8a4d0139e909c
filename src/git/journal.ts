import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, isAbsolute } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
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

/**
 * A damaged one is refused by whoever reads it: a restore may have stopped half-way, and somebody should know before anything else is done to the
 * files. The safety checkpoint has them as they were.
 */
export function readJournal(path: string): Journal | null {
  let value: unknown;
  try {
    value = readJson(path);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new CheckpointsError('store-broken', `${path} is damaged.`, {
      cause: error,
    });
  }
  if (value === null && !existsSync(path)) return null;
  if (!isJournal(value)) throw new CheckpointsError('store-broken', `${path} is not understood.`);
  return value;
}

/** The journal of another process, which must be dead: written over, its restore would never be finished. */
export function refuseForeign(path: string): void {
  const { owner } = readJournal(path) ?? {};
  const own = ownIdentity();
  if (owner && !isDeepStrictEqual(owner, own)) throw interrupted();
}

/** A restore died: its files, and what it moved aside, are needed until it is finished. */
export function refuseInterrupted(path: string): void {
  if (existsSync(path)) throw interrupted();
}

const interrupted = (): CheckpointsError =>
  new CheckpointsError('busy', 'A restore that was interrupted has to be finished first. Try again.');

/** Names where it is now, and the safety checkpoint as far as it can still be read. */
export function setJournalAside(path: string): string {
  const safety = /"safety":"(cp_[0-9a-z]{26})"/.exec(readFileSync(path, 'latin1'))?.[1];
  const aside = `${path}.damaged-${Date.now()}`;
  renameSync(path, aside);
  const before = safety ? `${safety} has` : 'the newest checkpoint made before a restore has';
  return `It is now ${aside}; ${before} the files as they were.`;
}

function isJournal(value: unknown): value is Journal {
  if (!isObject(value)) return false;
  const { version, phase, safety, tree, stage, changes, makeFolders, removeFolders, record } = value;
  return (
    version === 1 &&
    (phase === 'staging' || phase === 'applying') &&
    [safety, tree].every((text) => typeof text === 'string') &&
    // It is deleted with all that is in it.
    typeof stage === 'string' &&
    isAbsolute(stage) &&
    /^(\.opencode-checkpoints-)?stage-[0-9a-f]+$/.test(basename(stage)) &&
    Array.isArray(changes) &&
    changes.every(isChange) &&
    [makeFolders, removeFolders].every(
      (list) => Array.isArray(list) && list.every((path) => path === '' || isPlainPath(path)),
    ) &&
    isObject(record) &&
    (record.target === null || typeof record.target === 'string') &&
    Array.isArray(record.scope)
  );
}

function isChange(value: unknown): boolean {
  if (!isObject(value)) return false;
  const isVersion = (one: unknown): boolean =>
    one === null || (isObject(one) && typeof one.mode === 'number' && typeof one.oid === 'string');
  return isPlainPath(value.path) && isVersion(value.before) && isVersion(value.after);
}

function isPlainPath(path: unknown): boolean {
  return typeof path === 'string' && path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

export function removeJournal(path: string): void {
  rmSync(path, { force: true });
}
