import { CheckpointsError } from './errors';
import { originOf } from './lineage';
import type { SessionAnchor } from './model';
import type { SessionInfo, SessionMessage } from './sessions';

/**
 * Which messages belong to a checkpoint.
 *
 * What `messageCount` counts: user and assistant messages, in the session's order. An assistant message is one step of
 * the model in both generations, so a turn of three steps counts four. OpenCode 1 keeps nothing else: prompts, answers,
 * the two messages of a compaction and our notes all count. OpenCode 2 also keeps idle marks, notices and compactions
 * (`role: other`): they do not count, and go with the counted message before them.
 *
 * Not counted in either: an answer at the very end that is still being written (OpenCode 2 leaves it out of a fork,
 * OpenCode 1 would copy half of it), and what the user took back with OpenCode's undo. So N at a checkpoint are N in
 * its fork.
 */
export function counted(messages: readonly SessionMessage[]): SessionMessage[] {
  const all = messages.filter((message) => message.role !== 'other' && !message.reverted);
  return isUnfinished(all.at(-1)) ? all.slice(0, -1) : all;
}

export function isUnfinished(message: SessionMessage | undefined): boolean {
  return message?.role === 'assistant' && message.completedAt === null;
}

type Described = Pick<SessionInfo, 'id' | 'title' | 'parentId' | 'fork' | 'metadata'>;

/** All there is: manual points, idle, restore. */
export function anchorNow(info: Described, messages: readonly SessionMessage[]): SessionAnchor {
  return anchorOf(info, counted(messages));
}

/** Through a message, which may be the step that is running: points an agent makes itself. */
export function anchorThrough(info: Described, messages: readonly SessionMessage[], messageId: string): SessionAnchor {
  const end = indexOf(info.id, messages, messageId) + 1;
  return anchorOf(
    info,
    messages.slice(0, end).filter((message) => message.role !== 'other'),
  );
}

/** Everything before a message: before a prompt for `turn`, before the running step for `tool`. */
export function anchorBefore(info: Described, messages: readonly SessionMessage[], messageId: string): SessionAnchor {
  const end = indexOf(info.id, messages, messageId);
  return anchorOf(
    info,
    messages.slice(0, end).filter((message) => message.role !== 'other'),
  );
}

function anchorOf(info: Described, belonging: readonly SessionMessage[]): SessionAnchor {
  return {
    id: info.id,
    messageId: belonging.at(-1)?.id ?? null,
    messageCount: belonging.length,
    title: info.title,
    // OpenCode 1 does not say what a session was forked from; of our own forks their metadata does.
    parent: info.parentId ?? info.fork?.session ?? originOf(info)?.session ?? null,
  };
}

function indexOf(session: string, messages: readonly SessionMessage[], messageId: string): number {
  const index = messages.findIndex((message) => message.id === messageId);
  if (index < 0) throw missing(session, messageId, 'it is not in the session');
  return index;
}

/** The first `count` messages, for a count that somebody else made; null when there are not that many. */
export function anchorAtCount(
  info: Described,
  messages: readonly SessionMessage[],
  count: number,
): SessionAnchor | null {
  const belonging = messages.filter((message) => message.role !== 'other' && !message.reverted);
  return belonging.length < count ? null : anchorOf(info, belonging.slice(0, count));
}

/** The last of the first `count` user and assistant messages; undefined when there are fewer, or none is asked for. */
export function messageAt(messages: readonly SessionMessage[], count: number): SessionMessage | undefined {
  return messages.filter((message) => message.role !== 'other' && !message.reverted)[count - 1];
}

export interface ForkPoint {
  /** Fork before this message; null copies all. */
  before: string | null;
  /** How many user and assistant messages the fork then has. */
  count: number;
}

/**
 * Where to fork a session so that it has exactly the anchor's messages. `at`, the checkpoint's time, decides about what
 * does not count and follows the last message: only what was there by then belongs (a compaction later on does not).
 * `cutOff`: an answer at the very end that is not finished never will be.
 */
export function forkPoint(
  anchor: Pick<SessionAnchor, 'id' | 'messageId' | 'messageCount'>,
  messages: readonly SessionMessage[],
  at?: number,
  cutOff = false,
): ForkPoint {
  let end = 0;
  if (anchor.messageId !== null) {
    const index = indexOf(anchor.id, messages, anchor.messageId);
    const through = messages.slice(0, index + 1).filter((message) => message.role !== 'other').length;
    if (through !== anchor.messageCount)
      throw missing(
        anchor.id,
        anchor.messageId,
        `${anchor.messageCount} messages belong to it, the session has ${through}`,
      );
    if (!cutOff && index === messages.length - 1 && isUnfinished(messages[index]))
      throw new CheckpointsError('session-busy', 'The step that made this checkpoint is still running', {
        details: { session: anchor.id, message: anchor.messageId },
      });
    end = index + 1;
  } else if (anchor.messageCount !== 0)
    throw missing(anchor.id, null, `${anchor.messageCount} messages belong to it, but none is named`);
  const rides = (message: SessionMessage): boolean =>
    at === undefined ? message.type !== 'compaction' : message.createdAt <= at;
  for (let next = messages[end]; next?.role === 'other' && rides(next); next = messages[end]) end++;
  return { before: messages[end]?.id ?? null, count: anchor.messageCount };
}

/**
 * The same anchor in a fork of its session: ids are new there, order and times are not. null when the fork does not
 * hold all of the anchor's messages. Copied messages are older than the fork itself. What is younger than the checkpoint (`at`) took
 * the place of messages that were deleted since, and is not what belongs to it.
 */
export function anchorInFork(
  anchor: Pick<SessionAnchor, 'messageCount'>,
  fork: Described & Pick<SessionInfo, 'createdAt'>,
  messages: readonly SessionMessage[],
  at = fork.createdAt,
): SessionAnchor | null {
  const copied = messages.filter((message) => message.role !== 'other' && message.createdAt <= fork.createdAt);
  const belonging = copied.slice(0, anchor.messageCount);
  if (belonging.length < anchor.messageCount || belonging.some(({ createdAt }) => createdAt > at)) return null;
  return anchorOf(fork, belonging);
}

function missing(session: string, messageId: string | null, why: string): CheckpointsError {
  const what = messageId === null ? 'The conversation' : `Message ${messageId}`;
  return new CheckpointsError('message-missing', `${what} of session ${session} cannot be restored: ${why}`, {
    details: { session, message: messageId },
  });
}
