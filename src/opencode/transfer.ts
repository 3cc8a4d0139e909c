import { CheckpointsError } from '../core/errors';
import type { Generation, SessionExport } from '../core/sessions';
import { newIds, newSessionId } from './ids';
import type { V1Message, V1Session } from './v1-normal';
import type { V2Message, V2Session } from './v2-normal';

/** Export documents: whose they are, and copies of them under new ids. */

export function generationOf(document: SessionExport): Generation {
  return 'location' in document.info ? 'v2' : 'v1';
}

export function requireGeneration(document: SessionExport, generation: Generation): void {
  const made = generationOf(document);
  if (made === generation) return;
  const name = (one: Generation): string => (one === 'v1' ? 'OpenCode 1' : 'OpenCode 2');
  throw new CheckpointsError(
    'not-supported',
    `Session ${document.info.id} was exported by ${name(made)}; ${name(generation)} does not read that`,
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

/** The same session under ids that no server has yet; its ties to others stay behind. */
export function copyOf(document: SessionExport): SessionExport {
  return generationOf(document) === 'v1' ? copyV1(document) : copyV2(document);
}

function copyV1(document: SessionExport): SessionExport {
  const { info, messages } = structuredClone(document) as unknown as V1Document;
  const session = newSessionId();
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

function copyV2(document: SessionExport): SessionExport {
  const { info, messages } = structuredClone(document) as unknown as V2Document;
  const ids = newIds('msg', messages.length);
  const { revert: _revert, parentID: _parent, fork: _fork, ...kept } = info;
  return {
    info: { ...kept, id: newSessionId() },
    messages: messages.map((message, index) => ({ ...message, id: ids[index] ?? message.id })),
  };
}
