import type { TaskState } from '../core/model';
import { listNames, statusNames, textNames, type ListField } from '../protocol/task-names';

/** The task as rows, and what an edit of a row changes: plain functions over plain data. */

/** A state as a page to compare with another one: what is empty takes no room, so that only what changed is marked. */
export const taskText = (task: TaskState | null): string => {
  const lines = (field: ListField): string[] =>
    (task?.[field] ?? []).map((text) => `- ${text.replaceAll('\n', '\n  ')}`);
  const part = (title: string, body: readonly string[]): string[] =>
    body.length === 0 ? [] : ['', `## ${title}`, '', ...body];
  return [
    `# ${task?.title ?? 'Untitled Task'}`,
    ...part('Status', task?.status === undefined ? [] : [statusNames[task.status]]),
    ...(['objective', 'summary'] as const).flatMap((field) => part(textNames[field], task?.[field]?.split('\n') ?? [])),
    ...(Object.keys(listNames) as ListField[]).flatMap((field) => part(listNames[field], lines(field))),
    '',
  ].join('\n');
};

/** What is open and what is done: these have ticks. */
export const isStep = (field: ListField): boolean => field === 'nextSteps' || field === 'completedSteps';

type Lists = Partial<Record<ListField, string[]>>;

const list = (task: TaskState | null, field: ListField): string[] => [...(task?.[field] ?? [])];

export const addItem = (task: TaskState | null, field: ListField, text: string): Lists => ({
  [field]: [...list(task, field), text],
});

/** Positions are those of the row that was clicked; the state may have changed since, so the text is checked too. */
const indexOf = (items: readonly string[], index: number, text: string): number =>
  items[index] === text ? index : items.indexOf(text);

/** The position of a row that had these texts one after the other, newest first; -1 when it is gone. */
export const findItem = (items: readonly string[], index: number, texts: readonly string[]): number =>
  texts.map((text) => indexOf(items, index, text)).find((at) => at >= 0) ?? -1;

/** What a single line cannot hold. */
export const hasLines = (text: string): boolean => /[\r\n]/.test(text);

export const replaceItem = (
  task: TaskState | null,
  field: ListField,
  index: number,
  old: string,
  text: string,
): Lists => {
  const items = list(task, field);
  const at = indexOf(items, index, old);
  if (at < 0) return {};
  items.splice(at, 1, ...(text === '' ? [] : [text]));
  return { [field]: items };
};

/** Ticking a step moves it to the end of what is done; unticking moves it to the front of what is next. */
export const tickItem = (
  task: TaskState | null,
  field: ListField,
  index: number,
  text: string,
  done: boolean,
): Lists => {
  const [from, to]: [ListField, ListField] = done ? ['nextSteps', 'completedSteps'] : ['completedSteps', 'nextSteps'];
  if (field !== from) return {};
  const [source, target] = [list(task, from), list(task, to)];
  const at = indexOf(source, index, text);
  if (at < 0) return {};
  source.splice(at, 1);
  return { [from]: source, [to]: done ? [...target, text] : [text, ...target] };
};
