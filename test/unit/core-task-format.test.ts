import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CheckpointsError } from '../../src/core/errors';
import type { Checkpoint } from '../../src/core/model';
import { readTask } from '../../src/core/task';
import {
  fromHistoryFile,
  fromStateFile,
  historyOf,
  snapshotName,
  toHistoryFile,
  toStateFile,
} from '../../src/core/task-format';
import { Records } from './records';
import { anyText } from './texts';

const time = '2026-01-02T03:04:05.678Z';

describe('checkpoint.json', () => {
  it('is of version 2: nested scalars, all six lists, nothing undefined', () => {
    expect(toStateFile({ task: { title: 'T', status: 'done', notes: ['n'] }, updatedAt: time })).toEqual({
      version: 2,
      updatedAt: time,
      task: { title: 'T', status: 'done' },
      currentPlan: [],
      completedSteps: [],
      nextSteps: [],
      blockers: [],
      filesTouched: [],
      notes: ['n'],
    });
  });

  it('comes back as it was', () => {
    const state = fc.record(
      {
        title: anyText({ minLength: 1 }),
        summary: anyText({ minLength: 1 }),
        notes: fc.array(anyText(), { minLength: 1 }),
        future: fc.constant([{ a: 1 }]),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(state, (given) => {
        const { task } = readTask(given);
        const file = JSON.parse(JSON.stringify(toStateFile({ task, updatedAt: time }))) as unknown;
        expect(fromStateFile(file, '')).toEqual({ live: { task, updatedAt: time }, warnings: [] });
      }),
    );
  });

  it('keeps the number and the fields of a newer version, wherever they were', () => {
    const newer = {
      version: 3,
      updatedAt: time,
      task: { title: 'T', priority: 1 },
      milestones: ['m'],
      currentPlan: [],
    };
    const { live, warnings } = fromStateFile(newer, '');
    expect(warnings).toEqual([]);
    expect(toStateFile(live)).toMatchObject({ version: 3, task: { title: 'T', priority: 1 }, milestones: ['m'] });
  });

  it.each<[unknown, RegExp]>([
    [{ version: 1, task: { title: 'T' } }, /version 1/],
    [{ task: { title: 'T' } }, /version unknown/],
    [{ version: 'two', title: 'T' }, /version unknown/],
  ])('%j is older: loaded with a warning', (file, warning) => {
    const { live, warnings } = fromStateFile(file, time);
    expect(live).toEqual({ task: { title: 'T' }, updatedAt: time });
    expect(warnings).toEqual([expect.stringMatching(warning)]);
  });

  it('says what was too long', () => {
    const { warnings } = fromStateFile({ version: 2, notes: Array<string>(1001).fill('x') }, time);
    expect(warnings).toEqual(['notes was cut from 1001 to 1000.']);
  });

  it.each([
    {},
    [],
    null,
    'text',
    1,
    { version: 2, task: { status: 'bogus' } },
    { version: 2, notes: 'x' },
    { task: [] },
  ])('%j is none', (file) => expect(() => fromStateFile(file, time)).toThrow(CheckpointsError));
});

describe('checkpoint-history.json', () => {
  const entry = { name: 'n', savedAt: time, task: { title: 'T' } };

  it('comes back as it was', () => {
    expect(toHistoryFile([entry]).snapshots[0]).toMatchObject({ name: 'n', savedAt: time, data: { version: 2 } });
    expect(fromHistoryFile(toHistoryFile([entry]))).toEqual({ entries: [entry], warnings: [] });
  });

  it('names what it cannot read and keeps the rest', () => {
    const file = {
      snapshots: [
        null,
        { name: 1 },
        { name: 'x', savedAt: time, data: { notes: 'no list' } },
        toHistoryFile([entry]).snapshots[0],
      ],
    };
    const { entries, warnings } = fromHistoryFile(file);
    expect(entries).toEqual([entry]);
    expect(warnings).toHaveLength(3);
  });

  it.each([
    { status: 'bogus', title: 'kept' },
    { version: 2, task: { status: 'bogus', title: 'kept' } },
    { version: 2, status: 'done', task: { status: 'bogus', title: 'kept' } },
  ])('%j loses its made-up status alone, and says so', (data) => {
    const { entries, warnings } = fromHistoryFile({ snapshots: [{ name: 'x', savedAt: time, data }] });
    expect(entries).toEqual([{ name: 'x', savedAt: time, task: { title: 'kept' } }]);
    expect(warnings).toEqual([expect.stringMatching(/Snapshot 1 of the history: The status "bogus" was left out/)]);
  });

  it.each([{}, [], null, 'x', { snapshots: {} }])('%j is none', (file) => {
    expect(() => fromHistoryFile(file)).toThrow(CheckpointsError);
  });
});

describe('the history', () => {
  const records = new Records();
  const save = (name: string | null, trigger: Checkpoint['trigger'] = 'task'): Checkpoint =>
    records.next(trigger, { name, task: { title: name ?? 'T' } });

  it('is the last ten, oldest first, in any order of the checkpoints', () => {
    const saves = Array.from({ length: 14 }, (_, i) => save(`n${i}`));
    const names = historyOf([...saves].reverse()).map((one) => one.name);
    expect(names).toEqual(saves.slice(4).map((one) => one.name));
  });

  it('does not lose a named save to sixty automatic ones', () => {
    const named = [save('one'), save('two')];
    const automatic = Array.from({ length: 60 }, () => save(null, 'interval'));
    const history = historyOf([...named, ...automatic]);
    expect(history).toHaveLength(10);
    expect(history.slice(0, 2).map((one) => one.name)).toEqual(['one', 'two']);
    expect(history.at(-1)?.name).toBe(snapshotName(automatic.at(-1) as Checkpoint));
  });

  it('always has the newest one', () => {
    const saves = [...Array.from({ length: 12 }, (_, i) => save(`n${i}`)), save(null)];
    expect(historyOf(saves).at(-1)?.name).toMatch(/^auto-\d+$/);
  });

  it('counts saves only: not points that happen to hold the task, nor what came from elsewhere', () => {
    const points = [
      records.next('turn', { task: { title: 'T' } }),
      records.next('task'),
      { ...save('theirs'), origin: { machine: 'm', user: 'u' } },
      records.next('restore', { task: { title: 'T' }, restore: { scope: ['files'] } }),
    ];
    expect(historyOf(points)).toEqual([]);
    const safety = records.next('restore', { task: { title: 'T' }, restore: { scope: ['task'] } });
    expect(historyOf([safety])[0]?.name).toBe(`pre-restore-${Date.parse(safety.createdAt)}`);
  });

  it('puts imported ones where they were made', () => {
    const mine = save('mine');
    const theirs = records.next('import', {
      name: 'theirs',
      task: {},
      metadata: { savedAt: '2020-01-01T00:00:00.000Z' },
    });
    expect(historyOf([mine, theirs]).map((one) => [one.name, one.savedAt.slice(0, 4)])).toEqual([
      ['theirs', '2020'],
      ['mine', '2026'],
    ]);
  });
});
