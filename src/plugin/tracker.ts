import { anchorBefore, anchorNow, anchorThrough, isUnfinished } from '../core/anchors';
import { atRest } from '../core/at-rest';
import type { SessionAnchor, TurnInfo } from '../core/model';
import type { SessionInfo, SessionMessage, Turn } from '../core/sessions';
import { clampCharacters } from '../core/text';
import { promptLength, turnAt, turnInfo, turnsOf } from '../core/turns';

/** How sessions are read: from OpenCode itself, in whose process we run. */
export interface SessionReader {
  get(session: string): Promise<SessionInfo>;
  messages(session: string): Promise<SessionMessage[]>;
  /** Both, where that is less than asking for each. */
  whole?(session: string): Promise<{ info: SessionInfo; messages: SessionMessage[] }>;
}

/** Where in its conversation a checkpoint belongs. */
export interface Moment {
  session: SessionAnchor;
  turn: TurnInfo | null;
}

/** Files are captured all the same when OpenCode does not tell where in the conversation that is. */
export const nowhere = { session: null, turn: null } as const;

/** The same, where at least the prompt is known. */
export interface Unplaced {
  session: null;
  turn: TurnInfo | null;
}

export interface Prompt {
  id: string;
  text: string;
  model: string | null;
  agent: string | null;
}

/** What an event tells of a message. */
export interface Announcement {
  id: string;
  role: 'user' | 'assistant';
  completedAt: number | null;
  /** OpenCode 1: the prompt that an answer belongs to. */
  parentId?: string | null;
}

interface Known {
  info: SessionInfo;
  messages: SessionMessage[];
  turn: TurnInfo | null;
  /** Tool calls seen, and the step each belongs to. */
  calls: Map<string, string>;
}

const remembered = 200;

/**
 * What the plugin knows of the sessions at work, so that a tool call need not wait for the whole conversation to be read: it is read when a
 * prompt arrives, and events add the steps that follow. What events did not tell (yet) is read again, never guessed.
 */
export class SessionTracker {
  private readonly known = new Map<string, Known>();
  private readonly parents = new Map<string, string | null>();

  constructor(private readonly reader: SessionReader) {}

  /** The session a person speaks to: sub-agents, and theirs, work for it. */
  async rootOf(session: string): Promise<string> {
    return (await this.placeOf(session)).root;
  }

  /** `child`: the sub-agent of the root that it is, or works for; null for the root itself. */
  private async placeOf(session: string): Promise<{ root: string; child: string | null }> {
    let at = session;
    let child: string | null = null;
    for (let depth = 0; depth < 20; depth++) {
      const parent = await this.parentOf(at);
      if (parent === null) break;
      child = at;
      at = parent;
    }
    return { root: at, child };
  }

  private async parentOf(session: string): Promise<string | null> {
    const cached = this.parents.get(session);
    if (cached !== undefined) return cached;
    const { parentId } = await this.reader.get(session);
    this.parents.set(session, parentId);
    forgetOldest(this.parents, remembered * 5);
    return parentId;
  }

  async messageIds(session: string): Promise<Set<string>> {
    return new Set((await this.reader.messages(session)).map(({ id }) => id));
  }

  /** All before the prompt. `atWork`: the last answer is being written, unless the session rests: then it died with its server, and stays. */
  async beginTurn(session: string, prompt: Prompt, atWork: boolean): Promise<Moment> {
    const known = await this.read(session);
    const { info, messages } = known;
    const listed = messages.some(({ id }) => id === prompt.id);
    const last = atWork ? undefined : messages.findLast(({ role, reverted }) => role !== 'other' && !reverted);
    const anchor = listed
      ? anchorBefore(info, messages, prompt.id)
      : last
        ? anchorThrough(info, messages, last.id)
        : anchorNow(info, messages);
    known.turn = turnBegun(known, prompt);
    return { session: anchor, turn: known.turn };
  }

  /** All there are, in the turn that the prompt began: OpenCode 2 lists it only when it is delivered. */
  async afterPrompt(session: string, prompt: Prompt): Promise<Moment> {
    const known = await this.read(session);
    known.turn = turnBegun(known, prompt);
    return { session: anchorNow(known.info, known.messages), turn: known.turn };
  }

  /** All that were finished before the running step. A sub-agent's call counts to the step of the session it works for. */
  async beforeCall(session: string, callId: string, messageId: string | null): Promise<Moment> {
    const { root, child } = await this.placeOf(session);
    let known = this.known.get(root) ?? (await this.read(root));
    const stepOf = (one: Known): string | null => {
      if (child !== null) return delegatingStep(one, child);
      const step = messageId ?? one.calls.get(callId) ?? null;
      return step !== null && one.messages.some(({ id }) => id === step) ? step : null;
    };
    let step = stepOf(known);
    if (step === null) {
      known = await this.read(root);
      step = stepOf(known) ?? runningStep(known);
    }
    const anchor =
      step === null ? anchorNow(known.info, known.messages) : anchorBefore(known.info, known.messages, step);
    return { session: anchor, turn: turnOfStep(known, step) };
  }

  /** Through the step that is running: what an agent makes itself. */
  async throughStep(session: string, messageId: string): Promise<Moment> {
    const { root, child } = await this.placeOf(session);
    const known = await this.read(root);
    const step = child === null ? messageId : (delegatingStep(known, child) ?? lastAnswer(known)?.id ?? null);
    const listed = step !== null && known.messages.some(({ id }) => id === step);
    const anchor = listed ? anchorThrough(known.info, known.messages, step) : anchorNow(known.info, known.messages);
    return { session: anchor, turn: turnOfStep(known, step) };
  }

  /** All there are. The next prompt's point waits for this one. */
  async whenIdle(session: string, patienceMs = 2000): Promise<Moment> {
    const known = await atRest(() => this.read(session), patienceMs);
    return { session: anchorNow(known.info, known.messages), turn: known.turn };
  }

  /** A message was announced, or announced again. */
  sawMessage(session: string, message: Announcement): void {
    const known = this.known.get(session);
    if (!known) return;
    const found = known.messages.find(({ id }) => id === message.id);
    if (found) found.completedAt = message.completedAt ?? found.completedAt;
    else known.messages.push(announced(message, known.turn));
  }

  sawCall(session: string, callId: string, messageId: string): void {
    this.known.get(session)?.calls.set(callId, messageId);
  }

  /** Messages went, or came in a way that events do not tell: read again at the next need. */
  forget(session: string): void {
    this.known.delete(session);
  }

  private async whole(session: string): Promise<{ info: SessionInfo; messages: SessionMessage[] }> {
    if (this.reader.whole) return this.reader.whole(session);
    const [info, messages] = await Promise.all([this.reader.get(session), this.reader.messages(session)]);
    return { info, messages };
  }

  private async read(session: string): Promise<Known> {
    const { info, messages } = await this.whole(session);
    const before = this.known.get(session);
    const last = standingTurns(messages).at(-1);
    const known: Known = {
      info,
      messages: messages.map(withoutContent),
      turn: last ? { ...turnInfo(last), model: last.model ?? before?.turn?.model ?? null } : null,
      calls: new Map(messages.flatMap(({ id, calls }) => calls.map((call) => [call.id, id] as const))),
    };
    this.parents.set(session, info.parentId);
    this.known.delete(session);
    this.known.set(session, known);
    forgetOldest(this.known, remembered);
    return known;
  }
}

/** A server runs for weeks, and conversations hold whole files: anchors and turns need neither what calls were given nor what answers say. */
function withoutContent(message: SessionMessage): SessionMessage {
  return {
    ...message,
    text: message.role === 'user' ? clampCharacters(message.text, promptLength) : '',
    calls: message.calls.map((call) => ({ ...call, input: {} })),
  };
}

/** The first that were put in go first. */
export function forgetOldest(map: Map<string, unknown>, limit: number): void {
  for (const key of map.keys()) {
    if (map.size <= limit) return;
    map.delete(key);
  }
}

/** Without a number it is one that OpenCode did not tell. */
export function turnOfPrompt({ id, text, model, agent }: Prompt, number = 0): TurnInfo {
  return { number, messageId: id, prompt: clampCharacters(text, promptLength), model, agent, cost: null, tokens: null };
}

function turnBegun({ info, messages }: Known, prompt: Prompt): TurnInfo {
  const turns = standingTurns(messages);
  return {
    ...turnOfPrompt(prompt, turnAt(turns, prompt.id)?.number ?? turns.length + 1),
    // OpenCode 2 does not say it with the prompt: it is what the session was switched to.
    model: prompt.model ?? info.model,
    agent: prompt.agent ?? info.agent,
  };
}

/** Without those that the user took back: the next prompt has their number. */
function standingTurns(messages: readonly SessionMessage[]): Turn[] {
  return turnsOf(messages.filter(({ reverted }) => !reverted));
}

/** The step whose call a sub-agent works for; null when none is known, or it has ended (a sub-agent in the background). */
function delegatingStep({ messages }: Known, child: string): string | null {
  const delegates = ({ calls }: SessionMessage): boolean => calls.some(({ childSession }) => childSession === child);
  return messages.findLast((message) => isUnfinished(message) && delegates(message))?.id ?? null;
}

function lastAnswer({ messages }: Known): SessionMessage | undefined {
  return messages.findLast(({ role }) => role === 'assistant');
}

/** A prompt that was sent meanwhile is listed behind it. */
function runningStep(known: Known): string | null {
  const last = lastAnswer(known);
  return last !== undefined && isUnfinished(last) ? last.id : null;
}

/** That of the last prompt, unless the step still belongs to one before it. */
function turnOfStep(known: Known, step: string | null): TurnInfo | null {
  const turn = step === null ? null : turnAt(standingTurns(known.messages), step);
  return turn === null || turn.messageId === known.turn?.messageId ? known.turn : turnInfo(turn);
}

/** As much of a message as anchors and turns need. */
function announced(message: Announcement, turn: TurnInfo | null): SessionMessage {
  const now = Date.now();
  const isPrompt = message.id === turn?.messageId;
  return {
    parentId: null,
    ...message,
    type: message.role,
    createdAt: now,
    completedAt: message.role === 'user' ? now : message.completedAt,
    text: isPrompt ? turn.prompt : '',
    // Another message that nobody was seen to send may be a program's: it begins no turn before it was read.
    synthetic: message.role === 'user' && !isPrompt,
    model: null,
    agent: null,
    cost: 0,
    tokens: 0,
    error: null,
    reverted: false,
    calls: [],
    files: [],
  };
}
