import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../src/core/model';
import type { ImportReport } from '../../src/imports/model';
import { Desk, useBuilt } from './cli-rig';
import { oldDatabase, oldManifest, put } from './import-rig';

const program = useBuilt('cli');

describe('import --from', () => {
  let desk: Desk;
  beforeEach(() => {
    desk = new Desk(program());
    desk.write({ 'a.txt': 'one\n' });
  });
  afterEach(() => desk.dispose());

  const database = (): string => path.join(desk.home, '.local/share/opencode/checkpoints.db');
  const mine = (): string => JSON.stringify({ directory: desk.root });
  const list = async (): Promise<Checkpoint[]> =>
    (await desk.answer<{ checkpoints: Checkpoint[] }>(['list'])).checkpoints;

  it('finds what older tools keep at their usual places, once', async () => {
    await oldDatabase(database(), [
      { id: 3, name: '3 fixes', metadata: mine() },
      { id: 4, name: 'elsewhere', metadata: JSON.stringify({ directory: desk.home }) },
    ]);
    const dry = await desk.answer<ImportReport>(['import', '--from', 's1', '--dry-run']);
    expect(dry).toMatchObject({ from: 's1', path: database(), dryRun: true, problems: [] });
    expect(dry.imported.map(({ title }) => title)).toEqual(['3 fixes']);
    expect(await list()).toEqual([]);
    const report = await desk.answer<ImportReport>(['import', '--from', 's1']);
    expect(report.imported).toEqual(dry.imported);
    expect(report.skipped).toEqual([{ item: 'row 4 (elsewhere)', reason: `belongs to ${desk.home}` }]);
    expect(await list()).toMatchObject([{ name: '3 fixes', trigger: 'import', metadata: { legacyId: 3 } }]);
    expect((await desk.answer<ImportReport>(['import', '--from', 's1'])).imported).toEqual([]);
    expect((await desk.refusal(['restore', '3 fixes'])).reason).toBe('no-files');
    expect((await desk.refusal(['show', 'latest'])).reason).toBe('unknown-reference');
  });

  it('reads a path from where the user stands', async () => {
    oldManifest(path.join(desk.top, 'orca/ab12cd34'), [
      { path: 'a.txt', content: 'first\n', at: '2025-10-09T08:00:00Z' },
    ]);
    mkdirSync(path.join(desk.root, 'src'));
    const cwd = path.join(desk.root, 'src');
    const { imported } = await desk.answer<ImportReport>(['import', '--from', 's5', '../../orca'], { cwd });
    await desk.answer(['restore', imported[0]?.id ?? '', '--yes']);
    expect(readFileSync(path.join(desk.root, 'a.txt'), 'utf8')).toBe('first\n');
  });

  it('does not take its own exports for old data', async () => {
    await desk.answer(['task', 'set', '--title', 'Mine', '--name', 'start']);
    await desk.answer(['task', 'set', '--summary', 'further']);
    const before = await list();
    await desk.answer(['delete', ...before.map(({ id }) => id), '--yes']);
    const { imported, skipped } = await desk.answer<ImportReport>(['import', '--from', 's2']);
    expect(imported).toEqual([]);
    expect(skipped.map(({ reason }) => reason)).toEqual([
      'was written by Checkpoints itself',
      'was written by Checkpoints itself',
    ]);
    // A hand that is not ours makes it worth importing.
    const file = path.join(desk.root, '.opencode/state/checkpoint.json');
    put(file, readFileSync(file, 'utf8').replace('Mine', 'Theirs'));
    const second = await desk.answer<ImportReport>(['import', '--from', 's2']);
    expect(second.imported.map(({ title }) => title)).toEqual(['Task: Theirs']);
  });

  it('is finished by the next run when it was killed', async () => {
    const total = 300;
    await oldDatabase(
      database(),
      Array.from({ length: total }, (_, i) => ({ id: i + 1, created_at: 1_760_000_000_000 + i, metadata: mine() })),
    );
    const { store } = await desk.answer<{ store: string }>(['stats']);
    const refs = path.join(store, 'snapshots.git/refs/checkpoints');
    const child = spawn(process.execPath, [program(), 'import', '--from', 's1'], { cwd: desk.root, env: desk.env });
    const ended = new Promise((done) => child.on('exit', done));
    // In the middle of it, or, on a very fast machine, right after it.
    while (child.exitCode === null && !(existsSync(refs) && readdirSync(refs).length > 0))
      await new Promise((next) => setTimeout(next, 1));
    child.kill('SIGKILL');
    await ended;
    const there = (await list()).length;
    // At most a lock of the dead is left, and that is taken away.
    const { problems } = await desk.answer<{ problems: Array<{ repaired: boolean }> }>(['doctor', '--repair']);
    expect(problems.filter(({ repaired }) => !repaired)).toEqual([]);
    const { imported } = await desk.answer<ImportReport>(['import', '--from', 's1']);
    expect(there + imported.length).toBe(total);
    expect(await list()).toHaveLength(total);
  });

  it('takes names without a folder for its own where the copy tells so, else only from a place that was named', async () => {
    const all = path.join(desk.home, '.openorca/checkpoints');
    const copy = (file: string): string => {
      const digest = createHash('sha256').update(path.join(desk.root, file)).digest('hex').slice(0, 12);
      return `20251009_080000_${digest}.bak`;
    };
    const at = '2025-10-09T08:00:00.000Z';
    oldManifest(path.join(all, 'ours'), [{ path: 'src/a.ts', content: 'mine', at, as: copy('src/a.ts') }]);
    oldManifest(path.join(all, 'anybodys'), [{ path: 'src/b.ts', content: 'whose?', at }]);
    const offer = 'checkpoint of OpenOrca can be imported';
    expect((await desk.run(['doctor'])).stderr).toContain(`1 ${offer}`);
    const found = await desk.answer<ImportReport>(['import', '--from', 's5']);
    expect(found.imported.map(({ title }) => title)).toEqual(['Originals of OpenOrca session ours']);
    expect(found.skipped).toEqual([
      {
        item: path.join(all, 'anybodys/manifest.json'),
        reason: `1 of 1 files do not say which folder they belong to; name ${path.join(all, 'anybodys')} to import them here`,
      },
    ]);
    expect((await desk.run(['doctor'])).stderr).not.toContain(offer);
    const named = await desk.answer<ImportReport>(['import', '--from', 's5', path.join(all, 'anybodys')]);
    expect(named.imported).toHaveLength(1);
    expect((await desk.run(['cat', named.imported[0]?.id ?? '', 'src/b.ts'])).stdout).toBe('whose?');
  });

  it('refuses what it does not know, and what is not there', async () => {
    expect((await desk.refusal(['import', '--from', 's3'], 2)).reason).toBe('usage');
    expect((await desk.refusal(['import', '--dry-run', 'x.bundle'], 2)).reason).toBe('usage');
    expect((await desk.refusal(['import'], 2)).reason).toBe('usage');
    for (const from of ['s1', 's2', 's4', 's5'])
      expect((await desk.refusal(['import', '--from', from])).reason).toBe('invalid-argument');
    expect((await desk.refusal(['import', '--from', 's1', 'nowhere.db'])).reason).toBe('invalid-argument');
  });

  it('says that a place which was named has nothing, and does not call it a fault of its own', async () => {
    desk.write({ 'notes.txt': 'notes\n', 'empty/x': '' });
    const answers: Array<[from: string, place: string, told: string]> = [
      ['s1', 'notes.txt', 'notes.txt is not a database'],
      ['s1', 'empty', 'empty has no checkpoints.db'],
      ['s2', 'notes.txt', 'has no checkpoint.json'],
      ['s2', 'empty', 'has no checkpoint.json'],
      ['s4', 'notes.txt', 'notes.txt is not a folder'],
      ['s4', 'nowhere', 'No backup is at'],
      // Nobody needs OpenCode to be told so: here is none.
      ['s4', 'empty', 'No session is at'],
      ['s5', 'notes.txt', 'is no manifest.json'],
      ['s5', 'empty', 'is no manifest.json'],
    ];
    for (const [from, place, told] of answers) {
      const { reason, message } = await desk.refusal(['import', '--from', from, place]);
      expect([from, place, reason]).toEqual([from, place, from === 's4' ? 'no-backup' : 'invalid-argument']);
      expect(message).toContain(told);
    }
  });

  it('says it in words, and offers it once to somebody at a terminal', async () => {
    await oldDatabase(database(), [
      { id: 1, name: 'old one', metadata: mine() },
      { id: 2, message_count: 0 },
    ]);
    const offer = '2 checkpoints of opencode-checkpoint-plugin can be imported';
    await desk.answer(['create']);
    const first = await desk.atTerminal(['list']);
    expect(first.stdout).toContain(offer);
    expect((await desk.atTerminal(['list'])).stdout).not.toContain(offer);
    expect((await desk.run(['doctor'])).stderr).toContain(offer);
    const ran = await desk.run(['import', '--from', 's1']);
    expect(ran.code).toBe(0);
    expect(ran.stdout).toMatch(/MADE\s+ID\s+TITLE/);
    expect(ran.stdout).toContain('old one');
    expect(ran.stdout).toContain('2 imported, 0 left out, 1 problem.');
    expect((await desk.run(['doctor'])).stderr).not.toContain(offer);
  });
});
