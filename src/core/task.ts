import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { CheckpointsError } from './errors';
import type { TaskState, TaskStatus } from './model';
import { characterCount, clampCharacters, wellFormed } from './text';

/** What the agent is doing: pure rules of merging, limits and refusals. Where it is kept is another file's business. */

export const taskStatuses: readonly TaskStatus[] = ['not_started', 'in_progress', 'blocked', 'done'];
export const textFields = ['title', 'objective', 'summary'] as const;
export const listFields = ['currentPlan', 'completedSteps', 'nextSteps', 'blockers', 'filesTouched', 'notes'] as const;

type TextField = (typeof textFields)[number];
type ListField = (typeof listFields)[number];

const textLimits: Record<TextField, number> = { title: 50_000, objective: 50_000, summary: 10_000 };
const maxItems = 1_000;
const maxItemLength = 10_000;
export const maxTaskBytes = 1024 * 1024;
const maxDepth = 64;
const forbidden = ['__proto__', 'constructor', 'prototype'];

/** A value that was longer than its limit: a text, a list, or one item of it (`notes[3]`). */
export interface Clamp {
  field: string;
  given: number;
  kept: number;
}

export interface CheckedTask {
  task: TaskState;
  clamped: Clamp[];
}

/**
 * A partial save: an absent or null field keeps its value, "" and [] clear it (it is absent then), lists are replaced. Fields that are not known
 * here may be a newer version's, and stay. Refused: bad status, wrong types, names that would reach into object prototypes.
 */
export function mergeTask(current: TaskState | null, patch: unknown): CheckedTask {
  const { fields, cleared, clamped } = check(patch);
  const task: TaskState = { ...(current ?? { status: 'in_progress' }), ...fields };
  for (const field of cleared) delete task[field];
  // What was just given makes way first: the rest was accepted before.
  const given = listFields.filter((field) => field in fields);
  const rest = listFields.filter((field) => !given.includes(field));
  return { task, clamped: [...clamped, ...fitInAll(task, [given, rest])] };
}

/** A whole state out of a checkpoint or a file: checked, clamped, otherwise exactly as given; nothing merged, nothing added. */
export function readTask(value: unknown): CheckedTask {
  const { fields, clamped } = check(value);
  return { task: fields, clamped: [...clamped, ...fitInAll(fields, [[...listFields]])] };
}

/** The same for the same content, whatever the order of its fields and whenever it was saved. */
export function taskKey(task: TaskState): string {
  return createHash('sha256').update(canonical(task)).digest('hex');
}

/** What is saved when a conversation is compacted and nobody had saved anything. */
export function synthesizedTask(): TaskState {
  return {
    title: 'Auto-synthesized checkpoint',
    status: 'in_progress',
    summary: 'Session compacted without prior checkpoint_save call. State synthesized automatically.',
    notes: ['Auto-generated on session.compacted — agent did not call checkpoint_save before compaction.'],
  };
}

/** Its words say that nobody had saved anything: they go when somebody does. */
export function withoutMadeUp(task: TaskState | null): TaskState | null {
  if (task === null) return null;
  const madeUp = synthesizedTask();
  const { summary, notes, ...rest } = task;
  return {
    ...rest,
    ...(summary === undefined || summary === madeUp.summary ? {} : { summary }),
    ...(notes === undefined || isDeepStrictEqual(notes, madeUp.notes) ? {} : { notes }),
  };
}

export type TaskOverview =
  | { exists: false }
  | {
      exists: true;
      updatedAt: string;
      title: string | null;
      status: TaskStatus | null;
      completedSteps: number;
      nextSteps: number;
      blockers: number;
    };

/** The answer of `checkpoint_status`. */
export function taskOverview(task: TaskState | null, updatedAt: string): TaskOverview {
  if (task === null) return { exists: false };
  return {
    exists: true,
    updatedAt,
    title: task.title ?? null,
    status: task.status ?? null,
    completedSteps: task.completedSteps?.length ?? 0,
    nextSteps: task.nextSteps?.length ?? 0,
    blockers: task.blockers?.length ?? 0,
  };
}

/** The known fields checked and clamped, the unknown ones copied; absent and null ones left out, empty ones named. */
function check(value: unknown): { fields: TaskState; cleared: string[]; clamped: Clamp[] } {
  const clamped: Clamp[] = [];
  const cleared: string[] = [];
  const fields: TaskState = {};
  for (const [field, given] of Object.entries(flat(value))) {
    if (given === undefined || given === null) continue;
    const read = readField(field, given, clamped);
    if (isKnown(field) && (read === '' || (Array.isArray(read) && read.length === 0))) cleared.push(field);
    else fields[field] = read;
  }
  return { fields, cleared, clamped };
}

/** Version 2 files nest title, objective and status in `task`; agents send either form. The name of a save is no part of the state. */
function flat(value: unknown): Record<string, unknown> {
  const { task, snapshotName: _name, updatedAt: _time, version, ...rest } = asObject(value, 'A task state');
  const newer = typeof version === 'number' && version > 2 ? { version } : {};
  if (task === undefined || task === null) return { ...newer, ...rest };
  const nested = Object.entries(asObject(task, 'task')).filter(([, field]) => field !== undefined);
  const known = Object.fromEntries(nested.filter(([field]) => isKnown(field)));
  const unknown = Object.fromEntries(nested.filter(([field]) => !isKnown(field)));
  return { ...newer, ...rest, ...known, ...(Object.keys(unknown).length > 0 ? { task: unknown } : {}) };
}

function isKnown(field: string): boolean {
  return field === 'status' || isOneOf(textFields, field) || isOneOf(listFields, field);
}

function isOneOf<T extends string>(names: readonly T[], name: string): name is T {
  return (names as readonly string[]).includes(name);
}

function readField(field: string, value: unknown, clamped: Clamp[]): unknown {
  if (field === 'status') return readStatus(value);
  if (isOneOf(textFields, field)) return readText(field, value, textLimits[field], clamped);
  if (isOneOf(listFields, field)) return readList(field, value, clamped);
  return plainJson(value, field, 0);
}

export function isStatus(value: unknown): value is TaskStatus {
  return taskStatuses.some((status) => status === value);
}

function readStatus(value: unknown): TaskStatus | '' {
  if (value === '' || isStatus(value)) return value;
  throw refused(`status is one of ${taskStatuses.join(', ')}, not ${JSON.stringify(value) ?? kind(value)}.`);
}

function readText(field: string, value: unknown, limit: number, clamped: Clamp[]): string {
  if (typeof value !== 'string') throw refused(`${field} is a text, not ${kind(value)}.`);
  const text = wellFormed(value);
  const given = text.length <= limit ? 0 : characterCount(text);
  if (given <= limit) return text;
  clamped.push({ field, given, kept: limit });
  return clampCharacters(text, limit);
}

function readList(field: string, value: unknown, clamped: Clamp[]): string[] {
  if (!Array.isArray(value)) throw refused(`${field} is a list of texts, not ${kind(value)}.`);
  if (value.length > maxItems) clamped.push({ field, given: value.length, kept: maxItems });
  const kept = Math.min(value.length, maxItems);
  return Array.from({ length: kept }, (_, i) => readText(`${field}[${i}]`, value[i], maxItemLength, clamped));
}

/** A copy that shares nothing with the caller's object and is JSON through and through. */
function plainJson(value: unknown, path: string, depth: number): unknown {
  if (depth > maxDepth) throw refused(`${path} is nested too deeply.`);
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (Array.isArray(value)) return value.map((item, i) => plainJson(item ?? null, `${path}[${i}]`, depth + 1));
  const entries = Object.entries(asObject(value, path)).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.map(([key, item]) => [key, plainJson(item, `${path}.${key}`, depth + 1)]));
}

function asObject(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw refused(`${what} is an object, not ${kind(value)}.`);
  for (const key of Object.keys(value))
    if (forbidden.includes(key)) throw refused(`${what} cannot have a field "${key}".`);
  return value as Record<string, unknown>;
}

/** Shortens lists from their end, the largest first, until all of it fits, and names them. */
function fitInAll(task: TaskState, order: ListField[][]): Clamp[] {
  const clamped: Clamp[] = [];
  let over = bytesOf(task) - maxTaskBytes;
  for (const group of order) {
    const bySize = [...group].sort((a, b) => bytesOf(task[b] ?? []) - bytesOf(task[a] ?? []));
    for (const field of bySize) {
      const items = [...(task[field] ?? [])];
      if (over <= 0 || items.length === 0) continue;
      const given = items.length;
      while (over > 0 && items.length > 0) over -= bytesOf(items.pop()) + 1;
      task[field] = items;
      clamped.push({ field, given, kept: items.length });
    }
  }
  const bytes = bytesOf(task);
  if (bytes > maxTaskBytes)
    throw refused(
      `The task state would have ${bytes} bytes, most of them in fields this version does not know; ${maxTaskBytes} is the limit.`,
    );
  return clamped;
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(',')}}`;
}

function kind(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

const refused = (message: string): CheckpointsError => new CheckpointsError('invalid-argument', message);
