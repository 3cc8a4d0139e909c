import { describe, expect, it } from 'vitest';
import { groupBySession, isGroup, type SessionGroup } from '../../../src/host/tree-model';
import type { Checkpoint } from '../../../src/core/model';
import { record } from './record';

const outline = (group: SessionGroup): unknown => ({
  id: group.id,
  kept: group.kept.map(({ id }) => id),
  items: group.items.map((item) =>
    isGroup(item) ? { turn: item.number, points: item.points.map(({ id }) => id) } : item.id,
  ),
  ...(group.forks.length === 0 ? {} : { forks: group.forks.map(outline) }),
});

const inSession = (id: string, session: string, turn?: number, more: Partial<Checkpoint> = {}): Checkpoint =>
  record(id, {
    session: { id: session, messageId: null, messageCount: 0, title: `Session ${session}`, parent: null },
    turn:
      turn === undefined
        ? null
        : { number: turn, prompt: `Prompt ${turn}`, model: null, agent: null, cost: null, tokens: null },
    ...more,
  });

describe('groupBySession', () => {
  it('has nothing for nothing', () => {
    expect(groupBySession([])).toEqual([]);
  });

  it('counts what a turn changed by its end, where points of another session found some of it', () => {
    const [idle, tool, before] = [
      inSession('c', 's1', 1, { trigger: 'idle' }),
      inSession('b', 's1', 1, { trigger: 'tool' }),
      inSession('a', 's1', 1, { trigger: 'turn' }),
    ];
    Object.assign(tool.files, { paths: ['theirs.ts'], modified: 1 });
    const end = {
      ...{ first: before, paths: ['mine.ts', 'found-by-them.ts'], changed: 2, atOnce: false },
      ...{ passing: [], others: ['theirs.ts'] },
    };
    const [group] = groupBySession([idle, tool, before], [], new Map([[idle.id, end]]))[0]?.items ?? [];
    expect(group !== undefined && isGroup(group) ? [group.changed, group.paths] : undefined).toEqual([2, end.paths]);
  });

  it('keeps agents that work side by side in their places, whoever made the newest point', () => {
    const at = (second: number): Pick<Checkpoint, 'createdAt'> => ({
      createdAt: new Date(Date.UTC(2026, 2, 1, 12, 0, second)).toISOString(),
    });
    const prompts = [
      inSession('c', 's3', 1, { trigger: 'idle', ...at(3) }),
      inSession('b', 's2', 1, { trigger: 'turn', ...at(2) }),
      inSession('a', 's1', 1, { trigger: 'turn', ...at(1) }),
    ];
    const tool = (id: string, session: string, second: number): Checkpoint =>
      inSession(id, session, 1, { trigger: 'tool', ...at(second) });
    const busy = ['s1', 's2'].map((id) => ({ id, state: 'busy' as const }));
    const order = (newest: Checkpoint[], known = busy): Array<string | null> =>
      groupBySession([...newest, ...prompts], known).map(({ id }) => id);
    expect(order([tool('d', 's1', 4)])).toEqual(['s2', 's1', 's3']);
    expect(order([tool('e', 's2', 5), tool('d', 's1', 4)])).toEqual(['s2', 's1', 's3']);
    expect(order([tool('f', 's1', 6), tool('e', 's2', 5), tool('d', 's1', 4)])).toEqual(['s2', 's1', 's3']);
    // At rest the newest is first again.
    expect(order([tool('d', 's1', 4)], [])).toEqual(['s1', 's3', 's2']);
  });

  it('puts points of one turn together, in the order of time, newest first', () => {
    const groups = groupBySession([
      inSession('f', 's1', 2),
      inSession('e', 's1', 2),
      inSession('d', 's1'),
      inSession('c', 's1', 1),
      inSession('b', 's1', 1),
    ]);
    expect(groups.map(outline)).toEqual([
      { id: 's1', kept: [], items: [{ turn: 2, points: ['f', 'e'] }, 'd', { turn: 1, points: ['c', 'b'] }] },
    ]);
  });

  it("keeps a turn apart from the one with its number that OpenCode's undo took back", () => {
    const turn = (messageId: string): Pick<Checkpoint, 'turn'> => ({
      turn: { number: 2, messageId, prompt: messageId, model: null, agent: null, cost: null, tokens: null },
    });
    const [group] = groupBySession([
      inSession('d', 's1', 2, turn('msg_b')),
      inSession('c', 's1', 2, turn('msg_b')),
      inSession('b', 's1', 2, turn('msg_a')),
      inSession('a', 's1', 2, turn('msg_a')),
    ]);
    expect(group?.items.map((item) => isGroup(item) && [item.key, item.prompt, item.points.length])).toEqual([
      ['s1/msg_b', 'msg_b', 2],
      ['s1/msg_a', 'msg_a', 2],
    ]);
  });

  it('shows a turn with a single point as that point', () => {
    expect(groupBySession([inSession('b', 's1', 1)]).map(outline)).toEqual([{ id: 's1', kept: [], items: ['b'] }]);
  });

  it('does not show beside a prompt what changed before it', () => {
    const prompt = inSession('b', 's1', 1, { trigger: 'turn' });
    expect(groupBySession([prompt]).map(outline)).toEqual([{ id: 's1', kept: [], items: ['b'] }]);
    Object.assign(prompt.files, { added: 120 });
    expect(groupBySession([prompt])[0]?.items).toMatchObject([{ number: 1, points: [{ id: 'b' }], changed: 0 }]);
    // What the turn changed is known by a point that has a name and stands elsewhere.
    const saved = inSession('c', 's1', 1, { trigger: 'task', name: 'half way', title: 'half way' });
    Object.assign(saved.files, { paths: ['invoice.js'], added: 1 });
    expect(groupBySession([saved, prompt])[0]).toMatchObject({
      kept: [{ id: 'c' }],
      items: [{ number: 1, points: [{ id: 'b' }], changed: 1, paths: ['invoice.js'] }],
    });
  });

  it('puts named and pinned ones on top, once', () => {
    const groups = groupBySession([
      inSession('d', 's1', 1),
      inSession('c', 's1', 1, { name: 'Works', title: 'Works' }),
      inSession('b', 's1', 1, { pinned: true }),
      inSession('a', 's1', 1),
    ]);
    expect(groups.map(outline)).toEqual([{ id: 's1', kept: ['c', 'b'], items: [{ turn: 1, points: ['d', 'a'] }] }]);
  });

  it('knows the point before a turn also while that one is shown on top', () => {
    const groups = groupBySession([
      inSession('d', 's1', 1, { trigger: 'idle' }),
      inSession('c', 's1', 1, { trigger: 'tool' }),
      inSession('b', 's1', 1, { trigger: 'turn', pinned: true, createdAt: '2026-01-01T00:00:00.000Z' }),
      inSession('a', 's1', 1, { trigger: 'agent', name: 'Early' }),
    ]);
    expect(groups[0]?.items).toMatchObject([
      { number: 1, points: [{ id: 'd' }, { id: 'c' }], first: { id: 'b' }, startedAt: '2026-01-01T00:00:00.000Z' },
    ]);
  });

  it('puts a fork under its origin by the restore that made it, or by what OpenCode knows', () => {
    const restore = { operation: 'restore', target: 'a', scope: [], session: 's2' } as unknown as Checkpoint['restore'];
    const points = [
      inSession('d', 's3'),
      inSession('c', 's2'),
      record('b', { trigger: 'restore', restore }),
      inSession('a', 's1'),
    ];
    const [s1] = groupBySession(points, [
      { id: 's3', parent: 's2', title: 'Renamed', state: 'busy' },
      { id: 's1', state: 'deleted' },
    ]).filter(({ id }) => id === 's1');
    expect(s1).toMatchObject({
      state: 'deleted',
      title: 'Session s1',
      forks: [{ id: 's2', forks: [{ id: 's3', title: 'Renamed', state: 'busy' }] }],
    });
  });

  it('shows a fork under its origin before it has a checkpoint', () => {
    const known = [
      { id: 's2', parent: 's1', title: 'Other way', createdAt: Date.parse('2026-01-02'), state: 'busy' as const },
      { id: 's3', parent: 's2', title: 'Third way', createdAt: Date.parse('2026-01-03') },
    ];
    expect(groupBySession([inSession('a', 's1')], known)).toMatchObject([
      {
        id: 's1',
        count: 1,
        forks: [
          {
            id: 's2',
            title: 'Other way',
            count: 0,
            items: [],
            state: 'busy',
            latest: '2026-01-02T00:00:00.000Z',
            forks: [{ id: 's3' }],
          },
        ],
      },
    ]);
  });

  it('orders sessions by their newest point and keeps those without one apart', () => {
    const groups = groupBySession([record('d'), inSession('c', 's2'), record('b'), inSession('a', 's1')]);
    expect(groups.map(({ id }) => id)).toEqual([null, 's2', 's1']);
  });

  it('hangs forks under their origin', () => {
    const fork = inSession('c', 's2');
    if (fork.session !== null) fork.session.parent = 's1';
    expect(groupBySession([fork, inSession('a', 's1')]).map(outline)).toEqual([
      { id: 's1', kept: [], items: ['a'], forks: [{ id: 's2', kept: [], items: ['c'] }] },
    ]);
  });

  it('keeps a fork whose origin has no checkpoints, and loses none in a circle', () => {
    const orphan = inSession('c', 's3');
    if (orphan.session !== null) orphan.session.parent = 'gone';
    const one = inSession('b', 's1');
    if (one.session !== null) one.session.parent = 's2';
    const two = inSession('a', 's2');
    if (two.session !== null) two.session.parent = 's1';
    const ids = (groups: SessionGroup[]): Array<string | null> =>
      groups.flatMap(({ id, forks }) => [id, ...ids(forks)]);
    expect(ids(groupBySession([orphan, one, two])).sort()).toEqual(['s1', 's2', 's3']);
  });

  it('counts for a turn what changed in it, not what changed before it', () => {
    const before = inSession('a', 's1', 1, { trigger: 'turn' });
    before.files.paths = ['mine.txt'];
    const tool = inSession('b', 's1', 1, { trigger: 'tool' });
    tool.files.paths = ['x.ts', 'y.ts'];
    const idle = inSession('c', 's1', 1, { trigger: 'idle' });
    idle.files.paths = ['y.ts'];
    const [turn] = groupBySession([idle, tool, before])[0]?.items ?? [];
    expect(turn !== undefined && isGroup(turn) ? turn.paths : undefined).toEqual(['y.ts', 'x.ts']);
    expect(turn !== undefined && isGroup(turn) ? turn.changed : undefined).toBe(2);
    // A record names at most 500 paths, and counts all.
    idle.files.modified = 6100;
    const [sweep] = groupBySession([idle, tool, before])[0]?.items ?? [];
    expect(sweep !== undefined && isGroup(sweep) ? sweep.changed : undefined).toBe(6100);
    // What was made and removed again in it is nothing that it changed.
    idle.files.modified = 0;
    const end = { first: before, paths: ['x.ts'], changed: 1, atOnce: false, passing: ['y.ts'], others: [] };
    const [passing] = groupBySession([idle, tool, before], [], new Map([[idle.id, end]]))[0]?.items ?? [];
    expect(passing).toMatchObject({ paths: ['x.ts'], changed: 1 });
  });
});
