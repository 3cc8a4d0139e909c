import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import type { Workspace } from '../../src/core/workspace';
import { sandbox, type Sandbox } from './rig';

/** A disk of its own would need a mount: only what it says of its free space is made up, and that it has no byte left but those that files give back. */
const disk = vi.hoisted(() => ({ full: false, left: Infinity }));
vi.mock(import('node:fs'), async (original) => {
  const fs = await original();
  const take = (data: unknown): void => {
    const bytes = Buffer.byteLength(data as Buffer | string);
    if (bytes > disk.left) throw Object.assign(new Error('ENOSPC: made up'), { code: 'ENOSPC', errno: -28 });
    disk.left -= bytes;
  };
  return {
    ...fs,
    statfsSync: ((path: string) => ({ ...fs.statfsSync(path), ...(disk.full ? { bavail: 10 } : {}) })) as never,
    writeSync: ((fd: number, data: string, ...rest: never[]) => {
      take(data);
      return fs.writeSync(fd, data, ...rest);
    }) as never,
    writeFileSync: ((file: number, data: string, ...rest: never[]) => {
      take(data);
      fs.writeFileSync(file, data, ...rest);
    }) as never,
    rmSync: ((path: string, options: never) => {
      const found = fs.statSync(path, { throwIfNoEntry: false });
      if (found?.isFile()) disk.left += found.size;
      fs.rmSync(path, options);
    }) as never,
  };
});
afterEach(() => void Object.assign(disk, { full: false, left: Infinity }));

const session = { id: 'ses_1', messageId: null, messageCount: 0, title: null, parent: null };

/** Three turns of another time with a megabyte each, then what somebody keeps. */
async function filled(env: NodeJS.ProcessEnv): Promise<{ box: Sandbox; workspace: Workspace }> {
  const box = sandbox({ git: false });
  box.write('small.txt', 'small');
  const workspace = await box.open({ env: { ...process.env, ...env } });
  await workspace.create({ name: 'first' });
  for (let number = 1; number <= 3; number++) {
    box.write('noise.bin', execFileSync('head', ['-c', '1000000', '/dev/urandom']));
    const turn = { number, prompt: `p${number}`, model: null, agent: null, cost: null, tokens: null };
    await workspace.create({ trigger: 'turn', session, turn });
  }
  rmSync(join(box.root, 'noise.bin'));
  await workspace.create({ name: 'keep' });
  return { box, workspace };
}

it('frees whole packs where there is no room to write the rest anew', async () => {
  const { box, workspace } = await filled({ OPENCODE_CHECKPOINTS_MAX_CHECKPOINTS: '1' });
  disk.full = true;
  const { deleted, freedBytes } = await workspace.prune();
  expect(deleted).toHaveLength(2);
  expect(freedBytes).toBeGreaterThan(1_900_000);
  expect((await workspace.list()).map(({ name, turn }) => name ?? turn?.number)).toEqual(['keep', 3, 'first']);
  expect(Buffer.from(await workspace.cat('keep', 'small.txt')).toString()).toBe('small');
  box.write('small.txt', 'other');
  await workspace.create({ name: 'later' });
  await workspace.restore('keep');
  expect(await workspace.doctor()).toEqual([]);
});

it('does not delete more and more because nothing gets free', async () => {
  const { workspace } = await filled({ OPENCODE_CHECKPOINTS_MAX_STORE_SIZE: '2500 KB' });
  await workspace.prune({ dryRun: true });
  // Everything in one pack: nothing of it can go alone.
  execFileSync('git', [`--git-dir=${join(workspace.folder, 'snapshots.git')}`, 'repack', '-adlq']);
  disk.full = true;
  expect(await workspace.prune()).toMatchObject({ deleted: [], freedBytes: 0 });
  disk.full = false;
  expect((await workspace.prune()).deleted.length).toBeGreaterThan(0);
});

it.each(['index.db', 'scan/index'])(
  'frees on a disk that is full to the last byte, though %s has to go',
  async (cache) => {
    const { box, workspace } = await filled({ OPENCODE_CHECKPOINTS_MAX_CHECKPOINTS: '1' });
    if (cache === 'index.db') writeFileSync(join(workspace.folder, cache), 'derived from the refs'.repeat(100));
    Object.assign(disk, { full: true, left: 0 });
    await expect(workspace.create({ name: 'no room' })).rejects.toMatchObject({ reason: 'disk-full' });
    const { deleted, freedBytes } = await workspace.prune();
    expect(deleted).toHaveLength(2);
    expect(freedBytes).toBeGreaterThan(1_900_000);
    expect(existsSync(join(workspace.folder, cache))).toBe(false);
    Object.assign(disk, { full: false, left: Infinity });
    expect((await workspace.list()).map(({ name, turn }) => name ?? turn?.number)).toEqual(['keep', 3, 'first']);
    box.write('small.txt', 'other');
    const later = await workspace.create({ name: 'later' });
    expect(later.files).toMatchObject({ modified: 1, partial: [] });
    await workspace.restore('keep');
    expect([box.read('small.txt'), await workspace.doctor()]).toEqual(['small', []]);
  },
);

it('says that the disk is full where nothing can go, and loses nothing', async () => {
  const { workspace } = await filled({ OPENCODE_CHECKPOINTS_MAX_CHECKPOINTS: '1' });
  rmSync(join(workspace.folder, 'scan'), { recursive: true });
  Object.assign(disk, { full: true, left: 0 });
  await expect(workspace.prune()).rejects.toMatchObject({ reason: 'disk-full' });
  Object.assign(disk, { full: false, left: Infinity });
  expect(Buffer.from(await workspace.cat('keep', 'small.txt')).toString()).toBe('small');
  expect((await workspace.prune()).freedBytes).toBeGreaterThan(1_900_000);
});
