import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Caller } from '../../src/protocol/caller';
import { ProtocolError, type Port } from '../../src/protocol/envelope';
import { Responder, type Handlers } from '../../src/protocol/responder';

interface Methods {
  echo: { params: string; result: string };
  slow: { params: string; result: string };
  ask: { params: null; result: string };
}
type Event = { type: 'changed' };

/** Two ends that pass on JSON, a turn of the loop later, like a webview. */
function pair(): { page: Port; host: Port; log: string[] } {
  const ends = [new Set<(message: unknown) => void>(), new Set<(message: unknown) => void>()] as const;
  const log: string[] = [];
  const port = (own: 0 | 1): Port => ({
    post: (message) => {
      const text = JSON.stringify(message);
      log.push(text);
      queueMicrotask(() => ends[own === 0 ? 1 : 0].forEach((listener) => listener(JSON.parse(text))));
    },
    listen: (listener) => {
      ends[own].add(listener);
      return () => ends[own].delete(listener);
    },
  });
  return { page: port(0), host: port(1), log };
}

const timeouts = { echo: 1000, slow: 1000, ask: null } as const;
const text = (value: unknown): string => {
  if (typeof value !== 'string') throw new ProtocolError({ reason: 'bad-request', message: 'not a text' });
  return value;
};

/** Slow ones end when the test says so. */
function handlers(ends: Map<string, (result: string) => void>, aborted: string[] = []): Handlers<Methods> {
  return {
    echo: { read: text, handle: (value) => Promise.resolve(value) },
    slow: {
      read: text,
      handle: (value, signal) =>
        new Promise((resolve) => {
          ends.set(value, resolve);
          signal.addEventListener('abort', () => aborted.push(value));
        }),
    },
    ask: { read: () => null, handle: () => new Promise((resolve) => ends.set('ask', resolve)) },
  };
}

const caller = (page: Port, name = 'p1'): Caller<Methods, Event> => new Caller(page, { timeouts, page: name });
const settled = async (): Promise<void> => void (await vi.advanceTimersByTimeAsync(0));
const reason = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => ({ value }),
    (error: unknown) => (error instanceof ProtocolError ? error.reason : error),
  );

describe('channel', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('says ready first, and sends what was asked before the welcome after it', async () => {
    const { page, host, log } = pair();
    new Responder<Methods, Event>(host, handlers(new Map()));
    const answer = caller(page).call('echo', 'hello');
    await settled();
    expect(await answer).toBe('hello');
    expect(log.map((line) => (JSON.parse(line) as { kind: string }).kind)).toEqual([
      'ready',
      'welcome',
      'request',
      'reply',
    ]);
  });

  it('gives each reply to the request it answers, in whatever order they come', async () => {
    const { page, host } = pair();
    const ends = new Map<string, (result: string) => void>();
    new Responder<Methods, Event>(host, handlers(ends));
    const client = caller(page);
    const answers = Promise.all([client.call('slow', 'a'), client.call('slow', 'b'), client.call('echo', 'c')]);
    await settled();
    ends.get('b')?.('B');
    await settled();
    ends.get('a')?.('A');
    expect(await answers).toEqual(['A', 'B', 'c']);
  });

  it('times out, tells the host to stop, and ignores the late answer', async () => {
    const { page, host } = pair();
    const ends = new Map<string, (result: string) => void>();
    const aborted: string[] = [];
    new Responder<Methods, Event>(host, handlers(ends, aborted));
    const client = caller(page);
    const answer = reason(client.call('slow', 'x'));
    await vi.advanceTimersByTimeAsync(999);
    expect(aborted).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await answer).toBe('timeout');
    await settled();
    expect(aborted).toEqual(['x']);
    ends.get('x')?.('late');
    await settled();
    const next = client.call('echo', 'still works');
    await settled();
    expect(await next).toBe('still works');
  });

  it('times out without a host, and works once there is one and it is greeted again', async () => {
    const { page, host } = pair();
    const client = caller(page);
    const answer = reason(client.call('echo', 'anybody?'));
    await vi.advanceTimersByTimeAsync(1000);
    expect(await answer).toBe('timeout');
    new Responder<Methods, Event>(host, handlers(new Map()));
    client.hello();
    const second = client.call('echo', 'now');
    await settled();
    expect(await second).toBe('now');
  });

  it('waits for a person for as long as it takes', async () => {
    const { page, host } = pair();
    const ends = new Map<string, (result: string) => void>();
    new Responder<Methods, Event>(host, handlers(ends));
    const answer = caller(page).call('ask', null);
    await vi.advanceTimersByTimeAsync(3_600_000);
    ends.get('ask')?.('yes');
    expect(await answer).toBe('yes');
  });

  it('cancels by signal, before and after sending', async () => {
    const { page, host } = pair();
    const aborted: string[] = [];
    new Responder<Methods, Event>(host, handlers(new Map(), aborted));
    const client = caller(page);
    expect(await reason(client.call('slow', 'x', { signal: AbortSignal.abort() }))).toBe('cancelled');
    const controller = new AbortController();
    const answer = reason(client.call('slow', 'y', { signal: controller.signal }));
    await settled();
    controller.abort();
    expect(await answer).toBe('cancelled');
    await settled();
    expect(aborted).toEqual(['y']);
  });

  it('replies to errors with their reason, and to what it does not know or understand', async () => {
    const { page, host } = pair();
    const seen: string[] = [];
    const failing: Handlers<Methods> = {
      ...handlers(new Map()),
      slow: {
        read: text,
        handle: (value) =>
          Promise.reject(
            value === 'plain' ? 'just a text' : Object.assign(new Error('no git'), { reason: 'git-missing' }),
          ),
      },
    };
    new Responder<Methods, Event>(host, failing, { onError: (method) => seen.push(method) });
    const client = caller(page);
    const reasons = Promise.all([
      reason(client.call('slow', 'x')),
      reason(client.call('slow', 'plain')),
      reason(client.call('echo', 5 as unknown as string)),
      reason(client.call('toString' as 'echo', 'x')),
    ]);
    await settled();
    expect(await reasons).toEqual(['git-missing', 'failed', 'bad-request', 'unknown-method']);
    expect(seen.sort()).toEqual(['echo', 'slow', 'slow', 'toString']);
  });

  it('refuses requests of a page that never said ready', async () => {
    const { page, host } = pair();
    const got: unknown[] = [];
    page.listen((message) => got.push(message));
    new Responder<Methods, Event>(host, handlers(new Map()));
    page.post({ kind: 'request', page: 'p1', id: 1, method: 'echo', params: 'x' });
    await settled();
    expect(got).toEqual([
      { kind: 'failure', page: 'p1', id: 1, error: { reason: 'not-ready', message: expect.any(String) as string } },
    ]);
  });

  it('does not give a reloaded page the answers of the one before', async () => {
    const { page, host, log } = pair();
    const ends = new Map<string, (result: string) => void>();
    const aborted: string[] = [];
    let loads = 0;
    new Responder<Methods, Event>(host, handlers(ends, aborted), { onReady: () => loads++ });
    const first = caller(page, 'first');
    void reason(first.call('slow', 'old'));
    await settled();
    const second = caller(page, 'second');
    const answer = second.call('slow', 'new');
    await settled();
    expect(aborted).toEqual(['old']);
    ends.get('old')?.('old answer');
    ends.get('new')?.('new answer');
    expect(await answer).toBe('new answer');
    expect(log.some((line) => line.includes('old answer'))).toBe(false);
    expect(loads).toBe(2);
  });

  it('passes events to a page that is there, and not before', async () => {
    const { page, host, log } = pair();
    const responder = new Responder<Methods, Event>(host, handlers(new Map()));
    responder.emit({ type: 'changed' });
    expect(log).toEqual([]);
    const client = caller(page);
    const events: Event[] = [];
    const stop = client.onEvent((event) => events.push(event));
    await settled();
    responder.emit({ type: 'changed' });
    await settled();
    stop();
    responder.emit({ type: 'changed' });
    await settled();
    expect(events).toEqual([{ type: 'changed' }]);
  });

  it('rejects what waits when either end closes, and everything after', async () => {
    const { page, host } = pair();
    const aborted: string[] = [];
    const responder = new Responder<Methods, Event>(host, handlers(new Map(), aborted));
    const client = caller(page);
    const answer = reason(client.call('slow', 'x'));
    await settled();
    responder.dispose();
    expect(aborted).toEqual(['x']);
    client.close();
    expect(await answer).toBe('disconnected');
    expect(await reason(client.call('echo', 'x'))).toBe('disconnected');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('says so when the host speaks another version', async () => {
    const { page, host } = pair();
    const client = caller(page);
    const answer = reason(client.call('echo', 'x'));
    host.post({ kind: 'welcome', page: 'p1', version: 99 });
    await settled();
    expect(await answer).toBe('version-mismatch');
  });

  it('ignores messages of others', async () => {
    const { page, host, log } = pair();
    new Responder<Methods, Event>(host, handlers(new Map()));
    const client = caller(page);
    await settled();
    const before = log.length;
    for (const odd of [null, 5, 'text', [], {}, { kind: 'request' }, { kind: 'ready', page: 5 }]) page.post(odd);
    for (const odd of [null, { kind: 'event' }, { kind: 'reply', page: 'p1' }, { kind: 'reply', page: 'p1', id: 77 }])
      host.post(odd);
    await settled();
    expect(log.length - before).toBe(11);
    const answer = client.call('echo', 'fine');
    await settled();
    expect(await answer).toBe('fine');
  });
});
