import { spawn, type ChildProcess } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Connector } from '../../src/opencode/connect';
import { endpoint } from '../../src/opencode/http';
import { probe } from '../../src/opencode/probe';
import { OwnServer } from '../../src/opencode/server';
import { startOpenCode, until, type OpenCode } from '../rig/opencode';
import { generations } from './gateway-fixture';

describe.each(generations)('a server of our own, %s', (generation) => {
  let rig: OpenCode;
  let state: string;
  let own: OwnServer;
  const log: string[] = [];
  beforeAll(async () => {
    // Only its folders, environment and executable are used.
    rig = await startOpenCode({ generation, stopped: true });
    state = join(rig.home, 'servers');
    own = new OwnServer({
      binary: rig.binary,
      env: rig.env,
      cwd: rig.workspace,
      stateFolder: state,
      log: (line) => log.push(line),
    });
  });
  afterAll(async () => {
    await own.stop();
    await rig.dispose();
  });
  const isAlive = (pid: number): boolean => {
    try {
      process.kill(pid, 0);
      return true;
    } catch {
      return false;
    }
  };

  it('starts at the first use, with a password nobody else knows, and stops', async () => {
    expect(own.running).toBe(false);
    const [first, second] = await Promise.all([own.ensure(), own.ensure()]);
    expect(second).toBe(first);
    expect(first).toMatchObject({ generation });
    expect(first.endpoint.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await probe(first.endpoint)).kind).toBe('opencode');
    expect((await probe(endpoint(first.endpoint.url, rig.password))).kind).toBe('unauthorized');
    const [file = ''] = await readdir(state);
    const record = await readFile(join(state, file), 'utf8');
    expect(record).toContain(first.endpoint.url);
    expect(record).not.toContain(first.endpoint.password ?? '?');
    await own.stop();
    expect(isAlive(first.pid)).toBe(false);
    expect(await readdir(state)).toEqual([]);
    expect(own.running).toBe(false);
    await own.stop();
  });

  it('is started anew when it died', async () => {
    const first = await own.ensure();
    process.kill(first.pid, 'SIGKILL');
    await until(
      () => !own.running,
      20_000,
      () => 'its death went unnoticed',
    );
    const second = await own.ensure();
    expect(second.pid).not.toBe(first.pid);
    expect((await probe(second.endpoint)).kind).toBe('opencode');
    await own.stop();
  });

  it('is ended with its launcher, too', async () => {
    const launcher = join(rig.home, 'launcher');
    // Not `exec`: the real server is then a child that gets no signal of ours.
    await writeFile(launcher, `#!/bin/sh\n"${rig.binary}" "$@"\n`);
    await chmod(launcher, 0o755);
    const launched = new OwnServer({ binary: launcher, env: rig.env, cwd: rig.workspace, stateFolder: state });
    const { endpoint: where } = await launched.ensure();
    const [file = ''] = await readdir(state);
    const record = JSON.parse(await readFile(join(state, file), 'utf8')) as { processes: Array<{ pid: number }> };
    expect(record.processes.length).toBeGreaterThanOrEqual(2);
    await launched.stop();
    await until(
      () => record.processes.every(({ pid }) => !isAlive(pid)),
      10_000,
      () => 'the server behind the launcher still runs',
    );
    expect((await probe(where, { timeoutsMs: [1000] })).kind).toBe('unreachable');
  });

  const bundledChild = async (): Promise<string> => {
    const bundle = join(rig.home, 'child.cjs');
    const entryPoints = [join(__dirname, 'own-server-child.ts')];
    await build({ entryPoints, bundle: true, platform: 'node', format: 'cjs', outfile: bundle });
    return bundle;
  };

  it('ends what a crash left over, and nothing else', async () => {
    const bundle = await bundledChild();
    const start = (): { child: ChildProcess; ready: Promise<{ pid: number; url: string }> } => {
      const args = [bundle, rig.binary, rig.workspace, state];
      const child = spawn(process.execPath, args, { env: rig.env, stdio: ['ignore', 'pipe', 'inherit'] });
      const ready = new Promise<{ pid: number; url: string }>((resolve, reject) => {
        child.stdout.once('data', (data: Buffer) =>
          resolve(JSON.parse(data.toString()) as { pid: number; url: string }),
        );
        child.once('exit', () => reject(new Error('it ended')));
      });
      return { child, ready };
    };
    const crashed = start();
    const leftOver = await crashed.ready;
    const living = start();
    const used = await living.ready;
    crashed.child.kill('SIGKILL');
    await new Promise((resolve) => crashed.child.once('exit', resolve));
    // A record whose numbers now belong to somebody else, and rubbish.
    const stranger = { pid: process.pid, start: 'long ago', command: 'opencode serve' };
    await writeFile(join(state, '999999.json'), JSON.stringify({ owner: stranger, processes: [stranger] }));
    await writeFile(join(state, '999998.json'), '{');
    if (generation === 'v1') expect(isAlive(leftOver.pid)).toBe(true);

    await own.ensure();
    await until(
      () => !isAlive(leftOver.pid),
      10_000,
      () => 'the left-over server still runs',
    );
    // OpenCode 2 ends with its input, so there is nothing left to end.
    if (generation === 'v1') expect(log.some((line) => line.includes(String(leftOver.pid)))).toBe(true);
    expect(isAlive(used.pid)).toBe(true);
    const names = await readdir(state);
    expect(names).toContain(`${used.pid}.json`);
    expect(names).not.toContain(`${leftOver.pid}.json`);
    expect(names).not.toContain('999999.json');
    await own.stop();
    living.child.kill('SIGTERM');
    await new Promise((resolve) => living.child.once('exit', resolve));
    if (isAlive(used.pid)) process.kill(used.pid, 'SIGTERM');
  });

  it('ends one whose starter was killed before it listened', async () => {
    const slow = join(rig.home, 'slow');
    await writeFile(slow, `#!/bin/sh\n[ "$1" = serve ] && exec sleep 600\nexec "${rig.binary}" "$@"\n`);
    await chmod(slow, 0o755);
    await mkdir(state, { recursive: true });
    const others = await readdir(state);
    const args = [await bundledChild(), slow, rig.workspace, state];
    const child = spawn(process.execPath, args, { env: rig.env, stdio: 'ignore' });
    const name = await until(
      async () => (await readdir(state)).find((file) => /^\d+\.json$/.test(file) && !others.includes(file)),
      30_000,
      () => 'it was not written down',
    );
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
    const pid = Number.parseInt(name, 10);
    expect(isAlive(pid)).toBe(true);
    await own.ensure();
    await until(
      () => !isAlive(pid),
      10_000,
      () => 'the server that had not listened yet still runs',
    );
    expect(await readdir(state)).not.toContain(name);
    await own.stop();
  });

  it('ends one whose starter was killed as soon as it had started it, and what else runs stays', async () => {
    const wait = join(rig.home, 'wait');
    // In the place of OpenCode 2, which ends with its input.
    await writeFile(wait, `#!/bin/sh\nif [ "$1" = serve ]; then sleep 600; else exec "${rig.binary}" "$@"; fi\n`);
    await chmod(wait, 0o755);
    const executable = generation === 'v1' ? rig.binary : wait;
    const args = [await bundledChild(), executable, rig.workspace, state, 'at-once'];
    const child = spawn(process.execPath, args, { env: rig.env, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (data: Buffer) => (output += data.toString()));
    // Another's that looks the same but for the token.
    const stranger = spawn(wait, ['serve', '--hostname', '127.0.0.1', '--port', '0'], {
      env: { ...rig.env, OPENCODE_CHECKPOINTS_SERVER: 'another' },
      stdio: 'ignore',
      detached: true,
    });
    try {
      await new Promise((resolve) => child.once('close', resolve));
      const { pid } = JSON.parse(output) as { pid: number };
      expect(isAlive(pid)).toBe(true);
      expect(await readdir(state)).not.toContain(`${pid}.json`);
      // It has its own environment a moment after it was started.
      await until(
        async () => (await readFile(`/proc/${pid}/cmdline`, 'utf8')).includes('serve'),
        10_000,
        () => 'it never began',
      );
      await own.ensure();
      await until(
        () => !isAlive(pid),
        10_000,
        () => 'the server that nobody had written down still runs',
      );
      expect(log.some((line) => line.includes('left-over') && line.includes(String(pid)))).toBe(true);
      expect(isAlive(stranger.pid ?? 0)).toBe(true);
      expect((await readdir(state)).filter((name) => name.startsWith('start-'))).toEqual([]);
    } finally {
      await own.stop();
      if (stranger.pid !== undefined) process.kill(-stranger.pid, 'SIGKILL');
    }
  });

  it('works for the conversation: lists, and is replaced when it is gone', async () => {
    const connector = new Connector({
      root: rig.workspace,
      opencodePath: rig.binary,
      env: rig.env,
      stateFolder: state,
    });
    try {
      expect(connector.source).toBeNull();
      const gateway = await connector.gateway();
      expect(connector.source).toBe('own');
      expect(gateway.generation).toBe(generation);
      expect(await gateway.list(rig.workspace)).toEqual([]);
      expect(await connector.gateway()).toBe(gateway);
      const [file = ''] = await readdir(state);
      process.kill(Number.parseInt(file, 10), 'SIGKILL');
      const replaced = await until(
        async () => {
          const next = await connector.gateway();
          return next !== gateway && next;
        },
        60_000,
        () => 'never replaced',
      );
      expect(await replaced.list(rig.workspace)).toEqual([]);
    } finally {
      await connector.close();
    }
    expect(await readdir(state)).toEqual([]);
  });

  it('says what is missing: no executable, a broken one, one that is too old', async () => {
    const script = async (name: string, text: string): Promise<string> => {
      const file = join(rig.home, name);
      await writeFile(file, `#!/bin/sh\n${text}\n`);
      await chmod(file, 0o755);
      return file;
    };
    const empty = join(rig.home, 'empty');
    await mkdir(empty, { recursive: true });
    const attempt = (binary: string | undefined, extra: Record<string, string> = {}): Promise<unknown> => {
      const env = { ...rig.env, PATH: empty, HOME: empty, ...extra };
      return new OwnServer({ binary, env, cwd: rig.workspace, stateFolder: state }).ensure();
    };
    await expect(attempt(undefined)).rejects.toMatchObject({
      reason: 'opencode-missing',
      message: expect.stringContaining('npm install -g opencode-ai') as string,
    });
    await expect(attempt(join(rig.home, 'nothing'))).rejects.toMatchObject({ reason: 'opencode-missing' });
    await expect(attempt(undefined, { OPENCODE_BIN: join(rig.home, 'nothing') })).rejects.toMatchObject({
      reason: 'opencode-missing',
    });
    await expect(attempt(await script('broken', 'exit 3'))).rejects.toMatchObject({ reason: 'opencode-missing' });
    await expect(attempt(await script('old', 'echo 1.1.65'))).rejects.toMatchObject({
      reason: 'opencode-too-old',
      message: expect.stringContaining('opencode upgrade') as string,
    });
    const dies = await script(
      'dies',
      'if [ "$1" = --version ]; then echo 1.18.33; else echo "no room" >&2; exit 1; fi',
    );
    await expect(attempt(dies)).rejects.toMatchObject({
      reason: 'server-failed',
      message: expect.stringContaining('no room') as string,
    });
    expect(await readdir(state)).toEqual([]);
  });
});
