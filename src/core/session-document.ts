import { createHash } from 'node:crypto';
import { CheckpointsError } from './errors';
import type { Generation, SessionExport, SessionInfo } from './sessions';

/** A session as it travels with its checkpoints, or is kept for when OpenCode has it no more. */
export interface StoredSession {
  generation: Generation;
  /** Milliseconds; what OpenCode said when it was read. */
  updatedAt: number;
  /** What OpenCode's list said of it: the same as long as nothing is known to have changed. */
  stamp: string;
  document: SessionExport;
}

/** OpenCode 2 leaves the time alone when a turn ends; what the turn cost tells then. */
export function stampOf({ updatedAt, title, cost, tokens }: SessionInfo): string {
  return createHash('sha256')
    .update(JSON.stringify([updatedAt, title, cost, tokens]))
    .digest('hex')
    .slice(0, 16);
}

/** Where such sessions are kept: the one that belongs to a checkpoint, if there is one. */
export interface StoredSessions {
  read(checkpoint: { id: string; session: { id: string } | null }): Promise<StoredSession | null>;
}

/**
 * What must not come from, or go to, somebody else: permissions that were given to the agent (they would hold for the reader's
 * machine), the public address, ties to sessions that stay behind.
 */
const private_ = ['permission', 'permissions', 'share', 'revert', 'parentID', 'fork', 'workspaceID'];

export function portable(document: SessionExport): SessionExport {
  const info = Object.fromEntries(Object.entries(document.info).filter(([key]) => !private_.includes(key)));
  return { info: { ...info, id: document.info.id }, messages: document.messages };
}

/** A document out of what somebody else wrote. Throws `untrusted-tree` unless it is one, of exactly this session. */
export function checkDocument(value: unknown, session: string): SessionExport {
  const { info, messages } = (value ?? {}) as Partial<SessionExport>;
  const ids = Array.isArray(messages) ? messages.map(messageIdOf) : null;
  if (!info || typeof info !== 'object' || info.id !== session || !ids?.every((id) => /^msg[A-Za-z0-9_-]*$/.test(id)))
    throw new CheckpointsError('untrusted-tree', `The conversation of session ${session} is not one.`);
  return portable({ info, messages: messages ?? [] });
}

/** OpenCode 1 keeps a message's id in its `info`, OpenCode 2 in the message itself. */
export function messageIdOf(message: unknown): string {
  const { id, info } = (message ?? {}) as { id?: unknown; info?: { id?: unknown } | null };
  const found = info && typeof info === 'object' ? info.id : id;
  return typeof found === 'string' ? found : '';
}
