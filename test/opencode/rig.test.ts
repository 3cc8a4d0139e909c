import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startOpenCode, until, type Generation, type OpenCode } from '../rig/opencode';
import { edit, patch, shell, subagent, write } from '../rig/script';

const generations: Generation[] = ['v1', 'v2'];

describe.each(generations)('the OpenCode rig on %s', (generation) => {
  let server: OpenCode;
  beforeAll(async () => {
    server = await startOpenCode({ generation });
  });
  afterAll(async () => {
    await server.dispose();
    expect(existsSync(server.home)).toBe(false);
  });
  const file = (path: string): string => readFileSync(join(server.workspace, path), 'utf8');

  it('plays a turn that edits real files, calls of one step in parallel', async () => {
    const session = await server.createSession();
    const prompt = await server.turn(session, 'make two files', [
      { text: 'Writing.', tools: [write('a.txt', 'one\n'), shell('printf two > b.txt')] },
      { tools: [edit('a.txt', 'one', 'three')] },
      { text: 'Done.' },
    ]);
    expect(file('a.txt')).toBe('three\n');
    expect(file('b.txt')).toBe('two');
    const messages = await server.messages(session);
    expect(messages[0]?.id).toBe(prompt);
    const types = messages.map((message) => message.type).filter((type) => type === 'user' || type === 'assistant');
    expect(types).toEqual(['user', 'assistant', 'assistant', 'assistant']);
    expect(messages.some((message) => message.text.includes('Done.'))).toBe(true);
    expect(server.model.requests.at(-1)?.messages.filter((message) => message.role === 'tool')).toHaveLength(3);
  });

  it('runs a sub-agent with a script of its own', async () => {
    const session = await server.createSession();
    server.model.on('the inner work', [{ tools: [write('inner.txt', 'inner\n')] }, { text: 'Inner done.' }]);
    await server.turn(session, 'delegate it', [{ tools: [subagent('the inner work')] }, { text: 'Outer done.' }]);
    expect(file('inner.txt')).toBe('inner\n');
    expect((await server.messages(session)).at(-1)?.text ?? '').not.toContain('error');
  });

  it('stays busy as long as the model keeps it waiting, and can be interrupted', async () => {
    const session = await server.createSession();
    await server.prompt(session, 'take your time', [{ text: 'Thinking', hangMs: 60_000 }]);
    await until(
      () => server.busy(session),
      20_000,
      () => 'never busy',
    );
    await server.interrupt(session);
    expect(await server.busy(session)).toBe(false);
  });

  it('survives an error of the model and goes on', async () => {
    const session = await server.createSession();
    await server.turn(session, 'fail once', [{ error: { status: 400, message: 'scripted refusal' } }]);
    await server.turn(session, 'and now', [{ text: 'Fine.' }]);
    expect((await server.messages(session)).some((message) => message.text.includes('Fine.'))).toBe(true);
  });

  it('summarises a session by itself', async () => {
    const session = await server.createSession();
    await server.turn(session, 'remember this');
    await server.compact(session);
    expect(server.model.requests.some((request) => request.kind === 'summary')).toBe(true);
    expect(JSON.stringify((await server.messages(session)).map((message) => message.raw))).toContain(
      'Scripted objective',
    );
  });

  it('names a session that has no title', async () => {
    const session = await server.createSession(null);
    await server.turn(session, 'what is this about');
    const path = generation === 'v1' ? `/session/${session}` : `/api/session/${session}`;
    await until(
      async () => JSON.stringify(await server.call('GET', path)).includes('Scripted title'),
      20_000,
      () => 'no title came',
    );
  });

  it('has a second server on the same data', async () => {
    const session = await server.createSession('Shared');
    const second = await startOpenCode({ generation, sharing: server });
    expect(second.url).not.toBe(server.url);
    await server.turn(session, 'seen by both');
    expect((await second.messages(session)).map((message) => message.id)).toEqual(
      (await server.messages(session)).map((message) => message.id),
    );
    await second.dispose();
    expect(existsSync(server.workspace)).toBe(true);
    expect((await server.request('GET', '/')).status).toBeLessThan(500);
  });

  it('is gone after a stop and comes back on its port with its data', async () => {
    const session = await server.createSession('Kept');
    const { pid, url } = server;
    await server.stop();
    expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);
    await server.start();
    expect(server.url).toBe(url);
    expect(await server.messages(session)).toEqual([]);
  });
});

describe.each(generations)('the OpenCode rig on %s, with options', (generation) => {
  it('offers the patch tool, asks for permission, and works without git', async () => {
    const server = await startOpenCode({
      generation,
      git: false,
      modelId: 'gpt-5-scripted',
      permissions: { '*': 'allow', edit: 'ask' },
      files: { 'sub/a.txt': 'one\n' },
    });
    try {
      const session = await server.createSession();
      const text = '*** Begin Patch\n*** Update File: sub/a.txt\n@@\n-one\n+two\n*** End Patch';
      await server.prompt(session, 'patch it', [{ tools: [patch(text)] }, { text: 'Patched.' }]);
      const [question] = await until(
        async () => {
          const list = await server.permissions(session);
          return list.length > 0 && list;
        },
        30_000,
        () => 'no question',
      );
      expect(question?.action).toBe('edit');
      expect(readFileSync(join(server.workspace, 'sub/a.txt'), 'utf8')).toBe('one\n');
      await server.answer(session, question?.id ?? '', 'once');
      await server.idle(session);
      expect(readFileSync(join(server.workspace, 'sub/a.txt'), 'utf8')).toBe('two\n');
      expect(existsSync(join(server.workspace, '.git'))).toBe(false);
    } finally {
      await server.dispose();
    }
  });
});

describe('a guarded process', () => {
  it('ends when the test process is killed', async () => {
    const home = await mkdtemp(join(tmpdir(), 'guarded-'));
    try {
      const bundle = join(home, 'starter.cjs');
      const source = `
        import { startGuarded } from './opencode-process';
        const options = { cwd: '/', env: process.env, logFile: process.argv[2] };
        void startGuarded('sleep', ['600'], options).then(({ pid }) => process.stdout.write(String(pid)));
        setInterval(() => undefined, 1000);`;
      await build({
        stdin: { contents: source, resolveDir: join(__dirname, '..', 'rig'), loader: 'ts' },
        bundle: true,
        platform: 'node',
        format: 'cjs',
        outfile: bundle,
      });
      const starter = spawn(process.execPath, [bundle, join(home, 'log')], { stdio: ['ignore', 'pipe', 'inherit'] });
      const pid = await new Promise<number>((resolve) => starter.stdout.once('data', (data) => resolve(Number(data))));
      expect(process.kill(pid, 0)).toBe(true);
      starter.kill('SIGKILL');
      await until(
        () => {
          try {
            process.kill(pid, 0);
            return false;
          } catch {
            return true;
          }
        },
        10_000,
        () => 'it outlived its test',
      );
    } finally {
      await rm(home, { recursive: true });
    }
  });
});
