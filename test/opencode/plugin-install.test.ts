import { build } from 'esbuild';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startOpenCode, until, type OpenCode } from '../rig/opencode';
import { write } from '../rig/script';
import { generations } from './gateway-fixture';

const run = promisify(execFile);

interface Status {
  plugin: {
    project: { version: string; outdated: boolean } | null;
    server: { generation: string; loaded: boolean; error: string | null } | null;
  };
}

/** The command line and the plugin beside it, as they are in the package. */
let dist: string;
beforeAll(async () => {
  dist = await mkdtemp(join(tmpdir(), 'plugin-dist-'));
  const common = { bundle: true, platform: 'node', target: 'node20', logLevel: 'warning' } as const;
  await build({ ...common, format: 'cjs', entryPoints: ['src/cli/main.ts'], outfile: join(dist, 'cli.js') });
  await build({
    ...common,
    format: 'esm',
    entryPoints: ['src/plugin/main.ts'],
    outfile: join(dist, 'opencode-plugin.js'),
  });
});
afterAll(() => rm(dist, { recursive: true, force: true }));

describe.each(generations)('the plugin on OpenCode %s, installed by the command line', (generation) => {
  let server: OpenCode;
  let registry: Server;
  const asked: string[] = [];
  beforeAll(async () => {
    // A registry that never answers: whoever waits for it would wait for minutes.
    registry = createServer((request) => void asked.push(request.url ?? ''));
    await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
    const { port } = registry.address() as AddressInfo;
    const env = { npm_config_offline: 'false', npm_config_registry: `http://127.0.0.1:${port}/` };
    server = await startOpenCode({ generation, stopped: true, env });
    // OpenCode's own installer puts the program there, and OpenCode 1 searches it for plugins.
    await mkdir(join(server.home, '.opencode', 'bin'), { recursive: true });
  });
  afterAll(async () => {
    await server.dispose();
    registry.closeAllConnections();
    await new Promise((resolve) => registry.close(resolve));
  });

  const cli = async <T>(...args: string[]): Promise<T> => {
    const env = { ...server.env, OPENCODE_SERVER_PASSWORD: server.password };
    const options = { cwd: server.workspace, env };
    const { stdout } = await run(process.execPath, [join(dist, 'cli.js'), ...args, '--json'], options);
    return JSON.parse(stdout) as T;
  };
  const status = (): Promise<Status> => cli('plugin', 'status', '--server', server.url);

  it('is loaded by the next server, which need not wait for any package', async () => {
    const { plugin } = await cli<{ plugin: { path: string; seeded: string[] } }>('plugin', 'install');
    expect(plugin.path).toBe(join(server.workspace, '.opencode/plugins/opencode-checkpoints.js'));
    expect(plugin.seeded).toHaveLength(3);
    await server.start();
    const found = await status();
    expect(found.plugin.project).toMatchObject({ outdated: false });
    expect(found.plugin.server).toMatchObject({ generation, loaded: true, error: null });
    expect(asked).toEqual([]);
    const { stdout } = await run('git', ['status', '--porcelain', '-uall'], { cwd: server.workspace, env: server.env });
    expect(stdout).toBe('?? .opencode/plugins/opencode-checkpoints.js\n');
  });

  it('leaves nothing where it was uninstalled under a running server, which OpenCode 2 notices', async () => {
    const own = join(server.workspace, '.opencode', 'opencode.json');
    await writeFile(own, '{}');
    await cli('plugin', 'uninstall');
    if (generation === 'v2') {
      const isLoaded = async (): Promise<boolean> => (await status()).plugin.server?.loaded === true;
      await until(
        async () => !(await isLoaded()),
        60_000,
        () => 'OpenCode 2 did not let go of it',
      );
    } else {
      await server.turn(await server.createSession('Afterwards'), 'go on without it', [
        { tools: [write('afterwards.txt', 'x\n')] },
        { text: 'Done.' },
      ]);
      const made = async (): Promise<string[]> => {
        const { checkpoints } = await cli<{ checkpoints: Array<{ trigger: string }> }>('list');
        return checkpoints.map(({ trigger }) => trigger);
      };
      await until(
        async () => (await made()).includes('idle'),
        20_000,
        () => 'OpenCode 1 does not go on with it',
      );
      await rm(join(server.workspace, 'afterwards.txt'));
    }
    expect(await readdir(join(server.workspace, '.opencode'))).toEqual(['opencode.json']);
    expect(await readdir(join(server.home, '.opencode'))).toEqual(['bin']);
    await rm(own);
    await cli('plugin', 'install');
  });

  it('is gone after it was uninstalled, and a server started then says so', async () => {
    await server.stop();
    const { removed } = await cli<{ removed: string[] }>('plugin', 'uninstall');
    expect(removed).toHaveLength(1);
    expect(await readdir(server.workspace)).not.toContain('.opencode');
    expect(await readdir(join(server.home, '.opencode'))).toEqual(['bin']);
    await server.start();
    const found = await status();
    expect(found.plugin.project).toBeNull();
    expect(found.plugin.server).toMatchObject({ loaded: false });
  });

  it('is loaded for all projects, with no tools, and after the task has made a folder in the project', async () => {
    await server.stop();
    asked.splice(0);
    const none = join(server.home, 'config', 'opencode-checkpoints');
    await mkdir(none, { recursive: true });
    await writeFile(join(none, 'config.json'), JSON.stringify({ tools: 'none' }));
    await cli('plugin', 'install', '--global');
    await cli('task', 'set', '--title', 'Something to be exported');
    expect(await readdir(join(server.workspace, '.opencode'))).toContain('state');
    await server.start();
    expect((await status()).plugin.server).toMatchObject({ loaded: true, error: null });
    expect(asked).toEqual([]);
    const { stdout } = await run('git', ['status', '--porcelain', '-uall'], { cwd: server.workspace, env: server.env });
    expect(stdout).toBe('');
  });

  if (generation === 'v1')
    it('is not waited for in a folder that came while it worked, nor by a server of ours', async () => {
      const late = join(server.home, '.opencode');
      await rm(late, { recursive: true });
      await mkdir(join(late, 'bin'), { recursive: true });
      const session = await server.createSession('Late');
      await server.turn(session, 'say something');
      await until(
        async () => (await readdir(late)).includes('package.json'),
        20_000,
        () => 'the new folder was never looked at',
      );
      await server.stop();
      await server.start();
      await server.stop();
      // One that comes while nobody runs; the command line starts OpenCode itself.
      await rm(late, { recursive: true });
      await mkdir(join(late, 'bin'), { recursive: true });
      const env = { ...server.env, OPENCODE_BIN: server.binary };
      const args = [join(dist, 'cli.js'), 'create', 'with it', '--session', session, '--json'];
      const { stdout } = await run(process.execPath, args, { cwd: server.workspace, env });
      expect(JSON.parse(stdout)).toMatchObject({ checkpoint: { session: { id: session, messageCount: 2 } } });
      expect(asked).toEqual([]);
    });
});
