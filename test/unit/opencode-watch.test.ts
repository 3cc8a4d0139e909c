import { describe, expect, it } from 'vitest';
import { compareSessions, watchSessions } from '../../src/core/session-watch';
import type { SessionEvent, SessionInfo } from '../../src/core/sessions';
import { info } from './session-samples';

const asMap = (...sessions: SessionInfo[]) => new Map(sessions.map((session) => [session.id, session]));

describe('what happened between two readings', () => {
  it('is told as events', () => {
    const before = asMap(info('same'), info('gone'), info('changed', { tokens: 1 }));
    const after = asMap(info('same'), info('changed', { tokens: 2 }), info('new'));
    expect(compareSessions(before, after)).toEqual([
      { type: 'session', change: 'deleted', session: 'gone', directory: '/w' },
      { type: 'session', change: 'updated', session: 'changed', directory: '/w' },
      { type: 'message', session: 'changed' },
      { type: 'session', change: 'created', session: 'new', directory: '/w' },
    ]);
    expect(compareSessions(after, after)).toEqual([]);
  });
});

describe('watching', () => {
  /** A server that fails at the worst moment; the rest is tested on the real ones. */
  async function play(lists: Array<SessionInfo[] | Error>, events: SessionEvent[]): Promise<SessionEvent[]> {
    const told: SessionEvent[] = [];
    let last: SessionInfo[] = [];
    await watchSessions(
      {
        list: () => {
          const next = lists.shift() ?? last;
          if (next instanceof Error) return Promise.reject(next);
          last = next;
          return Promise.resolve(next);
        },
        events: (listener) => {
          for (const event of events) listener(event);
          return Promise.resolve();
        },
      },
      '/w',
      (event) => told.push(event),
      new AbortController().signal,
    );
    return told;
  }

  it('reads again with the next event when the reading after a gap fails', async () => {
    const lists = [[info('a')], new Error('gone again'), [info('a', { tokens: 5 }), info('b')]];
    const told = await play(lists, [{ type: 'connected' }, { type: 'gap' }, { type: 'busy', session: 'a' }]);
    expect(told).toEqual([
      { type: 'connected' },
      { type: 'lost', reason: 'gone again' },
      { type: 'session', change: 'updated', session: 'a', directory: '/w' },
      { type: 'message', session: 'a' },
      { type: 'session', change: 'created', session: 'b', directory: '/w' },
      { type: 'busy', session: 'a' },
    ]);
  });

  it('leaves out sessions of other folders, and reads once to know', async () => {
    const lists = [[info('a')], [info('a')], new Error('a third reading')];
    const events: SessionEvent[] = [
      { type: 'connected' },
      { type: 'busy', session: 'foreign' },
      { type: 'idle', session: 'foreign' },
      { type: 'busy', session: 'a' },
    ];
    expect(await play(lists, events)).toEqual([{ type: 'connected' }, { type: 'busy', session: 'a' }]);
  });
});
