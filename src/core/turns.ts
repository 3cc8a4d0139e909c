import type { Checkpoint, TurnInfo } from './model';
import { isNote, type SessionMessage, type Step, type Todo, type Turn } from './sessions';
import { clampCharacters } from './text';

/** As much of a prompt as records keep. */
export const promptLength = 500;

/**
 * Messages as turns. A turn begins with a message a person sent; what programs put in (compactions, "continue", notes)
 * begins none, and the steps that follow belong to the turn that was under way.
 */
export function turnsOf(messages: readonly SessionMessage[]): Turn[] {
  const turns: Turn[] = [];
  const byPrompt = new Map<string, Turn>();
  for (const message of messages) {
    if (message.role === 'user' && !message.synthetic && !isNote(message)) {
      const turn = newTurn(turns.length + 1, message);
      turns.push(turn);
      byPrompt.set(message.id, turn);
    } else if (message.role === 'assistant') {
      // A prompt sent into a running turn is listed before the answers to the one before it: OpenCode 1 names the
      // prompt of each answer, OpenCode 2 delivers prompts between steps, so that order is enough there.
      const turn = (message.parentId !== null && byPrompt.get(message.parentId)) || turns.at(-1);
      if (turn) addStep(turn, message);
    }
  }
  const last = turns.at(-1);
  for (const turn of turns) finish(turn, turn === last);
  return turns;
}

function newTurn(number: number, prompt: SessionMessage): Turn {
  return {
    number,
    messageId: prompt.id,
    prompt: prompt.text,
    startedAt: prompt.createdAt,
    endedAt: null,
    model: prompt.model,
    agent: prompt.agent,
    cost: 0,
    tokens: 0,
    error: null,
    reverted: prompt.reverted,
    steps: [],
    children: [],
  };
}

function addStep(turn: Turn, message: SessionMessage): void {
  const step: Step = {
    messageId: message.id,
    startedAt: message.createdAt,
    endedAt: message.completedAt,
    model: message.model,
    agent: message.agent,
    cost: message.cost,
    tokens: message.tokens,
    error: message.error,
    calls: message.calls,
    files: message.files,
  };
  turn.steps.push(step);
  turn.cost += step.cost;
  turn.tokens += step.tokens;
  turn.model = step.model ?? turn.model;
  turn.agent ??= step.agent;
  for (const call of step.calls)
    if (call.childSession !== null && !turn.children.includes(call.childSession)) turn.children.push(call.childSession);
}

function finish(turn: Turn, isLast: boolean): void {
  const last = turn.steps.at(-1);
  turn.error = last?.error ?? null;
  if (last) turn.endedAt = last.endedAt;
  // A prompt that was never answered ended when the next one came.
  else if (!isLast) turn.endedAt = turn.startedAt;
}

/** The turn that a message belongs to; null for what comes before the first prompt. */
export function turnAt(turns: readonly Turn[], messageId: string): Turn | null {
  return (
    turns.find((turn) => turn.messageId === messageId || turn.steps.some((step) => step.messageId === messageId)) ??
    null
  );
}

/** Which turn of which session a checkpoint belongs to; null for none. Numbers come again after OpenCode's own undo. */
export function turnKey({ session, turn }: Pick<Checkpoint, 'session' | 'turn'>): string | null {
  return turn === null ? null : `${session?.id ?? '-'}/${turn.messageId ?? turn.number}`;
}

export function turnInfo(turn: Turn): TurnInfo {
  return {
    number: turn.number,
    messageId: turn.messageId,
    prompt: clampCharacters(turn.prompt, promptLength),
    model: turn.model,
    agent: turn.agent,
    cost: turn.steps.length > 0 ? turn.cost : null,
    tokens: turn.steps.length > 0 ? turn.tokens : null,
  };
}

/** The prompt before which a turn's point lies, found in what came after it: the record has only its beginning. */
export function promptTakenBack(
  { trigger, turn }: Pick<Checkpoint, 'trigger' | 'turn'>,
  after: readonly SessionMessage[],
): string | null {
  if (trigger !== 'turn' || turn === null) return null;
  return after.find(({ role, text }) => role === 'user' && text.startsWith(turn.prompt))?.text ?? turn.prompt;
}

/** The list of todos as it was after these messages; null when none was ever made. */
export function todosAfter(messages: readonly SessionMessage[]): Todo[] | null {
  for (const message of messages.toReversed())
    for (const call of message.calls.toReversed()) {
      if (call.tool !== 'todowrite' || call.status !== 'completed') continue;
      const todos = call.input['todos'];
      if (Array.isArray(todos))
        return todos.filter(isTodo).map(({ content, status, priority }) => ({ content, status, priority }));
    }
  return null;
}

function isTodo(value: unknown): value is Todo {
  const todo = value as Partial<Record<keyof Todo, unknown>> | null;
  return typeof todo?.content === 'string' && typeof todo.status === 'string' && typeof todo.priority === 'string';
}
