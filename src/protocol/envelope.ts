import type { Reason } from '../core/errors';

/**
 * What travels between the extension host and a webview page: JSON only, closed unions. A page is made anew each
 * time its view is hidden and shown, over the same port: `page` tells the incarnations apart, so that a reply
 * meant for the one before is never taken for an answer to the one that lives now.
 */
export const protocolVersion = 1;

export type PageMessage =
  | { kind: 'ready'; page: string; version: number }
  | { kind: 'request'; page: string; id: number; method: string; params: unknown }
  | { kind: 'cancel'; page: string; id: number };

export type HostMessage =
  | { kind: 'welcome'; page: string; version: number }
  | { kind: 'reply'; page: string; id: number; result: unknown }
  | { kind: 'failure'; page: string; id: number; error: Failure }
  | { kind: 'event'; event: unknown };

export type FailureReason =
  | Reason
  /** The page asked before it said `ready`. */
  | 'not-ready'
  | 'unknown-method'
  | 'bad-request'
  | 'version-mismatch'
  | 'disconnected'
  /** An error without a reason of ours. */
  | 'failed';

export interface Failure {
  reason: FailureReason;
  message: string;
}

/** The error a caller sees, whichever side it comes from. */
export class ProtocolError extends Error {
  readonly reason: FailureReason;

  constructor(failure: Failure) {
    super(failure.message);
    this.name = 'ProtocolError';
    this.reason = failure.reason;
  }
}

/** Both ends of a webview, a MessagePort, or a test's pair of functions. */
export interface Port {
  post(message: unknown): void;
  /** Returns the unsubscribe function. */
  listen(listener: (message: unknown) => void): () => void;
}

type Fields = Record<string, unknown>;

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** null for anything that is not one of ours: VS Code and other scripts post messages too. */
export function readPageMessage(value: unknown): PageMessage | null {
  if (!isObject(value) || typeof value['page'] !== 'string') return null;
  const { kind, page, id } = value;
  if (kind === 'ready' && typeof value['version'] === 'number') return { kind, page, version: value['version'] };
  if (typeof id !== 'number') return null;
  if (kind === 'cancel') return { kind, page, id };
  if (kind === 'request' && typeof value['method'] === 'string')
    return { kind, page, id, method: value['method'], params: value['params'] };
  return null;
}

export function readHostMessage(value: unknown): HostMessage | null {
  if (!isObject(value)) return null;
  const { kind, page, id } = value;
  if (kind === 'event') return isObject(value['event']) ? { kind, event: value['event'] } : null;
  if (typeof page !== 'string') return null;
  if (kind === 'welcome' && typeof value['version'] === 'number') return { kind, page, version: value['version'] };
  if (typeof id !== 'number') return null;
  if (kind === 'reply') return { kind, page, id, result: value['result'] };
  if (kind === 'failure' && isObject(value['error'])) {
    const { reason, message } = value['error'];
    if (typeof reason === 'string' && typeof message === 'string')
      return { kind, page, id, error: { reason: reason as FailureReason, message } };
  }
  return null;
}

/** Any thrown value as a failure; errors of the core keep their reason (told by its field: only types pass here). */
export function toFailure(error: unknown): Failure {
  if (error instanceof Error) {
    const reason: unknown = 'reason' in error ? error.reason : undefined;
    return { reason: typeof reason === 'string' ? (reason as FailureReason) : 'failed', message: error.message };
  }
  return { reason: 'failed', message: String(error) };
}
