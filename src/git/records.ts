import { CheckpointsError } from '../core/errors';
import type { Checkpoint, CheckpointId, FilesFacet } from '../core/model';

/** A checkpoint as the commit that holds it: the title, an empty line, one line of JSON. */
export function encodeCommit(tree: string, message: string, time: number): Buffer {
  const who = `Checkpoints for OpenCode <checkpoints@localhost> ${Math.floor(time / 1000)} +0000`;
  return Buffer.from(`tree ${tree}\nauthor ${who}\ncommitter ${who}\n\n${message}`, 'utf8');
}

export function checkpointMessage(checkpoint: Checkpoint): string {
  const { commit: _derived, ...files } = checkpoint.files;
  return `${oneLine(checkpoint.title)}\n\n${JSON.stringify({ ...checkpoint, files })}\n`;
}

function oneLine(text: string): string {
  // eslint's control character rule does not apply to escapes built from code points.
  return [...text].map((c) => (c < ' ' || c === '\u007f' ? ' ' : c)).join('');
}

export interface ParsedCommit {
  tree: string;
  message: string;
}

export function parseCommit(data: Buffer): ParsedCommit {
  const end = data.indexOf('\n\n');
  const tree = /^tree ([0-9a-f]{40,64})\n/.exec(data.toString('latin1', 0, Math.max(end, 0) + 1))?.[1];
  if (end < 0 || !tree)
    throw new CheckpointsError('store-broken', 'A commit of the store is damaged.', { details: { damaged: true } });
  return { tree, message: data.toString('utf8', end + 2) };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The record of a commit; null when the commit is not one of ours. Its fields may be of any type. */
export function decodeCheckpoint(data: Buffer, commit: string): Checkpoint | null {
  const { tree, message } = parseCommit(data);
  const line = message.split('\n')[2];
  if (!line) return null;
  let value: Partial<Checkpoint>;
  try {
    value = JSON.parse(line) as Partial<Checkpoint>;
  } catch {
    return null;
  }
  if (!isObject(value) || typeof value.id !== 'string' || typeof value.createdAt !== 'string' || !isObject(value.files))
    return null;
  const stored: Partial<FilesFacet> = value.files;
  const files: FilesFacet = {
    ...stored,
    added: stored.added ?? 0,
    modified: stored.modified ?? 0,
    deleted: stored.deleted ?? 0,
    paths: stored.paths ?? [],
    skipped: stored.skipped ?? [],
    partial: stored.partial ?? [],
    emptyDirs: stored.emptyDirs ?? [],
    lane: stored.lane === 'paths' ? 'paths' : 'scan',
    tree,
    commit,
  };
  return {
    name: null,
    description: null,
    pinned: false,
    session: null,
    turn: null,
    git: null,
    task: null,
    cause: null,
    restore: null,
    origin: null,
    ...value,
    id: value.id,
    createdAt: value.createdAt,
    title: value.title ?? value.id,
    trigger: value.trigger ?? 'manual',
    metadata: value.metadata ?? {},
    files,
  };
}

/**
 * One of this workspace's own, under its id, as whatever reads it may rely on. One that only looks like a record (a list where a facet should be) is as
 * unreadable as one that is none, and must not keep the others from being read.
 */
export function decodeOwn(data: Buffer, commit: string, id: CheckpointId): Checkpoint | null {
  const found = decodeCheckpoint(data, commit);
  if (found?.id !== id || Number.isNaN(Date.parse(found.createdAt))) return null;
  const { files } = found;
  const every = (from: object, keys: readonly string[], is: (value: unknown) => boolean): boolean =>
    keys.every((key) => is((from as Record<string, unknown>)[key] ?? null));
  const isText = (value: unknown): boolean => value === null || typeof value === 'string';
  const isFacet = (value: unknown): boolean => value === null || isObject(value);
  const isSound =
    every(found, ['name', 'description', 'title', 'trigger'], isText) &&
    every(found, ['session', 'turn', 'git', 'task', 'cause', 'restore', 'origin', 'metadata'], isFacet) &&
    every(files, ['added', 'modified', 'deleted'], (value) => typeof value === 'number') &&
    every(files, ['paths', 'skipped', 'partial', 'emptyDirs'], Array.isArray) &&
    every(files, ['uncertain', 'only', 'exclude', 'calls'], (value) => value === null || Array.isArray(value));
  return isSound ? found : null;
}
