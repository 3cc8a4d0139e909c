import { appendFileSync, existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { layoutOf } from '../../src/git/layout';
import { killPoints } from './kill-points';
import { sandbox, type Sandbox } from './rig';
import { bareRemote, storeOf, type Bare } from './sync-rig';
import { worker } from './worker';

const work = worker();

const whole = (repo: Bare): void => expect(repo.git('fsck', '--strict', '--no-dangling')).toBe('');
const scratchOf = (box: Sandbox): string => join(layoutOf(box.home, box.root).folder, 'sync');

/** Everything that pushing or fetching may be cut off between: each write to the store or beside it. */
async function stepsOf(run: (env: NodeJS.ProcessEnv) => Promise<unknown>, log: string): Promise<number> {
  await run({ FAULT_AT: '999999', FAULT_LOG: log });
  return Number(readFileSync(log, 'utf8').trim().split('\n').at(-1));
}

describe('kill -9 in the middle', () => {
  it('of a push leaves both sides valid, and the next push finishes it', async () => {
    const probe = sandbox();
    const box = sandbox();
    for (const one of [probe, box]) one.write('a.txt', 'a\n');
    await (await probe.open()).create({ name: 'probe' });
    const log = join(probe.home, 'steps');
    const remote = bareRemote();
    const under = (one: Sandbox): NodeJS.ProcessEnv => ({ FAULT_UNDER: one.home });
    const steps = await stepsOf(
      (env) => work.run(probe, ['push', bareRemote().path], { ...env, ...under(probe) }),
      log,
    );
    expect(steps).toBeGreaterThan(5);
    const workspace = await box.open();
    const expected: string[] = [];
    let kills = 0;
    const points = killPoints(steps, 8);
    for (const [i, at] of points.entries()) {
      box.write('a.txt', `${i}\n`);
      expected.push((await workspace.create({ name: `n${i}` })).id);
      const { code, signal } = await work.run(box, ['push', remote.path], { FAULT_AT: String(at), ...under(box) });
      // What a killed one left is not done again, so the last steps may never be reached; then it ended well.
      if (signal === 'SIGKILL') kills += 1;
      else expect([at, code]).toEqual([at, 0]);
      whole(remote);
      whole(storeOf(box));
    }
    expect(kills).toBeGreaterThan(points.length * 0.6);
    const { deleted } = await workspace.sync.push(remote.path);
    expect(deleted).toEqual([]);
    const refs = [...remote.refs().keys()];
    for (const id of expected) expect(refs.some((ref) => ref.endsWith(id))).toBe(true);
    expect(readdirSync(scratchOf(box))).toEqual([]);
  });

  it('of git over there leaves a lock that is named, and that is all that keeps the next push away', async () => {
    const box = sandbox();
    const remote = bareRemote();
    const workspace = await box.open();
    const { id } = await workspace.create({ name: 'one' });
    await workspace.sync.push(remote.path);
    const ref = [...remote.refs().keys()].find((name) => name.endsWith(id))!;
    const lock = join(remote.path, `${ref}.lock`);
    writeFileSync(lock, '');
    await workspace.rename(id, 'two');
    await expect(workspace.sync.push(remote.path)).rejects.toMatchObject({
      reason: 'remote-failed',
      message: expect.stringContaining(`${ref}.lock is there`) as string,
    });
    rmSync(lock);
    expect(await workspace.sync.push(remote.path)).toMatchObject({ updated: [id] });
  });

  it('of a fetch leaves the store valid, and the next fetch finishes it', async () => {
    const from = sandbox({ name: 'anna' });
    const remote = bareRemote();
    from.write('a.txt', 'a\n');
    const anna = await from.open();
    const publish = async (n: number): Promise<string[]> => {
      const ids: string[] = [];
      for (const part of ['x', 'y']) {
        from.write('a.txt', `${n} ${part}\n`);
        ids.push((await anna.create({ name: `${n}${part}` })).id);
      }
      await anna.sync.push(remote.path);
      return ids;
    };
    const all = await publish(0);
    const probe = sandbox();
    await (await probe.open()).close();
    const log = join(probe.home, 'steps');
    const under = (one: Sandbox): NodeJS.ProcessEnv => ({ FAULT_UNDER: one.home });
    const steps = await stepsOf((env) => work.run(probe, ['fetch', remote.path], { ...env, ...under(probe) }), log);
    expect(steps).toBeGreaterThan(20);
    const box = sandbox({ name: 'ben' });
    await (await box.open()).close();
    let kills = 0;
    const points = killPoints(steps, 10);
    for (const [i, at] of points.entries()) {
      const { signal } = await work.run(box, ['fetch', remote.path], { FAULT_AT: String(at), ...under(box) });
      if (signal === 'SIGKILL') kills += 1;
      whole(storeOf(box));
      const workspace = await box.open();
      // What is there is there whole.
      for (const one of await workspace.list())
        expect((await workspace.cat(one.id, 'a.txt')).length).toBeGreaterThan(0);
      await workspace.prune();
      whole(storeOf(box));
      all.push(...(await publish(i + 1)));
    }
    expect(kills).toBeGreaterThan(points.length * 0.6);
    const workspace = await box.open();
    await workspace.sync.fetch(remote.path);
    expect((await workspace.list()).map(({ id }) => id).sort()).toEqual([...all].sort());
    expect(existsSync(scratchOf(box)) ? readdirSync(scratchOf(box)) : []).toEqual([]);
  });

  it('is no worse than a remote that breaks off, or a cancelled exchange', async () => {
    const box = sandbox();
    box.write('a.txt', 'a\n');
    const workspace = await box.open();
    await workspace.create({ name: 'one' });
    const refs = (): string => storeOf(box).git('for-each-ref', 'refs/checkpoints', 'refs/remote-checkpoints');
    const before = refs();
    for (const own of [box.root, join(box.root, '.git'), '.', storeOf(box).path])
      await expect(workspace.sync.push(own)).rejects.toMatchObject({ reason: 'invalid-argument' });
    expect(box.git('for-each-ref')).toBe('');
    for (const remote of ['/nowhere/at/all', dirname(box.home), 'http://127.0.0.1:9/x.git', 'nobody@127.0.0.1:x.git'])
      for (const what of ['push', 'fetch'] as const)
        await expect(workspace.sync[what](remote)).rejects.toMatchObject({ reason: 'remote-failed' });
    for (const remote of ['', '--upload-pack=touch evil', 'ext::sh -c evil'])
      await expect(workspace.sync.fetch(remote)).rejects.toMatchObject({ reason: 'invalid-argument' });
    const bare = bareRemote();
    const signal = AbortSignal.abort();
    await expect(workspace.sync.push(bare.path, { signal })).rejects.toMatchObject({ reason: 'cancelled' });
    await expect(workspace.sync.fetch(bare.path, { signal })).rejects.toMatchObject({ reason: 'cancelled' });
    // A server that says no says why.
    appendFileSync(join(bare.path, 'hooks', 'pre-receive'), '#!/bin/sh\necho "not today" >&2\nexit 1\n', {
      mode: 0o755,
    });
    await expect(workspace.sync.push(bare.path)).rejects.toMatchObject({ reason: 'remote-failed' });
    expect([...bare.refs()]).toEqual([]);
    expect(refs()).toBe(before);
    expect(existsSync(scratchOf(box))).toBe(false);
  });
});
