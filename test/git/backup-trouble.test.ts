import { execFileSync } from 'node:child_process';
import fs, { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { BackupTrouble } from '../../src/backup/api';
import { filesBelow, place, tree, type Place, type TestMachine } from './backup-rig';

/** Named imports of the product see the change, too. */
function mend(): void {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
}
afterEach(mend);

/** One session saved, and a second one and a change waiting. */
async function waiting(): Promise<{ at: Place; one: TestMachine; saved: Map<string, string> }> {
  const at = place();
  const one = at.machine();
  one.server.add('ses_a', { messages: 2 });
  await one.service.run();
  const saved = tree(at.backup);
  one.server.say('ses_a');
  one.server.add('ses_b');
  return { at, one, saved };
}

async function expectTrouble(one: TestMachine, trouble: BackupTrouble): Promise<string> {
  const { problem } = await one.service.run();
  expect(problem?.trouble).toBe(trouble);
  const status = await one.service.status();
  expect(status).toMatchObject({ state: 'problem', problem: { trouble } });
  expect(status.lastSuccessAt).not.toBeNull();
  return problem?.message ?? '';
}

async function expectCaughtUp(one: TestMachine): Promise<void> {
  expect((await one.service.run()).problem).toBeNull();
  expect(await one.service.status()).toMatchObject({ state: 'idle', problem: null, sessions: 2 });
  expect((await one.service.verify()).damaged).toEqual([]);
}

/** Sessions that were saved are as they were, or newer and whole. */
function expectHarmless(backup: string, saved: Map<string, string>): void {
  const now = tree(backup);
  for (const [file, content] of saved) {
    if (!file.startsWith('sessions/')) continue;
    const current = now.get(file) ?? '';
    if (current !== content) expect(JSON.parse(current)).toMatchObject({ info: { id: 'ses_a' } });
  }
  expect([...now.keys()].filter((file) => file.includes('.tmp-'))).toEqual([]);
}

type Failing = 'open' | 'rename' | 'link' | 'mkdir';

/** The system's call fails as a real one would, for paths below the backup, from the n-th time on. */
function failing(call: Failing, code: string, below: string, times = Infinity, from = 0): void {
  const real = fs.promises[call] as (...args: unknown[]) => Promise<unknown>;
  let seen = 0;
  vi.spyOn(fs.promises, call as 'rename').mockImplementation(((...args: unknown[]) => {
    const writes = call !== 'open' || (typeof args[1] === 'string' && args[1] !== 'r');
    const hit = String(args[call === 'link' ? 1 : 0]).startsWith(below) && writes;
    if (hit) seen += 1;
    if (hit && seen > from && seen <= from + times)
      return Promise.reject(Object.assign(new Error(`${code}: injected`), { code }));
    return real(...args);
  }) as never);
  syncBuiltinESMExports();
}

describe('the folder of a backup', () => {
  it.each<[Failing, string, BackupTrouble]>([
    ['open', 'ENOSPC', 'destination-full'],
    ['open', 'EDQUOT', 'destination-full'],
    ['open', 'EROFS', 'destination-read-only'],
    ['open', 'EACCES', 'destination-read-only'],
    ['open', 'ESTALE', 'destination-missing'],
    ['open', 'EIO', 'destination-missing'],
  ])('when %s fails with %s', async (call, code, trouble) => {
    const { at, one, saved } = await waiting();
    failing(call, code, at.backup);
    await expectTrouble(one, trouble);
    mend();
    expectHarmless(at.backup, saved);
    await expectCaughtUp(one);
  });

  it.each(['EBUSY', 'EPERM'])('whose files are locked (%s) is tried again at once, then later', async (code) => {
    const { at, one, saved } = await waiting();
    failing('rename', code, join(at.backup, 'sessions'), 2);
    expect((await one.service.run()).problem).toBeNull();
    mend();
    expectHarmless(at.backup, saved);
    one.server.say('ses_a');
    failing('rename', code, join(at.backup, 'sessions/project1/ses_a'));
    const report = await one.service.run();
    expect(report).toMatchObject({ failed: [{ id: 'ses_a' }], problem: { trouble: 'incomplete' } });
    mend();
    expectHarmless(at.backup, saved);
    await expectCaughtUp(one);
  });

  it('that is full in the middle keeps what was saved before', async () => {
    const { at, one, saved } = await waiting();
    for (let i = 0; i < 10; i++) one.server.add(`ses_x${i}`);
    failing('open', 'ENOSPC', join(at.backup, 'sessions'), Infinity, 4);
    await expectTrouble(one, 'destination-full');
    mend();
    expectHarmless(at.backup, saved);
    expect(filesBelow(at.backup, 'sessions')).toHaveLength(4);
    expect((await one.service.verify()).damaged).toEqual([]);
    expect(await one.service.run()).toMatchObject({ written: 8, problem: null });
    expect((await one.service.verify()).damaged).toEqual([]);
  });

  it('that has no second names for a file gets copies', async () => {
    const { at, one } = await waiting();
    failing('link', 'ENOTSUP', at.backup);
    expect((await one.service.run()).problem).toBeNull();
    mend();
    expect(filesBelow(at.backup, 'versions')).toHaveLength(1);
    await expectCaughtUp(one);
  });

  it('that is gone is not made again, and is used again when it is back', async () => {
    const { at, one } = await waiting();
    renameSync(at.backup, `${at.backup}.away`);
    expect(await expectTrouble(one, 'destination-missing')).toContain(at.backup);
    expect(existsSync(at.backup)).toBe(false);
    // The empty folder that a drive is mounted on.
    mkdirSync(at.backup);
    await expectTrouble(one, 'destination-missing');
    expect(tree(at.backup).size).toBe(0);
    rmSync(at.backup, { recursive: true });
    renameSync(`${at.backup}.away`, at.backup);
    await expectCaughtUp(one);
    rmSync(at.backup, { recursive: true });
    expect(await one.service.run({ startAnew: true })).toMatchObject({ written: 2, problem: null });
  });

  it('that is renamed while a run is under way is not made again under its old name', async () => {
    const { at, one, saved } = await waiting();
    for (let i = 0; i < 5; i++) one.server.add(`ses_x${i}`);
    one.server.before = (request) => {
      if (request === 'export ses_x2') renameSync(at.backup, `${at.backup}.renamed`);
    };
    await expectTrouble(one, 'destination-missing');
    expect(existsSync(at.backup)).toBe(false);
    expectHarmless(`${at.backup}.renamed`, saved);
    one.server.before = () => undefined;
    renameSync(`${at.backup}.renamed`, at.backup);
    expect((await one.service.run()).problem).toBeNull();
    expect((await one.service.verify()).damaged).toEqual([]);
  });

  it('that was replaced by another one while a run is under way gets nothing', async () => {
    const { at, one } = await waiting();
    one.server.before = (request) => {
      if (request !== 'export ses_b') return;
      renameSync(at.backup, `${at.backup}.renamed`);
      mkdirSync(at.backup);
    };
    await expectTrouble(one, 'destination-missing');
    expect(tree(at.backup).size).toBe(0);
  });

  it('that is a file, or below one, is said to be wrong', async () => {
    const at = place();
    const one = at.machine();
    one.server.add('ses_a');
    writeFileSync(at.backup, 'not a folder');
    expect((await one.service.run()).problem?.trouble).toBe('destination-missing');
    const below = at.machine('two', { 'backup.path': join(at.backup, 'deeper') });
    expect((await below.service.run()).problem?.trouble).toBe('destination-missing');
  });

  it('is made when it is used for the first time, but no drive is', async () => {
    const at = place();
    const one = at.machine('one', { 'backup.path': join(at.base, 'new', 'folder') });
    one.server.add('ses_a');
    expect(await one.service.status()).toMatchObject({ state: 'idle', problem: null, lastRunAt: null });
    expect((await one.service.run()).problem).toBeNull();
    const two = at.machine('two', { 'backup.path': '/mnt/no-such-drive/backup' });
    expect((await two.service.run()).problem?.trouble).toBe('destination-missing');
    expect(existsSync('/mnt/no-such-drive')).toBe(false);
  });

  it('can be on another volume', async () => {
    const at = place();
    const other = fs.mkdtempSync('/dev/shm/checkpoints-backup-');
    try {
      const one = at.machine('one', { 'backup.path': join(other, 'backup') });
      one.server.add('ses_a');
      await one.service.run();
      one.server.say('ses_a');
      expect((await one.service.run()).problem).toBeNull();
      expect((await one.service.verify()).damaged).toEqual([]);
    } finally {
      rmSync(other, { recursive: true, force: true });
    }
  });

  it('is for its owner alone', async () => {
    const { at } = await waiting();
    const modes = execFileSync('find', [at.backup, '-printf', '%y%m\n']).toString().trim().split('\n');
    expect([...new Set(modes)].sort()).toEqual(['d700', 'f600']);
  });
});

it('is off without a destination, and says so', async () => {
  const at = place();
  const one = at.machine('one', { 'backup.path': '' });
  mkdirSync(join(one.home, 'Dropbox'));
  expect((await one.service.run()).problem).toMatchObject({ trouble: 'off' });
  expect(await one.service.status()).toMatchObject({
    path: null,
    state: 'off',
    suggestions: [join(one.home, 'Dropbox', 'opencode-sessions')],
  });
  await expect(one.service.preview()).rejects.toMatchObject({ reason: 'no-backup' });
  await expect(one.service.verify()).rejects.toMatchObject({ reason: 'no-backup' });
});
