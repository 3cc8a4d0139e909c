import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { SessionEvent, SessionGateway } from '../../src/core/sessions';
import { startOpenCode, until, type OpenCode } from '../rig/opencode';
import { todos, write } from '../rig/script';
import { gatewayTo, generations } from './gateway-fixture';

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
    await seen((event) => event.type === 'connected');
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
    await server.start();
    const missed = await server.createSession('Made in the gap or after');
    await seen((event) => event.type === 'gap');
    expect(events.filter((event) => event.type === 'connected')).toHaveLength(1);
    expect((await gateway.list(server.workspace)).map(({ id }) => id)).toContain(missed);
    const later = await server.createSession('After the gap');
    await seen((event) => event.type === 'session' && event.session === later);
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
