import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anchorThrough, counted } from '../../src/core/anchors';
import { GatewayConversation } from '../../src/core/conversation';
import { newIds } from '../../src/core/session-ids';
import { watchSessions } from '../../src/core/session-watch';
import { isNote, type SessionEvent, type SessionExport, type SessionGateway } from '../../src/core/sessions';
import { openWorkspace } from '../../src/git/open';
import { startOpenCode, until, type OpenCode } from '../rig/opencode';
import { gatewayTo, generations, untilLive } from './gateway-fixture';

const turns = 150;

interface Stamped {
  id?: string;
  parentID?: string;
  time?: { created: number; completed?: number };
}

/** The same turn over and over, each a second later than the one before: hours of talk in a moment. */
function repeated(document: SessionExport, times: number): SessionExport {
  const [first] = document.messages as Array<{ info?: Stamped } & Stamped>;
  const later = (value: Stamped, seconds: number): Stamped => ({
    ...value,
    ...(value.time
      ? {
          time: {
            ...value.time,
            created: value.time.created + seconds * 1000,
            ...(value.time.completed === undefined ? {} : { completed: value.time.completed + seconds * 1000 }),
          },
        }
      : {}),
  });
  if (!first) throw new Error('nothing to repeat');
  const begin = Date.now() - times * 2000;
  const shift = Math.round((begin - ((first.info ?? first).time?.created ?? begin)) / 1000);
  const messages = Array.from({ length: times }, (_, turn) => {
    const copies = structuredClone(document.messages) as Array<{ info?: Stamped } & Stamped>;
    const ids = new Map(copies.map((copy) => [(copy.info ?? copy).id, newIds('msg', 1)[0]]));
    return copies.map((copy) => {
      const own = later(copy.info ?? copy, shift + turn);
      const named = { ...own, id: ids.get(own.id), ...(own.parentID ? { parentID: ids.get(own.parentID) } : {}) };
      return copy.info ? { ...copy, info: named } : { ...copy, ...named };
    });
  });
  return { info: document.info, messages: messages.flat() };
}

/** Going back in a session of 300 messages: all of it exact, while whoever waits for it stays awake. */
describe.each(generations)('a session of 300 messages on %s', (generation) => {
  let server: OpenCode;
  let gateway: SessionGateway;
  let long: string;

  beforeAll(async () => {
    server = await startOpenCode({ generation, files: { 'a.txt': 'one\n' } });
    gateway = await gatewayTo(server);
    const short = await server.createSession('Long');
    await server.turn(short, 'Say something', [{ text: 'Something that takes a few words to say.' }]);
    const document = await gateway.exportSession(short);
    const kept = document.messages.filter((message) =>
      /"(role|type)":"(user|assistant)"/.test(JSON.stringify(message)),
    );
    const copy = repeated({ ...document, messages: kept }, turns);
    long = (await gateway.importSession(copy, { directory: server.workspace, copy: true })).id;
  });
  afterAll(() => server.dispose());

  it('is forked exactly, tells that it is at it, floods nobody and blocks nothing', async () => {
    const messages = await gateway.messages(long);
    expect(counted(messages)).toHaveLength(turns * 2);
    const at = counted(messages)[turns * 2 - 3];
    const workspace = await openWorkspace({
      directory: server.workspace,
      home: join(server.home, 'data', 'opencode-checkpoints'),
      conversation: (_folder, root) => new GatewayConversation(root, () => Promise.resolve(gateway)),
    });
    const events: SessionEvent[] = [];
    const ending = new AbortController();
    const following = watchSessions(gateway, server.workspace, (event) => events.push(event), ending.signal);
    try {
      await untilLive(server, events);
      const point = await workspace.create({
        session: anchorThrough(await gateway.get(long), messages, at?.id ?? ''),
        name: 'nearly all',
      });
      const operations: string[] = [];
      workspace.onDidChangeOperation((operation) => operations.push(operation?.kind ?? 'none'));
      events.length = 0;
      const began = performance.now();
      let last = began;
      let gap = 0;
      const timer = setInterval(() => {
        gap = Math.max(gap, performance.now() - last);
        last = performance.now();
      }, 1);
      const { session } = await workspace.restore(point.id, { scope: ['conversation'] });
      clearInterval(timer);
      gap = Math.max(gap, performance.now() - last);
      const whole = performance.now() - began;
      expect(gap / whole, `${gap} of ${whole} ms`).toBeLessThan(0.5);
      expect(operations).toContain('restore');
      expect(operations.at(-1)).toBe('none');

      const fork = counted(await gateway.messages(session?.id ?? '')).filter((message) => !isNote(message));
      expect(fork).toHaveLength(turns * 2 - 2);
      expect(fork.map(({ text, createdAt }) => [text, createdAt])).toEqual(
        counted(messages)
          .slice(0, turns * 2 - 2)
          .map(({ text, createdAt }) => [text, createdAt]),
      );
      // Whatever follows comes after all that the fork caused.
      const marker = await server.createSession('Afterwards');
      await until(
        () => Promise.resolve(events.some((event) => 'session' in event && event.session === marker)),
        60_000,
        () => 'the last event never came',
      );
      expect(events.length).toBeLessThan(turns / 3);
    } finally {
      ending.abort();
      await following;
      await workspace.close();
    }
  });
});
