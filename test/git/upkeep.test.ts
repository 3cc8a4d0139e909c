import { existsSync, readFileSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Leases } from '../../src/git/leases';
import { openWorkspace } from '../../src/git/open';
import { CheckpointIndex } from '../../src/index/checkpoint-index';
import { sandbox, type Sandbox } from './rig';
import { worker } from './worker';

const processes = worker();

/** Turns of one session, each with an edit of some size that does not compress. */
async function turns(box: Sandbox, count: number): Promise<void> {
  const workspace = await box.open();
  for (let number = 1; number <= count; number++) {
    box.sh(`head -c 40000 /dev/urandom > data.bin; echo ${number} > small.txt`);
    await workspace.create({
      trigger: 'turn',
      session: { id: 'ses_a', messageId: null, messageCount: 0, title: 'A', parent: null },
      turn: { number, prompt: `prompt ${number}`, model: null, agent: null, cost: null, tokens: null },
    });
  }
  await workspace.close();
}

const limitTo = (box: Sandbox, turnsKept: number): void =>
  box.write('.opencode/checkpoints.json', JSON.stringify({ maxCheckpoints: turnsKept }));

describe('looking after a store', () => {
  it('writes the index while nothing happens: a window may never be closed', async () => {
    const box = sandbox();
    box.write('a.txt', 'a');
    const wasm = { file: join(process.cwd(), 'node_modules/sql.js/dist/sql-wasm.wasm') };
    const workspace = await box.open({
      index: (folder) => CheckpointIndex.open({ path: join(folder, 'index.db'), wasm }),
    });
    const file = join(workspace.folder, 'index.db');
    const first = await workspace.create({ trigger: 'manual', name: 'first' });
    expect(existsSync(file)).toBe(false);
    await workspace.tidy();
    const known = async (): Promise<unknown[]> => {
      const index = await CheckpointIndex.open({ path: file, wasm });
      const ids = index.query({}).map(({ id }) => id);
      await index.close();
      return ids;
    };
    expect(await known()).toEqual([first?.id]);
    box.write('a.txt', 'b');
    const second = await workspace.create({ trigger: 'manual', name: 'second' });
    // Less than an hour later nothing else is due.
    expect(await workspace.tidy()).toBeNull();
    expect(await known()).toEqual([second?.id, first?.id]);
  });

  it('thins, frees and packs by itself, once an hour', async () => {
    const box = sandbox();
    await turns(box, 12);
    limitTo(box, 3);
    const workspace = await box.open();
    const before = (await workspace.stats()).bytes;
    const foreseen = await workspace.prune({ dryRun: true });
    expect(foreseen.deleted).toHaveLength(9);
    expect(foreseen.freedBytes).toBeGreaterThan(8 * 40_000);
    expect(await workspace.list()).toHaveLength(12);

    const tidied = await workspace.tidy();
    expect(tidied?.deleted).toEqual(foreseen.deleted);
    expect(tidied?.freedBytes).toBeGreaterThan(8 * 40_000);
    expect((await workspace.stats()).bytes).toBeLessThan(before - 8 * 40_000);
    expect((await workspace.list()).map((c) => c.turn?.number)).toEqual([12, 11, 10]);

    limitTo(box, 1);
    expect(await workspace.tidy()).toBeNull();
    expect(await workspace.list()).toHaveLength(3);
    expect(await workspace.doctor()).toEqual([]);
  });

  it('makes one pack of many while others capture, and loses nothing', async () => {
    const box = sandbox();
    await turns(box, 45);
    const workspace = await box.open();
    const packs = (): number =>
      readdirSync(join(workspace.folder, 'snapshots.git', 'objects', 'pack')).filter((name) => name.endsWith('.pack'))
        .length;
    expect(packs()).toBeGreaterThan(40);
    const [tidied, ...others] = await Promise.all([
      workspace.tidy(),
      processes.run(box, ['many', 'one', '6']),
      processes.run(box, ['many', 'two', '6']),
    ]);
    expect(tidied).toMatchObject({ deleted: [], packed: true });
    expect(others.map(({ code }) => code)).toEqual([0, 0]);
    expect(packs()).toBeLessThan(40);
    expect(await workspace.list()).toHaveLength(57);
    expect(await workspace.doctor()).toEqual([]);
    for (const checkpoint of await workspace.list()) {
      const content = Buffer.from(await workspace.cat(checkpoint.id, 'small.txt'))
        .toString()
        .trim();
      expect(content).toBe(String(checkpoint.turn?.number ?? 45));
    }
  });

  it('tells the one who cleans up that somebody waits', async () => {
    const box = sandbox();
    const workspace = await box.open();
    const leases = new Leases(join(workspace.folder, 'leases'));
    const alone = await leases.exclusive('clean up', 0);
    leases.clearWanted();
    expect(leases.wanted()).toBe(false);
    const waiting = workspace.create({ name: 'now' });
    await expect.poll(() => leases.wanted(), { timeout: 20_000 }).toBe(true);
    alone.release();
    expect((await waiting).name).toBe('now');
  });
});

describe('a workspace that was moved', () => {
  it('gets its checkpoints back from doctor --repair', async () => {
    const box = sandbox();
    box.write('a.txt', 'a');
    box.write('deep/b.txt', 'b');
    const before = await box.open();
    await before.create({ name: 'there' });
    box.write('a.txt', 'changed');
    await before.create({ name: 'later' });
    await before.close();
    const elsewhere = `${box.root}-renamed`;
    renameSync(box.root, elsewhere);

    const after = await openWorkspace({ directory: elsewhere, home: box.home });
    expect(await after.list()).toEqual([]);
    expect(await after.doctor()).toMatchObject([{ reason: 'moved', repaired: false }]);
    expect(await after.list()).toEqual([]);
    expect(await after.doctor({ repair: true })).toMatchObject([{ reason: 'moved', repaired: true }]);
    expect((await after.list()).map((c) => c.name)).toEqual(['later', 'there']);
    expect(await after.doctor()).toEqual([]);
    await after.restore('there');
    expect(readFileSync(join(elsewhere, 'a.txt'), 'utf8')).toBe('a');
    expect(readFileSync(join(elsewhere, 'deep', 'b.txt'), 'utf8')).toBe('b');
    await after.close();
    expect(readdirSync(join(box.home, 'workspaces'))).toHaveLength(1);
  });

  it('does not take the store of another project with a similar name', async () => {
    const box = sandbox();
    box.write('a.txt', 'one project');
    const before = await box.open();
    await before.create({ name: 'mine' });
    await before.close();
    box.sh(
      `mkdir ../other && echo "another project" > ../other/a.txt && git -C ../other init -q && cd .. && rm -r work`,
    );
    const other = await openWorkspace({ directory: join(box.root, '..', 'other'), home: box.home });
    expect(await other.doctor({ repair: true })).toEqual([]);
    expect(await other.list()).toEqual([]);
    await other.close();
  });
});
