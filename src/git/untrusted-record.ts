import { CheckpointsError } from '../core/errors';
import {
  triggers,
  type Cause,
  type Checkpoint,
  type FilesFacet,
  type GitFacet,
  type Origin,
  type PathReason,
  type RestoreRecord,
  type SessionAnchor,
  type TaskState,
  type Trigger,
  type TurnInfo,
  restoreScopes,
} from '../core/model';
import { pathsKept } from '../core/record';
import { readTask } from '../core/task';
import { clampCharacters, oneLine, wellFormed } from '../core/text';
import { cleanName } from '../core/titles';
import { isId, timeOf } from '../core/ulid';
import { unsafePath } from './trust';

/** A commit with a longer message is not read at all: the largest honest one (task, paths) has about 3 MB. */
export const maxRecordBytes = 8 << 20;
const listKept = 2000;
const onlyKept = 100_000;
const metadataBytes = 64 << 10;

/**
 * A record that somebody else wrote, as far as it is one: every field has the type and the size that ours have, every path is
 * one that could be written, ids are ids. What is not understood is left out. Throws when there is nothing to go by.
 */
export function cleanRecord(given: Checkpoint, id: string, origin: Origin): Checkpoint {
  if (!isId(id) || given.id !== id)
    throw new CheckpointsError('untrusted-tree', `The record is of another checkpoint: ${short(given.id)}.`);
  const name = nameOf(given.name);
  const time = typeof given.createdAt === 'string' ? Date.parse(given.createdAt) : NaN;
  return {
    id,
    name,
    title: line(given.title, 300) || name || id,
    description: given.description ? text(given.description, 100_000) || null : null,
    createdAt: new Date(Number.isNaN(time) ? timeOf(id) : time).toISOString(),
    trigger: (triggers as readonly unknown[]).includes(given.trigger) ? (given.trigger as Trigger) : 'manual',
    pinned: given.pinned === true,
    session: sessionOf(given.session),
    turn: turnOf(given.turn),
    files: filesOf(given.files),
    git: gitOf(given.git),
    task: taskOf(given.task),
    cause: causeOf(given.cause),
    restore: restoreOf(given.restore),
    origin: originOf(given.origin, origin),
    metadata: metadataOf(given.metadata),
  };
}

/** OpenCode's ids, which become parts of addresses and refs. */
export function isSessionId(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Za-z][A-Za-z0-9_-]{0,119}$/.test(value);
}

function originOf(given: unknown, fallback: Origin): Origin {
  const value = fields(given);
  const edited = fields(value?.['edited']);
  const commit = edited?.['commit'];
  const kept = strings(edited?.['fields']).filter((field) => ['name', 'description', 'pinned'].includes(field));
  return {
    machine: line(value?.['machine'], 100) || fallback.machine,
    user: line(value?.['user'], 100) || fallback.user,
    ...(typeof commit === 'string' && /^[0-9a-f]{40,64}$/.test(commit)
      ? { edited: { commit, fields: kept as NonNullable<Origin['edited']>['fields'] } }
      : {}),
  };
}

function nameOf(given: unknown): string | null {
  if (typeof given !== 'string') return null;
  try {
    return cleanName(given);
  } catch (error) {
    if (!CheckpointsError.is(error, 'invalid-argument')) throw error;
    return line(given, 200) || null; // made into a name; its owner still has the odd one
  }
}

function sessionOf(given: unknown): SessionAnchor | null {
  const value = fields(given);
  if (!value || !isSessionId(value['id'])) return null;
  const messageId = value['messageId'];
  if (messageId !== null && messageId !== undefined && !isSessionId(messageId)) return null;
  return {
    id: value['id'],
    messageId: messageId ?? null,
    messageCount: count(value['messageCount']),
    title: line(value['title'], 500) || null,
    parent: isSessionId(value['parent']) ? value['parent'] : null,
  };
}

function turnOf(given: unknown): TurnInfo | null {
  const value = fields(given);
  if (!value) return null;
  return {
    number: count(value['number']),
    ...(isSessionId(value['messageId']) ? { messageId: value['messageId'] } : {}),
    prompt: text(value['prompt'], 500),
    model: line(value['model'], 200) || null,
    agent: line(value['agent'], 200) || null,
    cost: amount(value['cost']),
    tokens: amount(value['tokens']),
  };
}

function filesOf(given: FilesFacet): FilesFacet {
  const uncertain = paths(given.uncertain, listKept);
  return {
    tree: given.tree,
    commit: given.commit,
    lane: given.lane === 'paths' ? 'paths' : 'scan',
    added: count(given.added),
    modified: count(given.modified),
    deleted: count(given.deleted),
    paths: paths(given.paths, pathsKept),
    skipped: reasonsOf(given.skipped),
    partial: reasonsOf(given.partial),
    emptyDirs: paths(given.emptyDirs, listKept),
    ...(uncertain.length > 0 ? { uncertain } : {}),
    ...(given.only === undefined ? {} : { only: paths(given.only, onlyKept) }),
  };
}

function gitOf(given: unknown): GitFacet | null {
  const value = fields(given);
  if (!value) return null;
  const commit = value['commit'];
  return {
    commit: typeof commit === 'string' && /^[0-9a-f]{40,64}$/.test(commit) ? commit : null,
    branch: line(value['branch'], 300) || null,
    dirty: value['dirty'] === true,
  };
}

function taskOf(given: unknown): TaskState | null {
  if (!fields(given)) return null;
  try {
    return readTask(given).task;
  } catch (error) {
    if (!CheckpointsError.is(error, 'invalid-argument')) throw error;
    return null; // no task that this product could have saved
  }
}

function causeOf(given: unknown): Cause | null {
  const value = fields(given);
  if (!value) return null;
  return {
    tool: line(value['tool'], 200),
    callId: line(value['callId'], 200) || null,
    // These may lie outside the workspace and are only shown.
    paths: strings(value['paths'])
      .slice(0, pathsKept)
      .map((path) => line(path, 4096)),
  };
}

function restoreOf(given: unknown): RestoreRecord | null {
  const value = fields(given);
  const operation = (['restore', 'undo', 'redo', 'revert-turn'] as const).find((one) => one === value?.['operation']);
  if (!value || !operation) return null;
  const target = value['target'];
  return {
    operation,
    target: typeof target === 'string' && isId(target) ? target : null,
    scope: restoreScopes.filter((one) => strings(value['scope']).includes(one)),
    session: isSessionId(value['session']) ? value['session'] : null,
    restored: count(value['restored']),
    deleted: count(value['deleted']),
    kept: count(value['kept']),
    skipped: count(value['skipped']),
    touched: Array.isArray(value['touched']) ? paths(value['touched'], 5000) : null,
  };
}

function metadataOf(given: unknown): Record<string, unknown> {
  const value = fields(given);
  if (!value) return {};
  const json = JSON.stringify(value);
  // A key like __proto__ is an ordinary one after parsing, and stays out of objects that are put together here.
  return json.length <= metadataBytes && !/"(__proto__|constructor|prototype)"\s*:/.test(json) ? value : {};
}

function reasonsOf(given: unknown): PathReason[] {
  if (!Array.isArray(given)) return [];
  const out: PathReason[] = [];
  for (const one of given.slice(0, listKept)) {
    const value = fields(one);
    const path = value?.['path'];
    if (typeof path !== 'string' || path.length > 4096 || unsafePath(path) !== null) continue;
    const size = value?.['size'];
    out.push({ path, reason: line(value?.['reason'], 300), ...(typeof size === 'number' ? { size } : {}) });
  }
  return out;
}

function paths(given: unknown, most: number): string[] {
  return strings(given)
    .filter((path) => path.length <= 4096 && unsafePath(path) === null)
    .slice(0, most);
}

function fields(given: unknown): Record<string, unknown> | null {
  return given !== null && typeof given === 'object' && !Array.isArray(given)
    ? (given as Record<string, unknown>)
    : null;
}

function strings(given: unknown): string[] {
  return Array.isArray(given) ? given.filter((one): one is string => typeof one === 'string') : [];
}

function text(given: unknown, most: number): string {
  return typeof given === 'string' ? clampCharacters(wellFormed(given), most) : '';
}

function line(given: unknown, most: number): string {
  return typeof given === 'string' ? oneLine(text(given, most)) : '';
}

function count(given: unknown): number {
  return typeof given === 'number' && Number.isSafeInteger(given) && given >= 0 ? given : 0;
}

function amount(given: unknown): number | null {
  return typeof given === 'number' && Number.isFinite(given) && given >= 0 ? given : null;
}

function short(given: unknown): string {
  return line(String(given), 60);
}
