import { describe, expect, it } from 'vitest';
import type { SessionEvent, SessionExport } from '../../src/core/sessions';
import { Recent } from '../../src/opencode/events';
import { newIds, newSessionId } from '../../src/core/session-ids';
import { mergeMetadata } from '../../src/opencode/metadata';
import { isWithin, relativeTo } from '../../src/opencode/normal';
import { readEvents } from '../../src/opencode/sse';
import { copyOf, generationOf } from '../../src/opencode/transfer';
import { V1Events } from '../../src/opencode/v1-events';
import { V2Events } from '../../src/opencode/v2-events';
import { isSupported, parseVersion } from '../../src/opencode/versions';

describe('versions', () => {
  it.each([
    ['1.18.33\n', '1.18.33'],
    ['opencode v2.0.15', '2.0.15'],
    ['0.0.0-dev-2026', '0.0.0-dev-2026'],
    ['local', null],
    ['', null],
  ])('%j prints %j', (output, version) => expect(parseVersion(output)).toBe(version));

  it.each([
    ['1.18.0', true],
    ['1.18.33', true],
    ['1.19.0-beta.1', true],
    ['2.0.15', true],
    ['10.0.0', true],
    ['1.17.99', false],
    ['0.15.3', false],
    ['local', true],
    ['0.0.0-dev', true],
  ])('%s is supported: %s', (version, supported) => expect(isSupported(version)).toBe(supported));
});

describe('ids', () => {
  it('have the form of OpenCode and its order', () => {
    expect(newSessionId()).toMatch(/^ses_[0-9a-f]{12}[0-9A-Za-z]{14}$/);
    expect(newSessionId(2000) < newSessionId(1000)).toBe(true);
    const ids = newIds('msg', 5000, 1794802237655);
    expect(ids[0]).toMatch(/^msg_[0-9a-f]{12}[0-9A-Za-z]{14}$/);
    expect(new Set(ids).size).toBe(5000);
    expect([...ids].sort()).toEqual(ids);
    // What the server makes in the same millisecond comes after them.
    expect((ids.at(-1) ?? '') < `msg_${((BigInt(1794802237655) * 4096n) & 0xffffffffffffn).toString(16)}`).toBe(true);
  });
});

describe('copies of documents', () => {
  const v1: SessionExport = {
    info: { id: 'ses_1', directory: '/w', title: 'T', parentID: 'ses_0', revert: { messageID: 'msg_2' } },
    messages: [
      {
        info: { id: 'msg_1', sessionID: 'ses_1', role: 'user' },
        parts: [{ id: 'prt_1', sessionID: 'ses_1', messageID: 'msg_1', type: 'text', text: 'msg_1 stays' }],
      },
      {
        info: { id: 'msg_2', sessionID: 'ses_1', role: 'assistant', parentID: 'msg_1' },
        parts: [{ id: 'prt_2', sessionID: 'ses_1', messageID: 'msg_2', type: 'text' }],
      },
    ],
  };
  const v2: SessionExport = {
    info: { id: 'ses_1', location: { directory: '/w' }, fork: { sessionID: 'ses_0' } },
    messages: [
      { id: 'msg_1', type: 'user', text: 'hi' },
      { id: 'msg_2', type: 'assistant', content: [] },
    ],
  };

  it('have new ids everywhere, and the old text', () => {
    expect(generationOf(v1)).toBe('v1');
    const before = structuredClone(v1);
    const copy = copyOf(v1);
    expect(v1).toEqual(before);
    type Message = {
      info: { id: string; sessionID: string; parentID?: string };
      parts: Array<{ id: string; sessionID: string; messageID: string; text?: string }>;
    };
    const [first, second] = copy.messages as [Message, Message];
    expect(copy.info).toEqual({ id: expect.stringMatching(/^ses_/) as string, directory: '/w', title: 'T' });
    expect(copy.info.id).not.toBe('ses_1');
    expect(second.info.parentID).toBe(first.info.id);
    for (const { info, parts } of [first, second]) {
      expect(info.sessionID).toBe(copy.info.id);
      for (const part of parts) expect(part).toMatchObject({ sessionID: copy.info.id, messageID: info.id });
    }
    expect(first.parts[0]?.text).toBe('msg_1 stays');
    expect(first.parts[0]?.id).not.toBe('prt_1');
  });

  it('leave ties to other sessions behind', () => {
    expect(generationOf(v2)).toBe('v2');
    const copy = copyOf(v2);
    expect(copy.info['fork']).toBeUndefined();
    expect(copy.messages).toEqual([
      { id: expect.stringMatching(/^msg_/) as string, type: 'user', text: 'hi' },
      { id: expect.stringMatching(/^msg_/) as string, type: 'assistant', content: [] },
    ]);
  });
});

describe('small parts', () => {
  it('merges metadata', () => {
    expect(mergeMetadata({ a: 1, b: 2 }, { b: null, c: 3 })).toEqual({ a: 1, c: 3 });
  });

  it('tells inside from outside', () => {
    expect(isWithin('/w', '/w')).toBe(true);
    expect(isWithin('/w', '/w/sub')).toBe(true);
    expect(isWithin('/w', '/w2')).toBe(false);
    expect(isWithin('/w', '/')).toBe(false);
    expect(isWithin('/w', '/w/..strange')).toBe(true);
    expect(relativeTo('/w', '/w/a/b.txt')).toBe('a/b.txt');
    expect(relativeTo('/w', '/x/b.txt')).toBe('/x/b.txt');
    expect(relativeTo('/w', 'b.txt')).toBe('b.txt');
  });

  it('forgets the oldest', () => {
    const recent = new Recent<number>(2);
    recent.set('a', 1);
    recent.set('b', 2);
    recent.set('a', 3);
    recent.set('c', 4);
    expect([recent.get('a'), recent.get('b'), recent.get('c')]).toEqual([3, undefined, 4]);
  });
});

describe('server-sent events', () => {
  const stream = (...chunks: Array<string | Uint8Array>): ReadableStream<Uint8Array> =>
    new ReadableStream({
      start(controller) {
        for (const chunk of chunks)
          controller.enqueue(typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk);
        controller.close();
      },
    });
  const read = async (body: ReadableStream<Uint8Array>): Promise<Array<string | null>> => {
    const out: Array<string | null> = [];
    for await (const data of readEvents(body, { silenceMs: 1000, signal: new AbortController().signal }))
      out.push(data);
    return out;
  };

  it('are put together from any pieces', async () => {
    expect(await read(stream('da', 'ta: {"a":1}\n', '\n: heartbeat\n\ndata:x\ndata: y\n\nunfinished'))).toEqual([
      '{"a":1}',
      null,
      'x\ny',
    ]);
    expect(await read(stream('id: 4\r\ndata: z\r\n\r\n'))).toEqual(['z']);
    const umlaut = new TextEncoder().encode('data: ü\n\n');
    expect(await read(stream(umlaut.slice(0, 7), umlaut.slice(7)))).toEqual(['ü']);
  });

  it('break off when nothing is heard', async () => {
    const silent = new ReadableStream<Uint8Array>({});
    const reading = readEvents(silent, { silenceMs: 20, signal: new AbortController().signal }).next();
    await expect(reading).rejects.toThrow('nothing was heard');
  });
});

describe('what events mean', () => {
  const live = (): V1Events => {
    const events = new V1Events();
    events.map({ payload: { type: 'server.heartbeat' } });
    return events;
  };

  it('of OpenCode 1: the first one shows that those before may be lost', () => {
    const events = new V1Events();
    expect(events.map({ payload: { type: 'server.connected' } })).toEqual([]);
    expect(events.map({ payload: { type: 'session.compacted', properties: { sessionID: 's' } } })).toEqual([
      { type: 'gap' },
      { type: 'compacted', session: 's' },
    ]);
    expect(events.map({ payload: { type: 'server.heartbeat' } })).toEqual([]);
  });

  it('of OpenCode 1: copies of a fork are nothing new', () => {
    const events = live();
    const map = (type: string, properties: object): SessionEvent[] =>
      events.map({ directory: '/w', payload: { type, properties } });
    const session = { id: 'ses_f', directory: '/w', time: { created: 100, updated: 100 } };
    expect(map('session.created', { sessionID: 'ses_f', info: session })).toEqual([
      { type: 'session', change: 'created', session: 'ses_f', directory: '/w' },
    ]);
    const user = (id: string, created: number) => ({
      info: { id, sessionID: 'ses_f', role: 'user', time: { created } },
    });
    const part = (messageID: string, more: object) => ({ part: { id: 'p', sessionID: 'ses_f', messageID, ...more } });
    expect(map('message.updated', user('old', 50))).toEqual([]);
    expect(map('message.part.updated', part('old', { type: 'tool', state: { status: 'completed' } }))).toEqual([]);
    expect(map('message.updated', user('new', 150))).toEqual([{ type: 'message', session: 'ses_f' }]);
    expect(map('message.part.updated', part('new', { type: 'text', text: 'hi' }))).toEqual([
      { type: 'prompt', session: 'ses_f', messageId: 'new' },
    ]);
    // Once more after the turn, with its changes: not a second prompt.
    map('message.updated', user('new', 150));
    expect(map('message.part.updated', part('new', { type: 'text', text: 'hi' }))).toEqual([]);
    for (const [id, more] of [
      ['note', { type: 'text', text: '[Checkpoints] x' }],
      ['compaction', { type: 'compaction' }],
      ['continue', { type: 'text', text: 'Continue', synthetic: true }],
    ] as const) {
      map('message.updated', user(id, 160));
      expect(map('message.part.updated', part(id, more))).toEqual([]);
    }
  });

  it('of OpenCode 1: busy and idle once each', () => {
    const events = live();
    const map = (type: string, properties: object): string[] =>
      events.map({ payload: { type, properties: { sessionID: 's', ...properties } } }).map((event) => event.type);
    expect(map('session.status', { status: { type: 'busy' } })).toEqual(['busy']);
    expect(map('session.status', { status: { type: 'retry' } })).toEqual([]);
    expect(map('session.status', { status: { type: 'idle' } })).toEqual(['idle']);
    expect(map('session.idle', {})).toEqual([]);
    expect(events.map({ payload: { type: 'sync' } })).toEqual([]);
    expect(events.map({})).toEqual([]);
    // A newer one may say it in other words.
    expect(map('message.updated', {})).toEqual([]);
    expect(map('message.updated', { info: { id: 'm' } })).toEqual([]);
    expect(map('message.part.updated', {})).toEqual([]);
    expect(map('session.created', { info: { id: 's' } })).toEqual(['session']);
  });

  it('of OpenCode 2', () => {
    const events = new V2Events();
    const map = (type: string, data: object = {}): string[] =>
      events.map({ type, data: { sessionID: 's', ...data } }).map((event) => event.type);
    const enqueued = (inboxID: string, type: string, text: string) => ({ inboxID, item: { type, payload: { text } } });
    expect(map('session.inbox.enqueued', enqueued('1', 'user', 'hi'))).toEqual([]);
    expect(map('session.inbox.delivered', { inboxID: '1' })).toEqual(['message', 'prompt']);
    expect(map('session.inbox.delivered', { inboxID: '1' })).toEqual(['message']);
    map('session.inbox.enqueued', enqueued('2', 'synthetic', '[Checkpoints] x'));
    map('session.inbox.enqueued', enqueued('3', 'user', '[Checkpoints] x'));
    expect(map('session.inbox.delivered', { inboxID: '2' })).toEqual(['message']);
    expect(map('session.inbox.delivered', { inboxID: '3' })).toEqual(['message']);
    expect(map('session.execution.started')).toEqual(['busy']);
    for (const end of ['succeeded', 'failed', 'interrupted']) expect(map(`session.execution.${end}`)).toEqual(['idle']);
    expect(map('session.compaction.ended')).toEqual(['message', 'compacted']);
    expect(map('session.text.delta')).toEqual([]);
    expect(events.map({ type: 'server.connected', data: {} })).toEqual([]);
    expect(events.map({ type: 'session.forked', location: { directory: '/w' }, data: { sessionID: 's' } })).toEqual([
      { type: 'session', change: 'created', session: 's', directory: '/w' },
    ]);
  });
});
