import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { counted } from '../../src/core/anchors';
import type { SessionGateway } from '../../src/core/sessions';
import { startOpenCode, until, type OpenCode } from '../rig/opencode';
import { shell } from '../rig/script';
import { gatewayTo, generations } from './gateway-fixture';

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
