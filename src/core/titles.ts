import { CheckpointsError } from './errors';
import type { Cause, RestoreRecord, TaskState, Trigger, TurnInfo } from './model';
import { characterCount, firstLine, lineProblem, oneLine, shorten } from './text';

const maxNameLength = 200;

export interface TitleInput {
  name?: string | null;
  trigger: Trigger;
  turn?: Pick<TurnInfo, 'number' | 'prompt'> | null;
  cause?: Pick<Cause, 'tool' | 'paths'> | null;
  task?: TaskState | null;
  restore?: Pick<RestoreRecord, 'operation' | 'target'> | null;
  /** Title of the checkpoint a restore goes to; without it the target's id stands there. */
  targetTitle?: string | null;
  /** What made it, where nobody gave it a name. */
  targetTrigger?: Trigger | null;
}

/**
 * What a checkpoint is called for people, always there: its name, else the prompt's first line (a turn), else what it precedes
 * or follows. One line of at most 200 characters.
 */
export function titleOf(input: TitleInput): string {
  const name = oneLine(input.name ?? '');
  return shorten(name === '' ? automaticTitle(input) : name, maxNameLength);
}

/** What a fork is called. A prompt's checkpoint lies before it, and the fork is made to send another one. */
export function forkTitle({ title, trigger }: { title: string; trigger: Trigger }): string {
  return trigger === 'turn' ? `Before “${title}”` : title;
}

function automaticTitle(input: TitleInput): string {
  const prompt = firstLine(input.turn?.prompt ?? '');
  switch (input.trigger) {
    case 'turn':
      return prompt || (input.turn ? `Turn ${input.turn.number}` : 'Before a prompt');
    case 'tool':
      return `Before ${toolCall(input.cause ?? null)}`;
    case 'idle':
      return withSubject('Turn ended', prompt);
    case 'task':
      return withSubject(taskTitle(input) === '' ? 'Task saved' : 'Task', taskTitle(input));
    case 'compaction':
      return withSubject('Compaction', taskTitle(input));
    case 'interval':
      return withSubject('Autosave', taskTitle(input));
    case 'restore':
      return restoreTitle(input);
    case 'manual':
      return 'Manual checkpoint';
    case 'agent':
      return prompt === '' ? 'Agent checkpoint' : withSubject('Agent checkpoint', prompt);
    case 'import':
      return withSubject('Imported checkpoint', taskTitle(input));
  }
}

function toolCall(cause: TitleInput['cause']): string {
  const tool = oneLine(cause?.tool ?? '');
  const paths = (cause?.paths ?? []).map(oneLine).filter((path) => path !== '');
  const words = [tool === '' ? 'a tool call' : tool];
  if (paths.length > 2) words.push(`${paths[0]} and ${paths.length - 1} more`);
  else if (paths.length > 0) words.push(paths.join(', '));
  return words.join(' ');
}

function restoreTitle(input: TitleInput): string {
  const target = oneLine(input.targetTitle ?? '') || (input.restore?.target ?? '');
  switch (input.restore?.operation) {
    case 'undo':
      return 'Before undo';
    case 'redo':
      return 'Before redo';
    case 'revert-turn':
      return target === '' ? 'Before reverting a turn' : `Before reverting “${target}”`;
    default:
      if (target === '') return 'Before restore';
      // These are called after what follows them: it is the moment of that which one goes back to.
      return input.targetTrigger === 'turn' || input.targetTrigger === 'tool'
        ? `Before going back to “${target.replace(/^Before (?=\S)/, '')}”`
        : `Before restoring “${target}”`;
  }
}

function taskTitle(input: TitleInput): string {
  return firstLine(input.task?.title ?? '');
}

function withSubject(kind: string, subject: string): string {
  return subject === '' ? kind : `${kind}: ${subject}`;
}

/**
 * A name as it is stored: trimmed, composed (NFC, so that the same name typed on another system is the same), one line of at
 * most 200 characters. Refused rather than shortened: a checkpoint is found again by its exact name.
 */
export function cleanName(name: string): string {
  if (typeof name !== 'string') throw invalid('A name must be a text.');
  const clean = name.normalize('NFC').trim();
  if (clean === '') throw invalid('A name must not be empty.');
  const problem = lineProblem(clean);
  if (problem === 'control') throw invalid('A name must be one line without control characters.');
  if (problem === 'direction') throw invalid('A name must not contain text-direction overrides.');
  if (problem === 'malformed') throw invalid('A name must be well-formed Unicode text.');
  const length = characterCount(clean);
  if (length > maxNameLength)
    throw invalid(
      `A name has at most ${maxNameLength} characters; this one has ${length}. Put the rest in the description.`,
    );
  return clean;
}

/** Another program's names know no rules; one that breaks ours is brought into form rather than lost. */
export function usableName(name: string): string | null {
  try {
    return cleanName(name);
  } catch (error) {
    if (!CheckpointsError.is(error, 'invalid-argument')) throw error;
    const line = shorten(oneLine(name).normalize('NFC'), maxNameLength);
    return line === '' ? null : line;
  }
}

function invalid(message: string): CheckpointsError {
  return new CheckpointsError('invalid-argument', message);
}
