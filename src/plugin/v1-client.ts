import { CheckpointsError } from '../core/errors';
import { Http, type Answer, type RequestOptions } from '../opencode/http';

/** The client that OpenCode 1 hands to plugins, as far as it is used: requests that stay in the process. */
export interface V1Client {
  _client?: {
    request(options: {
      method: string;
      url: string;
      query?: Record<string, unknown>;
      body?: unknown;
      headers?: Record<string, string>;
      signal?: AbortSignal;
    }): Promise<{ data?: unknown; error?: unknown; response?: { status: number } }>;
  };
}

/**
 * OpenCode's own terminal listens on no port: there is no address to speak to. Its plugins get a client whose requests go to the server inside the
 * process, and all of the gateway goes over that.
 */
export class InProcessHttp extends Http {
  constructor(
    private readonly client: V1Client,
    url: string,
  ) {
    super({ url, username: 'opencode', password: null });
  }

  override async answer(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const inner = this.client._client;
    if (!inner) throw new CheckpointsError('not-supported', 'This OpenCode gives plugins no client of a known kind.');
    const { data, error, response } = await inner.request({
      method,
      url: path,
      ...(options.query ? { query: options.query } : {}),
      ...(options.body === undefined ? {} : { body: options.body, headers: { 'Content-Type': 'application/json' } }),
      signal: AbortSignal.timeout(options.timeoutMs ?? 30_000),
    });
    if (!response)
      throw new CheckpointsError('server-unreachable', 'OpenCode did not answer its own plugin', { cause: error });
    const body = error ?? data;
    return {
      status: response.status,
      body,
      json: (typeof body === 'object' && body !== null) || typeof body === 'boolean',
    };
  }
}
