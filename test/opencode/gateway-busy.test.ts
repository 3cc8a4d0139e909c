import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anchorNow, counted } from '../../src/core/anchors';
import { GatewayConversation } from '../../src/core/conversation';
import type { Checkpoint, SessionAnchor } from '../../src/core/model';
import { isNote, type SessionGateway } from '../../src/core/sessions';
import { startOpenCode, until, type OpenCode } from '../rig/opencode';
import { shell } from '../rig/script';
import { Records } from '../unit/records';
import { gatewayTo, generations } from './gateway-fixture';

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
  });
});
