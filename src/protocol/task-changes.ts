import type { TaskState } from '../core/model';

/** One field's difference between the task at a checkpoint and at the one before. */
export type TaskChange =
  | { field: string; kind: 'text'; from: string | null; to: string | null }
  | { field: string; kind: 'list'; added: string[]; removed: string[] };

/** In the order a person reads a task; fields of a newer version come after, as text. */
const order = [
  'status',
  'title',
  'objective',
  'summary',
  'currentPlan',
  'completedSteps',
  'nextSteps',
  'blockers',
  'filesTouched',
  'notes',
];

export function taskChanges(before: TaskState | null, after: TaskState | null): TaskChange[] {
  const from = before ?? {};
  const to = after ?? {};
  const others = [...new Set([...Object.keys(from), ...Object.keys(to)])].filter((key) => !order.includes(key)).sort();
  return [...order, ...others].flatMap((field) => fieldChange(field, from[field], to[field]));
}

function fieldChange(field: string, from: unknown, to: unknown): TaskChange[] {
  if (isList(from ?? to) && isList(to ?? from)) {
    const added = without(asList(to), asList(from));
    const removed = without(asList(from), asList(to));
    return added.length + removed.length > 0 ? [{ field, kind: 'list', added, removed }] : [];
  }
  const [a, b] = [asText(from), asText(to)];
  return a === b ? [] : [{ field, kind: 'text', from: a, to: b }];
}

const isList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((entry) => typeof entry === 'string');

const asList = (value: unknown): string[] => (isList(value) ? value : []);

function asText(value: unknown): string | null {
  if (value === undefined || value === null || value === '') return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Counts repetitions: a step that is there twice and then once was removed once. */
function without(list: string[], other: string[]): string[] {
  const left = new Map<string, number>();
  for (const entry of other) left.set(entry, (left.get(entry) ?? 0) + 1);
  return list.filter((entry) => {
    const count = left.get(entry) ?? 0;
    left.set(entry, count - 1);
    return count <= 0;
  });
}
