import { describe, expect, it } from 'vitest';
import { GatewayConversation } from '../../src/core/conversation';
import { CheckpointsError } from '../../src/core/errors';
import type { SessionGateway } from '../../src/core/sessions';
import { Records } from './records';
import { conversation, info } from './session-samples';

/** Stand for servers of which one fails in the middle: a real one does that only by bad luck. */
const server = (url: string, has: string[], busy: string[] = []): SessionGateway => {
  const missing = (id: string): void => {
    if (!has.includes(id)) throw new CheckpointsError('session-missing', id);
  };
  return {
    url,
    version: '1',
    list: () => Promise.resolve([]),
    get: (id: string) => Promise.resolve(missing(id)).then(() => info(id)),
    messages: (id: string) =>
      Promise.resolve(id)
        .then(missing)
        .then(() => conversation('u a')),
    busy: (id: string) =>
      Promise.resolve(id)
        .then(missing)
        .then(() => (busy.includes(id) ? 'busy' : 'idle')),
    working: () => Promise.resolve(busy),
  } as unknown as SessionGateway;
};
const broken = (url: string): SessionGateway => {
  const fail = (): Promise<never> => Promise.reject(new CheckpointsError('server-failed', 'cannot be read'));
  return {
    url,
    version: '2',
    list: fail,
    get: fail,
    messages: fail,
    busy: fail,
    working: fail,
  } as unknown as SessionGateway;
};

describe('a conversation beside a server that fails', () => {
  const session = { id: 'ses_1', messageId: 'm2', messageCount: 2, title: null, parent: null };
  const target = new Records().next('manual', { session });
  const talk = (first: SessionGateway, ...others: SessionGateway[]): GatewayConversation =>
    new GatewayConversation(
      '/w',
      () => Promise.resolve(first),
      null,
      () => Promise.resolve([first, ...others]),
    );

  it('is planned, and its moment known, by the one that answers', async () => {
    const talks = talk(server('a', ['ses_1']), broken('b'));
    expect(await talks.plan(target)).toMatchObject({ session: 'ses_1', messageCount: 2 });
    await talks.refuseBusy(target);
    expect(await talks.anchorNow('ses_1')).toMatchObject({ messageCount: 2 });
    await expect(talk(server('a', []), broken('b')).plan(target)).rejects.toMatchObject({ reason: 'session-missing' });
  });

  it('is not gone back from while the one that answers is at work', async () => {
    const working = server('a', ['ses_1'], ['ses_1']);
    for (const talks of [talk(working, broken('b')), talk(broken('b'), working)]) {
      await expect(talks.refuseAtWork(['ses_1'])).rejects.toMatchObject({ reason: 'session-busy' });
      expect([...(await talks.atWork(['ses_1']))]).toEqual(['ses_1']);
    }
    await expect(talk(server('c', []), broken('b'), working).refuseBusy(target)).rejects.toMatchObject({
      reason: 'session-busy',
    });
  });

  it('forbids no files where nobody can be asked', async () => {
    await talk(broken('b')).refuseAtWork(['ses_1']);
    await expect(talk(broken('b')).refuseBusy(target)).rejects.toMatchObject({ reason: 'server-failed' });
  });
});
