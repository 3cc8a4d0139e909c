import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cacheRoot, installOnce } from '../../rig/install-cache.mjs';

const module = new URL('../../rig/install-cache.mjs', import.meta.url).href;

describe('the cache of tools', () => {
  let folder: string;
  let tool: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'checkpoints-cache-'));
    tool = join(folder, 'tool-1.0');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const complete = () => existsSync(join(tool, 'done'));
  const fill = (temporary: string) => writeFileSync(join(temporary, 'done'), 'yes');
  const deadPid = () => Number(execFileSync(process.execPath, ['-p', 'process.pid']).toString());

  it('lies where the environment says', () => {
    expect(cacheRoot({ OPENCODE_CHECKPOINTS_CACHE: '/c', XDG_CACHE_HOME: '/x', HOME: '/h' })).toBe('/c');
    expect(cacheRoot({ XDG_CACHE_HOME: '/x', HOME: '/h' })).toBe('/x/opencode-checkpoints-dev');
    expect(cacheRoot({ HOME: '/h' })).toBe('/h/.cache/opencode-checkpoints-dev');
  });

  it('installs once and leaves only the tool', async () => {
    expect(await installOnce(tool, complete, fill)).toBe(true);
    expect(await installOnce(tool, complete, fill)).toBe(false);
    expect(readdirSync(folder)).toEqual(['tool-1.0']);
  });

  it('never takes a failed install for a complete one', async () => {
    const broken = () => Promise.reject(new Error('network'));
    await expect(installOnce(tool, complete, broken)).rejects.toThrow('network');
    expect(readdirSync(folder)).toEqual([]);
    expect(await installOnce(tool, complete, fill)).toBe(true);
    expect(readdirSync(folder)).toEqual(['tool-1.0']);
  });

  it('ends with what is missing, when it was tried without and failed', () => {
    const system = new URL('../../rig/install-system.mjs', import.meta.url).href;
    const code = `
      import { MissingError, tryWithout } from ${JSON.stringify(system)};
      const fails = () => Promise.reject(new Error('a hundred lines of a compiler'));
      const told = (error) => process.stdout.write(error.message + '\\n');
      await tryWithout(new MissingError('headers', 'Run as root: apt-get install headers'), fails).catch(told);
      await tryWithout(undefined, fails).catch(told);`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
    expect(stderr).toBe('a hundred lines of a compiler\n');
    expect(stdout).toBe('Missing: headers\n  Run as root: apt-get install headers\na hundred lines of a compiler\n');
  });

  it('installs again over what a killed install left', async () => {
    mkdirSync(`${tool}.tmp-1-dead`);
    writeFileSync(`${tool}.lock`, JSON.stringify({ pid: deadPid(), host: hostname(), token: 'x' }));
    expect(await installOnce(tool, complete, fill)).toBe(true);
    expect(readdirSync(folder)).toEqual(['tool-1.0']);
  });

  it('takes over a lock without a heartbeat, though its process lives or is on another machine', async () => {
    const long = new Date(Date.now() - 3_600_000);
    for (const owner of [{ pid: process.pid, host: hostname() }, { pid: 1, host: 'elsewhere' }, 'half a lo']) {
      writeFileSync(`${tool}.lock`, typeof owner === 'string' ? owner : JSON.stringify(owner));
      utimesSync(`${tool}.lock`, long, long);
      expect(await installOnce(tool, complete, fill)).toBe(true);
      expect(readdirSync(folder)).toEqual(['tool-1.0']);
      rmSync(tool, { recursive: true });
    }
  });

  it('is filled by one of several processes that start together', async () => {
    const code = `
      import { installOnce } from ${JSON.stringify(module)};
      import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
      await installOnce(${JSON.stringify(tool)}, () => existsSync(${JSON.stringify(join(tool, 'done'))}), async (temporary) => {
        appendFileSync(${JSON.stringify(join(folder, 'fills'))}, 'x');
        await new Promise((done) => setTimeout(done, 300));
        writeFileSync(temporary + '/done', 'yes');
      });`;
    const codes = await Promise.all(
      Array.from({ length: 4 }, () => {
        const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'ignore' });
        return new Promise((done) => child.on('exit', done));
      }),
    );
    expect(codes).toEqual([0, 0, 0, 0]);
    expect(readFileSync(join(folder, 'fills'), 'utf8')).toBe('x');
    expect(readdirSync(folder).sort()).toEqual(['fills', 'tool-1.0']);
  });
});
