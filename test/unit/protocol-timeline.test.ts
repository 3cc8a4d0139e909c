import { describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../src/core/model';
import { Caller } from '../../src/protocol/caller';
import { changesLimit, connectTimeline, toDetails, type TimelineBackend } from '../../src/protocol/connect';
import { applyReply, WindowSender } from '../../src/protocol/delta';
import type { Port } from '../../src/protocol/envelope';
import { readParams } from '../../src/protocol/requests';
import { titleLimit, toRow, toSessions, type KnownSession } from '../../src/protocol/rows';
import { taskChanges } from '../../src/protocol/task-changes';
import { timelineCsp, timelineHtml } from '../../src/protocol/timeline-html';
import {
  timelineTimeouts,
  type TimelineEvent,
  type TimelineMethods,
  type TimelineWindow,
} from '../../src/protocol/timeline';
import { afternoon, many, record } from '../e2e/timeline/fixtures';

describe('rows', () => {
  it('stay small: 10,000 of them are less than 2.5 MB of JSON', () => {
    const rows = many(10_000).map(toRow);
    expect(JSON.stringify(rows).length).toBeLessThan(2_500_000);
  });

  it('leave out what is not there', () => {
    const row = toRow(record(1000, 'manual', 'x', { git: null }));
    expect(Object.keys(row).sort()).toEqual(['facets', 'id', 't', 'title', 'trigger', 'v']);
    expect(row.facets).toBe('f');
  });

  it('say everything a list shows', () => {
    const checkpoint = record(1000, 'task', 'Release', {
      name: 'Release',
      pinned: true,
      session: { id: 's', messageId: null, messageCount: 0, title: 'S', parent: null },
      turn: { number: 3, prompt: '', model: null, agent: null, cost: null, tokens: null },
      task: { status: 'done' },
      origin: { machine: 'm', user: 'u' },
    });
    Object.assign(checkpoint.files, { added: 1, modified: 2, deleted: 3, partial: [{ path: 'p', reason: 'r' }] });
    expect(toRow(checkpoint)).toMatchObject({
      t: 1000,
      named: true,
      pinned: true,
      session: 's',
      turn: 3,
      changes: [1, 2, 3],
      facets: 'fctg',
      status: 'done',
      origin: 'u@m',
      partial: true,
    });
  });

  it('cut long titles, but no emoji in half', () => {
    for (const pad of [0, 1]) {
      const { title } = toRow(record(1, 'turn', 'x'.repeat(pad) + '🙂'.repeat(200)));
      expect(title.length).toBeLessThanOrEqual(titleLimit);
      expect(title.endsWith('🙂…')).toBe(true);
    }
  });

  it('tell sessions and where they were forked', () => {
    const { checkpoints, forkedAt } = afternoon();
    const sessions = toSessions(checkpoints, [
      { id: 'ses_fork', title: 'Renamed later', state: 'busy' },
      { id: 'ses_without_checkpoints', title: 'x' },
    ]);
    expect(sessions.map(({ id }) => id).sort()).toEqual(['ses_dark', 'ses_fork', 'ses_login', 'ses_tests']);
    expect(sessions.find(({ id }) => id === 'ses_fork')).toEqual({
      id: 'ses_fork',
      title: 'Renamed later',
      parent: 'ses_login',
      forkedFrom: forkedAt.id,
      state: 'busy',
    });
  });
});

describe('forks without a checkpoint', () => {
  const at = (t: number, messageCount: number, fields: Partial<Checkpoint> = {}): Checkpoint =>
    record(t, 'turn', `after ${messageCount}`, {
      session: { id: 'a', messageId: null, messageCount, title: 'Work', parent: null },
      ...fields,
    });
  const points = [at(1000, 2), at(2000, 4), at(3000, 6)];
  const [, second, third] = points as [Checkpoint, Checkpoint, Checkpoint];

  it('are shown where a restore made them, before any server says so', () => {
    const restore = {
      operation: 'restore',
      target: second.id,
      scope: [],
      session: 'f',
    } as unknown as Checkpoint['restore'];
    const all = [...points, record(5000, 'restore', 'Before', { restore })];
    const fork = (known: KnownSession[]): unknown => toSessions(all, known).find(({ id }) => id === 'f');
    expect(fork([])).toEqual({ id: 'f', title: 'Before “after 4”', parent: 'a', forkedFrom: second.id, begun: 5000 });
    expect(fork([{ id: 'f', title: 'Better', parent: 'a', createdAt: 5001, state: 'busy' }])).toMatchObject({
      title: 'Better',
      forkedFrom: second.id,
      state: 'busy',
    });
    // Somebody deleted it, and nothing was ever done in it.
    expect(fork([{ id: 'f', state: 'deleted' }])).toBeUndefined();
    const fetched = all.map((one) => ({ ...one, origin: { machine: 'm', user: 'u' } }));
    expect(toSessions(fetched).map(({ id }) => id)).toEqual(['a']);
  });

  it('are shown at the last point of which they have all messages, when others made them', () => {
    const fork = (more: Partial<KnownSession>): unknown =>
      toSessions(points, [{ id: 'f', title: 'Work (fork #1)', parent: 'a', createdAt: 9000, ...more }])[1];
    expect(fork({ shared: 5 })).toMatchObject({ begun: 9000, parent: 'a', forkedFrom: second.id });
    expect(fork({ shared: null })).toMatchObject({ forkedFrom: third.id });
    expect(fork({ shared: 6, createdAt: 2500 })).toMatchObject({ forkedFrom: second.id });
    expect(fork({ shared: 1 })).toMatchObject({ parent: 'a', forkedFrom: null });
    expect(fork({ parent: null })).toBeUndefined();
  });
});

describe('deltas', () => {
  const window = (revision: number, checkpoints: Checkpoint[], workspace = 'w'): TimelineWindow => ({
    revision,
    workspaces: [],
    workspace,
    sessions: [],
    operation: null,
    notices: [],
    rows: checkpoints.map(toRow).reverse(),
  });

  it('bring a page to exactly what the host has, by the rows that differ alone', () => {
    const sender = new WindowSender();
    const [a, b, c, d] = [1, 2, 3, 4].map((t) => record(t * 1000, 'turn', `t${t}`)) as [
      Checkpoint,
      Checkpoint,
      Checkpoint,
      Checkpoint,
    ];
    const first = applyReply(null, sender.reply(window(1, [a, b, d]), null));
    expect(first).toEqual(window(1, [a, b, d]));
    const renamed = { ...b, title: 'new title', name: 'new title' };
    const reply = sender.reply(window(2, [renamed, c, d]), 1);
    expect(reply).toMatchObject({ kind: 'delta', base: 1, removed: [a.id] });
    expect(reply.kind === 'delta' && reply.changed.map(({ id }) => id).sort()).toEqual([b.id, c.id].sort());
    expect(applyReply(first, reply)).toEqual(window(2, [renamed, c, d]));
  });

  it('see a change that no row shows', () => {
    const sender = new WindowSender();
    const a = record(1, 'turn', 'a');
    sender.reply(window(1, [a]), null);
    const described = { ...a, description: 'x', files: { ...a.files, commit: 'f'.repeat(40) } };
    expect(sender.reply(window(2, [described]), 1)).toMatchObject({ kind: 'delta', changed: [{ id: a.id }] });
  });

  it('are not sent when the page has something else, another workspace, or was reloaded', () => {
    const sender = new WindowSender();
    const a = record(1, 'turn', 'a');
    sender.reply(window(1, [a]), null);
    expect(sender.reply(window(2, [a]), 7).kind).toBe('full');
    expect(sender.reply(window(3, [a], 'other'), 2).kind).toBe('full');
    sender.reset();
    expect(sender.reply(window(4, [a], 'other'), 3).kind).toBe('full');
  });

  it('are refused by a page that has another base', () => {
    const sender = new WindowSender();
    sender.reply(window(1, []), null);
    const delta = sender.reply(window(2, []), 1);
    expect(applyReply(window(5, []), delta)).toBeNull();
    expect(applyReply(null, delta)).toBeNull();
  });
});

describe('requests', () => {
  const id = `cp_${'0'.repeat(26)}`;
  const act = (action: unknown): unknown => readParams.act({ workspace: null, action }).action;

  it.each([
    [{ type: 'restore', id }],
    [{ type: 'restore', id, scope: ['files', 'task'], paths: ['src/a.ts'] }],
    [{ type: 'compare', from: id, to: id }],
    [{ type: 'openDiff', id, path: 'a/b.ts', against: 'working' }],
    [{ type: 'openDiff', id, path: 'a/b.ts', from: 'a/old.ts', against: 'previous' }],
    [{ type: 'pin', id, pinned: true }],
    [{ type: 'delete', ids: [id] }],
    [{ type: 'openSession', session: 's' }],
    [{ type: 'create' }],
    [{ type: 'notice', action: 'installPlugin' }],
    [{ type: 'openFolder' }],
  ])('lets pass %j', (action) => {
    expect(act(action)).toEqual(action);
  });

  it.each([
    [{ type: 'format-disk' }],
    [{ type: '__proto__' }],
    [{ type: 'restore' }],
    [{ type: 'restore', id: 'latest' }],
    [{ type: 'restore', id: 'cp_short' }],
    [{ type: 'restore', id, scope: ['everything'] }],
    [{ type: 'restore', id, paths: 'src' }],
    [{ type: 'restore', id, paths: [] }],
    [{ type: 'restore', id, paths: ['../outside'] }],
    [{ type: 'openFile', path: '/etc/passwd' }],
    [{ type: 'openFile', path: 'C:\\Windows' }],
    [{ type: 'openFile', path: '' }],
    [{ type: 'openDiff', id, path: 'a', against: 'something' }],
    [{ type: 'openDiff', id, path: 'a', from: '../outside', against: 'previous' }],
    [{ type: 'pin', id, pinned: 'yes' }],
    [{ type: 'notice', action: 'rm' }],
    [null],
    ['restore'],
  ])('refuses %j', (action) => {
    expect(() => act(action)).toThrowError(expect.objectContaining({ reason: 'bad-request' }) as Error);
  });

  it('drops what it does not know', () => {
    expect(act({ type: 'rename', id, evil: 1 })).toEqual({ type: 'rename', id });
    expect(readParams.find({ workspace: 'w', query: { file: 'a', more: 1 } })).toEqual({
      workspace: 'w',
      query: { file: 'a' },
    });
  });
});

describe('task changes', () => {
  it('are told field by field, in reading order', () => {
    expect(
      taskChanges(
        { status: 'blocked', title: 'T', nextSteps: ['a', 'b', 'b'], blockers: ['x'], later: { n: 1 } },
        { status: 'done', title: 'T', nextSteps: ['b', 'c'], summary: 's', later: { n: 2 } },
      ),
    ).toEqual([
      { field: 'status', kind: 'text', from: 'blocked', to: 'done' },
      { field: 'summary', kind: 'text', from: null, to: 's' },
      { field: 'nextSteps', kind: 'list', added: ['c'], removed: ['a', 'b'] },
      { field: 'blockers', kind: 'list', added: [], removed: ['x'] },
      { field: 'later', kind: 'text', from: '{"n":1}', to: '{"n":2}' },
    ]);
  });

  it.each([
    [null, null],
    [{ title: 'a', notes: [] }, { title: 'a' }],
    [{ summary: '' }, {}],
  ])('are none between %j and %j', (before, after) => {
    expect(taskChanges(before, after)).toEqual([]);
  });
});

describe('details', () => {
  it('count all changes and send the first thousand', () => {
    const changes = Array.from({ length: changesLimit + 5 }, (_, index) => ({
      path: `f${index}`,
      status: 'modified' as const,
      additions: 2,
      deletions: 1,
      binary: false,
    }));
    const details = toDetails({ checkpoint: record(1, 'turn', 'x'), changes, previous: null });
    expect(details.changes).toHaveLength(changesLimit);
    expect(details.totals).toEqual({ files: 1005, additions: 2010, deletions: 1005 });
  });

  it('know a new task from a changed one', () => {
    const checkpoint = record(2, 'task', 'x', { task: { title: 'T' } });
    const before = (task: Checkpoint['task']) => toDetails({ checkpoint, changes: [], previous: { id: 'p', task } });
    expect(before(null)).toMatchObject({ taskIsNew: true, taskChanges: [] });
    expect(before({ title: 'S' })).toMatchObject({ taskIsNew: false, taskChanges: [{ from: 'S', to: 'T' }] });
  });
});

describe('connectTimeline', () => {
  function wire() {
    const listeners = { page: new Set<(m: unknown) => void>(), host: new Set<(m: unknown) => void>() };
    const port = (own: 'page' | 'host', other: 'page' | 'host'): Port => ({
      post: (message) => queueMicrotask(() => listeners[other].forEach((l) => l(JSON.parse(JSON.stringify(message))))),
      listen: (listener) => {
        listeners[own].add(listener);
        return () => listeners[own].delete(listener);
      },
    });
    let changed = (): void => undefined;
    const checkpoints = [record(1000, 'turn', 'one'), record(2000, 'manual', 'two')];
    const done: string[] = [];
    const backend: TimelineBackend = {
      timeline: () => Promise.resolve({ workspaces: [{ id: 'w', name: 'W' }], workspace: 'w', checkpoints }),
      details: (_, id) => {
        const checkpoint = checkpoints.find((candidate) => candidate.id === id);
        if (!checkpoint) throw Object.assign(new Error('gone'), { reason: 'unknown-reference' });
        return Promise.resolve({ checkpoint, changes: [], previous: null });
      },
      find: (_, { file }) => Promise.resolve(file ? [checkpoints[0]?.id ?? ''] : []),
      act: (_, action) => {
        done.push(action.type);
        return Promise.resolve('done');
      },
      onDidChange: (listener) => {
        changed = listener;
        return () => (changed = () => undefined);
      },
    };
    const connection = connectTimeline(port('host', 'page'), backend);
    const open = (page: string) =>
      new Caller<TimelineMethods, TimelineEvent>(port('page', 'host'), { timeouts: timelineTimeouts, page });
    return { connection, open, checkpoints, done, change: () => changed() };
  }

  it('serves rows newest first, then differences, then everything to a reloaded page', async () => {
    const { open, checkpoints } = wire();
    const page = open('one');
    const first = await page.call('timeline', { workspace: null, known: null });
    expect(first.kind === 'full' && first.rows.map(({ title }) => title)).toEqual(['two', 'one']);
    checkpoints.push(record(3000, 'idle', 'three'));
    const second = await page.call('timeline', { workspace: 'w', known: first.revision });
    expect(second.kind === 'delta' && second.changed.map(({ title }) => title)).toEqual(['three']);
    page.close();
    const again = await open('two').call('timeline', { workspace: null, known: null });
    expect(again.kind).toBe('full');
  });

  it('answers details, searches and actions, and failures with their reason', async () => {
    const { open, checkpoints, done } = wire();
    const page = open('one');
    const id = checkpoints[0]?.id ?? '';
    expect((await page.call('details', { workspace: 'w', id })).checkpoint.title).toBe('one');
    expect(await page.call('find', { workspace: 'w', query: { file: 'x' } })).toEqual({ ids: [id] });
    expect(await page.call('act', { workspace: 'w', action: { type: 'rename', id } })).toEqual({ outcome: 'done' });
    expect(done).toEqual(['rename']);
    const missing = page.call('details', { workspace: 'w', id: `cp_${'9'.repeat(26)}` });
    await expect(missing).rejects.toMatchObject({ reason: 'unknown-reference', message: 'gone' });
  });

  it('says that something changed, and nothing after it is disposed', async () => {
    const { open, change, connection } = wire();
    const page = open('one');
    const events: TimelineEvent[] = [];
    page.onEvent((event) => events.push(event));
    await page.call('timeline', { workspace: null, known: null });
    change();
    await Promise.resolve();
    connection.dispose();
    change();
    await Promise.resolve();
    expect(events).toEqual([{ type: 'changed' }]);
  });

  it('repeats a reveal, once, to a page that was not there yet or did not look at it', async () => {
    const { open, connection, checkpoints } = wire();
    const [id, other] = [checkpoints[1]?.id ?? '', checkpoints[0]?.id ?? ''];
    connection.reveal('w', id);
    const page = open('late');
    const events: TimelineEvent[] = [];
    page.onEvent((event) => events.push(event));
    await page.call('timeline', { workspace: null, known: null });
    await page.call('timeline', { workspace: null, known: null });
    expect(events.splice(0)).toEqual([{ type: 'reveal', workspace: 'w', id }]);
    connection.reveal('w', id);
    await page.call('details', { workspace: 'w', id });
    connection.reveal('w', other);
    await Promise.resolve();
    expect(events.splice(0).map((event) => event.type === 'reveal' && event.id)).toEqual([id, other]);
    page.close();
    const reloaded = open('again');
    reloaded.onEvent((event) => events.push(event));
    await reloaded.call('timeline', { workspace: null, known: null });
    expect(events).toEqual([{ type: 'reveal', workspace: 'w', id: other }]);
  });
});

describe('document', () => {
  it('allows its own files and one script, and nothing inline', () => {
    const html = timelineHtml({
      cspSource: 'https://x.example',
      nonce: 'abc',
      scriptUri: 'https://x.example/t.js?a=1&b="',
      styleUri: 's.css',
      codiconUri: 'c.css',
    });
    expect(html).toContain(timelineCsp('https://x.example', 'abc'));
    expect(timelineCsp('https://x.example', 'abc')).toBe(
      "default-src 'none'; font-src https://x.example; img-src https://x.example; style-src https://x.example; script-src 'nonce-abc'",
    );
    expect(html).toContain('src="https://x.example/t.js?a=1&amp;b=&quot;"');
    expect(html).not.toMatch(/\sstyle=|<style|unsafe|\son\w+=/);
  });
});
