import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SessionGateway } from '../../src/core/sessions';
import { turnsOf } from '../../src/core/turns';
import { startOpenCode, type OpenCode } from '../rig/opencode';
import { edit, shell, subagent, todos, write } from '../rig/script';
import { gatewayTo, generations } from './gateway-fixture';

describe.each(generations)('sessions of %s', (generation) => {
  let server: OpenCode;
  let gateway: SessionGateway;
  beforeAll(async () => {
    server = await startOpenCode({ generation });
    gateway = await gatewayTo(server);
  });
  afterAll(() => server.dispose());

  it('is told apart by probing', () => {
    expect(gateway.generation).toBe(generation);
    expect(gateway.version).toMatch(generation === 'v1' ? /^1\.18\./ : /^2\./);
  });

  it('lists sessions of the folder and those below it, and of no other', async () => {
    const inside = join(server.workspace, 'packages', 'one');
    await mkdir(inside, { recursive: true });
    const outside = join(server.home, 'elsewhere');
    await mkdir(outside);
    const create = (directory: string): Promise<string> =>
      generation === 'v1'
        ? server
            .call<{ id: string }>('POST', `/session?directory=${encodeURIComponent(directory)}`, { title: 'x' })
            .then(({ id }) => id)
        : server
            .call<{ data: { id: string } }>('POST', '/api/session', { title: 'x', location: { directory } })
            .then(({ data }) => data.id);
    const own = await server.createSession('Own');
    const below = await create(inside);
    const foreign = await create(outside);
    const listed = (await gateway.list(server.workspace)).map(({ id }) => id);
    expect(listed).toContain(own);
    expect(listed).toContain(below);
    expect(listed).not.toContain(foreign);
    expect(listed.indexOf(below)).toBeLessThan(listed.indexOf(own));
    expect((await gateway.list(inside)).map(({ id }) => id)).toEqual([below]);
  });

  it('lists more than a page', async () => {
    const before = (await gateway.list(server.workspace)).length;
    for (let index = 0; index < 230; index++) await server.createSession(`Many ${index}`);
    const listed = await gateway.list(server.workspace);
    expect(listed).toHaveLength(before + 230);
    expect(new Set(listed.map(({ id }) => id)).size).toBe(before + 230);
  });

  it('reads one session, and refuses one that is not there', async () => {
    const session = await server.createSession('Mine');
    const info = await gateway.get(session);
    expect(info).toMatchObject({ id: session, title: 'Mine', directory: server.workspace, parentId: null, fork: null });
    expect(Math.abs(info.createdAt - Date.now())).toBeLessThan(600_000);
    for (const id of ['ses_1e291b42f001Yv3uN51Y2p3JKF', 'nonsense', '../secret']) {
      await expect(gateway.get(id), id).rejects.toMatchObject({ reason: 'session-missing' });
      await expect(gateway.messages(id), id).rejects.toMatchObject({ reason: 'session-missing' });
      await expect(gateway.fork(id, null), id).rejects.toMatchObject({ reason: 'session-missing' });
    }
  });

  it('reads messages as turns, steps and tool calls', async () => {
    const session = await server.createSession('Work');
    const first = await server.turn(session, 'write and run', [
      { text: 'Writing.', tools: [write('a.txt', 'one\n'), shell('printf b > b.txt')] },
      { tools: [edit('a.txt', 'one', 'two')], usage: { input: 300, output: 50 } },
      { text: 'Done.' },
    ]);
    const second = await server.turn(session, 'and a failure', [
      { tools: [edit('a.txt', 'not in there', 'x')] },
      { text: 'It failed.' },
    ]);
    const turns = turnsOf(await gateway.messages(session));
    expect(turns.map(({ number, messageId, prompt }) => ({ number, messageId, prompt }))).toEqual([
      { number: 1, messageId: first, prompt: 'write and run' },
      { number: 2, messageId: second, prompt: 'and a failure' },
    ]);
    const [one, two] = turns;
    expect(one).toMatchObject({ model: 'scripted/scripted', agent: 'build', error: null });
    expect(one?.tokens).toBe(120 + 350 + 120);
    expect(one?.cost).toBeCloseTo((100 + 300 + 100) * 1e-6 + (20 + 50 + 20) * 2e-6, 9);
    expect(one?.endedAt).toBeGreaterThanOrEqual(one?.startedAt ?? Infinity);
    expect(one?.steps.map(({ calls }) => calls.map(({ tool, status }) => `${tool} ${status}`))).toEqual([
      ['write completed', `${generation === 'v1' ? 'bash' : 'shell'} completed`],
      ['edit completed'],
      [],
    ]);
    expect(one?.steps[0]?.files).toEqual(expect.arrayContaining(['a.txt', 'b.txt']));
    expect(one?.steps[0]?.calls[0]?.input).toMatchObject({ content: 'one\n' });
    expect(two?.steps[0]?.calls[0]).toMatchObject({ tool: 'edit', status: 'error' });
  });

  it('knows the session of a sub-agent and the turn it worked for', async () => {
    const session = await server.createSession('Parent');
    server.model.on('inner task', [{ tools: [write('inner.txt', 'x')] }, { text: 'ok' }]);
    await server.turn(session, 'delegate', [{ tools: [subagent('inner task')] }, { text: 'Delegated.' }]);
    const [turn] = turnsOf(await gateway.messages(session));
    expect(turn?.children).toHaveLength(1);
    const child = await gateway.get(turn?.children[0] ?? '');
    expect(child.parentId).toBe(session);
    expect(turnsOf(await gateway.messages(child.id))[0]?.steps[0]?.calls[0]?.tool).toBe('write');
  });

  it('reads a model failure and an interruption as errors of their turn', async () => {
    const session = await server.createSession('Failing');
    await server.turn(session, 'fail now', [{ error: { status: 400, message: 'scripted refusal' } }]);
    const [turn] = turnsOf(await gateway.messages(session));
    expect(turn?.error).toContain('scripted refusal');
  });

  it('changes title and metadata, keeping other keys', async () => {
    const session = await server.createSession('Before');
    await gateway.update(session, { metadata: { one: { deep: 1 }, two: 2 } });
    await gateway.update(session, { title: 'After', metadata: { two: null, three: 3 } });
    expect(await gateway.get(session)).toMatchObject({ title: 'After' });
    expect((await gateway.get(session)).metadata).toEqual({ one: { deep: 1 }, three: 3 });
  });

  it('reads and writes todos where there are any', async () => {
    const session = await server.createSession('Todos');
    if (generation === 'v2') {
      expect(gateway.capabilities.todos).toBe('none');
      expect(await gateway.todos(session)).toBeNull();
      expect(await gateway.writeTodos(session, [])).toBe(false);
      return;
    }
    await server.turn(session, 'plan it', [{ tools: [todos('first', "second's")] }, { text: 'Planned.' }]);
    const made = await gateway.todos(session);
    expect(made?.map(({ content }) => content)).toEqual(['first', "second's"]);
    const other = await server.createSession('Other');
    const odd = [{ content: `it's "odd"; drop table todo; --\n√ü`, status: 'pending', priority: 'high' }];
    expect(await gateway.writeTodos(other, odd)).toBe(true);
    expect(await gateway.todos(other)).toEqual(odd);
    expect(await gateway.todos(session)).toEqual(made);
  });

  it('deletes a session', async () => {
    const session = await server.createSession('Gone');
    await gateway.remove(session);
    await expect(gateway.get(session)).rejects.toMatchObject({ reason: 'session-missing' });
    await expect(gateway.remove(session)).rejects.toMatchObject({ reason: 'session-missing' });
  });

  it('says why when the server is gone', async () => {
    const other = await startOpenCode({ generation, sharing: server });
    const gone = await gatewayTo(other);
    await other.dispose();
    await expect(gone.list(server.workspace)).rejects.toMatchObject({ reason: 'server-unreachable' });
  });
});
