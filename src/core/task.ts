import { CheckpointsError } from './errors';
import type { TaskState, TaskStatus } from './model';
import { characterCount, clampCharacters, wellFormed } from './text';

/** What the agent is doing: pure rules of merging, limits and refusals. Where it is kept is another file's business. */

export const taskStatuses: readonly TaskStatus[] = ['not_started', 'in_progress', 'blocked', 'done'];
export const textFields = ['title', 'objective', 'summary'] as const;
export const listFields = ['currentPlan', 'completedSteps', 'nextSteps', 'blockers', 'filesTouched', 'notes'] as const;

const textLimits: Record<(typeof textFields)[number], number> = { title: 50_000, objective: 50_000, summary: 10_000 };
const maxItems = 1_000;
const maxItemLength = 10_000;
const maxBytes = 1_000_000;
const forbidden = ['__proto__', 'constructor', 'prototype'];

/** A value that was longer than its limit. */
export interface Clamp {
  field: string;
  given: number;
  kept: number;
}

export interface MergedTask {
  task: TaskState;
  clamped: Clamp[];
}

/**
 * A partial save: an absent or null field keeps its value, "" and [] clear it (it is absent then), arrays are replaced. Fields that
 * are not known here may be a newer version's, and stay.
 */
export function mergeTask(current: TaskState | null, patch: unknown): MergedTask {
  const { task: given, clamped } = readTask(patch);
  const task: TaskState = { ...(current ?? { status: 'in_progress' }) };
  for (const [field, value] of Object.entries(given)) {
    if (value === null || value === undefined) continue;
    if (value === '' || (Array.isArray(value) && value.length === 0)) delete task[field];
    else task[field] = value;
  }
  const bytes = Buffer.byteLength(JSON.stringify(task));
  if (bytes > maxBytes) throw refused(`The task state would have ${bytes} bytes, and ${maxBytes} is the limit`);
  return { task, clamped };
}

/** A task state out of a file, an option or a tool call: checked, clamped, otherwise as given. */
export function readTask(value: unknown): MergedTask {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refused('A task state is an object');
  const clamped: Clamp[] = [];
  const task: TaskState = {};
  for (const [field, given] of Object.entries(value)) {
    if (forbidden.includes(field)) throw refused(`A task state cannot have a field "${field}"`);
    task[field] = given === null || given === undefined ? given : readField(field, given, clamped);
  }
  return { task, clamped };
}

function readField(field: string, value: unknown, clamped: Clamp[]): unknown {
  if (field === 'status') return readStatus(value);
  const text = textFields.find((one) => one === field);
  if (text) {
    if (typeof value !== 'string') throw refused(`${field} is a text`);
    return clampText(field, value, textLimits[text], clamped);
  }
  if (!listFields.some((one) => one === field)) return value;
  if (!Array.isArray(value)) throw refused(`${field} is a list of texts`);
  const items = value as unknown[];
  if (items.length > maxItems) clamped.push({ field, given: items.length, kept: maxItems });
  return items.slice(0, maxItems).map((item, i) => {
    if (typeof item !== 'string') throw refused(`${field}[${i}] is a text`);
    return clampText(`${field}[${i}]`, item, maxItemLength, clamped);
  });
}

function readStatus(value: unknown): TaskStatus {
  const found = taskStatuses.find((status) => status === value);
  if (!found) throw refused(`status is one of ${taskStatuses.join(', ')}, not ${JSON.stringify(value)}`);
  return found;
}

function clampText(field: string, value: string, limit: number, clamped: Clamp[]): string {
  const text = wellFormed(value);
  if (text.length <= limit) return text;
  const given = characterCount(text);
  if (given <= limit) return text;
  clamped.push({ field, given, kept: limit });
  return clampCharacters(text, limit);
}

const refused = (message: string): CheckpointsError => new CheckpointsError('invalid-argument', message);
