import { isUnfinished } from '../core/anchors';
import { discard } from '../core/discard';
import { CheckpointsError } from '../core/errors';
import type { ForkedSession, SessionInfo, SessionMessage } from '../core/sessions';
import { asSentence } from '../core/text';

/** What a fork needs of a gateway. */
interface Parts {
  messages(session: string): Promise<SessionMessage[]>;
  /** Asks the server; it may do anything with an unknown message. */
  fork(session: string, before: string | null): Promise<SessionInfo>;
  remove(session: string): Promise<void>;
}

/**
 * A fork that is what was asked for. OpenCode 1 copies everything when it does not know the message, and both copy
 * what was added in the meantime: so the message is looked for first, and the copy compared afterwards.
 */
export async function checkedFork(parts: Parts, session: string, before: string | null): Promise<ForkedSession> {
  const messages = await parts.messages(session);
  const end = before === null ? messages.length : messages.findIndex((message) => message.id === before);
  if (end < 0)
    throw new CheckpointsError('message-missing', `Message ${before} is not in session ${session}`, {
      details: { session, message: before },
    });
  const wanted = messages.slice(0, end);
  const fork = await parts.fork(session, before).catch((error: unknown) => {
    throw maybeBegun(error);
  });
  try {
    const copies = await parts.messages(fork.id);
    return { session: fork, messages: copies, ids: pair(session, wanted, copies) };
  } catch (error) {
    return discard((id) => parts.remove(id), fork.id, error);
  }
}

/** Nobody can tell what a server that did not answer has done. */
function maybeBegun(error: unknown): unknown {
  if (!CheckpointsError.is(error, 'server-unreachable') && !CheckpointsError.is(error, 'timeout')) return error;
  const text = `${asSentence(error.message)} OpenCode may have begun a copy of the session ("(fork #…)"): if there is one, it can be deleted there.`;
  return new CheckpointsError(error.reason, text, { cause: error, details: { ...error.details, left: null } });
}

/** Copies have new ids; order, role and time are the origin's. */
function pair(session: string, wanted: SessionMessage[], copies: SessionMessage[]): Map<string, string> {
  // OpenCode 2 leaves out the answer that is being written.
  if (copies.length === wanted.length - 1 && isUnfinished(wanted.at(-1))) wanted = wanted.slice(0, -1);
  const same = (a: SessionMessage, b: SessionMessage | undefined): boolean =>
    b !== undefined && a.type === b.type && a.createdAt === b.createdAt;
  if (wanted.length !== copies.length || !wanted.every((message, index) => same(message, copies[index])))
    throw new CheckpointsError(
      'fork-mismatch',
      `The fork of session ${session} has ${copies.length} messages that are not the ${wanted.length} asked for`,
      { details: { session, expected: wanted.length, found: copies.length } },
    );
  return new Map(wanted.map((message, index) => [message.id, copies[index]?.id ?? '']));
}
