import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Checkpoint, RestorePlan, RestoreResult } from '../../src/core/model';
import type { ExportResult, FetchResult, PushResult } from '../../src/core/sync';
import { runProgram, useBuilt } from '../git/cli-rig';
import { startOpenCode, type OpenCode } from '../rig/opencode';
import { write } from '../rig/script';
import { countIn, generations } from './gateway-fixture';

const program = useBuilt('cli');

describe.each(generations)('a colleague goes on where another stopped, on %s', (generation) => {
  let folder: string;
  let remote: string;
  let anna: OpenCode;
  let ben: OpenCode;
  beforeAll(async () => {
    folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'checkpoints-sync-')));
    remote = path.join(folder, 'shared.git');
    execFileSync('git', ['init', '-q', '--bare', remote]);
    [anna, ben] = await Promise.all([
      startOpenCode({ generation, files: { 'a.txt': 'zero\n' } }),
      startOpenCode({ generation, files: { 'a.txt': 'of Ben\n', 'own.txt': 'own\n' } }),
    ]);
  });
  afterAll(async () => {
    await Promise.all([anna.dispose(), ben.dispose()]);
    rmSync(folder, { recursive: true, force: true });
  });

  const answer = async <T>(who: OpenCode, args: string[], env: NodeJS.ProcessEnv = {}): Promise<T> => {
    const ran = await runProgram(process.execPath, [program(), ...args, '--json'], {
      cwd: who.workspace,
      // OpenCode 1 takes sessions in through its command line alone.
      env: { ...who.env, OPENCODE_SERVER_URL: who.url, OPENCODE_BIN: who.binary, ...env },
    });
    expect({ code: ran.code, stdout: ran.stdout, stderr: ran.stderr }).toMatchObject({ code: 0, stderr: '' });
    return JSON.parse(ran.stdout) as T;
  };
  const texts = async (who: OpenCode, session: string): Promise<string[]> =>
    (await who.messages(session))
      .filter(({ type, text }) => (type === 'user' || type === 'assistant') && !text.startsWith('[Checkpoints]'))
      .map(({ text }) => text);
  const fork = async (reference: string): Promise<{ plan: RestorePlan; result: RestoreResult }> => {
    const scope = ['restore', reference, '--scope', 'files,conversation'];
    const { plan } = await answer<{ plan: RestorePlan }>(ben, [...scope, '--dry-run']);
    const { result } = await answer<{ result: RestoreResult }>(ben, scope);
    return { plan, result };
  };

  it('over a remote: files and conversation, then what came after; and in a bundle', async () => {
    const session = await anna.createSession('the refactoring');
    await anna.turn(session, 'first', [{ text: 'One.', tools: [write('a.txt', 'first\n')] }, { text: 'Done.' }]);
    const { checkpoint } = await answer<{ checkpoint: Checkpoint }>(anna, ['create', 'one', '--session', session]);
    await anna.turn(session, 'second', [{ text: 'Two.', tools: [write('a.txt', 'second\n')] }, { text: 'Done.' }]);
    const before = await texts(anna, session);

    // Without a server the files travel alone, and it is said so.
    const down = { OPENCODE_SERVER_URL: 'http://127.0.0.1:9' };
    const alone = (await answer<{ push: PushResult }>(anna, ['sync', 'push', remote], down)).push;
    expect(alone.added).toContain(checkpoint.id);
    expect(alone.sessions.skipped).toContainEqual({ session, reason: expect.any(String) as string });
    const early = (await answer<{ fetch: FetchResult }>(ben, ['sync', 'fetch', remote])).fetch;
    expect(early.added).toContainEqual(expect.objectContaining({ id: checkpoint.id }));
    expect(early.sessions).not.toContain(session);

    const pushed = (await answer<{ push: PushResult }>(anna, ['sync', 'push', remote])).push;
    expect(pushed).toMatchObject({ added: [], updated: [], sessions: { sent: [session], skipped: [] } });
    const again = (await answer<{ push: PushResult }>(anna, ['sync', 'push', remote])).push;
    expect(again.sessions).toMatchObject({ sent: [], skipped: [] });
    expect(again.sessions.unchanged).toContain(session);
    const fetched = (await answer<{ fetch: FetchResult }>(ben, ['sync', 'fetch', remote])).fetch;
    expect(fetched).toMatchObject({ added: [], updated: [], sessions: [session] });

    const { plan, result } = await fork('one');
    expect(plan.conversation).toEqual({ session, messageCount: 3, currentCount: null });
    expect(readFileSync(path.join(ben.workspace, 'a.txt'), 'utf8')).toBe('first\n');
    const forked = result.session?.id ?? '';
    expect(await texts(ben, forked)).toEqual(before.slice(0, 3));
    // It came in under its own id, whole, and Ben's agent goes on in the fork.
    expect(await texts(ben, session)).toEqual(before);
    await ben.turn(forked, 'and now?', [
      { text: 'Ben goes on.', tools: [write('a.txt', 'of both\n')] },
      { text: 'Ok.' },
    ]);
    expect((await texts(ben, forked)).at(-1)).toBe('Ok.');
    expect(readFileSync(path.join(ben.workspace, 'a.txt'), 'utf8')).toBe('of both\n');

    // Anna goes on in hers; the session that Ben has cannot be added to, so it comes as a copy.
    await anna.turn(session, 'third', [{ text: 'Three.', tools: [write('a.txt', 'third\n')] }, { text: 'Done.' }]);
    await answer(anna, ['create', 'two', '--session', session]);
    await anna.turn(session, 'fourth', [{ text: 'Four.' }]);
    const third = (await answer<{ push: PushResult }>(anna, ['sync', 'push', remote])).push;
    expect(third.sessions.sent).toEqual([session]);
    await answer(ben, ['sync', 'fetch', remote]);
    const later = await fork('two');
    expect(readFileSync(path.join(ben.workspace, 'a.txt'), 'utf8')).toBe('third\n');
    expect(await texts(ben, later.result.session?.id ?? '')).toEqual((await texts(anna, session)).slice(0, 9));
    expect(await texts(ben, session)).toEqual(before);

    // The same in one file, into a third place of the same server.
    const file = path.join(folder, 'one.bundle');
    const exported = (await answer<{ export: ExportResult }>(anna, ['export', 'one', '--out', file])).export;
    expect(exported).toMatchObject({ checkpoints: [checkpoint.id], sessions: { sent: [session] } });
    const place = mkdtempSync(path.join(folder, 'cleo-'));
    execFileSync('git', ['init', '-q', place]);
    const there = ['--cwd', place];
    const imported = (await answer<{ fetch: FetchResult }>(ben, ['import', file, ...there])).fetch;
    expect(imported).toMatchObject({ added: [{ id: checkpoint.id }], sessions: [session] });
    // OpenCode 1 needs seconds for every session that it takes in, and has shown above that it does.
    const scope = generation === 'v1' ? 'files' : 'files,conversation';
    const { result: last } = await answer<{ result: RestoreResult }>(ben, [
      'restore',
      'one',
      '--scope',
      scope,
      ...there,
    ]);
    if (last.session) expect(await countIn(ben, last.session.id)).toBeGreaterThanOrEqual(3);
    expect(last.session === null).toBe(generation === 'v1');
    expect(readFileSync(path.join(place, 'a.txt'), 'utf8')).toBe('first\n');
  });
});
