import { isDeepStrictEqual } from 'node:util';
import { anchorInFork, forkPoint, messageAt, type ForkPoint } from './anchors';
import { refuseCancelled } from './cancelling';
import { discard } from './discard';
import { CheckpointsError } from './errors';
import { fingerprint, forksOf, isBareFork, originKey, type ForkOrigin } from './lineage';
import { LineageReader } from './lineage-reader';
import type { SessionAnchor } from './model';
import { notePrefix, type ForkedSession, type SessionGateway, type SessionInfo, type SessionMessage } from './sessions';
import { todosAfter } from './turns';

export interface ForkRequest {
  anchor: Pick<SessionAnchor, 'id' | 'messageId' | 'messageCount'>;
  /** The checkpoint's time in milliseconds. */
  at?: number;
  /** No message is named: the anchor's is the one that its count leads to. So other programs kept theirs. */
  byCount?: boolean;
  /** Where the fork works, and where forks of a session that is gone are looked for. */
  directory: string;
  title: string;
  checkpoint: string | null;
  /** What the agent is told; begins with the prefix of notes. */
  note?: string;
  /** Heeded between requests: one that is under way may have made the fork already, and then it has to be known to be deleted. */
  signal?: AbortSignal;
}

export interface ForkOutcome {
  session: SessionInfo;
  /** User and assistant messages in it, the note not included. */
  messageCount: number;
  /** The session it was really made from: the anchor's own, or a fork of it that still has the messages. */
  origin: string;
  ids: ReadonlyMap<string, string>;
  /** What the origin has beyond it. */
  rest: SessionMessage[];
  todos: { carried: number; lost: number };
}

/** Where an anchor's messages still are. Throws `session-missing` or `message-missing` when nowhere. */
export async function locateAnchor(
  gateway: SessionGateway,
  request: Pick<ForkRequest, 'anchor' | 'at' | 'byCount' | 'directory'>,
): Promise<{ session: string; point: ForkPoint; messages: SessionMessage[] }> {
  const { at, directory } = request;
  let { anchor } = request;
  let reason: CheckpointsError;
  try {
    const messages = await gateway.messages(anchor.id);
    if (request.byCount && anchor.messageId === null)
      anchor = { ...anchor, messageId: messageAt(messages, anchor.messageCount)?.id ?? null };
    return { session: anchor.id, point: await pointIn(gateway, anchor, messages, at), messages };
  } catch (error) {
    if (!CheckpointsError.is(error, 'session-missing') && !CheckpointsError.is(error, 'message-missing')) throw error;
    reason = error;
  }
  for (const { session } of forksOf(await new LineageReader(gateway).read(directory), anchor.id)) {
    const messages = await gateway.messages(session.id);
    const there = anchorInFork(anchor, session, messages, at);
    if (there) return { session: session.id, point: forkPoint(there, messages, at), messages };
  }
  throw reason;
}

/**
 * The step that made a checkpoint may be at work still; or it died with its server, and will never be finished. OpenCode 1 copies it as it
 * is. OpenCode 2 leaves it out, until the session's next prompt finishes it off.
 */
async function pointIn(
  gateway: SessionGateway,
  anchor: ForkRequest['anchor'],
  messages: readonly SessionMessage[],
  at: number | undefined,
): Promise<ForkPoint> {
  try {
    return forkPoint(anchor, messages, at);
  } catch (error) {
    if (!CheckpointsError.is(error, 'session-busy') || (await gateway.busy(anchor.id)) === 'busy') throw error;
    if (gateway.generation === 'v1') return forkPoint(anchor, messages, at, true);
    throw new CheckpointsError(
      'not-supported',
      'The step that made this checkpoint was cut off, and OpenCode 2 does not copy it like that. Send a prompt in its session, which finishes it off, or leave the conversation out',
      { cause: error, details: error.details },
    );
  }
}

/** All that count in a fork: a step that was cut off was taken over, too. */
function taken(messages: readonly SessionMessage[]): SessionMessage[] {
  return messages.filter(({ role }) => role !== 'other');
}

/** Forks a session as it was at a checkpoint. Either the whole fork is there afterwards, or none. */
export async function forkAt(gateway: SessionGateway, request: ForkRequest): Promise<ForkOutcome> {
  const copy = await exactFork(gateway, request);
  try {
    return await furnish(gateway, request, copy);
  } catch (error) {
    return discard((id) => gateway.remove(id), copy.fork.session.id, error);
  }
}

/**
 * Goes on with a copy that a process had asked for when it died, before it could say whose it is: made since then, named by OpenCode
 * itself, and with exactly the anchor's messages. null when there is none.
 */
export async function adoptFork(
  gateway: SessionGateway,
  request: ForkRequest,
  since: number,
): Promise<ForkOutcome | null> {
  const origin = await locateAnchor(gateway, request);
  const { title } = await gateway.get(origin.session);
  const belonging = taken(origin.messages.slice(0, origin.messages.length - restOf(origin).length));
  for (const session of await gateway.list(request.directory)) {
    if (session.createdAt < since || !isBareFork(session, { id: origin.session, title })) continue;
    const messages = await gateway.messages(session.id);
    if (!isDeepStrictEqual(fingerprint(messages), fingerprint(belonging))) continue;
    const copies = taken(messages);
    const ids = new Map(belonging.map((message, at) => [message.id, copies[at]?.id ?? '']));
    return furnish(gateway, request, { origin, fork: { session, messages, ids } });
  }
  return null;
}

type Origin = Awaited<ReturnType<typeof locateAnchor>>;

interface Copy {
  origin: Origin;
  fork: ForkedSession;
}

/** Says what the copy is, and to the agent what happened. */
async function furnish(gateway: SessionGateway, request: ForkRequest, { origin, fork }: Copy): Promise<ForkOutcome> {
  refuseCancelled(request.signal);
  const messages = taken(fork.messages);
  const lineageRecord: ForkOrigin = {
    self: fork.session.id,
    session: origin.session,
    message: lastBelonging(origin, fork),
    count: messages.length,
    checkpoint: request.checkpoint,
  };
  await gateway.update(fork.session.id, { title: request.title, metadata: { [originKey]: lineageRecord } });
  refuseCancelled(request.signal);
  const todos = await carryTodos(gateway, fork);
  refuseCancelled(request.signal);
  if (request.note !== undefined) await gateway.note(fork.session.id, asNote(request.note));
  return {
    session: await gateway.get(fork.session.id),
    messageCount: messages.length,
    origin: origin.session,
    ids: fork.ids,
    rest: restOf(origin),
    todos,
  };
}

/** An agent at work may add a message between reading and forking: then it is done once more, with what is there. */
async function exactFork(gateway: SessionGateway, request: ForkRequest, attempts = 3): Promise<Copy> {
  const origin = await locateAnchor(gateway, request);
  refuseCancelled(request.signal);
  try {
    const fork = await gateway.fork(origin.session, origin.point.before, request.directory);
    const count = taken(fork.messages).length;
    if (count === origin.point.count) return { origin, fork };
    const text = `The fork has ${count} messages instead of ${origin.point.count}`;
    const details = { session: origin.session, expected: origin.point.count, found: count };
    const mismatch = new CheckpointsError('fork-mismatch', text, { details });
    return await discard((id) => gateway.remove(id), fork.session.id, mismatch);
  } catch (error) {
    if (attempts > 1 && CheckpointsError.is(error, 'fork-mismatch')) return exactFork(gateway, request, attempts - 1);
    throw error;
  }
}

function lastBelonging(origin: Origin, fork: ForkedSession): string | null {
  return origin.messages.findLast((message) => message.role !== 'other' && fork.ids.has(message.id))?.id ?? null;
}

function restOf({ point, messages }: Origin): SessionMessage[] {
  return point.before === null ? [] : messages.slice(messages.findIndex(({ id }) => id === point.before));
}

/** A fork has no todos of its own in OpenCode 1; those of that moment are in its messages. */
async function carryTodos(gateway: SessionGateway, fork: ForkedSession): Promise<ForkOutcome['todos']> {
  const todos = todosAfter(fork.messages) ?? [];
  if (todos.length === 0 || gateway.capabilities.todos === 'none') return { carried: 0, lost: 0 };
  return (await gateway.writeTodos(fork.session.id, todos))
    ? { carried: todos.length, lost: 0 }
    : { carried: 0, lost: todos.length };
}

function asNote(text: string): string {
  return text.startsWith(notePrefix) ? text : `${notePrefix} ${text}`;
}
