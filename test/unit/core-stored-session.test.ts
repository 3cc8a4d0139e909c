import { describe, expect, it } from 'vitest';
import { GatewayConversation } from '../../src/core/conversation';
import { CheckpointsError } from '../../src/core/errors';
import { checkDocument, portable, stampOf, type StoredSession } from '../../src/core/session-document';
import type { SessionExport, SessionGateway, SessionInfo } from '../../src/core/sessions';
import { Records } from './records';

const document = (messages: string[]): SessionExport => ({
  info: { id: 'ses_1', title: 'T' },
  messages: messages.map((id) => ({ info: { id }, parts: [] })),
});

/** Stands for a server that does not have the session: what is decided before anything is brought in. */
const without = (generation: 'v1' | 'v2'): SessionGateway =>
  ({
    generation,
    messages: () => Promise.reject(new CheckpointsError('session-missing', 'gone')),
    list: () => Promise.resolve([]),
  }) as unknown as SessionGateway;

describe('a session that came with its checkpoint', () => {
  const target = new Records().next('manual', {
    session: { id: 'ses_1', messageId: 'msg_2', messageCount: 2, title: null, parent: null },
  });
  const plan = (generation: 'v1' | 'v2', stored: StoredSession | null): Promise<unknown> =>
    new GatewayConversation('/project', () => Promise.resolve(without(generation)), {
      read: () => Promise.resolve(stored),
    }).plan(target);
  const kept = (messages: string[]): StoredSession => ({
    generation: 'v1',
    updatedAt: 1,
    stamp: 's',
    document: document(messages),
  });

  it('is enough to plan with', async () => {
    expect(await plan('v1', kept(['msg_1', 'msg_2', 'msg_3']))).toEqual({
      session: 'ses_1',
      messageCount: 2,
      currentCount: null,
    });
  });

  it('is refused before any file is touched when it cannot be used', async () => {
    await expect(plan('v1', null)).rejects.toMatchObject({ reason: 'session-missing' });
    await expect(plan('v1', kept(['msg_1']))).rejects.toMatchObject({ reason: 'session-missing' });
    await expect(plan('v2', kept(['msg_1', 'msg_2']))).rejects.toMatchObject({
      reason: 'not-supported',
      message: expect.stringContaining('OpenCode 1') as string,
    });
  });

  it('travels without permissions, shares and ties', () => {
    const info = {
      id: 'ses_1',
      title: 'T',
      permission: [{}],
      permissions: {},
      share: {},
      parentID: 'p',
      fork: {},
      revert: {},
    };
    expect(portable({ info, messages: [] })).toEqual({ info: { id: 'ses_1', title: 'T' }, messages: [] });
  });

  it.each([
    ['nothing', null],
    ['another session', { info: { id: 'ses_2' }, messages: [] }],
    ['no messages', { info: { id: 'ses_1' } }],
    ['a message without an id', { info: { id: 'ses_1' }, messages: [{}] }],
    ['a message that is a path', { info: { id: 'ses_1' }, messages: [{ id: '../msg' }] }],
  ])('is not believed when it is %s', (_what, value) => {
    expect(() => checkDocument(value, 'ses_1')).toThrow(CheckpointsError);
  });

  it('has another stamp once the turn has cost something, though its time is the same', () => {
    const info = { updatedAt: 5, title: 'T', cost: 0, tokens: 10 } as SessionInfo;
    expect(stampOf({ ...info })).toBe(stampOf(info));
    for (const change of [{ tokens: 11 }, { cost: 1 }, { title: 'U' }, { updatedAt: 6 }])
      expect(stampOf({ ...info, ...change })).not.toBe(stampOf(info));
  });
});
