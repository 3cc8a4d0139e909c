import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anchorNow, anchorThrough, counted } from '../../src/core/anchors';
import { forkAt } from '../../src/core/fork';
import type { SessionEvent, SessionExport, SessionGateway } from '../../src/core/sessions';
import { gatewayFor } from '../../src/opencode/connect';
import { endpoint } from '../../src/opencode/http';
import { newIds, newSessionId } from '../../src/core/session-ids';
import { startOpenCode, until, type OpenCode } from '../rig/opencode';
import { write } from '../rig/script';
import { countIn, gatewayTo, generations, untilLive } from './gateway-fixture';

describe.each(generations)('export and import on %s', (generation) => {
  let server: OpenCode;
  let gateway: SessionGateway;
  let session: string;
  let document: SessionExport;
  beforeAll(async () => {
    server = await startOpenCode({ generation });
    gateway = await gatewayTo(server);
    session = await server.createSession('To be exported');
    await server.turn(session, 'write a file', [{ text: 'Writing.', tools: [write('a.txt', '1')] }, { text: 'Done.' }]);
    await server.turn(session, 'say more', [{ text: 'More.' }]);
    await gateway.update(session, { metadata: { mine: 1 } });
    document = await gateway.exportSession(session);
  });
  afterAll(() => server.dispose());

  const shape = async (id: string) =>
    (await gateway.messages(id)).map(({ role, type, text, createdAt, calls }) => ({
      role,
      type,
      text,
      createdAt,
      calls: calls.map(({ tool, status }) => ({ tool, status })),
    }));

  it('exports the document that OpenCode itself exports', async () => {
    const args = generation === 'v1' ? ['export', session] : ['session', 'export', session, '--server', server.url];
    const own = JSON.parse(await server.cli(...args)) as SessionExport;
    expect(document.messages).toEqual(own.messages);
    expect(document.info).toMatchObject({ id: session, title: own.info['title'] as string });
  });

  it('refuses a session that is there, and takes it as a copy', async () => {
    const before = await shape(session);
    const where = { directory: server.workspace };
    await expect(gateway.importSession(document, where)).rejects.toMatchObject({ reason: 'conflict' });
    const copy = await gateway.importSession(document, { ...where, copy: true });
    expect(copy.id).not.toBe(session);
    expect(copy).toMatchObject({ title: 'To be exported', directory: server.workspace, metadata: { mine: 1 } });
    expect(await shape(copy.id)).toEqual(before);
    expect(await shape(session)).toEqual(before);
    await server.turn(copy.id, 'go on in the copy', [{ text: 'Going on.' }]);
    expect((await gateway.messages(copy.id)).some(({ text }) => text === 'Going on.')).toBe(true);
    expect(await shape(session)).toEqual(before);
  });

  it('brings back a deleted session under its own id', async () => {
    const lost = await gateway.importSession(document, { directory: server.workspace, copy: true });
    const saved = await gateway.exportSession(lost.id);
    const before = await shape(lost.id);
    await gateway.remove(lost.id);
    const back = await gateway.importSession(saved, { directory: server.workspace });
    expect(back.id).toBe(lost.id);
    expect(await shape(lost.id)).toEqual(before);
  });

  it('refuses a document of the other generation', async () => {
    const foreign: SessionExport =
      generation === 'v1'
        ? { info: { id: 'ses_x', location: { directory: '/x' } }, messages: [] }
        : { info: { id: 'ses_x', directory: '/x' }, messages: [] };
    await expect(gateway.importSession(foreign, { directory: server.workspace })).rejects.toMatchObject({
      reason: 'not-supported',
    });
  });

  it('says when there is no way to import or to write todos', async () => {
    if (generation === 'v2') {
      // OpenCode 2 takes documents over HTTP: nothing more is needed.
      expect(gateway.capabilities).toEqual({ todos: 'none', notes: 'inbox', import: true });
      return;
    }
    const target = endpoint(server.url, server.password);
    const env = { PATH: '/nowhere', HOME: server.home };
    const without = gatewayFor({ endpoint: target, generation, version: gateway.version }, { env });
    await expect(without.importSession(document, { directory: server.workspace, copy: true })).rejects.toMatchObject({
      reason: 'not-supported',
    });
    expect(await without.writeTodos(session, [{ content: 'x', status: 'pending', priority: 'low' }])).toBe(false);
  });

  it('forks 300 messages, exactly, without a flood of events', async () => {
    const long = await gateway.importSession(enlarge(document, 300), { directory: server.workspace });
    const messages = await gateway.messages(long.id);
    expect(counted(messages)).toHaveLength(300);

    const events: SessionEvent[] = [];
    const ending = new AbortController();
    const reading = gateway.events((event) => events.push(event), ending.signal);
    await untilLive(server, events);
    const request = { directory: server.workspace, title: 'Long fork', checkpoint: null };
    const whole = await forkAt(gateway, { ...request, anchor: anchorNow(long, messages) });
    expect(await countIn(server, whole.session.id)).toBe(300);
    const middle = anchorThrough(long, messages, counted(messages)[149]?.id ?? '');
    const half = await forkAt(gateway, { ...request, anchor: middle });
    expect(await countIn(server, half.session.id)).toBe(150);
    // Whatever the server still has to say about the forks comes before this.
    const mark = await server.createSession('Mark');
    await until(
      () => events.some((event) => 'session' in event && event.session === mark),
      60_000,
      () => 'the mark never came',
    );
    ending.abort();
    await reading;
    const ofForks = events.filter((event) => 'session' in event && event.session === whole.session.id);
    expect(ofForks.some((event) => event.type === 'session' && event.change === 'created')).toBe(true);
    expect(ofForks.length).toBeLessThan(10);
    expect(ofForks.some(({ type }) => type === 'prompt' || type === 'message')).toBe(false);
  });

  it('is read by opencode import without us', async () => {
    const copy = enlarge(document, 4);
    const { id } = copy.info;
    const file = join(server.home, 'backup.json');
    await writeFile(file, JSON.stringify(copy));
    if (generation === 'v1') await server.cli('import', file);
    else await server.cli('session', 'import', file, '--server', server.url);
    expect(await countIn(server, id)).toBe(4);
  });
});

/** The exported turns over and over, under new ids, until there are `count` messages that count. */
function enlarge(document: SessionExport, count: number): SessionExport {
  const id = newSessionId();
  type Raw = {
    id: string;
    type: string;
    info: { id: string; role: string; parentID?: string; sessionID: string };
    parts: Array<{ id: string }>;
  };
  const kept = (document.messages as Raw[]).filter(
    (message) => message.info || /^(user|assistant)$/.test(message.type),
  );
  const ids = newIds('msg', count);
  const parts = newIds('prt', count * 10);
  const messages = ids.map((messageID, index) => {
    const message = structuredClone(kept[index % kept.length] as Raw);
    if (!message.info) return { ...message, id: messageID };
    const prompt = ids[index - (index % kept.length)];
    return {
      info: {
        ...message.info,
        id: messageID,
        sessionID: id,
        ...(message.info.role === 'user' ? {} : { parentID: prompt }),
      },
      parts: message.parts.map((part) => ({ ...part, id: parts.shift(), sessionID: id, messageID })),
    };
  });
  return { info: { ...document.info, id }, messages };
}
