import { existsSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anchorBefore, anchorNow, anchorThrough, counted } from '../../src/core/anchors';
import { forkAt } from '../../src/core/fork';
import { ancestors, originOf } from '../../src/core/lineage';
import { LineageReader } from '../../src/core/lineage-reader';
import type { SessionAnchor } from '../../src/core/model';
import type { SessionGateway, SessionMessage } from '../../src/core/sessions';
import { turnsOf } from '../../src/core/turns';
import { startOpenCode, until, type OpenCode } from '../rig/opencode';
import { shell, todos, write } from '../rig/script';
import { countIn, gatewayTo, generations } from './gateway-fixture';

describe.each(generations)('forks on %s', (generation) => {
  let server: OpenCode;
  let gateway: SessionGateway;
  beforeAll(async () => {
    server = await startOpenCode({ generation });
    gateway = await gatewayTo(server);
  });
  afterAll(() => server.dispose());

  const texts = (messages: SessionMessage[]): string[] =>
    messages.filter(({ role }) => role !== 'other').map(({ role, text }) => `${role}: ${text}`);

  /** Two turns, the first of three steps: user, assistant, assistant, assistant, user, assistant. */
  async function twoTurns(): Promise<{ session: string; prompts: [string, string] }> {
    const session = await server.createSession('Two turns');
    const first = await server.turn(session, 'three steps please', [
      { text: 'One.', tools: [write('one.txt', '1')] },
      { text: 'Two.', tools: [shell('printf 2 > two.txt')] },
      { text: 'Three.' },
    ]);
    const second = await server.turn(session, 'one more', [{ text: 'Four.' }]);
    return { session, prompts: [first, second] };
  }

  async function fork(anchor: SessionAnchor, extra: { at?: number; note?: string; directory?: string } = {}) {
    return forkAt(gateway, {
      anchor,
      directory: server.workspace,
      title: 'At a checkpoint',
      checkpoint: 'cp_01arz3ndektsv4rrffq69g5fav',
      ...extra,
    });
  }

  it('keeps exactly N messages, for every N there is', async () => {
    const { session, prompts } = await twoTurns();
    const info = await gateway.get(session);
    const messages = await gateway.messages(session);
    const all = counted(messages);
    expect(all).toHaveLength(6);
    const anchors = [
      anchorBefore(info, messages, prompts[0]),
      ...all.map((message) => anchorThrough(info, messages, message.id)),
    ];
    expect(anchors.map(({ messageCount }) => messageCount)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(anchors[0]?.messageId).toBeNull();
    for (const anchor of anchors) {
      const made = await fork(anchor);
      expect(await countIn(server, made.session.id)).toBe(anchor.messageCount);
      expect(made.messageCount).toBe(anchor.messageCount);
      const copied = await gateway.messages(made.session.id);
      expect(texts(copied)).toEqual(texts(messages).slice(0, anchor.messageCount));
      expect([...made.ids.values()]).toEqual(copied.map(({ id }) => id));
    }
    // The original is as it was.
    expect(await gateway.messages(session)).toEqual(messages);
    expect(await gateway.get(session)).toEqual(info);
  });

  it('has nothing of a session in which nothing was said yet, and goes on', async () => {
    const session = await server.createSession('Nothing yet');
    const anchor = anchorNow(await gateway.get(session), await gateway.messages(session));
    expect(anchor).toMatchObject({ messageId: null, messageCount: 0 });
    const made = await fork(anchor);
    expect(made).toMatchObject({ origin: session, messageCount: 0, session: { directory: server.workspace } });
    expect(made.session.id).not.toBe(session);
    expect(originOf(made.session)).toMatchObject({ session, count: 0 });
    await server.turn(made.session.id, 'the first word');
    expect(texts(await gateway.messages(made.session.id))[0]).toBe('user: the first word');
    expect(await gateway.messages(session)).toEqual([]);
  });

  it('names a point before a prompt, through a step, and now', async () => {
    const { session, prompts } = await twoTurns();
    const info = await gateway.get(session);
    const messages = await gateway.messages(session);
    const [turn] = turnsOf(messages);
    const step = turn?.steps[1]?.messageId ?? '';
    expect(anchorBefore(info, messages, prompts[1])).toMatchObject({ messageCount: 4 });
    expect(anchorBefore(info, messages, prompts[1]).messageId).toBe(turn?.steps[2]?.messageId);
    expect(anchorBefore(info, messages, step)).toMatchObject({ messageCount: 2 });
    expect(anchorThrough(info, messages, step)).toMatchObject({ messageCount: 3, messageId: step });
    expect(anchorNow(info, messages)).toMatchObject({ messageCount: 6, title: 'Two turns', parent: null });
  });

  it('goes on from a fork in the middle of a turn', async () => {
    const { session } = await twoTurns();
    const messages = await gateway.messages(session);
    const step = turnsOf(messages)[0]?.steps[0]?.messageId ?? '';
    const made = await fork(anchorThrough(await gateway.get(session), messages, step));
    await server.turn(made.session.id, 'go on from here', [{ text: 'Going on.' }]);
    const prompt = server.model.requests.at(-1)?.messages ?? [];
    expect(JSON.stringify(prompt)).toContain('three steps please');
    expect(JSON.stringify(prompt)).not.toContain('one more');
    expect(texts(await gateway.messages(made.session.id)).at(-1)).toBe('assistant: Going on.');
  });

  it('never copies silently: unknown, foreign and deleted messages are refused', async () => {
    const { session, prompts } = await twoTurns();
    const other = await twoTurns();
    const before = (await gateway.list(server.workspace)).length;
    const unknown = 'msg_1e291b42f001Yv3uN51Y2p3JKF';
    for (const id of [unknown, other.prompts[0], 'nonsense'])
      await expect(gateway.fork(session, id), id).rejects.toMatchObject({ reason: 'message-missing' });
    const info = await gateway.get(session);
    const anchor = anchorThrough(info, await gateway.messages(session), prompts[0]);
    await expect(fork({ ...anchor, messageId: unknown })).rejects.toMatchObject({ reason: 'message-missing' });
    await expect(fork({ ...anchor, messageCount: 3 })).rejects.toMatchObject({ reason: 'message-missing' });
    await expect(fork({ ...anchor, messageId: null })).rejects.toMatchObject({ reason: 'message-missing' });
    await expect(fork({ ...anchor, id: 'ses_1e291b42f001Yv3uN51Y2p3JKF' })).rejects.toMatchObject({
      reason: 'session-missing',
    });
    expect(await gateway.list(server.workspace)).toHaveLength(before);
  });

  it('writes down where the fork comes from, and tells the agent', async () => {
    const { session, prompts } = await twoTurns();
    const info = await gateway.get(session);
    await gateway.update(session, { metadata: { theirs: true } });
    const anchor = anchorBefore(info, await gateway.messages(session), prompts[1]);
    const made = await fork(anchor, { note: '[Checkpoints] two.txt was restored.' });
    expect(made.session).toMatchObject({ title: 'At a checkpoint', parentId: null });
    expect(made.session.metadata['theirs']).toBe(true);
    expect(originOf(made.session)).toEqual({
      self: made.session.id,
      session,
      message: anchor.messageId,
      count: 4,
      checkpoint: 'cp_01arz3ndektsv4rrffq69g5fav',
    });
    // Nothing is asked of the model for the note.
    const asked = server.model.requests.length;
    expect(await gateway.busy(made.session.id)).toBe('idle');
    expect(server.model.requests).toHaveLength(asked);
    await server.turn(made.session.id, 'what happened', [{ text: 'I read the note.' }]);
    const seen = (server.model.requests.at(-1)?.messages ?? []).map((message) => JSON.stringify(message.content));
    const note = seen.findIndex((text) => text.includes('[Checkpoints] two.txt was restored.'));
    expect(note).toBeGreaterThan(0);
    expect(note).toBeLessThan(seen.findIndex((text) => text.includes('what happened')));
    const turns = turnsOf(await gateway.messages(made.session.id));
    expect(turns.map(({ prompt }) => prompt)).toEqual(['three steps please', 'what happened']);
  });

  it('keeps the agent and the model of the conversation with its note', async () => {
    const session = await server.createSession('Planned');
    if (generation === 'v1') {
      const body = { agent: 'plan', parts: [{ type: 'text', text: 'plan this' }] };
      await server.call('POST', `/session/${session}/message`, body);
    } else {
      await server.call('POST', `/api/session/${session}/agent`, { agent: 'plan' });
      await server.turn(session, 'plan this');
    }
    const made = await fork(anchorNow(await gateway.get(session), await gateway.messages(session)), { note: 'Hello' });
    if (generation === 'v1') {
      // The terminal UI takes both from the last user message, which is the note.
      const note = (await server.messages(made.session.id)).at(-1);
      expect(note?.text).toBe('[Checkpoints] Hello');
      expect(note?.raw['info']).toMatchObject({
        agent: 'plan',
        model: { providerID: 'scripted', modelID: 'scripted' },
      });
      return;
    }
    await server.turn(made.session.id, 'go on planning');
    const last = (await gateway.messages(made.session.id)).findLast(({ role }) => role === 'assistant');
    expect(last).toMatchObject({ agent: 'plan', model: 'scripted/scripted' });
  });

  it('works where the project is now, when that was moved since', async () => {
    const [old, moved] = [join(server.home, 'before'), join(server.home, 'after')];
    await mkdir(old);
    const session = await server.createSession('On the move', old);
    await server.turn(session, 'stay here', [{ tools: [write('a.txt', 'a\n')] }, { text: 'Done.' }]);
    const second = await server.turn(session, 'and go on');
    await rename(old, moved);
    const anchor = anchorBefore(await gateway.get(session), await gateway.messages(session), second);
    const made = await fork(anchor, { directory: moved });
    expect(made.session).toMatchObject({ directory: moved, title: 'At a checkpoint' });
    expect(await countIn(server, made.session.id)).toBe(anchor.messageCount);
    expect((await gateway.list(moved)).map(({ id }) => id)).toEqual([made.session.id]);
    // Later messages tell the copies by their time.
    expect(made.session.createdAt).toBeGreaterThan((await gateway.get(session)).createdAt);
    await server.prompt(made.session.id, 'where are we', [{ tools: [write('here.txt', 'x\n')] }, { text: 'Here.' }]);
    await until(
      () => existsSync(join(moved, 'here.txt')),
      60_000,
      () => 'the file was not written where the project is',
    );
    expect(existsSync(old)).toBe(false);
    await server.idle(made.session.id);
  });

  it('carries the todos of that moment where it can', async () => {
    const session = await server.createSession('With todos');
    if (generation === 'v2') {
      await server.turn(session, 'there are none');
      const made = await fork(anchorNow(await gateway.get(session), await gateway.messages(session)));
      expect(made.todos).toEqual({ carried: 0, lost: 0 });
      return;
    }
    await server.turn(session, 'make todos', [{ tools: [todos('old one', 'old two')] }, { text: 'ok' }]);
    const second = await server.turn(session, 'change todos', [{ tools: [todos('new')] }, { text: 'ok' }]);
    const made = await fork(anchorBefore(await gateway.get(session), await gateway.messages(session), second));
    expect(made.todos).toEqual({ carried: 2, lost: 0 });
    expect((await gateway.todos(made.session.id))?.map(({ content }) => content)).toEqual(['old one', 'old two']);
    expect((await gateway.todos(session))?.map(({ content }) => content)).toEqual(['new']);
  });

  it('resolves an anchor after a compaction, and leaves the later compaction out', async () => {
    const { session } = await twoTurns();
    const info = await gateway.get(session);
    const anchor = anchorNow(info, await gateway.messages(session));
    const at = Date.now();
    await until(
      () => Date.now() > at + 5,
      1000,
      () => 'the clock stands still',
    );
    await server.compact(session);
    await server.turn(session, 'after the summary');
    const made = await fork(anchor, { at });
    expect(await countIn(server, made.session.id)).toBe(6);
    expect((await gateway.messages(made.session.id)).some(({ type }) => type === 'compaction')).toBe(false);
    const later = anchorNow(info, await gateway.messages(session));
    const whole = await fork(later, { at: Date.now() });
    expect((await gateway.messages(whole.session.id)).some(({ type }) => type === 'compaction')).toBe(true);
    expect(await countIn(server, whole.session.id)).toBe(later.messageCount);
  });

  it('uses a checkpoint of an ancestor from a fork, and of a session that is gone from its forks', async () => {
    const { session, prompts } = await twoTurns();
    const messages = await gateway.messages(session);
    const anchor = anchorBefore(await gateway.get(session), messages, prompts[1]);
    const early = anchorThrough(await gateway.get(session), messages, prompts[0]);
    const late = anchorNow(await gateway.get(session), messages);
    const first = await fork(anchor);
    await server.turn(first.session.id, 'in the fork');
    expect((await fork(anchor)).origin).toBe(session);
    await gateway.remove(session);
    const rescued = await fork(early);
    expect(rescued).toMatchObject({ origin: first.session.id, messageCount: 1 });
    expect(texts(await gateway.messages(rescued.session.id))).toEqual(['user: three steps please']);
    // No fork has all six messages: the prompt made in the fork does not count for it.
    await expect(fork(late)).rejects.toMatchObject({ reason: 'session-missing' });
  });

  it('leaves out what is being written, and can be stopped', async () => {
    const session = await server.createSession('Busy');
    await server.turn(session, 'a finished turn');
    const prompt = await server.prompt(session, 'a slow turn', [
      { text: 'Step one.', tools: [write('slow.txt', 'x')] },
      { text: 'Half a sentence', hangMs: 120_000 },
    ]);
    await until(
      () => server.model.requests.some(({ prompt: text, step }) => text === 'a slow turn' && step === 1),
      30_000,
      () => 'the second step never came',
    );
    await until(
      async () => (await gateway.messages(session)).at(-1)?.completedAt === null,
      10_000,
      () => 'no unfinished answer',
    );
    expect(await gateway.busy(session)).toBe('busy');
    const info = await gateway.get(session);
    const messages = await gateway.messages(session);
    const now = anchorNow(info, messages);
    expect(now.messageCount).toBe(4);
    const made = await fork(now);
    expect(await countIn(server, made.session.id)).toBe(4);
    const running = messages.at(-1)?.id ?? '';
    expect(anchorBefore(info, messages, running)).toEqual(now);
    await expect(fork(anchorThrough(info, messages, running))).rejects.toMatchObject({ reason: 'session-busy' });
    expect(anchorBefore(info, messages, prompt).messageCount).toBe(2);

    await gateway.interrupt(session);
    expect(await gateway.busy(session)).toBe('idle');
    const stopped = await gateway.messages(session);
    expect(stopped.findLast(({ role }) => role === 'assistant')?.error).not.toBeNull();
    const after = anchorNow(info, stopped);
    expect(after.messageCount).toBe(5);
    expect(await countIn(server, (await fork(after)).session.id)).toBe(5);
    await gateway.interrupt(session);
  });

  it('leaves out what the user took back with undo', async () => {
    const { session, prompts } = await twoTurns();
    if (generation === 'v1') await server.call('POST', `/session/${session}/revert`, { messageID: prompts[1] });
    else await server.call('POST', `/api/session/${session}/revert/stage`, { messageID: prompts[1] });
    const info = await gateway.get(session);
    expect(info.revertedFrom).toBe(prompts[1]);
    const messages = await gateway.messages(session);
    expect(messages.filter(({ role, reverted }) => role !== 'other' && reverted)).toHaveLength(2);
    const anchor = anchorNow(info, messages);
    expect(anchor.messageCount).toBe(4);
    const made = await fork(anchor);
    expect(await countIn(server, made.session.id)).toBe(4);
    expect(made.session.revertedFrom).toBeNull();
  });

  it('is not misled by a fork that has as many messages, but others', async () => {
    const { session, prompts } = await twoTurns();
    const anchor = anchorNow(await gateway.get(session), await gateway.messages(session));
    const at = Date.now();
    if (generation === 'v1') await server.call('POST', `/session/${session}/revert`, { messageID: prompts[1] });
    else await server.call('POST', `/api/session/${session}/revert/stage`, { messageID: prompts[1] });
    // The next prompt deletes what was taken back.
    await server.turn(session, 'something else', [{ text: 'Five.' }]);
    const whole = await gateway.fork(session, null);
    expect(counted(whole.messages)).toHaveLength(anchor.messageCount);
    await expect(fork(anchor, { at })).rejects.toMatchObject({ reason: 'message-missing' });
  });

  it('forms the tree of sessions, with forks of others', async () => {
    const { session, prompts } = await twoTurns();
    const ours = await fork(anchorThrough(await gateway.get(session), await gateway.messages(session), prompts[0]));
    const body = generation === 'v1' ? { messageID: prompts[1] } : { before: prompts[1] };
    const path = generation === 'v1' ? `/session/${session}/fork` : `/api/session/${session}/fork`;
    const answer = await server.call<{ id?: string; data?: { id: string } }>('POST', path, body);
    const theirs = answer.id ?? answer.data?.id ?? '';
    const reader = new LineageReader(gateway);
    const node = (await reader.read(server.workspace)).find((root) => root.session.id === session);
    const linkOf = (id: string) => node?.children.find((child) => child.session.id === id)?.link;
    expect(linkOf(ours.session.id)).toMatchObject({ kind: 'fork', by: 'checkpoints', count: 1 });
    // OpenCode 1 writes nothing about a fork: the messages tell.
    expect(linkOf(theirs)).toMatchObject(
      generation === 'v1' ? { kind: 'fork', by: 'comparison', count: 4 } : { kind: 'fork', by: 'opencode' },
    );
    // A fork of our fork inherits our metadata, which is then not about itself.
    await server.turn(ours.session.id, 'in our fork');
    const grandchild = await gateway.fork(ours.session.id, null);
    const again = (await reader.read(server.workspace)).find((root) => root.session.id === session);
    const child = again?.children.find(({ session: { id } }) => id === ours.session.id);
    expect(child?.children.map(({ session: { id } }) => id)).toEqual([grandchild.session.id]);
    expect(ancestors([...(again ? [again] : [])], grandchild.session.id).map((one) => one.session.id)).toEqual([
      ours.session.id,
      session,
    ]);
  });
});
