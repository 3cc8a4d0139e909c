import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CheckpointsError } from '../../src/core/errors';
import type { TaskState } from '../../src/core/model';
import {
  listFields,
  maxTaskBytes,
  mergeTask,
  readTask,
  synthesizedTask,
  taskKey,
  taskOverview,
  taskStatuses,
  textFields,
} from '../../src/core/task';
import { anyText } from './texts';

function refusal(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (CheckpointsError.is(error, 'invalid-argument')) return error.message;
    throw error;
  }
  throw new Error('it was taken');
}

describe('partial saves', () => {
  it('keep what is absent or null, replace lists, and clear with nothing', () => {
    const first = mergeTask(null, { title: 'T', summary: 's', nextSteps: ['a', 'b'], notes: ['n'] }).task;
    expect(first).toEqual({ status: 'in_progress', title: 'T', summary: 's', nextSteps: ['a', 'b'], notes: ['n'] });
    const patch = { title: null, summary: '', nextSteps: ['c'], notes: [], objective: undefined };
    expect(mergeTask(first, patch).task).toEqual({ status: 'in_progress', title: 'T', nextSteps: ['c'] });
    expect(first.notes).toEqual(['n']);
    expect(mergeTask(first, { status: '' }).task).not.toHaveProperty('status');
  });

  it('begin in progress unless they say otherwise', () => {
    expect(mergeTask(null, {}).task).toEqual({ status: 'in_progress' });
    expect(mergeTask(null, { status: 'done' }).task).toEqual({ status: 'done' });
    expect(mergeTask({ title: 'T' }, {}).task).toEqual({ title: 'T' });
  });

  it('take the nested form of the files, too', () => {
    const nested = {
      version: 2,
      updatedAt: 'x',
      task: { title: 'T', status: 'done' },
      summary: 's',
      snapshotName: 'n',
    };
    expect(mergeTask(null, nested).task).toEqual({ title: 'T', status: 'done', summary: 's' });
  });

  it('keep what a newer version knows', () => {
    const newer = { version: 3, task: { title: 'T', priority: 'high' }, milestones: [{ due: 1 }] };
    const { task } = readTask(newer);
    expect(task).toEqual({ version: 3, title: 'T', task: { priority: 'high' }, milestones: [{ due: 1 }] });
    expect(mergeTask(task, { title: 'U' }).task).toEqual({ ...task, title: 'U' });
  });

  it('change any status into any other', () => {
    for (const from of taskStatuses)
      for (const to of taskStatuses) expect(mergeTask({ status: from }, { status: to }).task.status).toBe(to);
  });

  it('share nothing with what was given', () => {
    const given = { notes: ['a'], future: { list: [1] } };
    const { task } = mergeTask(null, given);
    given.notes.push('b');
    given.future.list.push(2);
    expect(task).toMatchObject({ notes: ['a'], future: { list: [1] } });
  });
});

describe('refusals', () => {
  it.each<[unknown, string]>([
    [{ status: 'bogus' }, 'not_started, in_progress, blocked, done, not "bogus"'],
    [{ status: 1 }, 'status is one of'],
    [{ title: 1 }, 'title is a text, not a number'],
    [{ summary: ['x'] }, 'summary is a text, not a list'],
    [{ notes: 'one' }, 'notes is a list of texts, not a string'],
    [{ notes: { 0: 'a', length: 1 } }, 'notes is a list of texts, not an object'],
    [{ notes: ['a', 2] }, 'notes[1] is a text'],
    [{ notes: ['a', null] }, 'notes[1] is a text, not null'],
    [{ task: 'T' }, 'task is an object'],
    [{ task: { status: 'bogus' } }, 'status is one of'],
    [null, 'object'],
    [['x'], 'object'],
    ['text', 'object'],
    [JSON.parse('{"__proto__": {"polluted": 1}}'), '"__proto__"'],
    [JSON.parse('{"task": {"__proto__": {"polluted": 1}}}'), '"__proto__"'],
    [JSON.parse('{"future": [{"__proto__": {"polluted": 1}}]}'), '"__proto__"'],
    [{ constructor: { prototype: { polluted: 1 } } }, '"constructor"'],
    [{ future: { constructor: 1 } }, '"constructor"'],
    [{ future: () => 1 }, 'future'],
    [{ future: NaN }, 'future'],
    [{ future: 1n }, 'future'],
  ])('%o', (patch, message) => {
    expect(refusal(() => mergeTask(null, patch))).toContain(message);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('what is nested beyond reason', () => {
    let deep: unknown = 1;
    for (let i = 0; i < 10_000; i++) deep = [deep];
    expect(refusal(() => mergeTask(null, { future: deep }))).toContain('too deeply');
  });
});

describe('limits', () => {
  it.each([...textFields])('%s is clamped one past its limit, and named', (field) => {
    const limit = field === 'summary' ? 10_000 : 50_000;
    expect(mergeTask(null, { [field]: '🎉'.repeat(limit) }).clamped).toEqual([]);
    const { task, clamped } = mergeTask(null, { [field]: '🎉'.repeat(limit + 1) });
    expect(task[field]).toBe('🎉'.repeat(limit));
    expect(clamped).toEqual([{ field, given: limit + 1, kept: limit }]);
  });

  it.each([...listFields])('%s has at most 1,000 items of 10,000 characters', (field) => {
    expect(mergeTask(null, { [field]: Array<string>(1_000).fill('x') }).clamped).toEqual([]);
    const many = mergeTask(null, { [field]: Array<string>(100_000).fill('x') });
    expect(many.task[field]).toHaveLength(1_000);
    expect(many.clamped).toEqual([{ field, given: 100_000, kept: 1_000 }]);
    const long = mergeTask(null, { [field]: ['ok', 'y'.repeat(10_001)] });
    expect(long.clamped).toEqual([{ field: `${field}[1]`, given: 10_001, kept: 10_000 }]);
    expect(long.task[field]?.[1]).toHaveLength(10_000);
  });

  it('a megabyte in all: lists that were just given make way first, and are named', () => {
    const { task } = mergeTask(null, { title: 'T', notes: Array<string>(90).fill('n'.repeat(9_000)) });
    expect(task.notes).toHaveLength(90);
    const more = mergeTask(task, { completedSteps: Array<string>(100).fill('c'.repeat(9_000)), nextSteps: ['one'] });
    expect(Buffer.byteLength(JSON.stringify(more.task))).toBeLessThanOrEqual(maxTaskBytes);
    expect(more.task.notes).toHaveLength(90);
    expect(more.task.nextSteps).toEqual(['one']);
    const kept = more.task.completedSteps?.length ?? 0;
    expect(kept).toBeGreaterThan(20);
    expect(more.clamped).toEqual([{ field: 'completedSteps', given: 100, kept }]);
  });

  it('refuses a megabyte of what it does not know', () => {
    expect(refusal(() => mergeTask(null, { future: 'x'.repeat(maxTaskBytes) }))).toContain('limit');
  });

  it('makes half a character whole', () => {
    expect(readTask({ title: 'a\ud83d' }).task.title).toBe('a\ufffd');
  });
});

const anyState: fc.Arbitrary<TaskState> = fc.record(
  {
    title: anyText({ minLength: 1 }),
    objective: anyText({ minLength: 1 }),
    status: fc.constantFrom(...taskStatuses),
    summary: anyText({ minLength: 1 }),
    currentPlan: fc.array(anyText(), { minLength: 1 }),
    nextSteps: fc.array(anyText(), { minLength: 1 }),
    notes: fc.array(anyText(), { minLength: 1 }),
    future: fc
      .jsonValue()
      .map((value) => JSON.parse(JSON.stringify(value)) as unknown)
      .filter((value) => value !== null && !/"(__proto__|constructor|prototype)"/.test(JSON.stringify(value))),
  },
  { requiredKeys: [] },
);

describe('any state', () => {
  it('is read back exactly, so that a restore is exact', () => {
    fc.assert(
      fc.property(anyState, (state) => {
        const { task } = readTask(state);
        expect(readTask(JSON.parse(JSON.stringify(task))).task).toEqual(task);
        expect(Object.keys(task).sort()).toEqual(Object.keys(state).sort());
      }),
    );
  });

  it('merges field by field: the last one that said something wins', () => {
    fc.assert(
      fc.property(fc.array(anyState, { minLength: 1, maxLength: 6 }), (patches) => {
        let task: TaskState | null = null;
        for (const patch of patches) task = mergeTask(task, patch).task;
        const expected = Object.assign({ status: 'in_progress' }, ...patches.map((patch) => readTask(patch).task));
        expect(task).toEqual(expected);
      }),
    );
  });

  it('has the same key whatever the order of its fields, and another one for other content', () => {
    fc.assert(
      fc.property(anyState, (state) => {
        const turned = Object.fromEntries(Object.entries(state).reverse());
        expect(taskKey(turned)).toBe(taskKey(state));
        expect(taskKey({ ...state, title: `${state.title ?? ''}!` })).not.toBe(taskKey(state));
      }),
    );
  });
});

describe('answers', () => {
  it('overview', () => {
    expect(taskOverview(null, '')).toEqual({ exists: false });
    expect(taskOverview({ status: 'done', nextSteps: ['a'] }, 'now')).toEqual({
      exists: true,
      updatedAt: 'now',
      title: null,
      status: 'done',
      completedSteps: 0,
      nextSteps: 1,
      blockers: 0,
    });
  });

  it('the made-up state is a valid one', () => {
    expect(readTask(synthesizedTask()).task).toEqual(synthesizedTask());
  });
});
