import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Checkpoint } from '../../src/core/model';
import type { FetchResult, PushResult } from '../../src/core/sync';
import { Desk, useBuilt } from './cli-rig';
import { serveGit } from './git-server';
import { gitBytes } from './rig';
import { bareAt } from './sync-rig';

const program = useBuilt('cli');

function desk(files: Record<string, string> = { 'a.txt': 'one\n' }): Desk {
  const made = new Desk(program());
  onTestFinished(() => made.dispose());
  made.write(files);
  return made;
}

function shared(where: Desk): string {
  const folder = path.join(where.top, 'shared.git');
  execFileSync('git', ['init', '-q', '--bare', folder], { env: where.env });
  return folder;
}

const script = (file: string, text: string): void => {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
};

describe('sync on the command line', () => {
  it('pushes and fetches by address, folder and name of a remote; the repository and its hooks stay alone', async () => {
    const anna = desk();
    const remote = shared(anna);
    anna.git('add', '-A');
    anna.git('commit', '-qm', 'first');
    anna.git('remote', 'add', 'origin', remote);
    // Whatever hooks the user has, here or for all repositories: none runs.
    const hooked = path.join(anna.top, 'hooked');
    for (const hook of ['pre-push', 'reference-transaction', 'post-checkout'])
      for (const folder of [path.join(anna.root, '.git', 'hooks'), path.join(anna.home, 'hooks')])
        script(path.join(folder, hook), `echo ${hook} >> '${hooked}'`);
    writeFileSync(
      path.join(anna.home, '.gitconfig'),
      `[core]\n\thooksPath = ${path.join(anna.home, 'hooks')}\n[push]\n\tfollowTags = true\n\tgpgSign = true\n[fetch]\n\tprune = true\n[remote]\n\tpushDefault = nowhere\n`,
    );
    const { checkpoint } = await anna.answer<{ checkpoint: Checkpoint }>(['create', 'before']);
    const before = gitBytes(anna.root);
    const { push } = await anna.answer<{ push: PushResult }>(['sync', 'push', 'origin']);
    expect(push).toMatchObject({ remote, added: [checkpoint.id], updated: [], deleted: [], unchanged: 0 });
    expect(await anna.answer(['sync', 'push', '../shared.git'])).toMatchObject({ push: { added: [], unchanged: 1 } });
    expect(await anna.answer(['sync', 'push', `file://${remote}`, 'before'])).toMatchObject({ push: { unchanged: 1 } });
    expect(gitBytes(anna.root)).toBe(before);
    expect(existsSync(hooked)).toBe(false);
    expect([...bareAt(remote).refs().keys()].every((ref) => ref.startsWith('refs/opencode-checkpoints/'))).toBe(true);

    const ben = desk({ 'b.txt': 'ben\n' });
    const { fetch } = await ben.answer<{ fetch: FetchResult }>(['sync', 'fetch', remote]);
    expect(fetch).toMatchObject({ added: [{ id: checkpoint.id, title: 'before' }], refused: [], unchanged: 0 });
    await ben.answer(['create', 'mine']);
    const { checkpoints } = await ben.answer<{ checkpoints: Checkpoint[] }>(['list']);
    expect(checkpoints.map(({ name, origin }) => [name, origin?.machine !== undefined])).toEqual([
      ['mine', false],
      ['before', true],
    ]);
    expect(await ben.answer(['list', '--search', 'before'])).toMatchObject({ checkpoints: [{ id: checkpoint.id }] });
    expect(await ben.answer(['show', 'latest'])).toMatchObject({ checkpoint: { name: 'mine' } });
    expect(await ben.answer(['show', 'before'])).toMatchObject({
      checkpoint: { id: checkpoint.id },
      changes: [{ path: 'a.txt' }],
    });
    expect((await ben.run(['cat', 'before', 'a.txt'])).stdout).toBe('one\n');
    expect(await ben.answer(['diff', 'before', 'mine'])).toMatchObject({
      changes: [{ path: 'a.txt' }, { path: 'b.txt' }],
    });
    expect(await ben.answer(['restore', 'before', '--path', 'a.txt'])).toMatchObject({
      result: { restored: ['a.txt'] },
    });
    expect(await ben.answer(['stats'])).toMatchObject({ checkpoints: 3 });
    const table = (await ben.run(['list'])).stdout;
    expect(table).toMatch(/^ID .*\bFROM\b/);
    expect(table).toContain('@');
    expect(await ben.answer(['delete', 'before'])).toEqual({ deleted: [checkpoint.id] });
    expect(await ben.answer(['sync', 'fetch', remote])).toMatchObject({ fetch: { added: [], deletedHere: 1 } });
    const text = (await ben.run(['sync', 'fetch', remote])).stdout;
    expect(text).toContain('1 deleted here before');
  });

  it('exports and imports a bundle, with paths read from where one stands', async () => {
    const anna = desk();
    await anna.answer(['create', 'one']);
    const out = await anna.answer<{ export: { file: string } }>([
      'export',
      'one',
      '--out',
      'x.bundle',
      '--cwd',
      anna.root,
    ]);
    expect(out.export.file).toBe(path.join(anna.root, 'x.bundle'));
    const ben = desk({});
    const { fetch } = await ben.answer<{ fetch: FetchResult }>(['import', out.export.file]);
    expect(fetch.added).toMatchObject([{ title: 'one' }]);
    await ben.answer(['restore', 'one']);
    expect(readFileSync(path.join(ben.root, 'a.txt'), 'utf8')).toBe('one\n');
    expect((await anna.run(['export', 'one'])).code).toBe(2);
    expect((await anna.run(['export', '--out', 'y'])).code).toBe(2);
    expect((await anna.run(['import'])).code).toBe(2);
    expect((await anna.run(['sync'])).code).toBe(2);
    expect((await anna.run(['sync', 'push'])).code).toBe(2);
    expect((await anna.refusal(['export', 'nobody', '--out', 'y'])).reason).toBe('unknown-reference');
    expect((await anna.refusal(['import', 'a.txt'])).reason).toBe('invalid-argument');
    expect((await anna.refusal(['sync', 'fetch', '/nowhere'])).reason).toBe('remote-failed');
    expect((await anna.run(['export', 'one', '--out', 'z.bundle'])).stdout).toContain('z.bundle: 1 checkpoint,');
  });

  it("uses the user's own credentials, and asks nobody when there are none", async () => {
    const anna = desk();
    const remote = shared(anna);
    bareAt(remote).git('config', 'http.receivepack', 'true');
    const server = await serveGit(anna.top, 'anna', 's3cret');
    onTestFinished(() => server.close());
    await anna.answer(['create', 'one']);
    const url = `${server.url}/shared.git`;
    const asked = path.join(anna.top, 'asked');
    script(path.join(anna.top, 'askpass'), `echo asked >> '${asked}'; echo wrong`);
    const env = { GIT_ASKPASS: path.join(anna.top, 'askpass'), SSH_ASKPASS: path.join(anna.top, 'askpass') };
    const refused = await anna.refusal(['sync', 'push', url], 1, { env });
    expect(refused).toMatchObject({
      reason: 'remote-failed',
      message: expect.stringContaining('let you in') as string,
    });
    expect(existsSync(asked)).toBe(false);
    expect(server.counts.right).toBe(0);
    const store = path.join(anna.home, 'credentials');
    writeFileSync(store, `http://anna:s3cret@${server.url.slice('http://'.length)}\n`, { mode: 0o600 });
    writeFileSync(path.join(anna.home, '.gitconfig'), `[credential]\n\thelper = store --file=${store}\n`);
    expect(await anna.answer(['sync', 'push', url])).toMatchObject({ push: { added: [expect.any(String)] } });
    const withPassword = url.replace('http://', 'http://anna:s3cret@');
    const { push } = await anna.answer<{ push: PushResult }>(['sync', 'push', withPassword]);
    expect(push.remote).not.toContain('s3cret');
    const ben = desk({});
    const { fetch } = await ben.answer<{ fetch: FetchResult }>(['sync', 'fetch', withPassword]);
    expect(fetch.added).toHaveLength(1);
    expect(JSON.stringify(fetch)).not.toContain('s3cret');
    const wrong = await ben.refusal(['sync', 'fetch', url.replace('http://', 'http://anna:wr0ng@')]);
    expect(wrong.message).not.toContain('wr0ng');
  });

  it('lets git ask for the password where somebody sits at a terminal', async () => {
    const anna = desk();
    bareAt(shared(anna)).git('config', 'http.receivepack', 'true');
    const server = await serveGit(anna.top, 'anna', 's3cret');
    onTestFinished(() => server.close());
    await anna.answer(['create', 'one']);
    const ran = await anna.atTerminal(
      ['sync', 'push', `${server.url}/shared.git`, '--no-sessions'],
      [
        ['Username', 'anna\n'],
        ['Password', 's3cret\n'],
        ['Username', 'anna\n'],
        ['Password', 's3cret\n'],
      ],
    );
    expect(ran.stdout).toContain('1 new');
    expect(ran.stdout).not.toContain('s3cret');
    expect(ran.code).toBe(0);
  });

  it('speaks over ssh without questions', async () => {
    const anna = desk();
    const remote = shared(anna);
    await anna.answer(['create', 'one']);
    // No ssh server here: this stands for the program, runs what it is told on this machine and writes down how it was called.
    const log = path.join(anna.top, 'ssh.log');
    script(path.join(anna.top, 'bin', 'ssh'), `echo "$@" >> '${log}'\nfor last; do :; done\nexec sh -c "$last"`);
    const env = { PATH: `${path.join(anna.top, 'bin')}:${anna.env['PATH']}` };
    const { push } = await anna.answer<{ push: PushResult }>(['sync', 'push', `anna@example.test:${remote}`], { env });
    expect(push.added).toHaveLength(1);
    for (const line of readFileSync(log, 'utf8').trim().split('\n')) expect(line).toContain('BatchMode=yes');
    const ben = desk({});
    expect(await ben.answer(['sync', 'fetch', `ssh://example.test${remote}`], { env })).toMatchObject({
      fetch: { added: [{ title: 'one' }] },
    });
  });
});
