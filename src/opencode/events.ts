import { setTimeout as sleep } from 'node:timers/promises';
import type { SessionEvent } from '../core/sessions';
import type { Http } from './http';
import { readEvents } from './sse';

/** Turns one server event into ours; keeps what it must remember between events. */
export interface EventMapper {
  map(raw: unknown): SessionEvent[];
}

export interface EventOptions {
  http: Http;
  path: string;
  /** A fresh one for each connection: what it remembers may be stale after a gap. */
  mapper: () => EventMapper;
  /** Reconnecting waits this long at first, then twice as long each time, up to `maxWaitMs`. */
  waitMs?: number;
  maxWaitMs?: number;
  silenceMs?: number;
  /** `message` events of one session closer together than this become one. */
  settleMs?: number;
}

/**
 * Reads events until aborted. After each break `gap` tells that something may have been missed. A server that is gone before it was ever
 * heard is lost, too: whoever was told of it looks for another one.
 */
export async function followEvents(
  options: EventOptions,
  listener: (event: SessionEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const { waitMs = 250, maxWaitMs = 10_000, silenceMs = 45_000, settleMs = 150 } = options;
  const calm = new Coalescer(listener, settleMs);
  let connections = 0;
  let isLost = false;
  let wait = waitMs;
  try {
    while (!signal.aborted) {
      let reason = 'the server ended the stream';
      let connected = false;
      try {
        const body = await options.http.stream(options.path, signal);
        const mapper = options.mapper();
        for await (const data of readEvents(body, { silenceMs, signal })) {
          if (!connected) {
            connected = true;
            isLost = false;
            wait = waitMs;
            calm.emit({ type: connections++ === 0 ? 'connected' : 'gap' });
          }
          if (data !== null) for (const event of mapper.map(JSON.parse(data))) calm.emit(event);
        }
      } catch (error) {
        reason = error instanceof Error ? error.message : String(error);
      }
      if (signal.aborted) return;
      if (!isLost) calm.emit({ type: 'lost', reason });
      isLost = true;
      await sleep(wait, undefined, { signal }).catch(() => undefined);
      wait = Math.min(wait * 2, maxWaitMs);
    }
  } finally {
    calm.close();
  }
}

/** A turn changes its messages many times a second: the first change is told at once, the rest together. */
class Coalescer {
  private readonly waiting = new Map<string, { timer: NodeJS.Timeout; again: boolean }>();

  constructor(
    private readonly listener: (event: SessionEvent) => void,
    private readonly settleMs: number,
  ) {}

  emit(event: SessionEvent): void {
    if (event.type !== 'message') {
      this.listener(event);
      return;
    }
    const { session } = event;
    const waiting = this.waiting.get(session);
    if (waiting) {
      waiting.again = true;
      return;
    }
    this.listener(event);
    const timer = setTimeout(() => {
      const again = this.waiting.get(session)?.again === true;
      this.waiting.delete(session);
      if (again) this.emit(event);
    }, this.settleMs);
    this.waiting.set(session, { timer, again: false });
  }

  close(): void {
    for (const { timer } of this.waiting.values()) clearTimeout(timer);
    this.waiting.clear();
  }
}

/** Remembers the newest few thousand keys; a server's stream can go on for weeks. */
export class Recent<V> {
  private readonly entries = new Map<string, V>();

  constructor(private readonly limit = 5000) {}

  get(key: string): V | undefined {
    return this.entries.get(key);
  }

  has(key: string): boolean {
    return this.entries.has(key);
  }

  set(key: string, value: V): void {
    this.entries.delete(key);
    this.entries.set(key, value);
    if (this.entries.size <= this.limit) return;
    const oldest = this.entries.keys().next();
    if (!oldest.done) this.entries.delete(oldest.value);
  }

  delete(key: string): boolean {
    return this.entries.delete(key);
  }
}
