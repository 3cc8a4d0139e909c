import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import initSqlJs from 'sql.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DiffResult, Problem, Stats } from '../../src/core/api';
import type { Checkpoint, RestoreResult } from '../../src/core/model';
import type { Originals } from '../../src/core/originals';
import { useBuilt, Desk } from './cli-rig';

const program = useBuilt('cli');
let desk: Desk;
beforeEach(() => {
  desk = new Desk(program());
  desk.write({ 'a.txt': 'one\n', 'b.txt': 'b\n' });
});
afterEach(() => desk.dispose());

const create = async (...args: string[]): Promise<Checkpoint> =>
  (await desk.answer<{ checkpoint: Checkpoint }>(['create', ...args])).checkpoint;
const store = (): string => path.join(desk.home, 'data/opencode-checkpoints');

describe('stats', () => {
  it('counts', async () => {
    expect(await desk.answer(['stats'])).toMatchObject({ checkpoints: 0, sessions: 0 });
    await create('one');
    await create('two');
    const stats = await desk.answer<Stats>(['stats']);
    expect(stats).toMatchObject({ checkpoints: 2, sessions: 0 });
    expect(stats.bytes).toBeGreaterThan(0);
    expect(stats.borrowedBytes).toBeGreaterThanOrEqual(0);
    expect(stats.store.startsWith(store())).toBe(true);
    expect(stats.perSession).toEqual([expect.objectContaining({ session: null, checkpoints: 2 })]);
    expect((await desk.run(['stats'])).stdout).toMatch(/^checkpoints +2$/m);
  });
});

describe('index.db', () => {
  it('has what list has after every command, also when it was deleted or damaged', async () => {
    const sql = await initSqlJs();
    const file = async (): Promise<string> => path.join((await desk.answer<Stats>(['stats'])).store, 'index.db');
    await create('one');
    const at = await file();
    const names = (): unknown => {
      const db = new sql.Database(readFileSync(at));
      try {
        return db.exec('SELECT name FROM checkpoints ORDER BY created_at')[0]?.values.flat();
      } finally {
        db.close();
      }
    };
    await create('two');
    expect(names()).toEqual(['one', 'two']);
    await desk.answer(['rename', 'one', 'first']);
    expect(names()).toEqual(['first', 'two']);
    rmSync(at);
    await desk.answer(['list']);
    expect(names()).toEqual(['first', 'two']);
    rmSync(at);
    execFileSync('mkfifo', [at]);
    await desk.answer(['list']);
    expect(names()).toEqual(['first', 'two']);
    writeFileSync(at, 'garbage');
    await desk.answer(['delete', 'two']);
    expect(names()).toEqual(['first']);
    const before = statSync(at).mtimeMs;
    await desk.answer(['show', 'first']);
    expect(statSync(at).mtimeMs).toBe(before);
  });
});

describe('prune', () => {
  it('keeps what people made', async () => {
    const made = await create('keep');
    expect(await desk.answer(['prune', '--dry-run'])).toMatchObject({ deleted: [] });
    const pruned = await desk.answer<{ deleted: string[]; freedBytes: number }>(['prune']);
    expect(pruned.deleted).toEqual([]);
    expect(pruned.freedBytes).toBeGreaterThanOrEqual(0);
    expect((await desk.answer<{ checkpoints: Checkpoint[] }>(['list'])).checkpoints.map((one) => one.id)).toEqual([
      made.id,
    ]);
  });

  it('really frees what was deleted', async () => {
    desk.write({
      'noise.bin': randomBytes(3_000_000),
    });
    await create('big');
    desk.remove('noise.bin');
    await create('small');
    const before = (await desk.answer<Stats>(['stats'])).bytes;
    await desk.answer(['delete', 'big']);
    await desk.answer(['prune']);
    const after = (await desk.answer<Stats>(['stats'])).bytes;
    expect(before - after).toBeGreaterThan(500_000);
  });
});

describe('doctor', () => {
  it('finds a healthy store healthy', async () => {
    await create('one');
    expect(await desk.answer(['doctor'])).toEqual({ problems: [] });
    expect((await desk.run(['doctor'])).stdout).toBe('All is well.\n');
  });

  it('finds a lost object, and says so with a reason', async () => {
    const made = await create('one');
    const folder = (await desk.answer<Stats>(['stats'])).store;
    const objects = path.join(folder, 'snapshots.git/objects');
    expect(existsSync(objects)).toBe(true);
    rmSync(objects, { recursive: true });
    const { problems } = await desk.answer<{ problems: Problem[] }>(['doctor']);
    expect(problems.length).toBeGreaterThan(0);
    for (const problem of problems) {
      expect(Object.keys(problem).sort()).toEqual(['message', 'reason', 'repaired']);
      expect(problem.repaired).toBe(false);
    }
    expect(made.id).toBeTruthy();
    expect((await desk.run(['doctor'])).stdout).toContain('`opencode-checkpoints doctor --repair`');
    expect((await desk.run(['doctor', '--repair'])).stdout).toContain('What is left cannot be mended');
  });

  it('names another store that has some of the same files, and how to be rid of it', async () => {
    desk.write({ 'sub/a.txt': 'a\n' });
    const sub = path.join(desk.root, 'sub');
    execFileSync('git', ['init', '-q'], { cwd: sub, env: desk.env });
    await desk.answer(['create', 'below', '--cwd', sub]);
    const { store: below } = await desk.answer<Stats>(['stats', '--cwd', sub]);
    await create('above');
    // A store that cannot be read tells nothing here, and keeps nobody from being looked at.
    const damaged = path.join(store(), 'workspaces', '0123456789abcdef');
    mkdirSync(damaged);
    writeFileSync(path.join(damaged, 'workspace.json'), '{');
    const { problems } = await desk.answer<{ problems: Problem[] }>(['doctor']);
    expect(problems).toEqual([
      { reason: 'overlap', message: expect.stringContaining(below) as string, repaired: false },
    ]);
    expect(problems[0]?.message).toContain(`${sub} has checkpoints of its own`);
    rmSync(below, { recursive: true });
    expect(await desk.answer(['doctor'])).toEqual({ problems: [] });
  });

  it('says that a setting is to be corrected, and does not promise to do it', async () => {
    await create('one');
    desk.write({ '.opencode/checkpoints.json': '{"maxFileSize": "much"}' });
    const { stdout } = await desk.run(['doctor']);
    expect(stdout).toContain('bad value for "maxFileSize"');
    expect(stdout).toContain('Correct these settings');
    expect(stdout).not.toContain('--repair');
  });

  it('tells people, too, what keeps the store from being read, though a task was exported', async () => {
    await desk.answer(['task', 'set', '--title', 'T']);
    const head = path.join((await desk.answer<Stats>(['stats'])).store, 'snapshots.git/HEAD');
    rmSync(head);
    expect(await desk.run(['doctor'])).toMatchObject({ code: 0, stdout: expect.stringContaining('(head)') as string });
    expect((await desk.run(['doctor', '--repair'])).stdout).toMatch(/^repaired .*\(head\)$/m);
    expect(existsSync(head)).toBe(true);
  });

  it.each(['', '{"root": 1}', '{ "root": "/so'])(
    'opens a store whose workspace.json is damaged (%j)',
    async (content) => {
      const made = await create('one');
      const folder = (await desk.answer<Stats>(['stats'])).store;
      const file = path.join(folder, 'workspace.json');
      const before = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
      writeFileSync(file, content);
      const refused = await desk.run(['list']);
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('doctor --repair') as string });
      const found = (repaired: boolean): unknown => ({
        problems: [expect.objectContaining({ reason: 'store-broken', repaired })],
      });
      expect(await desk.answer(['doctor'])).toEqual(found(false));
      expect(readFileSync(file, 'utf8')).toBe(content);
      expect(await desk.answer(['doctor', '--repair'])).toEqual(found(true));
      const { created: _created, ...rest } = before;
      expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject(rest);
      expect(await desk.answer(['list'])).toMatchObject({ checkpoints: [{ id: made.id }] });
      expect(await desk.answer(['doctor'])).toEqual({ problems: [] });
    },
  );
});

describe('a damaged journal', () => {
  const change = { path: '../../x', before: null, after: null };
  it.each([
    '{"ver',
    'null',
    '{"version":1,"phase":"applying","safety":"cp_x","changes":[]}',
    JSON.stringify({
      ...{ version: 1, phase: 'applying', safety: 'cp_00000000000000000000000000', tree: 'x', stage: '/tmp/stage-0a' },
      ...{ changes: [change], makeFolders: [], removeFolders: [], record: { target: null, scope: [] } },
    }),
  ])('stops every command until the doctor has set it aside (%j)', async (content) => {
    const made = await create('one');
    const folder = (await desk.answer<Stats>(['stats'])).store;
    const journal = path.join(folder, 'journal.json');
    writeFileSync(journal, content);
    const refused = await desk.refusal(['create', 'two']);
    expect(refused).toMatchObject({
      reason: 'store-broken',
      message: expect.stringContaining('doctor --repair') as string,
    });
    const found = (repaired: boolean): unknown => ({
      problems: [expect.objectContaining({ reason: 'journal-damaged', repaired })],
    });
    expect(await desk.answer(['doctor'])).toEqual(found(false));
    expect(readFileSync(journal, 'utf8')).toBe(content);
    const mended = await desk.answer<{ problems: Problem[] }>(['doctor', '--repair']);
    expect(mended).toEqual(found(true));
    expect(mended.problems[0]?.message).toMatch(content.includes('cp_0000') ? /cp_0{26} has/ : /before a restore has/);
    expect(existsSync(journal)).toBe(false);
    expect(await desk.answer(['list'])).toMatchObject({ checkpoints: [{ id: made.id }] });
    expect(await desk.answer(['doctor'])).toEqual({ problems: [] });
  });
});

describe('originals', () => {
  const originals = (...args: string[]): Promise<Originals> => desk.answer<Originals>(['originals', ...args]);

  it('are the first versions of what changed', async () => {
    expect(await originals()).toEqual({ session: null, originals: [] });
    const first = await create('first');
    desk.write({ 'a.txt': 'two\n', 'made.txt': 'm\n' });
    const second = await create('second');
    desk.write({ 'a.txt': 'three\n' });
    desk.remove('b.txt');
    expect((await originals()).originals).toEqual([
      expect.objectContaining({ path: 'a.txt', checkpoint: first.id, existed: true, size: 4 }),
      expect.objectContaining({ path: 'b.txt', checkpoint: second.id, existed: true, size: 2 }),
      expect.objectContaining({ path: 'made.txt', checkpoint: first.id, existed: false, size: null }),
    ]);
    const diff = await desk.answer<DiffResult>(['originals', 'diff', 'a.txt']);
    expect(diff.patch).toContain('-one\n+three\n');
    const text = (await desk.run(['originals'])).stdout;
    expect(text).toMatch(/absent +added +cp_\w+ +made\.txt$/m);
  });

  it('come back one by one; a file that was made goes', async () => {
    await create('first');
    desk.write({ 'a.txt': 'two\n', 'made.txt': 'm\n' });
    const back = await desk.answer<{ result: RestoreResult }>(['originals', 'restore', 'a.txt']);
    expect(back.result.restored).toEqual(['a.txt']);
    expect(readFileSync(path.join(desk.root, 'a.txt'), 'utf8')).toBe('one\n');
    await desk.answer(['undo']);
    expect(readFileSync(path.join(desk.root, 'a.txt'), 'utf8')).toBe('two\n');
    expect((await desk.answer<{ result: RestoreResult }>(['originals', 'restore', 'made.txt'])).result.deleted).toEqual(
      ['made.txt'],
    );
    expect(existsSync(path.join(desk.root, 'made.txt'))).toBe(false);
    expect((await desk.refusal(['originals', 'restore', 'b.txt'])).reason).toBe('not-in-checkpoint');
  });

  it('are counted anew after a clear, and no checkpoint is lost', async () => {
    const first = await create('first');
    desk.write({ 'a.txt': 'two\n' });
    expect(await desk.answer(['originals', 'clear'])).toEqual({ session: null, cleared: ['a.txt'] });
    expect((await originals()).originals).toEqual([]);
    desk.write({ 'a.txt': 'three\n' });
    const [again] = (await originals()).originals;
    expect((await desk.run(['cat', again?.checkpoint ?? '', 'a.txt'])).stdout).toBe('two\n');
    expect((await desk.answer<{ checkpoint: Checkpoint }>(['show', 'latest'])).checkpoint.id).toBe(first.id);
  });

  it('of an unknown session are refused', async () => {
    await create('first');
    expect((await desk.refusal(['originals', '--session', 'ses_x'])).reason).toBe('session-missing');
    expect((await desk.refusal(['originals', '--session', 'ses_x', 'diff', 'a.txt'])).reason).toBe('session-missing');
  });
});
