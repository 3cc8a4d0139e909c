import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anchorBefore } from '../../src/core/anchors';
import type { Checkpoint, RestorePlan, RestoreResult } from '../../src/core/model';
import { turnAt, turnInfo, turnsOf } from '../../src/core/turns';
import { openWorkspace } from '../../src/git/open';
import { useBuilt, runProgram, type Ran } from '../git/cli-rig';
import { startOpenCode, type OpenCode } from '../rig/opencode';
import { todos, write } from '../rig/script';
import { countIn, gatewayTo, generations } from './gateway-fixture';
import { answering, standBefore, type Proxy } from './proxy';

const program = useBuilt('cli');

/** Passes everything on, but answers forks with an error: what a server that fails in the middle of a restore looks like. */
const withoutForks = (target: string): Promise<Proxy> =>
  standBefore(target, (incoming, outgoing) => {
    if (incoming.method !== 'POST' || !/\/fork\b/.test(incoming.url ?? '')) return true;
    outgoing.writeHead(500, { 'content-type': 'application/json' }).end('{"name":"UnknownError"}');
    return false;
  });

/** Passes everything on until a fork was made, then nothing: a server that dies right after it. */
const deadAfterFork = (target: string): Promise<Proxy> => {
  let forked = false;
  return standBefore(target, (incoming, outgoing) => {
    forked ||= incoming.method === 'PATCH';
    if (forked) outgoing.destroy();
    return !forked;
  });
};

describe.each(generations)('the command line and a conversation on %s', (generation) => {
  let server: OpenCode;
  beforeAll(async () => {
    server = await startOpenCode({ generation, files: { 'a.txt': 'one\n' } });
  });
  afterAll(() => server.dispose());

  const run = (args: string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> =>
    runProgram(process.execPath, [program(), ...args, '--json'], {
      cwd: server.workspace,
      env: { ...server.env, OPENCODE_SERVER_URL: server.url, ...env },
    });
  const answer = async <T>(args: string[], env: NodeJS.ProcessEnv = {}): Promise<T> => {
    const ran = await run(args, env);
    expect({ code: ran.code, stdout: ran.stdout, stderr: ran.stderr }).toMatchObject({ code: 0, stderr: '' });
    return JSON.parse(ran.stdout) as T;
  };
  const refusal = async (args: string[], env: NodeJS.ProcessEnv = {}): Promise<string> => {
    const ran = await run(args, env);
    expect(ran).toMatchObject({ code: 1, stderr: '' });
    return (JSON.parse(ran.stdout) as { error: { reason: string } }).error.reason;
  };
  const create = async (...args: string[]): Promise<Checkpoint> =>
    (await answer<{ checkpoint: Checkpoint }>(['create', ...args])).checkpoint;
  const read = (): string => readFileSync(path.join(server.workspace, 'a.txt'), 'utf8');
  const put = (text: string): void => writeFileSync(path.join(server.workspace, 'a.txt'), text);

  const sessions = async (): Promise<string[]> => {
    const where = `${generation === 'v1' ? '/session' : '/api/session'}?directory=${encodeURIComponent(server.workspace)}`;
    const list = await server.call<Array<{ id: string }> | { data: Array<{ id: string }> }>('GET', where);
    return (Array.isArray(list) ? list : list.data).map(({ id }) => id);
  };

  /** Two turns of two messages and a file each; returns the session and the first turn's prompt. */
  async function twoTurns(name: string): Promise<{ session: string; prompt: string; checkpoint: Checkpoint }> {
    const session = await server.createSession(name);
    const prompt = await server.turn(session, `${name}: first`, [
      { text: 'One.', tools: [write('a.txt', 'first\n')] },
      { text: 'Done.' },
    ]);
    const checkpoint = await create(name, '--session', session);
    await server.turn(session, `${name}: second`, [
      { text: 'Two.', tools: [write('a.txt', 'second\n')] },
      { text: 'Done.' },
    ]);
    return { session, prompt, checkpoint };
  }

  it('anchors at the last message, or through the one that is named', async () => {
    const { session, prompt, checkpoint } = await twoTurns('anchor');
    expect(checkpoint.session).toMatchObject({ id: session, messageCount: 3, title: 'anchor', parent: null });
    const last = await create('all', '--session', session);
    expect(last.session?.messageCount).toBe(await countIn(server, session));
    const through = await create('through', '--session', session, '--message', prompt);
    expect(through.session).toMatchObject({ id: session, messageId: prompt, messageCount: 1 });
    expect(await refusal(['create', '--session', session, '--message', 'msg_nowhere'])).toBe('message-missing');
    expect(await refusal(['create', '--session', 'ses_0000000000000000000000000'])).toBe('session-missing');
    const listed = await answer<{ checkpoints: Checkpoint[] }>(['list', '--session', session]);
    expect(listed.checkpoints.map((one) => one.id)).toEqual([through.id, last.id, checkpoint.id]);
    expect((await run(['create', '--message', prompt])).code).toBe(2);
  });

  it('brings files, conversation and task back together, with the prompt alone, and undoes files and task at once', async () => {
    const { session, prompt } = await twoTurns('together');
    await answer(['task', 'set', '--title', 'Then', '--next', 'go on']);
    await create('then', '--session', session, '--message', prompt);
    await answer(['task', 'set', '--title', 'Now', '--note', 'came later']);
    put('third\n');
    type Task = { task: { title?: string; nextSteps?: string[]; notes?: string[] } };
    const { result } = await answer<{ result: RestoreResult }>([
      'restore',
      'then',
      '--scope',
      'files,conversation,task',
    ]);
    expect([result.restored, read()]).toEqual([['a.txt'], 'second\n']);
    const forked = (await server.messages(result.session?.id ?? '')).filter(({ type }) =>
      /^(user|assistant)$/.test(type),
    );
    const isNote = ({ text }: { text: string }): boolean => text.startsWith('[Checkpoints]');
    expect(forked.filter((message) => !isNote(message)).map(({ text }) => text)).toEqual(['together: first']);
    const then = (await answer<Task>(['task', 'show'])).task;
    expect([then.title, then.nextSteps, then.notes ?? []]).toEqual(['Then', ['go on'], []]);
    await answer(['undo']);
    const now = (await answer<Task>(['task', 'show'])).task;
    expect([read(), now.title, now.notes]).toEqual(['third\n', 'Now', ['came later']]);
    expect(await sessions()).toContain(result.session?.id);
  });

  it('forks exactly what belongs to the checkpoint, together with the files, and undoes the files', async () => {
    const { session, checkpoint } = await twoTurns('fork');
    const before = await server.messages(session);
    const { plan } = await answer<{ plan: RestorePlan }>([
      'restore',
      'fork',
      '--scope',
      'files,conversation',
      '--dry-run',
    ]);
    expect(plan.conversation).toEqual({ session, messageCount: 3, currentCount: 6 });
    expect(plan.entries).toEqual([expect.objectContaining({ path: 'a.txt', action: 'write' })]);
    const { result } = await answer<{ result: RestoreResult }>(['restore', 'fork', '--scope', 'files,conversation']);
    expect(result.restored).toEqual(['a.txt']);
    expect(read()).toBe('first\n');
    const forked = result.session?.id ?? '';
    expect(forked).not.toBe(session);
    const texts = (list: Array<{ type: string; text: string }>): string[] =>
      list.filter(({ type }) => type === 'user' || type === 'assistant').map(({ text }) => text);
    const messages = await server.messages(forked);
    expect(texts(messages).filter((text) => !text.startsWith('[Checkpoints]'))).toEqual(texts(before).slice(0, 3));
    expect(await server.messages(session)).toEqual(before);
    const safety = (await answer<{ checkpoint: Checkpoint }>(['show', result.undo ?? ''])).checkpoint;
    expect(safety.restore).toMatchObject({ target: checkpoint.id, scope: ['files', 'conversation'], session: forked });
    // It is a point of before the restore: all of the conversation belongs to it.
    expect(safety.session).toMatchObject({ id: session, messageCount: 6 });
    const undone = await answer<{ result: RestoreResult }>(['undo']);
    expect(read()).toBe('second\n');
    // The fork stays, and is named.
    expect(undone.result).toMatchObject({ session: null, fork: { id: forked } });
    expect(await server.messages(forked)).toEqual(messages);
    const redone = await answer<{ result: RestoreResult }>(['redo']);
    expect(redone.result.fork).toBeUndefined();
  });

  it('forks alone, and leaves the files', async () => {
    await twoTurns('alone');
    put('mine\n');
    const { result } = await answer<{ result: RestoreResult }>(['restore', 'alone', '--scope', 'conversation']);
    // Undo would take back whatever restore was the last before: there is nothing of this one to go back to.
    expect(result).toMatchObject({
      restored: [],
      deleted: [],
      session: { id: expect.any(String) as string },
      undo: null,
    });
    expect(read()).toBe('mine\n');
  });

  it('takes the files back when the fork fails', async () => {
    await twoTurns('rollback');
    put('mine\n');
    const proxy = await withoutForks(server.url);
    try {
      const env = { OPENCODE_SERVER_URL: proxy.url };
      const reason = await refusal(['restore', 'rollback', '--scope', 'files,conversation'], env);
      expect(['server-failed', 'fork-mismatch']).toContain(reason);
      expect(read()).toBe('mine\n');
      const { stdout } = await run(['restore', 'rollback', '--scope', 'files,conversation'], env);
      expect(stdout).toContain('Nothing was restored: everything is as it was before.');
      const { problems } = await answer<{ problems: unknown[] }>(['doctor']);
      expect(problems).toEqual([]);
    } finally {
      proxy.server.close();
    }
  });

  it('names the copy that it could not take away, when the server dies right after it', async () => {
    await twoTurns('left');
    put('mine\n');
    const known = new Set(await sessions());
    const proxy = await deadAfterFork(server.url);
    try {
      const env = { OPENCODE_SERVER_URL: proxy.url };
      const ran = await run(['restore', 'left', '--scope', 'files,conversation'], env);
      const { error } = JSON.parse(ran.stdout) as { error: { reason: string; message: string } };
      expect(error.reason).toBe('server-unreachable');
      const left = (await sessions()).filter((id) => !known.has(id));
      expect(left).toHaveLength(1);
      expect(error.message).toContain(`session ${left[0]}, could not be deleted`);
      expect(error.message).toContain('Nothing was restored: files and task are as they were before.');
      expect(read()).toBe('mine\n');
    } finally {
      proxy.server.close();
    }
  });

  it('says so when the server answers with what cannot be read, and restores the files all the same', async () => {
    const { session } = await twoTurns('strange');
    const strange = generation === 'v1' ? `GET /session/${session}/message` : `GET /api/session/${session}/message`;
    for (const document of [null, {}, [{}], { data: [null] }]) {
      const proxy = await answering(server.url, { [strange]: document });
      const env = { OPENCODE_SERVER_URL: proxy.url };
      try {
        put('mine\n');
        const ran = await run(['restore', 'strange', '--scope', 'files,conversation'], env);
        const { error } = JSON.parse(ran.stdout) as { error: { reason: string; message: string } };
        expect(error.reason).toBe('server-failed');
        expect(error.message).toContain('did not answer with a list of messages');
        expect(error.message).toContain('Update OpenCode');
        expect(read()).toBe('mine\n');
        const { result } = await answer<{ result: RestoreResult }>(['restore', 'strange'], env);
        expect(result.restored).toEqual(['a.txt']);
      } finally {
        proxy.server.close();
      }
    }
  });

  it('gives all of a prompt back, and says which todos the fork has not', async () => {
    const session = await server.createSession('long prompt');
    // OpenCode 2 has no todos.
    const plan = generation === 'v1' ? [{ tools: [todos('first', 'second')] }, { text: 'Planned.' }] : undefined;
    await server.turn(session, 'plan it', plan);
    const prompt = `Do this.\n${'and that '.repeat(100)}end`;
    const message = await server.turn(session, prompt, [{ text: 'Done.' }]);
    const gateway = await gatewayTo(server);
    const workspace = await openWorkspace({
      directory: server.workspace,
      home: path.join(server.home, 'data', 'opencode-checkpoints'),
    });
    const messages = await gateway.messages(session);
    const turn = turnAt(turnsOf(messages), message);
    const point = await workspace.create({
      trigger: 'turn',
      session: anchorBefore(await gateway.get(session), messages, message),
      turn: turn && turnInfo(turn),
    });
    await workspace.close();
    const restore = ['restore', point.id, '--scope', 'conversation'];
    const { result } = await answer<{ result: RestoreResult }>(restore, { OPENCODE_BIN: '/nowhere/opencode' });
    expect(result).toMatchObject({ prompt, ...(generation === 'v1' ? { todosLost: 2 } : {}) });
    const carried = await answer<{ result: RestoreResult }>(restore, { OPENCODE_BIN: server.binary });
    expect(carried.result.todosLost).toBeUndefined();
    if (generation === 'v1') expect(await gateway.todos(carried.result.session?.id ?? '')).toHaveLength(2);
  });

  it('refuses a session at work, unless it is told to go on', async () => {
    const { session } = await twoTurns('busy');
    await server.prompt(session, 'busy: long', [{ text: 'Wait.', hangMs: 60_000 }]);
    expect(await refusal(['restore', 'busy', '--scope', 'files,conversation'])).toBe('session-busy');
    // An agent at work would change the files again while they are restored.
    expect(await refusal(['restore', 'busy', '--scope', 'files'])).toBe('session-busy');
    expect(read()).toBe('second\n');
    const { result } = await answer<{ result: RestoreResult }>([
      'restore',
      'busy',
      '--scope',
      'files,conversation',
      '--force',
    ]);
    expect(result.session?.id).toBeTruthy();
    expect(read()).toBe('first\n');
    await server.interrupt(session);
  });

  it('refuses while another session is at work on the same files', async () => {
    const { session } = await twoTurns('kin');
    const { result } = await answer<{ result: RestoreResult }>(['restore', 'kin', '--scope', 'conversation']);
    const fork = result.session?.id ?? '';
    await server.prompt(fork, 'kin: long', [{ text: 'Wait.', hangMs: 60_000 }]);
    for (const scope of ['files,conversation', 'files']) {
      const ran = await run(['restore', 'kin', '--scope', scope]);
      expect(ran.code).toBe(1);
      expect(JSON.parse(ran.stdout)).toMatchObject({
        error: { reason: 'session-busy', message: expect.stringContaining(`Session ${fork} is at work`) as string },
      });
    }
    expect(read()).toBe('second\n');
    // No file is touched by a fork of the other one.
    const alone = await answer<{ result: RestoreResult }>(['restore', 'kin', '--scope', 'conversation']);
    expect(alone.result.session?.id).not.toBe(session);
    await server.interrupt(fork);
  });

  it('refuses, and changes nothing, when the server or the session is not there', async () => {
    const { session } = await twoTurns('gone');
    put('mine\n');
    const scope = ['restore', 'gone', '--scope', 'files,conversation'];
    expect(await refusal(scope, { OPENCODE_SERVER_URL: 'http://127.0.0.1:9' })).toBe('server-unreachable');
    expect(await refusal([...scope, '--server', 'http://127.0.0.1:9'])).toBe('server-unreachable');
    if (generation === 'v1') {
      await server.call('DELETE', `/session/${session}`);
      expect(await refusal(scope)).toBe('session-missing');
    }
    expect(read()).toBe('mine\n');
  });

  it('starts a server for the call when none is named, and leaves none', async () => {
    const { session } = await twoTurns('own');
    const env = { OPENCODE_SERVER_URL: undefined, OPENCODE_BIN: server.binary };
    await server.stop();
    try {
      const { checkpoint } = await answer<{ checkpoint: Checkpoint }>(['create', '--session', session], env);
      expect(checkpoint.session).toMatchObject({ id: session, messageCount: 6 });
      const { result } = await answer<{ result: RestoreResult }>(
        ['restore', 'own', '--scope', 'files,conversation'],
        env,
      );
      expect(result.session?.id).toBeTruthy();
      const servers = path.join(server.home, 'data/opencode-checkpoints/servers');
      expect(existsSync(servers) ? (await import('node:fs')).readdirSync(servers) : []).toEqual([]);
    } finally {
      await server.start();
    }
  });

  it('says so when OpenCode is missing', async () => {
    const env = { OPENCODE_SERVER_URL: undefined, OPENCODE_BIN: '/nowhere/opencode' };
    expect(await refusal(['create', '--session', 'ses_x'], env)).toBe('opencode-missing');
  });
});
