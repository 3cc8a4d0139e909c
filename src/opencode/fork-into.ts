import { existsSync } from 'node:fs';
import { CheckpointsError } from '../core/errors';
import { messageIdOf } from '../core/session-document';
import type { ImportOptions, SessionExport, SessionInfo } from '../core/sessions';
import { isWithin } from './normal';

/** What a fork into another folder needs of a gateway. */
interface Parts {
  get(session: string): Promise<SessionInfo>;
  fork(session: string, before: string | null): Promise<SessionInfo>;
  exportSession(session: string): Promise<SessionExport>;
  importSession(document: SessionExport, options: ImportOptions): Promise<SessionInfo>;
}

/**
 * OpenCode's own fork works where its origin does, whatever folder is asked for. Where a project was moved, an agent in it would make the old
 * folder anew and go on there: then the messages are brought in as a session of this one.
 */
export async function forkInto(
  parts: Parts,
  session: string,
  before: string | null,
  directory: string | undefined,
): Promise<SessionInfo> {
  if (directory === undefined) return parts.fork(session, before);
  const origin = await parts.get(session);
  if (isWithin(directory, origin.directory)) return parts.fork(session, before);
  const whole = await parts.exportSession(session);
  const end = before === null ? whole.messages.length : whole.messages.findIndex((one) => messageIdOf(one) === before);
  const now = Date.now();
  // Messages that are older than their session are known to be copies.
  const info = { ...whole.info, time: { ...(whole.info['time'] as object), created: now, updated: now } };
  try {
    return await parts.importSession({ info, messages: whole.messages.slice(0, end) }, { directory, copy: true });
  } catch (error) {
    if (!CheckpointsError.is(error, 'not-supported')) throw error;
    if (existsSync(origin.directory)) return parts.fork(session, before);
    throw new CheckpointsError(
      'not-supported',
      `The session worked in ${origin.directory}, which is gone, and a fork would work there again. ${error.message}`,
      { cause: error, details: error.details },
    );
  }
}
