import { createHash } from 'node:crypto';
import { CheckpointsError } from '../core/errors';
import type { Generation, ImportOptions, SessionExport } from '../core/sessions';
import { newIds, newSessionId } from '../core/session-ids';
import { isFields, isText, shape, type Shape } from './shapes';
import type { V1Message, V1Session } from './v1-normal';
import type { V2Message, V2Session } from './v2-normal';

/** Export documents: whose they are, what tells one state from the next, and copies of them under new ids. */

export const exportedInfo: Shape<SessionExport['info']> = shape(
  'a session',
  (raw) => isFields(raw) && isText(raw['id']),
);

export const exportShape: Shape<SessionExport> = shape(
  'an exported session',
  (raw) => isFields(raw) && exportedInfo.fits(raw['info']) && Array.isArray(raw['messages']),
);

export function generationOf(document: SessionExport): Generation {
  return 'location' in document.info ? 'v2' : 'v1';
}

export function requireGeneration(document: SessionExport, generation: Generation): void {
  const made = generationOf(document);
  if (made === generation) return;
  const name = (one: Generation): string => (one === 'v1' ? 'OpenCode 1' : 'OpenCode 2');
  // OpenCode 2 takes over what OpenCode 1 has when it is first started.
  const wayOut = generation === 'v2' ? '. Bring it into OpenCode 1, then upgrade' : '';
  throw new CheckpointsError(
    'not-supported',
    `Session ${document.info.id} was exported by ${name(made)}; ${name(generation)} does not read that${wayOut}`,
    { details: { session: document.info.id } },
  );
}

interface V1Document {
  info: V1Session;
  messages: V1Message[];
}

interface V2Document {
  info: V2Session;
  messages: V2Message[];
}

/** Of all that a list says of a session, but for when somebody looked at it. */
export function stampOf(listed: V1Session | V2Session): string {
  const { time, ...rest } = listed;
  const { viewed: _viewed, ...times } = time as typeof time & { viewed?: number };
  return createHash('sha256')
    .update(JSON.stringify([rest, times]))
    .digest('hex')
    .slice(0, 16);
}

/** The document as it goes to the server. */
export function transferred(document: SessionExport, { copy, ids }: ImportOptions): SessionExport {
  const tied = ids && ids.size > 0 ? retied(document, ids) : document;
  return copy ? copyOf(tied, document.info.id, ids) : tied;
}

/** Ties to sessions that have other ids here: to the one that started it, and to the sub-agents that it started. */
function retied(document: SessionExport, ids: ReadonlyMap<string, string>): SessionExport {
  const keys = generationOf(document) === 'v1' ? ['parentID', 'sessionId'] : ['parentID', 'sessionID'];
  const swap = (value: unknown, key: string): unknown => {
    if (typeof value === 'string') return keys.includes(key) ? (ids.get(value) ?? value) : value;
    if (Array.isArray(value)) return value.map((item) => swap(item, ''));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, swap(item, name)]));
  };
  const { parentID, ...info } = document.info;
  return {
    info: {
      ...info,
      id: document.info.id,
      ...(parentID === undefined ? {} : { parentID: swap(parentID, 'parentID') }),
    },
    messages: document.messages.map((message) => swap(message, '')),
  };
}

/** The same session under ids that no server has yet; a tie to the session that started it stays only when that was copied with it. */
export function copyOf(
  document: SessionExport,
  origin = document.info.id,
  ids: ImportOptions['ids'] = undefined,
): SessionExport {
  const session = ids?.get(origin) ?? newSessionId();
  const { parentID } = document.info;
  const copied = typeof parentID === 'string' && [...(ids?.values() ?? [])].includes(parentID);
  const copy = generationOf(document) === 'v1' ? copyV1(document, session) : copyV2(document, session);
  return copied ? { ...copy, info: { ...copy.info, parentID } } : copy;
}

function copyV1(document: SessionExport, session: string): SessionExport {
  const { info, messages } = structuredClone(document) as unknown as V1Document;
  const messageIds = newIds('msg', messages.length);
  const partIds = newIds(
    'prt',
    messages.reduce((sum, message) => sum + message.parts.length, 0),
  );
  const renamed = new Map(messages.map((message, index) => [message.info.id, messageIds[index] ?? '']));
  const { revert: _revert, parentID: _parent, ...kept } = info;
  return {
    info: { ...kept, id: session },
    messages: messages.map(({ info: own, parts }) => ({
      info: {
        ...own,
        id: renamed.get(own.id) ?? own.id,
        sessionID: session,
        ...(own.parentID === undefined ? {} : { parentID: renamed.get(own.parentID) ?? own.parentID }),
      },
      parts: parts.map((part) => ({
        ...part,
        id: partIds.shift() ?? part.id,
        sessionID: session,
        messageID: renamed.get(own.id) ?? own.id,
      })),
    })),
  };
}

function copyV2(document: SessionExport, session: string): SessionExport {
  const { info, messages } = structuredClone(document) as unknown as V2Document;
  const ids = newIds('msg', messages.length);
  const { revert: _revert, parentID: _parent, fork: _fork, ...kept } = info;
  return {
    info: { ...kept, id: session },
    messages: messages.map((message, index) => ({ ...message, id: ids[index] ?? message.id })),
  };
}
