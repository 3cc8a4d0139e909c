import type { Methods } from './caller';
import {
  ProtocolError,
  protocolVersion,
  readPageMessage,
  toFailure,
  type HostMessage,
  type PageMessage,
  type Port,
} from './envelope';

export type Handlers<M extends Methods<M>> = {
  [K in keyof M]: {
    /** Returns the parameters when they are well formed, else throws: the page is not trusted. */
    read: (params: unknown) => M[K]['params'];
    handle: (params: M[K]['params'], signal: AbortSignal) => Promise<M[K]['result']>;
  };
};

export interface ResponderOptions {
  /** A page (re)loaded: what was remembered about the one before is void. */
  onReady?: () => void;
  /** For the log; the page gets the failure anyway. */
  onError?: (method: string, error: unknown) => void;
}

type Request = Extract<PageMessage, { kind: 'request' }>;

/** The host's end: answers every request exactly once, with a result or with a failure, in whatever order they finish. */
export class Responder<M extends Methods<M>, E> {
  readonly #port: Port;
  readonly #handlers: Handlers<M>;
  readonly #options: ResponderOptions;
  readonly #running = new Map<number, AbortController>();
  readonly #unlisten: () => void;
  #page: string | null = null;

  constructor(port: Port, handlers: Handlers<M>, options: ResponderOptions = {}) {
    this.#port = port;
    this.#handlers = handlers;
    this.#options = options;
    this.#unlisten = port.listen((message) => this.#receive(readPageMessage(message)));
  }

  /** Events before the first `ready` would reach no one: the page fetches everything when it comes. */
  emit(event: E): void {
    if (this.#page !== null) this.#post({ kind: 'event', event });
  }

  dispose(): void {
    this.#unlisten();
    this.#abortAll();
    this.#page = null;
  }

  #receive(message: PageMessage | null): void {
    if (!message) return;
    if (message.kind === 'ready') {
      if (message.page !== this.#page) {
        this.#abortAll();
        this.#page = message.page;
        this.#options.onReady?.();
      }
      this.#post({ kind: 'welcome', page: message.page, version: protocolVersion });
    } else if (message.kind === 'cancel') {
      if (message.page === this.#page) this.#running.get(message.id)?.abort();
    } else {
      void this.#answer(message);
    }
  }

  async #answer({ page, id, method, params }: Request): Promise<void> {
    if (page !== this.#page) {
      const error = { reason: 'not-ready', message: 'The page asked before it was ready.' } as const;
      return this.#post({ kind: 'failure', page, id, error });
    }
    const abort = new AbortController();
    this.#running.set(id, abort);
    try {
      const result = await this.#run(method, params, abort.signal);
      if (page === this.#page) this.#post({ kind: 'reply', page, id, result });
    } catch (error) {
      if (!abort.signal.aborted) this.#options.onError?.(method, error);
      if (page === this.#page) this.#post({ kind: 'failure', page, id, error: toFailure(error) });
    } finally {
      if (this.#running.get(id) === abort) this.#running.delete(id);
    }
  }

  async #run(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    if (!Object.hasOwn(this.#handlers, method))
      throw new ProtocolError({ reason: 'unknown-method', message: `There is no "${method}".` });
    const { read, handle } = this.#handlers[method as keyof M];
    return handle(read(params), signal);
  }

  #abortAll(): void {
    for (const controller of this.#running.values()) controller.abort();
    this.#running.clear();
  }

  #post(message: HostMessage): void {
    this.#port.post(message);
  }
}
