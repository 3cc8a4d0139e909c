import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CheckpointsError } from '../../src/core/errors';
import { until } from '../rig/opencode-process';
import { place, read, tree, type Place, type TestMachine } from './backup-rig';
import { killPoints } from './kill-points';

const fixtures = join(import.meta.dirname, 'fixtures');
let folder = '';
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'checkpoints-worker-'));
  await build({
    entryPoints: [join(fixtures, 'backup-worker.ts')],
    outfile: join(folder, 'worker.js'),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    logLevel: 'error',
  });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stderr: string;
}

function work(at: Place, machine: TestMachine, args: string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  const preload = ['--require', join(fixtures, 'fault-promises.cjs')];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...preload, join(folder, 'worker.js'), machine.home, at.backup, ...args], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, stderr }));
  });
}

/** The operation once whole, then again and again from the same state, dying at another call that changes a file each time. */
async function atEveryCall(
  at: Place,
  machine: TestMachine,
  args: string[],
  check: (at: number) => Promise<void>,
): Promise<void> {
  const copy = join(at.base, 'copy');
  const parts = [at.backup, machine.home];
  parts.forEach((part, index) => cpSync(part, join(copy, String(index)), { recursive: true }));
  const reset = (): void =>
    parts.forEach((part, index) => {
      rmSync(part, { recursive: true, force: true });
      cpSync(join(copy, String(index)), part, { recursive: true });
    });
  const log = join(at.base, 'calls');
  const whole = await work(at, machine, args, { FAULT_UNDER: at.base, FAULT_AT: '999999', FAULT_LOG: log });
  expect(whole).toMatchObject({ code: 0, stderr: '' });
  const calls = Number(readFileSync(log, 'utf8').trim());
  expect(calls).toBeGreaterThan(20);
  for (const call of killPoints(calls, 16)) {
    reset();
    const ended = await work(at, machine, args, { FAULT_UNDER: at.base, FAULT_AT: String(call) });
    expect([call, ended.signal]).toEqual([call, 'SIGKILL']);
    await check(call);
  }
}

describe('a process that dies', () => {
  it('in a backup leaves every session whole, and the next run catches up', async () => {
    const at = place();
    const one = at.machine();
    for (let i = 0; i < 6; i++) one.server.add(`ses_${i}`, { todos: ['a todo'] });
    for (let i = 0; i < 3; i++) {
      await one.service.run();
      one.server.say('ses_1');
    }
    one.server.add('ses_new', { messages: 3, todos: ['x'] });
    one.server.say('ses_2');
    one.server.delete('ses_3');
    const before = tree(at.backup);
    const known = new Map(
      [...before].filter(([file]) => file.startsWith('sessions/') && !file.endsWith('.todos.json')),
    );
    await atEveryCall(at, one, ['run', 'ses_3'], async (call) => {
      const now = tree(at.backup);
      for (const [file, content] of known) {
        // In its place or set aside; as it was, or as it is on the server now.
        const found = now.get(file) ?? now.get(file.replace('sessions/', 'deleted/')) ?? 'gone';
        if (found !== content)
          expect([call, file, JSON.parse(found)]).toEqual([call, file, one.server.read(idOf(file))]);
      }
      // What an import would read is whole, without anybody's help.
      for (const [file, content] of now)
        if (file.endsWith('.json') && /^(sessions|deleted|versions)/.test(file)) JSON.parse(content);
      expect([call, (await one.service.verify()).damaged]).toEqual([call, []]);
      const { problem } = await untilFree(async () => {
        const report = await one.service.run();
        return report.problem?.trouble === 'busy' ? null : report;
      });
      expect([call, problem]).toEqual([call, null]);
      for (const id of one.server.ids())
        expect(read(join(at.backup, `sessions/project1/${id}.json`))).toEqual(one.server.read(id));
      expect([call, (await one.service.verify()).damaged]).toEqual([call, []]);
      expect((await one.service.preview()).sessions.map(({ id }) => id).sort()).toEqual(
        [...one.server.ids(), 'ses_3'].sort(),
      );
    });
  });

  it('in a restore leaves the backup as it was, and the next restore brings back the rest', async () => {
    const at = place();
    const one = at.machine();
    for (let i = 0; i < 3; i++) one.server.add(`ses_${i}`, { messages: 6, todos: ['a todo'] });
    one.server.add('ses_child', { parent: 'ses_1', messages: 2 });
    await one.service.run();
    const two = at.machine('two');
    const own = { messages: 2 };
    two.server.add('ses_own', own);
    const before = tree(at.backup);
    const mine = two.server.read('ses_own');
    await atEveryCall(at, two, ['restore'], async (call) => {
      const now = tree(at.backup);
      for (const [file, content] of before)
        if (file !== 'sync.log') expect([call, file, now.get(file)]).toEqual([call, file, content]);
      const report = await untilFree(() =>
        two.service.restore().catch((error: unknown) => {
          if (CheckpointsError.is(error, 'busy')) return null;
          throw error;
        }),
      );
      expect([call, report.failed]).toEqual([call, []]);
      expect([call, two.server.ids()]).toEqual([call, ['ses_0', 'ses_1', 'ses_2', 'ses_child', 'ses_own']]);
      for (const id of one.server.ids()) expect(two.server.read(id).messages).toEqual(one.server.read(id).messages);
      expect(two.server.read('ses_own')).toEqual(mine);
    });
  });
});

const idOf = (file: string): string => /(ses_[^/.]*)\.json$/.exec(file)?.[1] ?? '';

/** Killed right after it had made its lock, before it could write its name into it, a process is waited for a moment. */
function untilFree<T>(attempt: () => Promise<T | null>): Promise<T> {
  return until(
    async () => (await attempt()) ?? undefined,
    60_000,
    () => 'the lock of a dead process was never taken over',
  );
}
