import type { SessionInfo, SessionMessage, ToolCall, ToolStatus } from '../core/sessions';
import { modelName, relativeTo, totalTokens, type RawTokens } from './normal';
import { isAbsentOr, isFields, isListOf, isNumber, isText, shape, type Shape } from './shapes';

/** OpenCode 1's documents, as far as they are read here, and their normal form. */

export interface V1Session {
  id: string;
  title?: string;
  directory: string;
  projectID?: string;
  parentID?: string;
  cost?: number;
  tokens?: RawTokens;
  agent?: string;
  model?: { id: string; providerID: string };
  metadata?: Record<string, unknown>;
  revert?: { messageID: string };
  time: { created: number; updated: number; archived?: number };
}

export interface V1Message {
  info: {
    id: string;
    sessionID: string;
    role: 'user' | 'assistant';
    time: { created: number; completed?: number };
    parentID?: string;
    agent?: string;
    mode?: string;
    /** Of a prompt. */
    model?: { providerID: string; modelID: string };
    /** Of an answer. */
    providerID?: string;
    modelID?: string;
    cost?: number;
    tokens?: RawTokens;
    summary?: unknown;
    error?: { name: string; data?: { message?: string } };
  };
  parts: V1Part[];
}

export interface V1Part {
  id: string;
  messageID: string;
  sessionID: string;
  type: string;
  text?: string;
  synthetic?: boolean;
  ignored?: boolean;
  tool?: string;
  callID?: string;
  files?: string[];
  state?: {
    status: ToolStatus;
    input?: Record<string, unknown>;
    metadata?: { sessionId?: string };
    time?: { start?: number; end?: number };
  };
}

export const v1SessionShape: Shape<V1Session> = shape(
  'a session',
  (raw) =>
    isFields(raw) &&
    isText(raw['id']) &&
    isText(raw['directory']) &&
    isAbsentOr(raw['title'], isText) &&
    isFields(raw['time']) &&
    isNumber(raw['time']['created']) &&
    isNumber(raw['time']['updated']),
);

export const v1MessageShape: Shape<V1Message> = shape(
  'a message',
  (raw) =>
    isFields(raw) &&
    isFields(raw['info']) &&
    isText(raw['info']['id']) &&
    isText(raw['info']['role']) &&
    isFields(raw['info']['time']) &&
    isNumber(raw['info']['time']['created']) &&
    isListOf(raw['parts'], isPart),
);

const isPart = (raw: unknown): boolean =>
  isFields(raw) &&
  isText(raw['type']) &&
  isAbsentOr(raw['text'], isText) &&
  isAbsentOr(raw['files'], (files) => isListOf(files, isText)) &&
  isAbsentOr(raw['state'], isFields);

export function v1Session(raw: V1Session): SessionInfo {
  return {
    id: raw.id,
    title: raw.title ?? null,
    directory: raw.directory,
    projectId: raw.projectID ?? null,
    parentId: raw.parentID ?? null,
    fork: null,
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

/** In the server's order. `session` tells what its user took back, and which folder paths are relative to. */
export function v1Messages(
  raw: readonly V1Message[],
  session: Pick<SessionInfo, 'directory' | 'revertedFrom'>,
): SessionMessage[] {
  let reverted = false;
  return raw.map((message) => {
    reverted ||= message.info.id === session.revertedFrom;
    return v1Message(message, session.directory, reverted);
  });
}

function v1Message({ info, parts }: V1Message, directory: string, reverted: boolean): SessionMessage {
  const texts = parts.filter((part) => part.type === 'text' && part.text !== undefined);
  const typed = texts.filter((part) => part.synthetic !== true);
  const isCompaction = parts.some((part) => part.type === 'compaction') || info.mode === 'compaction';
  const isUser = info.role === 'user';
  const model = isUser ? info.model : info;
  return {
    id: info.id,
    role: info.role,
    type: isCompaction ? 'compaction' : info.role,
    createdAt: info.time.created,
    completedAt: isUser ? info.time.created : (info.time.completed ?? null),
    // What OpenCode adds to a prompt (the content of attached files, reminders) is not what the person typed.
    text: (typed.length > 0 ? typed : texts).map((part) => part.text).join('\n'),
    synthetic: isUser && (isCompaction || (typed.length === 0 && !hasAttachment(parts))),
    parentId: info.parentID ?? null,
    model: modelName(model?.providerID, model?.modelID),
    agent: info.agent ?? null,
    cost: info.cost ?? 0,
    tokens: totalTokens(info.tokens),
    error: info.error ? `${info.error.name}: ${info.error.data?.message ?? ''}` : null,
    reverted,
    calls: parts.filter((part) => part.type === 'tool').map(v1Call),
    files: parts
      .flatMap((part) => (part.type === 'patch' ? (part.files ?? []) : []))
      .map((f) => relativeTo(directory, f)),
  };
}

/** A prompt may be a file, an agent's name or a command alone. */
function hasAttachment(parts: readonly V1Part[]): boolean {
  return parts.some((part) => part.type === 'file' || part.type === 'agent' || part.type === 'subtask');
}

function v1Call(part: V1Part): ToolCall {
  const { state } = part;
  return {
    id: part.callID ?? part.id,
    tool: part.tool ?? '',
    input: state?.input ?? {},
    status: state?.status ?? 'pending',
    childSession: state?.metadata?.sessionId ?? null,
    startedAt: state?.time?.start ?? null,
    endedAt: state?.time?.end ?? null,
  };
}
