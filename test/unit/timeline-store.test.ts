import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Checkpoint } from '../../src/core/model';
import { Caller } from '../../src/protocol/caller';
import { connectTimeline, type TimelineBackend } from '../../src/protocol/connect';
import type { Port } from '../../src/protocol/envelope';
import { timelineTimeouts, type TimelineEvent, type TimelineMethods } from '../../src/protocol/timeline';
import { readPageState, type PageState } from '../../webview/timeline/model/page-state';
import { TimelineStore } from '../../webview/timeline/model/store';
import { record } from '../e2e/timeline/fixtures';

/** The page's store against the host's real end of the channel; only what is behind it is made up. */
class Backend implements TimelineBackend {
  readonly asked: string[] = [];
  fail: Error | null = null;
  hold: Promise<void> | null = null;
  #listener: () => void = () => undefined;

  constructor(public checkpoints: Checkpoint[]) {}

  async timeline(workspace: string | null) {
    this.asked.push('timeline');
    await this.hold;
    if (this.fail) throw this.fail;
    return { workspaces: [], workspace: workspace ?? 'w', checkpoints: this.checkpoints };
  }

  async details(_: string | null, id: string) {
    this.asked.push(`details ${this.checkpoints.find((checkpoint) => checkpoint.id === id)?.title ?? 'of nothing'}`);
    if (this.fail) throw this.fail;
    const checkpoint = this.checkpoints.find((candidate) => candidate.id === id);
    if (!checkpoint) throw new Error('gone');
    return { checkpoint, changes: [], previous: null };
  }

  find(_: string | null, { text, file }: { text?: string; file?: string }): Promise<string[]> {
    this.asked.push(`find ${text ?? file ?? ''}`);
    return Promise.resolve(
      this.checkpoints.filter(({ description }) => description === (text ?? file)).map(({ id }) => id),
    );
  }

  outcome: 'done' | 'cancelled' = 'done';

  act(): Promise<'done' | 'cancelled'> {
    if (this.fail) return Promise.reject(this.fail);
    return Promise.resolve(this.outcome);
  }

  onDidChange(listener: () => void): () => void {
    this.#listener = listener;
    return () => undefined;
  }

  change(): void {
    this.#listener();
  }
}

const session = { id: 's', messageId: null, messageCount: 0, title: 'S', parent: null };
const turn = { number: 1, prompt: '', model: null, agent: null, cost: null, tokens: null };
const make = (): Checkpoint[] => [
  record(1000, 'manual', 'one', { description: 'hidden words' }),
  record(2000, 'tool', 'two', { session, turn }),
  record(3000, 'tool', 'three', { session, turn }),
  record(4000, 'manual', 'four'),
];

async function start(checkpoints = make(), saved: Partial<PageState> = {}) {
  const ends = { page: new Set<(m: unknown) => void>(), host: new Set<(m: unknown) => void>() };
  const port = (own: 'page' | 'host', other: 'page' | 'host'): Port => ({
    post: (message) =>
      queueMicrotask(() => ends[other].forEach((listener) => listener(JSON.parse(JSON.stringify(message))))),
    listen: (listener) => {
      ends[own].add(listener);
      return () => ends[own].delete(listener);
    },
  });
  const backend = new Backend(checkpoints);
  const connection = connectTimeline(port('host', 'page'), backend);
  const caller = new Caller<TimelineMethods, TimelineEvent>(port('page', 'host'), {
    timeouts: timelineTimeouts,
    page: 'p',
  });
  const hooks = { onChange: vi.fn(), save: vi.fn(), answered: vi.fn() };
  const store = new TimelineStore(caller, { ...readPageState(null), ...saved }, hooks);
  void store.load();
  await idle();
  const id = (title: string): string => store.data.rows.find((row) => row.title === title)?.id ?? '';
  const titles = (): string[] =>
    store.items().flatMap((item) => (item.kind === 'day' ? [] : [item.kind === 'point' ? item.row.title : item.kind]));
  return { store, backend, connection, hooks, id, titles };
}

const idle = async (ms = 0): Promise<void> => void (await vi.advanceTimersByTimeAsync(ms));

describe('timeline store', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('loads, and shows the newest first with tool calls folded', async () => {
    const { store, titles } = await start();
    expect(store.loading).toBe(false);
    expect(titles()).toEqual(['four', 'fold', 'one']);
  });

  it('fetches once more, not ten times, when much changes while it fetches', async () => {
    const { store, backend } = await start();
    let release = (): void => undefined;
    backend.hold = new Promise((resolve) => (release = resolve));
    backend.asked.length = 0;
    for (let i = 0; i < 10; i++) backend.change();
    await idle();
    release();
    await idle();
    expect(backend.asked).toEqual(['timeline', 'timeline']);
    expect(store.loading).toBe(false);
  });

  it('keeps what it has when a refresh fails, and says so', async () => {
    const { store, backend, titles } = await start();
    backend.fail = Object.assign(new Error('disk full'), { reason: 'disk-full' });
    backend.change();
    await idle();
    expect(store.failure).toEqual({ reason: 'disk-full', message: 'disk full' });
    expect(titles()).toHaveLength(3);
    expect(store.announcement.text).toContain('disk full');
    backend.fail = null;
    store.retry();
    await idle();
    expect(store.failure).toBeNull();
  });

  it('asks once more when something changed while it failed', async () => {
    const { store, backend } = await start();
    let release = (): void => undefined;
    backend.hold = new Promise((resolve) => (release = resolve));
    backend.fail = new Error('the folder is closed');
    backend.change();
    await idle();
    // Another folder, or the same one opened anew: said while the answer about the old one is on its way.
    backend.change();
    await idle();
    backend.hold.finally(() => queueMicrotask(() => (backend.fail = null)));
    release();
    await idle();
    expect(store.failure).toBeNull();
    expect(store.loading).toBe(false);
    expect(store.announcement.text).not.toContain('closed');
  });

  it('asks for details of what one stops at, not of everything passed on the way', async () => {
    const { store, backend, id } = await start();
    backend.asked.length = 0;
    store.select(id('four'));
    await idle(40);
    store.select(id('one'));
    await idle(200);
    expect(backend.asked).toEqual(['details one']);
    expect(store.details?.checkpoint.title).toBe('one');
  });

  it('asks again only when that record changed', async () => {
    const { store, backend, id } = await start();
    store.select(id('one'));
    await idle(200);
    backend.asked.length = 0;
    backend.checkpoints = [...backend.checkpoints, record(5000, 'idle', 'five')];
    backend.change();
    await idle(200);
    expect(backend.asked).toEqual(['timeline']);
    backend.checkpoints = backend.checkpoints.map((checkpoint) =>
      checkpoint.title === 'one'
        ? { ...checkpoint, files: { ...checkpoint.files, commit: 'e'.repeat(40) } }
        : checkpoint,
    );
    backend.change();
    await idle(200);
    expect(backend.asked).toEqual(['timeline', 'timeline', 'details one']);
  });

  it('shows a failure of the details, and tries again', async () => {
    const { store, backend, id } = await start();
    backend.fail = new Error('no');
    store.select(id('one'));
    await idle(200);
    expect(store.detailsFailure?.message).toBe('no');
    backend.fail = null;
    store.retryDetails();
    await idle();
    expect(store.detailsFailure).toBeNull();
    expect(store.details?.checkpoint.title).toBe('one');
  });

  it('gives the place of a deleted one to its neighbour', async () => {
    const { store, backend, id, titles } = await start();
    const without = (title: string): void => {
      backend.checkpoints = backend.checkpoints.filter((checkpoint) => checkpoint.title !== title);
      backend.change();
    };
    store.select(id('four'));
    without('four');
    await idle();
    expect(store.selected?.kind).toBe('fold');
    store.select(id('one'));
    without('one');
    await idle();
    expect(titles()).toEqual(['fold']);
    expect(store.selected?.kind).toBe('fold');
  });

  it('lets a closing fold take the selection, not lose it', async () => {
    const { store, id, titles } = await start();
    store.toggleFold('fold:s:1', true);
    expect(titles()).toEqual(['four', 'fold', 'three', 'two', 'one']);
    store.select(id('two'));
    store.toggleFold('fold:s:1', false);
    expect(store.selected).toMatchObject({ kind: 'fold', key: 'fold:s:1' });
  });

  it('finds by rows at once and by the host a moment later, asking for the last word only', async () => {
    const { store, backend, titles } = await start();
    backend.asked.length = 0;
    for (const text of ['hi', 'hidden', '"hidden words"']) store.setFilter(text);
    expect(titles()).toEqual([]);
    expect(store.finder.waiting).toBe(1);
    await idle(300);
    expect(backend.asked).toEqual(['find hidden words']);
    expect(titles()).toEqual(['one']);
    store.setFilter('');
    expect(titles()).toHaveLength(3);
  });

  it('goes to what another view points at: known, folded, filtered, or not there yet', async () => {
    const { store, backend, connection, id } = await start();
    store.setFilter('trigger:manual');
    connection.reveal('w', id('two'));
    await idle();
    expect(store.selected).toMatchObject({ kind: 'point', level: 2 });
    expect(store.state.filter).toBe('');
    const late = record(6000, 'manual', 'late');
    backend.checkpoints = [...backend.checkpoints, late];
    connection.reveal('w', late.id);
    await idle();
    expect(store.selected?.key).toBe(late.id);
    connection.reveal('w', `cp_${'0'.repeat(26)}`);
    await idle();
    expect(store.selected?.key).toBe(late.id);
    store.select(id('one'));
    await idle(200);
    expect(store.details?.checkpoint.title).toBe('one');
    connection.reveal('w2', id('two'));
    await idle();
    expect(store.state.workspace).toBe('w2');
    expect(store.selected?.key).toBe(id('two'));
  });

  it('marks at most two, the selection first, and forgets those that are gone', async () => {
    const { store, backend, id } = await start();
    store.select(id('four'));
    store.toggleMark(id('one'), true);
    expect(store.state.marks).toEqual([id('four'), id('one')]);
    expect(store.marked.map(({ title }) => title)).toEqual(['one', 'four']);
    store.toggleMark(id('three'), true);
    expect(store.state.marks).toEqual([id('one'), id('three')]);
    store.toggleMark(id('one'), true);
    expect(store.state.marks).toEqual([id('three')]);
    backend.checkpoints = backend.checkpoints.filter(({ title }) => title !== 'three');
    backend.change();
    await idle();
    expect(store.state.marks).toEqual([]);
  });

  it('says when an action failed, and is not busy afterwards', async () => {
    const { store, backend } = await start();
    backend.fail = new Error('not now');
    const done = store.act({ type: 'create' });
    expect(store.acting).toBe(1);
    await idle();
    await done;
    expect(store.acting).toBe(0);
    expect(store.announcement.text).toBe('That failed. not now');
  });

  it('takes the word back after a question of the host, but not from what the host opened', async () => {
    const { store, backend, hooks, id } = await start();
    const act = async (action: Parameters<typeof store.act>[0]): Promise<number> => {
      hooks.answered.mockClear();
      await Promise.all([store.act(action), idle()]);
      return hooks.answered.mock.calls.length;
    };
    expect(await act({ type: 'delete', ids: [id('one')] })).toBe(1);
    expect(await act({ type: 'rename', id: id('one') })).toBe(1);
    expect(await act({ type: 'compareWorking', id: id('one') })).toBe(0);
    // Long enough for a person to be elsewhere when it ends.
    expect(await act({ type: 'restore', id: id('one') })).toBe(0);
    backend.outcome = 'cancelled';
    expect(await act({ type: 'restore', id: id('one') })).toBe(1);
    backend.fail = new Error('The disk is full.');
    expect(await act({ type: 'delete', ids: [id('one')] })).toBe(0);
  });

  it('starts where it was left', async () => {
    const checkpoints = make();
    const [one] = checkpoints;
    const { store, titles } = await start(checkpoints, {
      filter: 'trigger:manual',
      selected: one?.id ?? null,
      open: ['fold:s:1'],
    });
    await idle();
    expect(titles()).toEqual(['four', 'one']);
    expect(store.details?.checkpoint.title).toBe('one');
    store.setFilter('');
    expect(titles()).toEqual(['four', 'fold', 'three', 'two', 'one']);
  });

  it('forgets all about a folder when another is chosen', async () => {
    const { store, backend, id } = await start();
    store.select(id('one'));
    store.toggleMark(id('four'), false);
    backend.checkpoints = [record(9000, 'manual', 'other')];
    store.setWorkspace('w2');
    expect(store.window).toBeNull();
    await idle(200);
    expect(store.state).toMatchObject({ workspace: 'w2', selected: null, marks: [] });
    expect(store.data.rows.map(({ title }) => title)).toEqual(['other']);
  });
});
