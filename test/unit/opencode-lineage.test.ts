import { describe, expect, it } from 'vitest';
import {
  ancestors,
  fingerprint,
  forksOf,
  lineage,
  originKey,
  originOf,
  sharedMessages,
  suspects,
  type SessionNode,
} from '../../src/core/lineage';
import { LineageReader } from '../../src/core/lineage-reader';
import type { SessionInfo, SessionMessage } from '../../src/core/sessions';
import { conversation, info } from './session-samples';

const forkOf = (session: string) => ({ session, boundary: 'before' as const, messageId: 'm' });
const ours = (self: string, session: string, count = 1) => ({
  metadata: { [originKey]: { self, session, message: 'm', count, checkpoint: 'cp_x' } },
});
const shape = (nodes: SessionNode[]): unknown =>
  nodes.map(({ session, children }) => (children.length > 0 ? [session.id, shape(children)] : session.id));

describe('the tree of sessions', () => {
  it('is made of what OpenCode and we wrote down', () => {
    const sessions = [
      info('c', { createdAt: 3, parentId: 'a' }),
      info('b', { createdAt: 2, fork: forkOf('a') }),
      info('d', { createdAt: 4, ...ours('d', 'b', 7) }),
      info('a', { createdAt: 1 }),
      info('e', { createdAt: 5, fork: forkOf('gone') }),
    ];
    const roots = lineage(sessions);
    expect(shape(roots)).toEqual([['a', [['b', ['d']], 'c']], 'e']);
    expect(roots[0]?.children.map(({ link }) => link?.kind)).toEqual(['fork', 'subagent']);
    expect(roots[0]?.children[0]?.children[0]?.link).toEqual({
      kind: 'fork',
      origin: 'b',
      count: 7,
      by: 'checkpoints',
      checkpoint: 'cp_x',
    });
    expect(ancestors(roots, 'd').map(({ session }) => session.id)).toEqual(['b', 'a']);
    expect(ancestors(roots, 'a')).toEqual([]);
    expect(ancestors(roots, 'nobody')).toEqual([]);
    expect(forksOf(roots, 'a').map(({ session }) => session.id)).toEqual(['b', 'd']);
    expect(forksOf(roots, 'gone').map(({ session }) => session.id)).toEqual(['e']);
  });

  it('does not believe metadata about another session', () => {
    expect(originOf(info('d', ours('d', 'a')))?.session).toBe('a');
    expect(originOf(info('copy', ours('d', 'a')))).toBeNull();
    expect(originOf(info('x', { metadata: { [originKey]: 'rubbish' } }))).toBeNull();
    expect(originOf(info('x', { metadata: { [originKey]: { self: 'x' } } }))).toBeNull();
  });

  it('survives a circle', () => {
    const sessions = [info('a', { createdAt: 1, ...ours('a', 'b') }), info('b', { createdAt: 2, ...ours('b', 'a') })];
    const ids = (nodes: SessionNode[]): string[] => nodes.flatMap((node) => [node.session.id, ...ids(node.children)]);
    expect(ids(lineage(sessions)).sort()).toEqual(['a', 'b']);
    expect(lineage([info('a', ours('a', 'a'))])).toHaveLength(1);
  });
});

describe('forks that nobody wrote down', () => {
  const origin = conversation('u a u a u a');
  const copied = (count: number): SessionMessage[] =>
    origin.slice(0, count).map((one) => ({ ...one, id: `copy-${one.id}` }));
  const sessions: SessionInfo[] = [
    info('a', { createdAt: 0, title: 'Work' }),
    info('other', { createdAt: 1, title: 'Work' }),
    info('f', { createdAt: 50, title: 'Work (fork #1)' }),
    info('g', { createdAt: 60, title: 'Work (fork #2)' }),
    info('named', { createdAt: 70, title: 'No fork at all' }),
  ];
  const messages: Record<string, SessionMessage[]> = {
    a: origin,
    other: conversation('u a').map((one) => ({ ...one, createdAt: one.createdAt + 500 })),
    f: [...copied(4), ...conversation('u a').map((one) => ({ ...one, id: `f-${one.id}`, createdAt: 55 }))],
    g: [],
    named: copied(2),
  };
  messages['g'] = (messages['f'] ?? []).map((one) => ({ ...one, id: `g-${one.id}` }));

  it('are suspected by their title, or by metadata that is about another', () => {
    expect([...suspects(sessions).keys()]).toEqual(['f', 'g']);
    expect(suspects(sessions).get('g')?.slice(0, 3)).toEqual(expect.arrayContaining(['f', 'a', 'other']));
    const inherited = [info('x', ours('x', 'a')), info('y', { createdAt: 2000, ...ours('x', 'a') })];
    expect(suspects(inherited).get('y')).toEqual(['x']);
  });

  it('are known by the times of their messages', () => {
    expect(sharedMessages(fingerprint(origin), fingerprint(messages['f'] ?? []))).toBe(4);
    expect(sharedMessages(fingerprint(origin), fingerprint(messages['other'] ?? []))).toBe(0);
    const prints = new Map(Object.entries(messages).map(([id, list]) => [id, fingerprint(list)]));
    const roots = lineage(sessions, prints);
    expect(shape(roots)).toEqual([['a', [['f', ['g']]]], 'other', 'named']);
    expect(roots[0]?.children[0]?.link).toMatchObject({ by: 'comparison', count: 4, origin: 'a' });
  });

  it('are read only where needed, and once', async () => {
    const read: string[] = [];
    const reader = new LineageReader({
      list: () => Promise.resolve(sessions),
      messages: (id) => {
        read.push(id);
        return Promise.resolve(messages[id] ?? []);
      },
    });
    expect(shape(await reader.read('/w'))).toEqual([['a', [['f', ['g']]]], 'other', 'named']);
    expect(read).not.toContain('named');
    const before = read.length;
    await reader.read('/w');
    expect(read).toHaveLength(before);
  });

  it('are not taken for whole while they may still be copied', async () => {
    let there = 2;
    const young = [info('a', { title: 'Work' }), info('f', { createdAt: Date.now(), title: 'Work (fork #1)' })];
    const reader = new LineageReader({
      list: () => Promise.resolve(young),
      messages: (id) => Promise.resolve(id === 'a' ? origin : copied(there)),
    });
    expect((await reader.read('/w'))[0]?.children[0]?.link).toMatchObject({ count: 2 });
    there = 6;
    expect((await reader.read('/w'))[0]?.children[0]?.link).toMatchObject({ count: 6 });
  });

  it('say how much they took over, where OpenCode says only from whom', async () => {
    const forked = [info('a'), info('f', { createdAt: 50, fork: { session: 'a' } as SessionInfo['fork'] })];
    const reader = new LineageReader({
      list: () => Promise.resolve(forked),
      messages: (id) => Promise.resolve(id === 'f' ? (messages['f'] ?? []) : origin),
    });
    expect((await reader.read('/w'))[0]?.children[0]?.link).toMatchObject({ by: 'opencode', count: null });
    expect((await reader.of(forked, true))[0]?.children[0]?.link).toMatchObject({ by: 'opencode', count: 4 });
  });
});
