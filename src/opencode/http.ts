import { CheckpointsError } from '../core/errors';
import { isFields, isText, type Shape } from './shapes';

/** Where a server is and how to speak to it. */
export interface Endpoint {
  /** Without a slash at the end, without credentials. */
  url: string;
  username: string;
  password: string | null;
}

/** Credentials in the address win over the given password; fetch would refuse them there. */
export function endpoint(given: string, knownPassword: string | null = null): Endpoint {
  const address = given.trim();
  let url: URL;
  try {
    url = new URL(/^[a-z]+:\/\//i.test(address) ? address : `http://${address}`);
  } catch (error) {
    throw new CheckpointsError('invalid-argument', `Not a server address: ${address}`, { cause: error });
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new CheckpointsError('invalid-argument', `A server address begins with http or https: ${address}`);
  return {
    url: `${url.origin}${url.pathname.replace(/\/+$/, '')}`,
    username: url.username === '' ? 'opencode' : decodeURIComponent(url.username),
    password: url.password === '' ? knownPassword : decodeURIComponent(url.password),
  };
}

export interface RequestOptions {
  query?: Record<string, string | number | undefined>;
  body?: unknown;
  timeoutMs?: number;
  signal?: AbortSignal;
}

export interface Answer {
  status: number;
  /** Parsed when the server says that it is JSON. */
  body: unknown;
  json: boolean;
}

const defaultTimeoutMs = 30_000;
/** More than one connection may have been kept. */
const attempts = 3;

/** Requests to one server. Every one of them has a time limit: OpenCode has been seen never to answer. */
export class Http {
  constructor(readonly endpoint: Endpoint) {}

  /** An answer that can be read, or an error with a reason. */
  async read<T>(shape: Shape<T>, method: string, path: string, options: RequestOptions = {}): Promise<T> {
    const body = await this.json(method, path, options);
    if (shape.fits(body)) return body;
    throw new CheckpointsError(
      'server-failed',
      `${method} ${path}: the server at ${this.endpoint.url} did not answer with ${shape.what}`,
      { details: { url: this.endpoint.url, unreadable: true } },
    );
  }

  /** A JSON answer, whatever it says, or an error with a reason. */
  async json(method: string, path: string, options: RequestOptions = {}): Promise<unknown> {
    const answer = await this.answer(method, path, options);
    if (answer.status >= 400) throw failure(this.endpoint, method, path, answer);
    // OpenCode's web interface answers every unknown path with a page and status 200.
    if (!answer.json && answer.status !== 204)
      throw new CheckpointsError('server-failed', `${method} ${path}: the server did not answer with JSON`, {
        details: { url: this.endpoint.url, status: answer.status },
      });
    return answer.body;
  }

  async answer(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const limit = timeLimit(options.timeoutMs);
    try {
      const response = await this.reach(method, path, options, limit.signal);
      const text = await response.text();
      const json = isJson(response) && text !== '';
      return { status: response.status, body: json ? (JSON.parse(text) as unknown) : text, json };
    } catch (error) {
      throw classify(error, this.endpoint, limit.signal, options.signal);
    } finally {
      limit.lift();
    }
  }

  /** The body as it comes; the time limit is for the answer to begin. */
  async stream(path: string, signal: AbortSignal, timeoutMs?: number): Promise<ReadableStream<Uint8Array>> {
    const limit = timeLimit(timeoutMs);
    try {
      const response = await this.fetch('GET', path, { signal }, limit.signal);
      if (response.status !== 200 || !response.body) {
        await response.body?.cancel();
        throw failure(this.endpoint, 'GET', path, { status: response.status, body: '', json: false });
      }
      return response.body;
    } catch (error) {
      throw classify(error, this.endpoint, limit.signal, signal);
    } finally {
      limit.lift();
    }
  }

  /** A connection that was kept open may lead to a server that is gone since, and another is in its place: what only reads is asked for anew. */
  private async reach(method: string, path: string, options: RequestOptions, limit: AbortSignal): Promise<Response> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.fetch(method, path, options, limit);
      } catch (error) {
        const isOver = attempt === attempts || limit.aborted || options.signal?.aborted === true;
        if (method !== 'GET' || isOver || !wasCut(error)) throw error;
      }
    }
  }

  private fetch(method: string, path: string, options: RequestOptions, limit: AbortSignal): Promise<Response> {
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries(options.query ?? {}))
      if (value !== undefined) query.set(key, String(value));
    const search = query.size > 0 ? `?${query}` : '';
    const { url, username, password } = this.endpoint;
    const headers: Record<string, string> = { accept: 'application/json, text/event-stream' };
    if (password !== null)
      headers['authorization'] = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
    if (options.body !== undefined) headers['content-type'] = 'application/json';
    return fetch(url + path + search, {
      method,
      headers,
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      signal: AbortSignal.any([limit, ...(options.signal ? [options.signal] : [])]),
      redirect: 'error',
    });
  }
}

/**
 * `AbortSignal.timeout` does not keep the program alive, and neither does a request whose connection was closed before it was
 * sent: fetch waits for ever then, and a command line would end in the middle as if all were done.
 */
function timeLimit(ms = defaultTimeoutMs): { signal: AbortSignal; lift: () => void } {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), ms);
  return { signal: controller.signal, lift: () => clearTimeout(timer) };
}

/** The connection was there, and ended before an answer began. */
function wasCut(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause as { code?: unknown } | undefined) : undefined;
  return ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(String(cause?.code));
}

function isJson(response: Response): boolean {
  return /^application\/([a-z.+-]*\+)?json\b/i.test(response.headers.get('content-type') ?? '');
}

function classify(error: unknown, { url }: Endpoint, timeout: AbortSignal, caller?: AbortSignal): CheckpointsError {
  if (CheckpointsError.is(error)) return error;
  const details = { url };
  if (caller?.aborted) return new CheckpointsError('cancelled', 'Cancelled', { cause: error, details });
  if (timeout.aborted)
    return new CheckpointsError('timeout', `The server at ${url} did not answer in time`, { cause: error, details });
  if (error instanceof SyntaxError)
    return new CheckpointsError('server-failed', `The server at ${url} sent broken JSON`, { cause: error, details });
  return new CheckpointsError('server-unreachable', `No server answers at ${url}`, { cause: error, details });
}

function failure({ url }: Endpoint, method: string, path: string, answer: Answer): CheckpointsError {
  // OpenCode's errors come as `{name, data: {message}}` and as `{_tag, message}`.
  const body = isFields(answer.body) ? answer.body : {};
  const data = isFields(body['data']) ? body['data'] : {};
  const tag = [body['_tag'], body['name']].find(isText) ?? '';
  const message = [data['message'], body['message']].find(isText) ?? '';
  const details = { url, status: answer.status, tag };
  if (answer.status === 401) {
    const text = `The server at ${url} wants another password`;
    return new CheckpointsError('server-failed', text, { details: { ...details, unauthorized: true } });
  }
  if (answer.status === 404 && tag === 'MessageNotFoundError')
    return new CheckpointsError('message-missing', message, { details });
  if (answer.status === 404 && /session/i.test(tag + message))
    return new CheckpointsError('session-missing', message, { details });
  if (tag === 'SessionBusyError') return new CheckpointsError('session-busy', message, { details });
  if (answer.status === 409) return new CheckpointsError('conflict', message, { details });
  const why = [answer.status, tag, message].filter((part) => part !== '').join(' ');
  return new CheckpointsError('server-failed', `${method} ${path}: ${why}`, { details });
}
