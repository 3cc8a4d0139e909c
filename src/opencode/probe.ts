import { setTimeout as pause } from 'node:timers/promises';
import { CheckpointsError } from '../core/errors';
import type { Generation } from '../core/sessions';
import { Http, type Answer, type Endpoint } from './http';
import { isSupported, oldestSupported } from './versions';

/** What is at an address. `unauthorized` says nothing about what it is. */
export type Probe =
  | { kind: 'opencode'; generation: Generation; version: string }
  | { kind: 'too-old'; version: string }
  | { kind: 'unauthorized' }
  | { kind: 'other' }
  | { kind: 'unreachable'; cause: CheckpointsError };

export interface ProbeOptions {
  /** Time limits of the attempts: a server that just started may leave its first request unanswered. */
  timeoutsMs?: readonly number[];
  signal?: AbortSignal;
}

const patience = [2000, 5000, 10_000] as const;

/**
 * Tells the generations apart. Status alone says nothing (both answer unknown paths with their web page), and OpenCode 1
 * has parts of 2's interface inside: only these two documents, as JSON, are an answer. An attempt goes on while the next ones are
 * made: a server that is slow answers the first of them, one that lost it a later one.
 */
export async function probe(endpoint: Endpoint, options: ProbeOptions = {}): Promise<Probe> {
  const http = new Http(endpoint);
  const limits = options.timeoutsMs ?? patience;
  const whole = limits.reduce((sum, limit) => sum + limit, 0);
  const found = new AbortController();
  const signal = AbortSignal.any([found.signal, ...(options.signal ? [options.signal] : [])]);
  let begins = 0;
  const attempts = limits.map(async (limit, number) => {
    const at = begins;
    begins += limit;
    if (number > 0) await pause(at, undefined, { signal });
    const result = await attempt(http, whole - at, signal);
    if (result.kind === 'unreachable' && CheckpointsError.is(result.cause, 'timeout')) throw result.cause;
    return result;
  });
  try {
    return await Promise.any(attempts);
  } catch (error) {
    const [cause] = error instanceof AggregateError ? (error.errors as unknown[]) : [error];
    if (CheckpointsError.is(cause, 'timeout')) return { kind: 'unreachable', cause };
    throw cause;
  } finally {
    found.abort();
  }
}

async function attempt(http: Http, timeoutMs: number, signal?: AbortSignal): Promise<Probe> {
  const ask = (path: string): Promise<Answer | CheckpointsError> =>
    http.answer('GET', path, { timeoutMs, signal }).catch((error: unknown) => {
      if (CheckpointsError.is(error) && error.reason !== 'cancelled') return error;
      throw error;
    });
  const answers = await Promise.all([ask('/api/info'), ask('/global/health')]);
  const [info, health] = answers;
  const found = (isAnswer(info) && asV2(info)) || (isAnswer(health) && asV1(health));
  if (found) return found;
  if (answers.some((answer) => isAnswer(answer) && answer.status === 401)) return { kind: 'unauthorized' };
  // Broken JSON is an answer, too.
  const silent = answers.find((answer) => CheckpointsError.is(answer) && answer.reason !== 'server-failed');
  return CheckpointsError.is(silent) ? { kind: 'unreachable', cause: silent } : { kind: 'other' };
}

function isAnswer(value: Answer | CheckpointsError): value is Answer {
  return !(value instanceof CheckpointsError);
}

function asV2({ status, json, body }: Answer): Probe | null {
  if (status !== 200 || !json) return null;
  const info = body as { version?: unknown; pid?: unknown } | null;
  if (typeof info?.version !== 'string' || !Number.isInteger(info.pid)) return null;
  return Number.parseInt(info.version, 10) >= 2 ? { kind: 'opencode', generation: 'v2', version: info.version } : null;
}

function asV1({ status, json, body }: Answer): Probe | null {
  if (status !== 200 || !json) return null;
  const health = body as { healthy?: unknown; version?: unknown } | null;
  if (health?.healthy !== true || typeof health.version !== 'string') return null;
  const { version } = health;
  return isSupported(version) ? { kind: 'opencode', generation: 'v1', version } : { kind: 'too-old', version };
}

/** Anything but OpenCode as an error with a reason. */
export function requireOpenCode(result: Probe, url: string): { generation: Generation; version: string } {
  switch (result.kind) {
    case 'opencode':
      return { generation: result.generation, version: result.version };
    case 'too-old':
      throw new CheckpointsError(
        'opencode-too-old',
        `The server at ${url} is OpenCode ${result.version}; ${oldestSupported} or newer is needed`,
        { details: { url, version: result.version } },
      );
    case 'unauthorized':
      throw new CheckpointsError('server-failed', `The server at ${url} wants a password, or another one`, {
        details: { url, unauthorized: true },
      });
    case 'other':
      throw new CheckpointsError('server-failed', `What answers at ${url} is not OpenCode`, {
        details: { url, foreign: true },
      });
    case 'unreachable':
      throw new CheckpointsError('server-unreachable', `No OpenCode server answers at ${url}`, {
        cause: result.cause,
        details: { url },
      });
  }
}
