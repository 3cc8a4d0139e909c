import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Problem } from '../../src/core/api';
import { originOf } from '../../src/core/lineage';
import type { Checkpoint } from '../../src/core/model';
import type { SessionGateway } from '../../src/core/sessions';
import { runProgram, useBuilt, type Ran } from '../git/cli-rig';
import { startOpenCode, type OpenCode } from '../rig/opencode';
import { write } from '../rig/script';
import { countIn, gatewayTo, generations } from './gateway-fixture';

const program = useBuilt('cli');

/** Files come first, the fork last: a process that dies in between leaves word, and the next one tells and finishes. */
describe.each(generations)('a restore that dies before its fork, on %s', (generation) => {
  let server: OpenCode;
  let gateway: SessionGateway;
  let session: string;
  let checkpoint: Checkpoint;

  beforeAll(async () => {
    server = await startOpenCode({ generation, files: { 'a.txt': 'one\n' } });
    gateway = await gatewayTo(server);
    session = await server.createSession('Crash');
    await server.turn(session, 'Write the first', [{ tools: [write('a.txt', 'first\n')] }, { text: 'Done.' }]);
    checkpoint = (await answer<{ checkpoint: Checkpoint }>(['create', 'good', '--session', session])).checkpoint;
    await server.turn(session, 'Write the second', [{ tools: [write('a.txt', 'second\n')] }, { text: 'Done.' }]);
  });
  afterAll(() => server.dispose());

  const run = (args: string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> =>
    runProgram(process.execPath, [program(), ...args], {
      cwd: server.workspace,
      env: { ...server.env, OPENCODE_SERVER_URL: server.url, ...env },
    });
  const answer = async <T>(args: string[]): Promise<T> => {
    const ran = await run([...args, '--json']);
    expect({ code: ran.code, stdout: ran.stdout, stderr: ran.stderr }).toMatchObject({ code: 0, stderr: '' });
    return JSON.parse(ran.stdout) as T;
  };
  const doctor = async (...args: string[]): Promise<Problem[]> =>
    (await answer<{ problems: Problem[] }>(['doctor', ...args])).problems;
  const read = (): string => readFileSync(path.join(server.workspace, 'a.txt'), 'utf8');
  const forks = async (): Promise<string[]> =>
    (await gateway.list(server.workspace))
      .filter((info) => originOf(info)?.checkpoint === checkpoint.id)
      .map(({ id }) => id);
  const everything = async (): Promise<string[]> => (await gateway.list(server.workspace)).map(({ id }) => id);

  /** Loaded before the program: kills it, as the power does, when it asks for something, or when that is answered. */
  const dieAt = (when: 'asked' | 'answered', method: string, address: string): NodeJS.ProcessEnv => {
    const file = path.join(server.home, `die-${when}.cjs`);
    writeFileSync(
      file,
      `const real = globalThis.fetch;
       globalThis.fetch = async (input, init) => {
         const hit = init?.method === ${JSON.stringify(method)} && ${address}.test(String(input));
         if (hit && ${JSON.stringify(when)} === 'asked') process.kill(process.pid, 'SIGKILL');
         const response = await real(input, init);
         if (hit) process.kill(process.pid, 'SIGKILL');
         return response;
       };`,
    );
    return { NODE_OPTIONS: `--require ${file}` };
  };
  const restore = (env: NodeJS.ProcessEnv): Promise<Ran> =>
    run(['restore', 'good', '--scope', 'files,conversation', '--json'], env);

  it('is told by every next command, and forked by the doctor', async () => {
    const before = await everything();
    writeFileSync(path.join(server.workspace, 'a.txt'), 'mine\n');
    expect((await restore(dieAt('asked', 'POST', '/\\/fork\\b/'))).stdout).toBe('');
    expect(read()).toBe('first\n');
    expect(await everything()).toEqual(before);
    for (const command of [['list'], ['backup', 'status']]) {
      const { code, stderr } = await run(command);
      expect(code).toBe(0);
      expect(stderr).toMatch(
        /^A restore was interrupted after its files were done\. Its conversation was not forked: .*doctor --repair/,
      );
    }
    expect(await doctor()).toMatchObject([{ reason: 'fork-missing', repaired: false }]);
    expect((await doctor('--repair')).find(({ reason }) => reason === 'fork-missing')).toMatchObject({
      repaired: true,
    });
    const [fork, ...more] = await forks();
    expect(more).toEqual([]);
    const belonging = checkpoint.session?.messageCount ?? 0;
    // OpenCode 1 has the note in the conversation, OpenCode 2 puts it before the next prompt.
    expect(await countIn(server, fork ?? '')).toBe(belonging + (generation === 'v1' ? 1 : 0));
    expect(await doctor()).toEqual([]);
    const [safety] = (await answer<{ checkpoints: Checkpoint[] }>(['list', '--trigger', 'restore'])).checkpoints;
    expect(safety?.restore).toMatchObject({ target: checkpoint.id, session: fork });
    await answer(['undo']);
    expect(read()).toBe('mine\n');
  });

  it('takes the fork that was made already, when only its record was not', async () => {
    const before = await forks();
    await restore(dieAt('answered', 'PATCH', '/\\/session\\/ses_/'));
    const made = (await forks()).filter((id) => !before.includes(id));
    expect(made).toHaveLength(1);
    const found = (await doctor('--repair')).find(({ reason }) => reason === 'fork-missing');
    expect(found).toMatchObject({ repaired: true });
    expect(found?.message).toContain(made[0]);
    expect((await forks()).filter((id) => !before.includes(id))).toEqual(made);
    if (generation === 'v1') expect(JSON.stringify(await server.messages(made[0] ?? ''))).toContain('[Checkpoints]');
    await answer(['undo']);
  });

  it('goes on with the copy that OpenCode had made, when nobody could say any more whose it is', async () => {
    const before = await everything();
    await restore(dieAt('answered', 'POST', '/\\/fork\\b/'));
    const made = (await everything()).filter((id) => !before.includes(id));
    expect(made).toHaveLength(1);
    expect(await forks()).not.toContain(made[0]);
    const found = (await doctor('--repair')).find(({ reason }) => reason === 'fork-missing');
    expect(found).toMatchObject({ repaired: true });
    expect(found?.message).toContain(made[0]);
    expect((await everything()).filter((id) => !before.includes(id))).toEqual(made);
    expect(await forks()).toContain(made[0]);
    expect((await gateway.get(made[0] ?? '')).title).toBe('good');
    const belonging = checkpoint.session?.messageCount ?? 0;
    expect(await countIn(server, made[0] ?? '')).toBe(belonging + (generation === 'v1' ? 1 : 0));
    await answer(['undo']);
  });

  it('is overtaken by the next restore, and by an undo', async () => {
    await restore(dieAt('asked', 'POST', '/\\/fork\\b/'));
    await answer(['undo']);
    expect(read()).toBe('mine\n');
    expect(await doctor()).toEqual([]);
  });
});
