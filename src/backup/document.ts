import type { Generation, SessionExport, Todo } from '../core/sessions';

/** OpenCode's export documents, as far as a backup looks into them. */

/** As `opencode export` prints it. */
export const printed = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

function generationOf(document: SessionExport): Generation {
  return 'location' in document.info ? 'v2' : 'v1';
}

export interface DocumentFacts {
  id: string;
  title: string | null;
  projectId: string | null;
  directory: string;
  parentId: string | null;
  generation: Generation;
  createdAt: number;
  updatedAt: number;
  messages: number;
}

/** Null when it is no export. */
export function parseDocument(bytes: Uint8Array): SessionExport | null {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  const { info, messages } = (value ?? {}) as { info?: { id?: unknown } | null; messages?: unknown };
  if (typeof info?.id !== 'string' || !Array.isArray(messages)) return null;
  return value as SessionExport;
}

export function factsOf(document: SessionExport): DocumentFacts {
  const { info, messages } = document;
  const location = info['location'] as { directory?: unknown } | undefined;
  const time = (info['time'] ?? {}) as { created?: unknown; updated?: unknown };
  const directory = location?.directory ?? info['directory'];
  return {
    id: info.id,
    title: textOr(info['title'], null),
    projectId: textOr(info['projectID'], null),
    directory: textOr(directory, null) ?? '',
    parentId: textOr(info['parentID'], null),
    generation: generationOf(document),
    createdAt: numberOf(time.created),
    updatedAt: numberOf(time.updated),
    messages: messages.length,
  };
}

const textOr = (value: unknown, otherwise: string | null): string | null =>
  typeof value === 'string' ? value : otherwise;
const numberOf = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0);

/** In order; OpenCode 1 wraps a message's own data. */
export function messageIds(document: SessionExport): string[] {
  return document.messages.map((message) => {
    const { id, info } = message as { id?: string; info?: { id?: string } };
    return info?.id ?? id ?? '';
  });
}

export function parseTodos(bytes: Uint8Array): Todo[] | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    return Array.isArray(value) ? value.filter(isTodo) : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function isTodo(value: unknown): value is Todo {
  const todo = value as Partial<Todo> | null;
  return typeof todo?.content === 'string' && typeof todo.status === 'string' && typeof todo.priority === 'string';
}
