import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import type { Workspace } from '../../src/core/workspace';
import { sandbox, type Sandbox } from './rig';

/** A disk of its own would need a mount: only what it says of its free space is made up. */
const disk = vi.hoisted(() => ({ full: false }));
vi.mock(import('node:fs'), async (original) => {
  const fs = await original();
  const statfsSync = ((path: string) => ({ ...fs.statfsSync(path), ...(disk.full ? { bavail: 10 } : {}) })) as never;
  return { ...fs, statfsSync };
});
afterEach(() => void (disk.full = false));

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
