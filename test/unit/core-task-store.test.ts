import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TaskState } from '../../src/core/model';
import { mergeTask } from '../../src/core/task';
import { TaskStore, type TaskStoreOptions } from '../../src/core/task-store';
import { program } from './child';

const saver = program('task-worker.ts');
let base: string;
let folder: string;
let root: string;
let state: string;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'task-')));
  [folder, root] = [join(base, 'store'), join(base, 'work')];
  state = join(root, '.opencode', 'state');
  for (const one of [folder, root]) mkdirSync(one);
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

const open = (more: Partial<TaskStoreOptions> = {}): TaskStore =>
  new TaskStore({ folder, root, exportState: () => true, ...more });
const save = (store: TaskStore, patch: unknown): ReturnType<TaskStore['change']> =>
  store.change((current) => mergeTask(current, patch).task);
const exported = (name: string): string => readFileSync(join(state, name), 'utf8');
const parsed = (name: string): Record<string, unknown> => JSON.parse(exported(name)) as Record<string, unknown>;
const edit = (name: string, content: unknown): void => {
  mkdirSync(state, { recursive: true });
  writeFileSync(join(state, name), typeof content === 'string' ? content : JSON.stringify(content));
};

describe('the live task', () => {
  it('is kept in the store and survives a restart', async () => {
    expect(await open().load()).toEqual({ live: null, imported: false, warnings: [] });
    const { live, previous } = await save(open(), { title: 'T', notes: ['a'] });
    expect(previous).toBeNull();
    expect(live?.task).toEqual({ title: 'T', status: 'in_progress', notes: ['a'] });
    expect((await open().load()).live).toEqual(live);
    expect(readdirSync(folder)).toEqual(['task.json']);
  });

  it('is replaced exactly: a field that is absent is absent afterwards', async () => {
    const store = open();
    await save(store, { title: 'T', summary: 'third', notes: ['a'] });
    const exact: TaskState = { title: 'Old', future: { a: 1 } };
    await store.change(() => exact);
    expect((await open().load()).live?.task).toEqual(exact);
    expect(parsed('checkpoint.json')).not.toHaveProperty('summary');
  });

  it('keeps nothing half done when a save is refused', async () => {
    const store = open();
    await save(store, { title: 'T' });
    const before = readFileSync(join(folder, 'task.json'), 'utf8');
    await expect(save(store, { status: 'bogus' })).rejects.toThrow(/status/);
    expect(readFileSync(join(folder, 'task.json'), 'utf8')).toBe(before);
    expect(readdirSync(folder)).toEqual(['task.json']);
  });

  it('takes fifty parallel saves of five processes: all land', async () => {
    const who = ['a', 'b', 'c', 'd', 'e'];
    await Promise.all(who.map((one) => saver.run(['many', folder, root, one, '10'])));
    const { live, warnings } = await open().load();
    expect(warnings).toEqual([]);
    const fields = Object.keys(live?.task ?? {}).filter((field) => /^[a-e]\d$/.test(field));
    expect(fields).toHaveLength(50);
    expect(parsed('checkpoint.json')).toMatchObject(
      Object.fromEntries(fields.map((field) => [field, live?.task[field]])),
    );
    expect(readdirSync(folder)).toEqual(['task.json']);
    expect(readdirSync(state).sort()).toEqual(['.gitignore', 'checkpoint.json', 'handoff.md']);
  });

  it('that is damaged is set aside, and the copy for other tools takes its place', async () => {
    await save(open(), { title: 'T', notes: ['n'] });
    writeFileSync(join(folder, 'task.json'), '{"task": {"title": ');
    const loaded = await open().load();
    expect(loaded.live?.task).toEqual({ title: 'T', status: 'in_progress', notes: ['n'] });
    expect(loaded.warnings).toEqual([expect.stringMatching(/damaged/)]);
    await save(open({ now: () => 1234 }), { summary: 's' });
    expect(readdirSync(folder).sort()).toEqual(['task.json', 'task.json.corrupt-1234']);
    expect((await open().load()).live?.task).toMatchObject({ title: 'T', summary: 's' });
  });
});

describe('the export', () => {
  it('has the state, the page and its own .gitignore', async () => {
    const { live } = await save(open(), { title: 'T' });
    expect(parsed('checkpoint.json')).toMatchObject({
      version: 2,
      updatedAt: live?.updatedAt,
      task: { title: 'T' },
      notes: [],
    });
    expect(exported('handoff.md')).toContain('# Handoff — T');
    expect(exported('.gitignore')).toBe('*\n');
  });

  it('leaves a .gitignore of the user alone', async () => {
    edit('.gitignore', '# mine\n');
    await save(open(), { title: 'T' });
    expect(exported('.gitignore')).toBe('# mine\n');
  });

  it('is left alone when it is switched off', async () => {
    edit('checkpoint.json', { version: 2, task: { title: 'Theirs' } });
    const store = open({ exportState: () => false });
    await save(store, { title: 'T' });
    await store.saveHistory([]);
    expect((await store.load()).live?.task.title).toBe('T');
    expect(readdirSync(state)).toEqual(['checkpoint.json']);
    await store.change(() => null);
    expect(parsed('checkpoint.json')).toMatchObject({ task: { title: 'Theirs' } });
  });

  it('follows the setting while it is open', async () => {
    let on = false;
    const store = open({ exportState: () => on });
    await save(store, { title: 'T' });
    expect(existsSync(state)).toBe(false);
    on = true;
    await save(store, { title: 'U' });
    expect(parsed('checkpoint.json')).toMatchObject({ task: { title: 'U' } });
  });

  it('goes when the task is cleared, and does not come back', async () => {
    const store = open();
    await save(store, { title: 'T' });
    await store.saveHistory([]);
    const { previous, live } = await store.change(() => null);
    expect(previous?.task.title).toBe('T');
    expect(live).toBeNull();
    expect(readdirSync(state)).toEqual(['.gitignore']);
    expect((await open().load()).live).toBeNull();
  });

  it('never leaves the workspace, whatever a link says', async () => {
    const outside = join(base, 'outside');
    mkdirSync(join(outside, 'state'), { recursive: true });
    writeFileSync(join(outside, 'state', 'checkpoint.json'), '{"version": 2, "task": {"title": "Outside"}}');
    symlinkSync(outside, join(root, '.opencode'));
    const { warnings } = await save(open(), { title: 'T' });
    expect(warnings).toEqual([expect.stringMatching(/leads out of the workspace/)]);
    expect(readdirSync(join(outside, 'state'))).toEqual(['checkpoint.json']);
    expect((await open().load()).live?.task.title).toBe('T');
    await open().change(() => null);
    expect(readdirSync(join(outside, 'state'))).toEqual(['checkpoint.json']);
  });

  it.each(['.opencode', '.opencode/state'])(
    'is saved though a file stands in the place of %s, and says so',
    async (at) => {
      mkdirSync(join(root, at, '..'), { recursive: true });
      writeFileSync(join(root, at), 'mine');
      const store = open();
      const { live, warnings } = await save(store, { title: 'T' });
      expect([live?.task.title, warnings]).toEqual(['T', [expect.stringContaining('could not be brought up to date')]]);
      expect((await store.saveHistory([])).warnings).toEqual([
        expect.stringContaining('could not be brought up to date'),
      ]);
      expect((await store.change(() => null)).previous?.task.title).toBe('T');
      expect(readFileSync(join(root, at), 'utf8')).toBe('mine');
      rmSync(join(root, at));
      expect((await save(store, { title: 'Again' })).warnings).toEqual([]);
      expect(parsed('checkpoint.json')).toMatchObject({ task: { title: 'Again' } });
    },
  );

  it('is not taken for an edit, however often it could not be replaced', async () => {
    const store = open();
    await save(store, { title: 'first' });
    const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
    // For root, as which tests may run, no folder is closed.
    const write = vi.spyOn(store.exports, 'write').mockRejectedValue(full);
    for (let i = 0; i < 40; i++) await save(store, { title: `T${i}` });
    write.mockRestore();
    expect(parsed('checkpoint.json')).toMatchObject({ task: { title: 'first' } });
    expect((await open().load()).live?.task.title).toBe('T39');
    await save(store, { summary: 's' });
    expect(parsed('checkpoint.json')).toMatchObject({ task: { title: 'T39' }, summary: 's' });
  });

  it('does not go through a link to nowhere, nor through one in place of a file', async () => {
    symlinkSync(join(base, 'nowhere'), join(root, '.opencode'));
    await save(open(), { title: 'T' });
    expect(existsSync(join(base, 'nowhere'))).toBe(false);
    rmSync(join(root, '.opencode'));
    mkdirSync(state, { recursive: true });
    writeFileSync(join(base, 'secret'), '{"version": 2, "task": {"title": "Secret"}}');
    symlinkSync(join(base, 'secret'), join(state, 'checkpoint.json'));
    await save(open(), { summary: 's' });
    expect((await open().load()).live?.task).toMatchObject({ title: 'T', summary: 's' });
    expect(readFileSync(join(base, 'secret'), 'utf8')).toContain('Secret');
    expect(parsed('checkpoint.json')).toMatchObject({ task: { title: 'T' } });
  });

  it('leaves no temporary file and sweeps those of killed writers', async () => {
    mkdirSync(state, { recursive: true });
    const old = ['checkpoint.json.tmp-1-0123456789ab', 'checkpoint-history.json.tmp.1700000000000'];
    const kept = ['checkpoint.json.tmp-1-0123456789ac', 'mine.tmp.1700000000000'];
    for (const name of [...old, ...kept]) edit(name, 'half');
    for (const name of [...old, 'mine.tmp.1700000000000']) utimesSync(join(state, name), 1, 1);
    await save(open(), { title: 'T' });
    expect(
      readdirSync(state)
        .filter((name) => name.includes('tmp'))
        .sort(),
    ).toEqual([...kept].sort());
  });
});

describe('what another hand wrote', () => {
  it('is the state from then on, and the next save is made on top of it', async () => {
    const store = open();
    await save(store, { title: 'T', notes: ['a'] });
    edit('checkpoint.json', { ...parsed('checkpoint.json'), summary: 'by hand', notes: [] });
    const loaded = await open().load();
    expect(loaded).toMatchObject({ imported: true, warnings: [] });
    expect(loaded.live?.task).toEqual({ title: 'T', status: 'in_progress', summary: 'by hand' });
    const saved = await save(store, { notes: ['b'] });
    expect(saved.imported).toBe(true);
    expect(saved.live?.task).toEqual({ title: 'T', status: 'in_progress', summary: 'by hand', notes: ['b'] });
    expect((await store.load()).imported).toBe(false);
  });

  it("an older plugin's file is read at the first start", async () => {
    edit('checkpoint.json', {
      version: 2,
      updatedAt: '2025-01-01T00:00:00.000Z',
      task: { title: 'Older', status: 'blocked' },
      currentPlan: ['p'],
      completedSteps: [],
      nextSteps: [],
      blockers: [],
      filesTouched: [],
      notes: [],
    });
    edit('handoff.md', '# Handoff — Older\n*Generated by @gitdamnit/checkpoint-orchestrator. Do not edit manually.*\n');
    expect((await open().load()).live).toEqual({
      task: { title: 'Older', status: 'blocked', currentPlan: ['p'] },
      updatedAt: '2025-01-01T00:00:00.000Z',
    });
    const { warnings } = await save(open(), { title: 'Newer' });
    expect(warnings).toEqual([]);
    expect(parsed('checkpoint.json')).toMatchObject({
      task: { title: 'Newer', status: 'blocked' },
      currentPlan: ['p'],
    });
    expect(readdirSync(state).sort()).toEqual(['.gitignore', 'checkpoint.json', 'handoff.md']);
  });

  it('is read as editors of Windows write it', async () => {
    await save(open(), { title: 'T' });
    writeFileSync(join(state, 'checkpoint.json'), `\uFEFF${JSON.stringify({ version: 2, task: { title: 'Marked' } })}`);
    expect((await open().load()).live?.task).toEqual({ title: 'Marked' });
  });

  it('an old export of ours that came back (a revert, another branch) is not an edit', async () => {
    const store = open();
    await save(store, { title: 'One' });
    const old = exported('checkpoint.json');
    await save(store, { title: 'Two' });
    edit('checkpoint.json', old);
    expect(await store.load()).toMatchObject({ imported: false, live: { task: { title: 'Two' } } });
    await save(store, { summary: 's' });
    expect(parsed('checkpoint.json')).toMatchObject({ task: { title: 'Two' } });
  });

  it('a file that was deleted is no edit either', async () => {
    const store = open();
    await save(store, { title: 'T' });
    rmSync(state, { recursive: true });
    expect((await store.load()).live?.task.title).toBe('T');
    await save(store, { summary: 's' });
    expect(parsed('checkpoint.json')).toMatchObject({ task: { title: 'T' }, summary: 's' });
  });

  it.each([
    ['cut off', '{"version": 2, "task": {'],
    ['empty', ''],
    ['without anything', '{}'],
    ['a list', '[]'],
    ['with a bad status', '{"version": 2, "task": {"status": "in progress"}}'],
    ['with a wrong type', '{"version": 2, "notes": "a note"}'],
    ['reaching for the prototype', '{"version": 2, "__proto__": {"x": 1}}'],
  ])('is kept aside when it is %s', async (_, content) => {
    await save(open(), { title: 'T' });
    edit('checkpoint.json', content);
    const loaded = await open().load();
    expect(loaded).toMatchObject({ imported: false, live: { task: { title: 'T' } } });
    expect(loaded.warnings).toEqual([expect.stringMatching(/cannot be read/)]);
    await save(open({ now: () => 1234 }), { summary: 's' });
    expect(exported('checkpoint.json.corrupt-1234')).toBe(content);
    expect(parsed('checkpoint.json')).toMatchObject({ task: { title: 'T' }, summary: 's' });
    expect((await open().load()).warnings).toEqual([]);
  });

  it('that comes in the very moment of a save is read, too', async () => {
    const store = open();
    await save(store, { title: 'T' });
    let runs = 0;
    const { live } = await store.change((current) => {
      // After the state was read, before it is written.
      if (++runs === 1) edit('checkpoint.json', { version: 2, task: { title: 'T' }, summary: 'just now' });
      return mergeTask(current, { notes: ['n'] }).task;
    });
    expect(runs).toBe(2);
    expect(live?.task).toEqual({ title: 'T', summary: 'just now', notes: ['n'] });
  });

  it('into the page is kept aside', async () => {
    const store = open({ now: () => 1234 });
    await save(store, { title: 'T' });
    edit('handoff.md', 'my own words');
    const { warnings } = await save(store, { title: 'U' });
    expect(warnings).toEqual([expect.stringContaining('handoff.md.edited-1234')]);
    expect(exported('handoff.md.edited-1234')).toBe('my own words');
    expect(exported('handoff.md')).toContain('# Handoff — U');
  });
});

describe('the history file', () => {
  const entry = { name: 'n', savedAt: '2026-01-01T00:00:00.000Z', task: { title: 'T' } };

  it('is written once for the same content', async () => {
    const store = open();
    expect(await store.saveHistory([entry])).toEqual({ found: [], warnings: [] });
    expect(parsed('checkpoint-history.json')).toMatchObject({
      snapshots: [{ name: 'n', data: { task: { title: 'T' } } }],
    });
    expect(await store.saveHistory([entry, { ...entry, name: 'm' }])).toEqual({ found: [], warnings: [] });
    expect(readdirSync(state).sort()).toEqual(['.gitignore', 'checkpoint-history.json']);
  });

  it('of another program is given back to be imported, and kept beside', async () => {
    const theirs = {
      snapshots: [{ name: 'old', savedAt: '2025-01-01T00:00:00.000Z', data: { version: 2, task: { title: 'O' } } }],
    };
    edit('checkpoint-history.json', theirs);
    const { found, warnings } = await open({ now: () => 1234 }).saveHistory([entry]);
    expect(found).toEqual([{ name: 'old', savedAt: '2025-01-01T00:00:00.000Z', task: { title: 'O' } }]);
    expect(warnings).toEqual([]);
    expect(parsed('checkpoint-history.json.imported-1234')).toEqual(theirs);
    expect((await open().saveHistory([entry])).found).toEqual([]);
  });

  it.each(['{}', '', 'nonsense', '{"snapshots": 1}'])('is set aside when it is %j', async (content) => {
    edit('checkpoint-history.json', content);
    const { found, warnings } = await open({ now: () => 1234 }).saveHistory([entry]);
    expect(found).toEqual([]);
    expect(warnings).toHaveLength(1);
    expect(exported('checkpoint-history.json.corrupt-1234')).toBe(content);
    expect(parsed('checkpoint-history.json')).toHaveProperty('snapshots');
  });
});
