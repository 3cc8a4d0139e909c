import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anchorNow, anchorThrough, counted } from '../../src/core/anchors';
import { GatewayConversation } from '../../src/core/conversation';
import type { Checkpoint, SessionAnchor } from '../../src/core/model';
import { isNote, type SessionGateway } from '../../src/core/sessions';
import { openWorkspace } from '../../src/git/open';
import { startOpenCode, until, type OpenCode } from '../rig/opencode';
import { call, shell } from '../rig/script';
import { Records } from '../unit/records';
import { countIn, gatewayTo, generations } from './gateway-fixture';

const pointAt = (session: SessionAnchor): Checkpoint => ({
  ...new Records().next('manual'),
  createdAt: new Date().toISOString(),
  session,
});

describe.each(generations)('two servers of %s on one database', (generation) => {
  let first: OpenCode;
  let second: OpenCode;
  let near: SessionGateway;
  let far: SessionGateway;
  beforeAll(async () => {
    first = await startOpenCode({ generation });
    second = await startOpenCode({ generation, sharing: first });
    near = await gatewayTo(first);
    far = await gatewayTo(second);
  });
  afterAll(async () => {
    await second.dispose();
    await first.dispose();
  });

  it('each knows its own work, and sees that the other has not finished', async () => {
    const session = await first.createSession('Busy on the first');
    await first.prompt(session, 'run for long', [{ tools: [shell('sleep 120')] }, { text: 'ok' }]);
    await until(
      async () => (await near.busy(session)) === 'busy' && (await near.messages(session)).at(-1)?.completedAt === null,
      30_000,
      () => 'never busy',
    );
    expect(await far.busy(session)).toBe('unfinished');
    expect(await far.messages(session)).toHaveLength((await near.messages(session)).length);
    // Going back goes on there with what is finished, and says that something is not.
    const talk = new GatewayConversation(first.workspace, () => Promise.resolve(far));
    const messages = await far.messages(session);
    const point = pointAt(anchorNow(await far.get(session), messages));
    expect(await talk.plan(point)).toMatchObject({ session, messageCount: 1, currentCount: 1, unfinished: true });
    await expect(talk.refuseBusy(point)).resolves.toBeUndefined();
    const { id } = await talk.fork(point, null);
    // Who restores without having looked at a plan is told by the result.
    const home = join(first.home, 'data', 'opencode-checkpoints');
    const workspace = await openWorkspace({ directory: first.workspace, home, conversation: () => talk });
    const made = await workspace.create({ session: point.session });
    expect(await workspace.restore(made.id, { scope: ['conversation'] })).toMatchObject({ unfinished: true });
    await workspace.close();
    expect(counted(await far.messages(id)).filter((message) => !isNote(message))).toHaveLength(1);
    // The server that works on it refuses, and both see the same sessions.
    const here = new GatewayConversation(first.workspace, () => Promise.resolve(near));
    await expect(here.refuseBusy(point)).rejects.toMatchObject({ reason: 'session-busy' });
    expect((await near.list(first.workspace)).map((info) => info.id)).toContain(id);
    // The other server cannot stop it, and says so by not pretending.
    await far.interrupt(session);
    expect(await near.busy(session)).toBe('busy');
    await near.interrupt(session);
    expect(await near.busy(session)).toBe('idle');
    expect(await far.busy(session)).toBe('idle');
  });

  it('does not count what a dead server left half finished', async () => {
    const session = await second.createSession('Cut short');
    await second.prompt(session, 'die in the middle', [{ tools: [shell('sleep 120')] }, { text: 'ok' }]);
    await until(
      async () => (await far.messages(session)).at(-1)?.completedAt === null,
      30_000,
      () => 'no answer began',
    );
    await second.kill();
    expect(await near.busy(session)).toBe('unfinished');
    expect(counted(await near.messages(session))).toHaveLength(1);
    const fork = await near.fork(session, (await near.messages(session)).at(-1)?.id ?? '');
    expect(counted(fork.messages)).toHaveLength(1);

    // A checkpoint that the agent made in that very step has it, as far as it came.
    const messages = await near.messages(session);
    const through = pointAt(anchorThrough(await near.get(session), messages, messages.at(-1)?.id ?? ''));
    const talk = new GatewayConversation(first.workspace, () => Promise.resolve(near));
    const forked = async (): Promise<number> => countIn(first, (await talk.fork(through, null)).id);
    const note = generation === 'v1' ? 1 : 0;
    if (generation === 'v1') {
      expect(await talk.plan(through)).toEqual({ session, messageCount: 2, currentCount: 1 });
      expect(await forked()).toBe(2 + note);
    } else await expect(talk.plan(through)).rejects.toMatchObject({ reason: 'not-supported' });
    await first.turn(session, 'go on after the death');
    expect(await talk.plan(through)).toMatchObject({ messageCount: 2, currentCount: 4 });
    expect(await forked()).toBe(2 + note);
  });

  it('names a sub-agent only while its parent rests', async () => {
    const session = await first.createSession('Delegates');
    const [tool, agent] = generation === 'v1' ? ['task', 'subagent_type'] : ['subagent', 'agent'];
    const delegate = (prompt: string, more: Record<string, unknown> = {}) =>
      call(tool, { description: 'x', prompt, [agent]: 'general', ...more });
    const workingOn = async (prompt: string): Promise<string[]> => {
      await until(
        () => first.model.requests.some((request) => request.prompt.includes(prompt)),
        30_000,
        () => 'no sub-agent began',
      );
      return near.working(first.workspace);
    };
    first.model.on('sleep in front', [{ text: 'Zzz', hangMs: 120_000 }]);
    await first.prompt(session, 'delegate and wait', [{ tools: [delegate('sleep in front')] }, { text: 'ok' }]);
    expect(await workingOn('sleep in front')).toEqual([session]);
    await near.interrupt(session);
    expect(await near.working(first.workspace)).toEqual([]);
    // OpenCode 1 has no others.
    if (generation === 'v1') return;
    first.model.on('sleep behind', [{ text: 'Zzz', hangMs: 120_000 }]);
    await first.turn(session, 'delegate and go on', [
      { tools: [delegate('sleep behind', { background: true })] },
      { text: 'It sleeps.' },
    ]);
    const [child = '', ...more] = await workingOn('sleep behind');
    expect(more).toEqual([]);
    expect((await near.get(child)).parentId).toBe(session);
    const talk = new GatewayConversation(
      first.workspace,
      () => Promise.resolve(near),
      null,
      () => Promise.resolve([near]),
    );
    await expect(talk.refuseAtWork([session])).rejects.toMatchObject({
      reason: 'session-busy',
      details: { sessions: [child] },
    });
    await near.interrupt(child);
    // Its parent is told of it, and may go on with that.
    expect([[], [session]]).toContainEqual(await near.working(first.workspace));
    await near.interrupt(session);
  });
});
