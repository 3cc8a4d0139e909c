import { describe, expect, it, vi } from 'vitest';
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
    expect(await talk(broken('b')).refuseAtWork(['ses_1'])).toBe(true);
    await expect(talk(broken('b')).refuseBusy(target)).rejects.toMatchObject({ reason: 'server-failed' });
  });

  it('waits for a server that hangs once, and for the others as long as ever', async () => {
    vi.useFakeTimers();
    try {
      const never = (): Promise<never> => new Promise(() => undefined);
      const hanging = { ...broken('b'), get: never, messages: never, busy: never, working: never } as SessionGateway;
      const after = <T>(ms: number, answer: T): Promise<T> => new Promise((next) => setTimeout(() => next(answer), ms));
      const slow = { ...server('a', ['ses_1']), working: () => after(900, ['ses_1']) } as SessionGateway;
      const among = (...servers: SessionGateway[]): GatewayConversation =>
        new GatewayConversation('/w', never, null, () => Promise.resolve(servers), 3000);
      /** What it says once so much time has gone by; undefined: nothing yet. */
      const within = async <T>(ms: number, answer: Promise<T>): Promise<T | undefined> => {
        let said: T | undefined;
        void answer.then((value) => (said = value));
        await vi.advanceTimersByTimeAsync(ms);
        return said;
      };
      const alone = among(hanging);
      const asked = alone.anchorNow('ses_1');
      expect(await within(2990, asked)).toBeUndefined();
      expect(await within(20, asked)).toBeNull();
      expect(await within(510, alone.refuseAtWork(['ses_1']))).toBe(false);

      const both = among(hanging, slow);
      expect(await within(3010, both.anchorNow('ses_1'))).toMatchObject({ messageCount: 2 });
      const refused = both.refuseAtWork(['ses_1']).catch((error: CheckpointsError) => error.reason);
      expect(await within(910, refused)).toBe('session-busy');
    } finally {
      vi.useRealTimers();
    }
  });
});
