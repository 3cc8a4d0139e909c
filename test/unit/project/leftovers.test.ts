import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { endAll, leftovers, runLogged } from '../../run/processes.mjs';

/** Starts a sleeper that outlives its parent; `own` gives it a session of its own, as servers often have. */
const leaving = (own: boolean, env: string) => `
  const { spawn } = require('node:child_process');
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'],
    { detached: ${own}, stdio: 'ignore', env: ${env} });
  child.unref();
  console.log('started', child.pid);`;

/** Elsewhere than on Linux only the process group is known, and a server that left it is not found. */
const cases: Array<[string, boolean, string]> = [['in the same session, without the marker', false, '{}']];
if (existsSync('/proc/self/environ')) cases.push(['in a session of its own, with the marker', true, 'process.env']);

describe('processes of a suite', () => {
  let folder: string;
  let marker: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'checkpoints-left-'));
    marker = folder.slice(-6) + Date.now();
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const start = (code: string, timeoutMs = 30_000) =>
    runLogged(process.execPath, ['-e', code], {
      cwd: folder,
      env: { ...process.env, OPENCODE_CHECKPOINTS_TEST_RUN: marker },
      log: join(folder, 'log'),
      timeoutMs,
    });

  it('are gone after a clean end', async () => {
    const result = await start('console.log("hello")');
    expect(result).toMatchObject({ code: 0, timedOut: false });
    expect(readFileSync(join(folder, 'log'), 'utf8')).toContain('hello');
    expect(await leftovers(result.leader, marker)).toEqual([]);
  });

  it.each(cases)('are found and ended %s', async (_, own, env) => {
    const result = await start(leaving(own, env));
    expect(result.code).toBe(0);
    const left = await leftovers(result.leader, marker, 0);
    const log = readFileSync(join(folder, 'log'), 'utf8');
    expect(left.map(({ pid }) => pid)).toEqual([Number(/started (\d+)/.exec(log)?.[1])]);
    await endAll(result.leader, marker);
    expect(await leftovers(result.leader, marker, 0)).toEqual([]);
  });

  it('are not those of somebody who has only been in its folder', async () => {
    const env = { PATH: process.env['PATH'], PWD: join(folder, marker), OLDPWD: join(folder, marker) };
    const other = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
      env,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    const ended = new Promise((resolve) => other.once('exit', (code) => resolve(code)));
    await new Promise((resolve) => other.once('spawn', resolve));
    await endAll(-1, marker);
    other.stdin.end();
    expect(await ended).toBe(0);
  });

  it('are ended when the suite takes too long', async () => {
    const result = await start('setInterval(() => {}, 1000)', 300);
    expect(result).toMatchObject({ code: null, timedOut: true });
    expect(await leftovers(result.leader, marker)).toEqual([]);
  });

  it('answers with the error when the command cannot start', async () => {
    const options = { cwd: folder, env: process.env, log: join(folder, 'log'), timeoutMs: 1000 };
    const result = await runLogged(join(folder, 'absent'), [], options);
    expect(result.error?.message).toContain('ENOENT');
  });
});
