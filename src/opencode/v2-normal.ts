import type { SessionInfo, SessionMessage, ToolCall, ToolStatus } from '../core/sessions';
import { modelName, relativeTo, totalTokens, type RawTokens } from './normal';
import { isAbsentOr, isFields, isListOf, isNumber, isText, shape, type Shape } from './shapes';

/** OpenCode 2's documents, as far as they are read here, and their normal form. */

export interface V2Session {
  id: string;
  title?: string;
  location: { directory: string };
  projectID?: string;
  parentID?: string;
  fork?: { sessionID: string; boundary: { type: 'before' | 'through'; messageID: string } };
  cost?: number;
  tokens?: RawTokens;
  agent?: string;
  model?: { id: string; providerID: string };
  metadata?: Record<string, unknown>;
  revert?: { messageID: string };
  time: { created: number; updated: number; archived?: number };
}

export interface V2Message {
  id: string;
  type: string;
  time: { created: number; completed?: number };
  text?: string;
  summary?: string;
  agent?: string;
  model?: { id: string; providerID: string };
  content?: V2Content[];
  snapshot?: { files?: string[] };
  cost?: number;
  tokens?: RawTokens;
  error?: { type: string; message: string };
}

interface V2Content {
  type: string;
  text?: string;
  id?: string;
  name?: string;
  state?: {
    status: 'streaming' | ToolStatus;
    /** Text while it is still coming in. */
    input?: Record<string, unknown> | string;
    metadata?: { sessionID?: string };
  };
  time?: { created: number; ran?: number; completed?: number };
}

export const v2SessionShape: Shape<V2Session> = shape(
  'a session',
  (raw) =>
    isFields(raw) &&
    isText(raw['id']) &&
    isFields(raw['location']) &&
    isText(raw['location']['directory']) &&
    isAbsentOr(raw['title'], isText) &&
    isAbsentOr(raw['fork'], (fork) => isFields(fork) && isFields(fork['boundary'])) &&
    isFields(raw['time']) &&
    isNumber(raw['time']['created']) &&
    isNumber(raw['time']['updated']),
);

export const v2MessageShape: Shape<V2Message> = shape(
  'a message',
  (raw) =>
    isFields(raw) &&
    isText(raw['id']) &&
    isText(raw['type']) &&
    isFields(raw['time']) &&
    isNumber(raw['time']['created']) &&
    isAbsentOr(raw['text'], isText) &&
    isAbsentOr(raw['summary'], isText) &&
    isAbsentOr(raw['content'], (content) => isListOf(content, isContent)) &&
    isAbsentOr(raw['snapshot'], (snapshot) => isFields(snapshot) && isAbsentOr(snapshot['files'], isFileList)),
);

const isContent = (raw: unknown): boolean =>
  isFields(raw) && isText(raw['type']) && isAbsentOr(raw['text'], isText) && isAbsentOr(raw['state'], isFields);

const isFileList = (files: unknown): boolean => isListOf(files, isText);

export function v2Session(raw: V2Session): SessionInfo {
  return {
    id: raw.id,
    title: raw.title ?? null,
    directory: raw.location.directory,
    projectId: raw.projectID ?? null,
    parentId: raw.parentID ?? null,
    fork: raw.fork
      ? {
          session: raw.fork.sessionID,
          boundary: raw.fork.boundary.type,
          messageId: raw.fork.boundary.messageID,
        }
      : null,
    createdAt: raw.time.created,
    updatedAt: raw.time.updated,
    archived: raw.time.archived !== undefined,
    model: modelName(raw.model?.providerID, raw.model?.id),
    agent: raw.agent ?? null,
    cost: raw.cost ?? 0,
    tokens: totalTokens(raw.tokens),
    metadata: raw.metadata ?? {},
    revertedFrom: raw.revert?.messageID ?? null,
  };
}

export function v2Messages(raw: readonly V2Message[], session: SessionInfo): SessionMessage[] {
  let reverted = false;
  return raw.map((message) => {
    reverted ||= message.id === session.revertedFrom;
    return v2Message(message, session.directory, reverted);
  });
}

function v2Message(raw: V2Message, directory: string, reverted: boolean): SessionMessage {
  const role = raw.type === 'user' || raw.type === 'assistant' ? raw.type : 'other';
  const content = raw.content ?? [];
  const said = content.filter((part) => part.type === 'text').map((part) => part.text ?? '');
  return {
    id: raw.id,
    role,
    type: raw.type,
    createdAt: raw.time.created,
    completedAt: role === 'assistant' ? (raw.time.completed ?? null) : raw.time.created,
    text: raw.text ?? raw.summary ?? said.join('\n'),
    synthetic: role === 'other',
    parentId: null,
    model: modelName(raw.model?.providerID, raw.model?.id),
    agent: raw.agent ?? null,
    cost: raw.cost ?? 0,
    tokens: totalTokens(raw.tokens),
    error: raw.error ? `${raw.error.type}: ${raw.error.message}` : null,
    reverted,
    calls: content.filter((part) => part.type === 'tool').map(v2Call),
    files: (raw.snapshot?.files ?? []).map((file) => relativeTo(directory, file)),
  };
}

function v2Call(part: V2Content): ToolCall {
  const { state, time } = part;
  return {
    id: part.id ?? '',
    tool: part.name ?? '',
    input: typeof state?.input === 'object' ? state.input : {},
    status: state === undefined || state.status === 'streaming' ? 'pending' : state.status,
    childSession: part.name === 'subagent' ? (state?.metadata?.sessionID ?? null) : null,
    startedAt: time?.ran ?? time?.created ?? null,
    endedAt: time?.completed ?? null,
  };
}
