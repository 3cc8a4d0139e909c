import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installedPlugin } from '../../src/opencode/plugin-install';
import { Workbench, launchBrowser } from '../rig/browser';
import { stateFileOf } from '../demo/state.mjs';
import { locate } from '../rig/install.mjs';
import { until } from '../rig/opencode-process';
import { processesOf } from '../run/processes.mjs';

const start = fileURLToPath(new URL('../demo/start.mjs', import.meta.url));
const prompt = fileURLToPath(new URL('../demo/prompt.mjs', import.meta.url));

/** The triggers of the demo's checkpoints, oldest first, read by git itself. */
function triggers(workspace: string): string[] {
  const store = join(dirname(workspace), 'store', 'workspaces');
  return (existsSync(store) ? readdirSync(store) : []).flatMap((id) => {
    const args = [
      '--git-dir',
      join(store, id, 'snapshots.git'),
      'for-each-ref',
      '--format=%(body)',
      'refs/checkpoints',
    ];
    const lines = execFileSync('git', args).toString().split('\n');
    return lines.filter(Boolean).map((line) => (JSON.parse(line) as { trigger: string }).trigger);
  });
}

/** `npm start` as a stranger meets it: one command, one address, a story to play, Ctrl+C. */
describe('the demo', () => {
  let demo: ChildProcess;
  let output = '';
  let exited: Promise<number | null>;
  let browser: Browser;
  let workspace: string;
  let workbench: Workbench;

  beforeAll(async () => {
    demo = spawn(process.execPath, [start, '--browser', '--scripted', '--no-build'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      // As many have it in their shells; VS Code's server would follow it.
      env: { ...process.env, PORT: '9', CODE_SERVER_HOST: '0.0.0.0' },
    });
    for (const stream of [demo.stdout, demo.stderr])
      stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    exited = new Promise((resolve) => demo.once('exit', (code) => resolve(code)));
    const ready = (): boolean => output.includes('Ctrl+C') || demo.exitCode !== null;
    await until(ready, 120_000, () => `the demo did not start:\n${output}`);
    const url = /Open\s+(http:\S+)/.exec(output)?.[1];
    if (url === undefined) throw new Error(`no address:\n${output}`);
    workspace = new URL(url).searchParams.get('folder') ?? '';
    const { chromium } = await locate(['chromium']);
    browser = await launchBrowser(chromium ?? '');
    workbench = await Workbench.open(browser, url);
  });

  afterAll(async () => {
    await browser?.close();
    demo.kill('SIGINT');
    await exited;
  });

  it('prints one address and says which model it uses', () => {
    expect(output.match(/http:\/\//g)).toHaveLength(1);
    expect(output).toMatch(/OpenCode 2\.\d+\.\d+ with a scripted model on this machine/);
  });

  it('shows the read me with the story', async () => {
    await workbench.webview('text=made to be changed by an agent');
    await workbench.screenshot('demo-readme');
  });

  it('has the plugin as a user would have it: VS Code knows it, and offers none', async () => {
    const checkout = dirname(dirname(dirname(start)));
    const { version } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8')) as { version: string };
    const bundle = join(checkout, 'dist', 'opencode-plugin.js');
    const plugin = await installedPlugin('project', { bundle, version, root: workspace });
    expect(plugin).toMatchObject({ version, outdated: false });
    await workbench.openContainer('Checkpoints');
    await workbench.page.getByText('No checkpoints yet').waitFor();
    await workbench.screenshot('demo-welcome');
  });

  it('lets a task ask the agent, who edits files', async () => {
    await workbench.command('Tasks: Run Task');
    await workbench.pick(/refactor the greeter/);
    // The terminal is a canvas: what the agent did is read from the files, the last of them last.
    const guide = join(workspace, 'docs', 'languages.md');
    const done = async (): Promise<boolean> => (await readFile(guide, 'utf8')).includes('src/languages.ts');
    await until(done, 60_000, () => 'the agent did not finish its turn');
    expect(await readFile(join(workspace, 'src', 'greeter.ts'), 'utf8')).toContain("from './languages.ts'");
    await workbench.screenshot('demo-task');
  });

  it('shows the checkpoints that the turn made', async () => {
    const all = (): boolean => ['turn', 'tool', 'idle'].every((trigger) => triggers(workspace).includes(trigger));
    await until(all, 60_000, () => `the plugin made only: ${triggers(workspace).join(', ')}`);
    await workbench.openContainer('Checkpoints');
    await workbench.row('Checkpoints', 'refactor the greeter').waitFor();
    await workbench.screenshot('demo-turn');
  });

  it('makes one by hand', async () => {
    expect(triggers(workspace)).not.toContain('manual');
    await workbench.command('Checkpoints: Create Checkpoint');
    await until(
      () => triggers(workspace).includes('manual'),
      60_000,
      () => 'no checkpoint was made',
    );
    await workbench.screenshot('demo-checkpoint');
  });

  it('takes a prompt from a second terminal, which has none of its variables', async () => {
    const home = await mkdtemp(join(tmpdir(), 'checkpoints-second-terminal-'));
    try {
      const env = { PATH: process.env['PATH'], HOME: home };
      const { stdout } = await promisify(execFile)(process.execPath, [prompt, 'add tests for every language'], { env });
      expect(stdout).toContain('four greetings are tested');
      expect(await readFile(join(workspace, 'test', 'greeter.test.ts'), 'utf8')).toContain('Bonjour, Ada !');
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });

  it('keeps in its own folder what the editor puts into the temporary one', async () => {
    await workbench.openFile('src/greeter.ts');
    const own = (): string[] => readdirSync(join(dirname(workspace), 'tmp'));
    const ofTypeScript = (): boolean => own().some((name) => name.startsWith('vscode-typescript'));
    await until(ofTypeScript, 60_000, () => `the temporary folder of the demo has only: ${own().join(', ')}`);
  });

  it('leaves nothing after Ctrl+C', async () => {
    const folder = dirname(workspace);
    expect(processesOf(-1, folder).length).toBeGreaterThan(0);
    await workbench.close();
    demo.kill('SIGINT');
    expect(await exited).toBe(0);
    expect(existsSync(folder)).toBe(false);
    expect(processesOf(-1, folder)).toEqual([]);
    expect(existsSync(stateFileOf(demo.pid ?? 0))).toBe(false);
  });
});

describe('the demo whose VS Code server dies', () => {
  it('says so, and stops', async () => {
    const demo = spawn(process.execPath, [start, '--browser', '--scripted', '--no-build'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [demo.stdout, demo.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const exited = new Promise<number | null>((resolve) => demo.once('exit', (code) => resolve(code)));
    try {
      const ready = (): boolean => output.includes('Ctrl+C') || demo.exitCode !== null;
      await until(ready, 120_000, () => `the demo did not start:\n${output}`);
      const folder = /folder=(\S+)/.exec(output)?.[1];
      const home = dirname(decodeURIComponent(folder ?? ''));
      // The server leads a process group of its own.
      const server = processesOf(-1, home).find(({ command }) => command.includes('--bind-addr'));
      if (server === undefined) throw new Error('the VS Code server was not found');
      process.kill(-server.pid, 'SIGKILL');
      expect(await exited).toBe(0);
      expect(output).toMatch(/VS Code has ended: stopping\n$/);
      expect(existsSync(home)).toBe(false);
      expect(processesOf(-1, home)).toEqual([]);
    } finally {
      if (demo.exitCode === null) demo.kill('SIGINT');
      await exited;
    }
  });
});
