import { ProtocolError, protocolVersion, readHostMessage, type Failure, type HostMessage, type Port } from './envelope';

/** Method name to what goes in and what comes out. */
export type Methods<M> = { [K in keyof M]: { params: unknown; result: unknown } };

export interface CallOptions {
  signal?: AbortSignal;
}

export interface CallerOptions<M> {
  /** Milliseconds; null waits for as long as it takes (a person answers a dialog). */
  timeouts: { readonly [K in keyof M]: number | null };
  /** Tells this incarnation of the page from the ones before. */
  page: string;
}

interface Pending {
  send: () => void;
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
  stop: () => void;
}

/** The page's end: says `ready`, asks, and hears events. What is asked before the host's welcome waits for it. */
export class Caller<M extends Methods<M>, E> {
  readonly #port: Port;
  readonly #options: CallerOptions<M>;
  readonly #pending = new Map<number, Pending>();
  readonly #listeners = new Set<(event: E) => void>();
  readonly #unlisten: () => void;
  #next = 1;
  #welcomed = false;
  #closed = false;

  constructor(port: Port, options: CallerOptions<M>) {
    this.#port = port;
    this.#options = options;
    this.#unlisten = port.listen((message) => this.#receive(readHostMessage(message)));
    this.hello();
  }

  /** Said at once, and again when a person presses Retry before the host ever answered. */
  hello(): void {
    if (!this.#welcomed && !this.#closed)
      this.#port.post({ kind: 'ready', page: this.#options.page, version: protocolVersion });
  }

  call<K extends keyof M & string>(
    method: K,
    params: M[K]['params'],
    options: CallOptions = {},
  ): Promise<M[K]['result']> {
    const { signal } = options;
    return new Promise<unknown>((resolve, reject) => {
      if (this.#closed) return reject(error('disconnected', 'The timeline is closed.'));
      if (signal?.aborted) return reject(error('cancelled', 'Cancelled.'));
      const id = this.#next++;
      const { page, timeouts } = this.#options;
      const give = (reason: 'cancelled' | 'timeout', message: string): void => {
        const pending = this.#take(id);
        if (!pending) return;
        if (this.#welcomed) this.#port.post({ kind: 'cancel', page, id });
        pending.reject(error(reason, message));
      };
      const abort = (): void => give('cancelled', 'Cancelled.');
      const limit = timeouts[method];
      const timer =
        limit === null
          ? undefined
          : setTimeout(() => give('timeout', `No answer to "${method}" within ${limit / 1000} seconds.`), limit);
      signal?.addEventListener('abort', abort);
      const stop = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
      };
      const send = (): void => this.#port.post({ kind: 'request', page, id, method, params });
      this.#pending.set(id, { send, resolve, reject, stop });
      if (this.#welcomed) send();
    }) as Promise<M[K]['result']>;
  }

  onEvent(listener: (event: E) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#closed = true;
    this.#unlisten();
    this.#rejectAll({ reason: 'disconnected', message: 'The timeline was closed.' });
  }

  #receive(message: HostMessage | null): void {
    if (!message) return;
    if (message.kind === 'event') {
      for (const listener of this.#listeners) listener(message.event as E);
      return;
    }
    if (message.page !== this.#options.page) return;
    if (message.kind === 'welcome') return this.#welcome(message.version);
    // A reply to what was cancelled or timed out finds nobody waiting: that is all right.
    const pending = this.#take(message.id);
    if (message.kind === 'reply') pending?.resolve(message.result);
    else pending?.reject(new ProtocolError(message.error));
  }

  #welcome(version: number): void {
    if (version !== protocolVersion) {
      this.#rejectAll({
        reason: 'version-mismatch',
        message: 'The extension was updated. Reload the window to see its timeline.',
      });
      return;
    }
    if (this.#welcomed) return;
    this.#welcomed = true;
    for (const pending of this.#pending.values()) pending.send();
  }

  #take(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.stop();
    return pending;
  }

  #rejectAll(failure: Failure): void {
    for (const id of [...this.#pending.keys()]) this.#take(id)?.reject(new ProtocolError(failure));
  }
}

const error = (reason: Failure['reason'], message: string): ProtocolError => new ProtocolError({ reason, message });
