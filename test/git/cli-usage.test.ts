import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useBuilt, Desk, runProgram } from './cli-rig';

const program = useBuilt('cli');
let desk: Desk;
beforeEach(() => {
  desk = new Desk(program());
  desk.write({ 'a.txt': '1' });
});
afterEach(() => desk.dispose());

describe('wrong usage', () => {
  const wrong: string[][] = [
    [],
    ['bogus'],
    ['backup'],
    ['backup', 'bogus'],
    ['backup', 'verify', 'x'],
    ['sync'],
    ['sync', 'push'],
    ['plugin'],
    ['task'],
    ['list', '--bogus'],
    ['--bogus', 'list'],
    ['create', 'a', 'b'],
    ['restore'],
    ['rename', 'a'],
    ['cat', 'a'],
    ['delete'],
    ['list', '--limit'],
    ['originals', 'bogus'],
    ['create', '-x'],
    ['list', '--json=yes'],
  ];

  it.each(wrong.map((args) => [args]))('%j exits 2, with a hint on stderr', async (args) => {
    const ran = await desk.run(args);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toMatch(/^error: .+\.\nSee `opencode-checkpoints .*--help`\.\n$/);
  });

  it.each(wrong.map((args) => [args]))('%j is a document with --json', async (args) => {
    const { reason, message } = await desk.refusal(args, 2);
    expect(reason).toBe('usage');
    expect(message).toMatch(/--help`\.$/);
  });

  it('is found before a workspace is looked for', async () => {
    const ran = await desk.run(['--cwd', '/nowhere', 'list', '--bogus']);
    expect(ran.code).toBe(2);
  });
});

describe('a current folder that is gone', () => {
  const inGone = (line: string) =>
    runProgram(
      'bash',
      ['-c', `mkdir gone && cd gone && rmdir ../gone && exec "$0" "$1" ${line}`, process.execPath, program()],
      {
        cwd: desk.root,
        env: desk.env,
      },
    );

  it('is said, as a document with --json; another one can be named', async () => {
    const ran = await inGone('list --json');
    expect(ran).toMatchObject({ code: 1, stderr: '' });
    expect(JSON.parse(ran.stdout)).toMatchObject({ error: { reason: 'invalid-argument' } });
    expect((await inGone('list')).stderr).toMatch(/^error: The current folder does not exist any more\.\n/);
    expect(await inGone(`--cwd ${desk.root} list --json`)).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('plugin', () => {
  it('is installed for all projects from a folder that is none', async () => {
    const at = { cwd: desk.home };
    const built = path.join(path.dirname(program()), 'opencode-plugin.js');
    const made = !existsSync(built);
    if (made) writeFileSync(built, 'export default {};\n');
    try {
      expect((await desk.refusal(['plugin', 'install'], 1, at)).reason).toBe('refused-root');
      const installed = await desk.run(['plugin', 'install', '--global'], at);
      // Who installs it has to know when it works, and how to see that.
      expect(installed.stdout).toMatch(/^Installed .*\nOpenCode 2 loads it at once, OpenCode 1 .*plugin status/);
      expect((await desk.run(['plugin', 'install', '--global'], at)).stdout).toMatch(/^Already there: [^\n]*\n$/);
      const { plugin } = await desk.answer<{ plugin: { global: unknown; project: unknown } }>(['plugin', 'status'], at);
      expect(plugin).toMatchObject({ global: { outdated: false }, project: null });
      const [copy = ''] = /\S+\.js/.exec(installed.stdout) ?? [];
      writeFileSync(copy, '// opencode-checkpoints 0.0.1 0123456789ab\nexport default {};\n');
      const old = await desk.run(['plugin', 'status'], at);
      expect(old.stdout).toMatch(/^global {3}0\.0\.1, outdated: run `plugin install --global` {2}/m);
      await desk.answer(['plugin', 'uninstall', '--global'], at);
    } finally {
      if (made) rmSync(built);
    }
  });
});

describe('help and version', () => {
  it('go to stdout, exit 0, and need no workspace and no git', async () => {
    const { version } = JSON.parse(readFileSync(path.resolve(__dirname, '../../package.json'), 'utf8')) as {
      version: string;
    };
    const options = { cwd: desk.home, env: { PATH: '/nowhere' } };
    expect(await desk.run(['--version'], options)).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' });
    expect(await desk.answer(['--version'], options)).toEqual({ version });
    const help = await desk.run(['--help'], options);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    for (const command of ['create', 'list', 'show', 'diff', 'cat', 'restore', 'undo', 'redo', 'revert-turn', 'doctor'])
      expect(help.stdout).toMatch(new RegExp(`^  ${command} `, 'm'));
    expect((await desk.run(['restore', '--help'], options)).stdout).toContain('--allow-mass-delete');
    expect((await desk.run(['help', 'restore'], options)).stdout).toContain('--allow-mass-delete');
  });
});

describe('output', () => {
  it('errors are sentences with a way out on stderr', async () => {
    const ran = await desk.run(['show', 'nope']);
    expect(ran).toMatchObject({ code: 1, stdout: '' });
    expect(ran.stderr).toMatch(/^error: .*nope.*\.\n`opencode-checkpoints list` .*\.\n$/);
  });

  it('has no colours when it is not read by a person', async () => {
    await desk.run(['create', 'x']);
    desk.write({ 'a.txt': '2' });
    for (const args of [
      ['list'],
      ['show', 'x'],
      ['diff', '--patch'],
      ['stats'],
      ['show', 'nope'],
      ['restore', 'x', '--dry-run'],
    ]) {
      const ran = await desk.run(args, { env: { FORCE_COLOR: '1', TERM: 'xterm-256color' } });
      expect(ran.stdout + ran.stderr).not.toContain('\u001b');
    }
  });

  it.each([
    ['cat', ['cat', 'x', 'a.txt'], 1],
    ['a document', ['list', '--json'], 1],
    ['help', ['--help'], 1],
  ])('says so, and fails, where it could not be written: %s', async (_, args, expected) => {
    await desk.answer(['create', 'x']);
    const full = openSync('/dev/full', 'w');
    const ended = await new Promise((done, fail) => {
      const child = spawn(process.execPath, [program(), ...args], {
        cwd: desk.root,
        env: desk.env,
        stdio: ['ignore', full, 'pipe'],
      });
      let stderr = '';
      child.stderr!.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
      child.on('error', fail);
      child.on('close', (code) => done([code, stderr]));
    }).finally(() => closeSync(full));
    expect(ended).toEqual([expected, expect.stringMatching(/^error: The output could not be written: ENOSPC/)]);
  });

  it('survives a reader that goes away, and does its work to the end', async () => {
    for (let i = 0; i < 3; i++) await desk.answer(['create', `${i} ${'x'.repeat(190)}`]);
    const code = await new Promise<number | null>((done, fail) => {
      const child = spawn(process.execPath, [program(), 'clear', '--yes'], { cwd: desk.root, env: desk.env });
      child.stdout.destroy();
      let stderr = '';
      child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
      child.on('error', fail);
      child.on('close', (ended) => {
        expect(stderr).toBe('');
        done(ended);
      });
    });
    expect(code).toBe(0);
    expect(await desk.answer(['list'])).toEqual({ checkpoints: [] });
  });
});
