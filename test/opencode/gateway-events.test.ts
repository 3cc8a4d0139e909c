import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { counted } from '../../src/core/anchors';
import { atRest } from '../../src/core/at-rest';
import { watchSessions } from '../../src/core/session-watch';
import type { SessionEvent, SessionGateway } from '../../src/core/sessions';
import { startOpenCode, until, type OpenCode } from '../rig/opencode';
import { shell, todos, write } from '../rig/script';
import { gatewayTo, generations, untilLive } from './gateway-fixture';

describe.each(generations)('events of %s', (generation) => {
  let server: OpenCode;
  let gateway: SessionGateway;
  let events: SessionEvent[];
  let ending: AbortController;
  let reading: Promise<void>;
  beforeAll(async () => {
    server = await startOpenCode({ generation });
    gateway = await gatewayTo(server);
  });
  afterAll(() => server.dispose());
  beforeEach(async () => {
    events = [];
    ending = new AbortController();
    reading = gateway.events((event) => events.push(event), ending.signal);
    await untilLive(server, events);
  });
  afterEach(async () => {
    ending.abort();
    await reading;
  });

  const seen = (test: (event: SessionEvent) => boolean): Promise<true> =>
    until(
      () => events.some(test),
      60_000,
      () => `not among ${JSON.stringify(events)}`,
    );
  const of = (session: string): string[] =>
    events.flatMap((event) => ('session' in event && event.session === session ? [event.type] : []));

  it('tells a turn from its prompt to its end, once each', async () => {
    const session = await server.createSession('Watched');
    await seen((event) => event.type === 'session' && event.session === session && event.change === 'created');
    expect(events.find((event) => event.type === 'session' && event.session === session)).toMatchObject({
      directory: server.workspace,
    });
    const prompt = await server.turn(session, 'do two steps', [{ tools: [write('x.txt', '1')] }, { text: 'ok' }]);
    await seen((event) => event.type === 'idle' && event.session === session);
    const types = of(session);
    const prompts = events.filter((event) => event.type === 'prompt');
    expect(prompts).toEqual([{ type: 'prompt', session, messageId: prompt }]);
    expect(types.filter((type) => type === 'busy')).toHaveLength(1);
    expect(types.filter((type) => type === 'idle')).toHaveLength(1);
    expect(types.indexOf('busy')).toBeLessThan(types.indexOf('idle'));
    expect(types).toContain('message');
  });

  it('has all of a turn that failed or was stopped, once it is told to be over', async () => {
    const session = await server.createSession('Cut short');
    const read = async () => ({ messages: await gateway.messages(session) });
    const found: Array<Promise<number>> = [];
    const also = new AbortController();
    const following = gateway.events((event) => {
      if (event.type === 'idle' && event.session === session)
        found.push(atRest(read).then(({ messages }) => counted(messages).length));
    }, also.signal);
    const idle = (times: number): Promise<true> =>
      until(
        () => found.length >= times,
        60_000,
        () => `idle ${found.length} times instead of ${times}`,
      );
    try {
      await server.turn(session, 'fail at once', [{ error: { status: 400, message: 'no' } }]);
      await idle(1);
      expect(await found[0]).toBe(2);
      await server.prompt(session, 'sleep', [{ tools: [shell('sleep 60')] }, { text: 'ok' }]);
      await until(
        async () => JSON.stringify(await read()).includes('"running"'),
        30_000,
        () => 'nothing ran',
      );
      await server.interrupt(session);
      await idle(2);
      expect(await found[1]).toBe(4);
    } finally {
      also.abort();
      await following;
    }
  });

  it('tells notes from prompts, and changes of a session', async () => {
    const session = await server.createSession('Noted');
    await gateway.note(session, '[Checkpoints] nothing to do');
    await gateway.update(session, { title: 'Renamed', metadata: { a: 1 } });
    await seen((event) => event.type === 'session' && event.session === session && event.change === 'updated');
    const prompt = await server.turn(session, 'a real prompt');
    await seen((event) => event.type === 'idle' && event.session === session);
    expect(events.filter((event) => event.type === 'prompt')).toEqual([{ type: 'prompt', session, messageId: prompt }]);
    await gateway.remove(session);
    await seen((event) => event.type === 'session' && event.session === session && event.change === 'deleted');
  });

  it('tells of compactions and todos', async () => {
    const session = await server.createSession('Compacted');
    await server.turn(
      session,
      'something to sum up',
      generation === 'v1' ? [{ tools: [todos('x')] }, { text: 'y' }] : [],
    );
    await server.compact(session);
    await seen((event) => event.type === 'compacted' && event.session === session);
    expect(events.filter((event) => event.type === 'prompt')).toHaveLength(1);
    if (generation === 'v1') expect(of(session)).toContain('todos');
  });

  it('reconnects when the server comes back, and says that something may be missing', async () => {
    await server.kill();
    await seen((event) => event.type === 'lost');
    events.length = 0;
    await server.start();
    const missed = await server.createSession('Made in the gap or after');
    await seen((event) => event.type === 'gap');
    expect(events.some((event) => event.type === 'connected')).toBe(false);
    expect((await gateway.list(server.workspace)).map(({ id }) => id)).toContain(missed);
    const later = new Set<string>();
    await until(
      async () => {
        later.add(await server.createSession('After the gap'));
        return events.some((event) => event.type === 'session' && later.has(event.session));
      },
      60_000,
      () => `no events after the gap: ${JSON.stringify(events)}`,
    );
  });

  it('catches up on what happened while it was away', async () => {
    const kept = await server.createSession('Kept');
    const doomed = await server.createSession('Doomed');
    const watched: SessionEvent[] = [];
    const stop = new AbortController();
    const watching = watchSessions(gateway, server.workspace, (event) => watched.push(event), stop.signal);
    const told = (type: string, session: string, change?: string): Promise<true> =>
      until(
        () =>
          watched.some(
            (event) =>
              event.type === type &&
              'session' in event &&
              event.session === session &&
              (change === undefined || (event.type === 'session' && event.change === change)),
          ),
        60_000,
        () => `${type} ${change} is not among ${JSON.stringify(watched)}`,
      );
    await until(
      () => watched.some(({ type }) => type === 'connected'),
      30_000,
      () => 'never connected',
    );
    await server.kill();
    // Another process goes on with the same data meanwhile: no event of it ever reaches the first one.
    const other = await startOpenCode({ generation, sharing: server });
    const born = await other.createSession('Born in the gap');
    await other.turn(kept, 'said in the gap');
    await other.call('DELETE', `${generation === 'v1' ? '' : '/api'}/session/${doomed}`);
    await other.dispose();
    await server.start();
    await told('session', born, 'created');
    await told('session', doomed, 'deleted');
    await told('session', kept, 'updated');
    await told('message', kept);
    // And goes on, for this folder only.
    const foreign = join(server.home, 'foreign');
    await mkdir(foreign, { recursive: true });
    await server.call(
      'POST',
      generation === 'v1' ? `/session?directory=${encodeURIComponent(foreign)}` : '/api/session',
      generation === 'v1' ? { title: 'Foreign' } : { title: 'Foreign', location: { directory: foreign } },
    );
    const last = await server.createSession('Afterwards');
    await told('session', last, 'created');
    stop.abort();
    await watching;
    const folders = watched.flatMap((event) => (event.type === 'session' ? [event.directory] : []));
    expect(new Set(folders)).toEqual(new Set([server.workspace]));
  });

  it('ends when asked to, also while there is no server', async () => {
    await server.stop();
    await seen((event) => event.type === 'lost');
    ending.abort();
    await reading;
    const before = events.length;
    await server.start();
    await server.createSession('Unheard');
    expect(events).toHaveLength(before);
  });
});
