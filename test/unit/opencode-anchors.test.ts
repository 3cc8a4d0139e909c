import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anchorBefore, anchorInFork, anchorNow, anchorThrough, counted, forkPoint } from '../../src/core/anchors';
import { originKey } from '../../src/core/lineage';
import type { SessionMessage } from '../../src/core/sessions';
import { conversation, info } from './session-samples';

const session = info('ses_a', { title: 'T' });

describe('what counts', () => {
  it.each([
    ['', 0],
    ['u', 1],
    ['u a a i', 3],
    ['u a i c i u a', 4],
    ['u a*', 1],
    ['u a* u a', 4],
    ['u a u- a-', 2],
    ['i i', 0],
  ])('%j are %i messages', (text, count) => {
    expect(counted(conversation(text))).toHaveLength(count);
  });
});

describe('anchors', () => {
  const messages = conversation('u a a i u a i');

  it('name the last message that belongs', () => {
    expect(anchorNow(session, messages)).toEqual({
      id: 'ses_a',
      messageId: 'm6',
      messageCount: 5,
      title: 'T',
      parent: null,
    });
    expect(anchorBefore(session, messages, 'm5')).toMatchObject({ messageId: 'm3', messageCount: 3 });
    expect(anchorBefore(session, messages, 'm1')).toMatchObject({ messageId: null, messageCount: 0 });
    expect(anchorThrough(session, messages, 'm2')).toMatchObject({ messageId: 'm2', messageCount: 2 });
    expect(anchorThrough(session, conversation('u a*'), 'm2')).toMatchObject({ messageId: 'm2', messageCount: 2 });
    expect(() => anchorThrough(session, messages, 'm9')).toThrowError(
      expect.objectContaining({ reason: 'message-missing' }),
    );
  });

  it('name the session it comes from', () => {
    expect(anchorNow(info('b', { parentId: 'p' }), []).parent).toBe('p');
    const fork = { session: 'o', boundary: 'before' as const, messageId: 'm' };
    expect(anchorNow(info('b', { fork }), []).parent).toBe('o');
    // OpenCode 1 has nothing but what we wrote there; a fork of that fork has a copy of it, which is not about itself.
    const metadata = { [originKey]: { self: 'b', session: 'o', message: 'm', count: 2, checkpoint: null } };
    expect(anchorNow(info('b', { metadata }), []).parent).toBe('o');
    expect(anchorNow(info('c', { metadata }), []).parent).toBeNull();
  });
});

describe('where to fork', () => {
  const at = (text: string, messageId: string | null, messageCount: number, time?: number) =>
    forkPoint({ id: 's', messageId, messageCount }, conversation(text), time);

  it.each<[string, string | null, number, string | null]>([
    ['u a u a', null, 0, 'm1'],
    ['', null, 0, null],
    ['u a u a', 'm1', 1, 'm2'],
    ['u a u a', 'm2', 2, 'm3'],
    ['u a u a', 'm4', 4, null],
    ['u a i u a i', 'm2', 2, 'm4'],
    ['u a i', 'm2', 2, null],
    ['u a i u a*', 'm4', 3, 'm5'],
    ['i u a', null, 0, 'm2'],
  ])('%j through %s (%i) is before %s', (text, messageId, count, before) => {
    expect(at(text, messageId, count)).toEqual({ before, count });
  });

  it('takes along only what was there at the time', () => {
    // m3 idle, m4 compaction, m5 idle, m6 user
    expect(at('u a i c i u a', 'm2', 2).before).toBe('m4');
    expect(at('u a i c i u a', 'm2', 2, 3).before).toBe('m4');
    expect(at('u a i c i u a', 'm2', 2, 2).before).toBe('m3');
    expect(at('u a i c i u a', 'm2', 2, 5).before).toBe('m6');
    expect(at('u a i c i u a', 'm2', 2, 99).before).toBe('m6');
  });

  it.each<[string, string | null, number, string]>([
    ['u a', 'gone', 1, 'message-missing'],
    ['u a', 'm2', 3, 'message-missing'],
    ['u a', 'm2', 1, 'message-missing'],
    ['u a', null, 2, 'message-missing'],
    ['u a*', 'm2', 2, 'session-busy'],
  ])('%j through %s (%i) is refused: %s', (text, messageId, count, reason) => {
    expect(() => at(text, messageId, count)).toThrowError(expect.objectContaining({ reason }));
  });

  it('keeps exactly N for any conversation and any moment', () => {
    const words = fc.array(fc.constantFrom('u', 'a', 'i', 'c'), { maxLength: 30 });
    fc.assert(
      fc.property(words, fc.nat(), fc.option(fc.nat(40), { nil: undefined }), (list, pick, time) => {
        const messages = conversation(list.join(' '));
        const all = counted(messages);
        const keep = all.slice(0, pick % (all.length + 1));
        const anchor = { id: 's', messageId: keep.at(-1)?.id ?? null, messageCount: keep.length };
        const { before } = forkPoint(anchor, messages, time);
        const end = before === null ? messages.length : messages.findIndex(({ id }) => id === before);
        expect(counted(messages.slice(0, end)).map(({ id }) => id)).toEqual(keep.map(({ id }) => id));
      }),
    );
  });
});

describe('the same point in a fork', () => {
  const copy = (messages: SessionMessage[]): SessionMessage[] => messages.map((one) => ({ ...one, id: `f${one.id}` }));

  it('is found by order among the copied messages only', () => {
    const fork = info('ses_f', { createdAt: 10 });
    const later = conversation('u a').map((one) => ({ ...one, id: `n${one.id}`, createdAt: one.createdAt + 20 }));
    const messages = [...copy(conversation('u a i u')), ...later];
    expect(anchorInFork({ messageCount: 2 }, fork, messages)).toMatchObject({ id: 'ses_f', messageId: 'fm2' });
    expect(anchorInFork({ messageCount: 3 }, fork, messages)).toMatchObject({ messageId: 'fm4', messageCount: 3 });
    expect(anchorInFork({ messageCount: 4 }, fork, messages)).toBeNull();
    // A fork made after messages were deleted has younger ones in their place.
    const third = messages[3]?.createdAt ?? 0;
    expect(anchorInFork({ messageCount: 3 }, fork, messages, third - 1)).toBeNull();
    expect(anchorInFork({ messageCount: 3 }, fork, messages, third)).toMatchObject({ messageId: 'fm4' });
    expect(anchorInFork({ messageCount: 0 }, fork, messages)).toMatchObject({ messageId: null, messageCount: 0 });
  });
});
