import { existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CheckpointsError } from '../../src/core/errors';
import type { GitStore } from '../../src/git/store';
import { GitSync } from '../../src/sync/sync';
import { gitBytes, sandbox } from './rig';
import { worker } from './worker';

const processes = worker();

describe('several processes on one store', () => {
  it('capture at once through both lanes: every checkpoint lands, ids are unique, own content is right', async () => {
    const box = sandbox();
    box.write('seed.txt', 'seed');
    box.git('add', '-A');
    box.git('commit', '-qm', 'one');
    const untouched = gitBytes(box.root);
    const names = ['ann', 'bob', 'cyd', 'dan'];
    const count = 8;
    const results = await Promise.all(names.map((who) => processes.run(box, ['many', who, String(count)])));
    for (const result of results) expect([result.stderr, result.code], JSON.stringify(result.output)).toEqual(['', 0]);
    const ids = results.flatMap((result) => (result.output as [unknown, string[]])[1]);
    expect(new Set(ids).size).toBe(names.length * count);
    const workspace = await box.open();
    const all = await workspace.list();
    expect(all.map((c) => c.id).sort()).toEqual([...ids].sort());
    for (const who of names)
      for (let i = 0; i < count; i++) {
        const expected = Array.from({ length: i + 1 }, (_, n) => `${n}\n`).join('');
        expect(Buffer.from(await workspace.cat(`${who}-${i}`, `${who}.txt`)).toString()).toBe(expected);
      }
    expect(await workspace.doctor()).toEqual([]);
    expect(gitBytes(box.root)).toBe(untouched);
  });

  it('restore while others capture: nothing is torn, and every capture is before or after', async () => {
    const box = sandbox();
    for (let i = 0; i < 60; i++) box.write(`many/${i}.txt`, 'old');
    const workspace = await box.open();
    await workspace.create({ name: 'old' });
    for (let i = 0; i < 60; i++) box.write(`many/${i}.txt`, 'new');
    await workspace.create({ name: 'new' });
    const [restored] = await Promise.all([
      processes.run(box, ['restore', 'old']),
      ...['a', 'b', 'c'].map((name) => processes.run(box, ['create', `during-${name}`])),
    ]);
    expect([restored.code, restored.output]).toMatchObject([0, [null, { skipped: [] }]]);
    for (const name of ['a', 'b', 'c']) {
      const found = new Set<string>();
      for (let i = 0; i < 60; i++)
        found.add(Buffer.from(await workspace.cat(`during-${name}`, `many/${i}.txt`)).toString());
      expect(found.size).toBe(1);
    }
    for (let i = 0; i < 60; i++) expect(readFileSync(join(box.root, `many/${i}.txt`), 'utf8')).toBe('old');
  });

  it('are not taken for damage by a doctor who looks meanwhile', async () => {
    const box = sandbox();
    box.write('a.txt', 'a');
    const [busy, looking] = [await box.open(), await box.open()];
    let over = false;
    const work = async (): Promise<void> => {
      for (let i = 0; i < 8; i++) {
        for (const name of [`x${i}`, `y${i}`]) {
          box.write('a.txt', name);
          await busy.create({ name });
        }
        await busy.remove([`x${i}`]);
        await busy.prune();
      }
    };
    const found: unknown[] = [];
    const look = async (): Promise<void> => {
      while (!over) {
        found.push(...(await looking.doctor({ repair: true })));
        await new Promise((next) => setImmediate(next)); // of an empty store everything is known at once
      }
    };
    await Promise.all([work().finally(() => (over = true)), look(), look()]);
    expect(found).toEqual([]);
    expect((await busy.list()).map(({ name }) => name)).toEqual([...'76543210'].map((i) => `y${i}`));
  });

  it('a scan that was overtaken by a later one takes nothing from the fast lane', async () => {
    const box = sandbox();
    box.write('.gitignore', '*.local\n');
    box.write('a.txt', 'old');
    let slow: GitStore | null = null;
    const first = await box.open({
      sync: (parts) => {
        slow = parts.store;
        return new GitSync(parts);
      },
    });
    await first.create({ name: 'start' });
    const other = await box.open();
    const tool = (paths: string[]) =>
      other.create({ trigger: 'tool', paths, cause: { tool: 'write', callId: null, paths } });
    let looks = 0;
    await slow!.capture({ waitMs: 5_000 }, async () => {
      looks += 1;
      if (looks > 1) return null;
      // The slow one has seen the files; an agent's call and the look after it come in between.
      await tool(['a.txt', 'made.local']);
      box.write('a.txt', 'by the agent');
      box.write('made.local', 'by the agent');
      await other.create({ trigger: 'idle' });
      return null;
    });
    expect(looks).toBe(2);
    const next = await tool(['b.txt']);
    expect(next.files.lane).toBe('paths');
    for (const path of ['a.txt', 'made.local'])
      expect([path, Buffer.from(await other.cat(next.id, path)).toString()]).toEqual([path, 'by the agent']);
    box.write('made.local', 'later');
    const scan = await first.create({ name: 'scan' });
    expect(Buffer.from(await first.cat(scan.id, 'made.local')).toString()).toBe('later');
  });

  it('clean up while others capture never frees what a ref is about to need', async () => {
    const box = sandbox();
    box.write('a.txt', 'a');
    const results = await Promise.all([
      processes.run(box, ['many', 'ann', '8']),
      processes.run(box, ['prune']),
      processes.run(box, ['many', 'bob', '8']),
      processes.run(box, ['prune']),
    ]);
    for (const result of results) expect([result.stderr, result.code], JSON.stringify(result.output)).toEqual(['', 0]);
    const workspace = await box.open();
    expect(await workspace.doctor()).toEqual([]);
    expect(await workspace.list()).toHaveLength(16);
  });
});

describe('locks', () => {
  it('of the dead are taken over', async () => {
    const box = sandbox();
    box.write('a.txt', 'a');
    const workspace = await box.open();
    await workspace.create();
    const leases = join(workspace.folder, 'leases');
    mkdirSync(leases, { recursive: true });
    const dead = { pid: 4_000_000, host: (await import('node:os')).hostname(), start: '', purpose: 'restore' };
    writeFileSync(join(leases, 'exclusive'), JSON.stringify(dead));
    writeFileSync(join(leases, 'shared-4000000-abc'), JSON.stringify({ ...dead, purpose: 'capture' }));
    // Its process died, or is still at it: it is no lease yet.
    writeFileSync(join(leases, 'shared-4000000-def.new-4000000-00'), '');
    const lock = join(workspace.folder, 'snapshots.git', 'refs', 'base.lock');
    writeFileSync(lock, '');
    utimesSync(lock, 1, 1);
    await workspace.create();
    await workspace.restore('latest');
  });

  it.runIf(process.platform === 'linux')(
    'of a sandbox with processes of its own are not taken for those of the dead',
    async () => {
      const box = sandbox();
      box.write('a.txt', 'a');
      const env = { ...process.env, OPENCODE_CHECKPOINTS_CAPTURE_BUDGET: '200 ms' };
      const workspace = await box.open({ env });
      await workspace.create();
      const held = join(box.home, 'held');
      const sandboxed = [
        'unshare',
        ...(process.getuid?.() === 0 ? [] : ['--map-root-user']),
        '--pid',
        '--fork',
        '--mount-proc',
      ];
      const holder = processes.run(box, ['hold', held], {}, sandboxed);
      while (!existsSync(held)) await new Promise((next) => setTimeout(next, 20));
      const create = workspace.create({ trigger: 'turn', automatic: true });
      await expect(create).rejects.toMatchObject({ reason: 'busy' });
      rmSync(held);
      expect((await holder).code).toBe(0);
      expect(await workspace.create({ trigger: 'turn', automatic: true })).not.toBeNull();
    },
  );

  it('that were left behind while the clock was ahead keep nobody from going on', async () => {
    const box = sandbox();
    box.write('a.txt', 'a');
    const workspace = await box.open();
    await workspace.create();
    const future = Date.now() / 1000 + 86_400;
    const lock = join(workspace.folder, 'snapshots.git', 'refs', 'base.lock');
    const lease = join(workspace.folder, 'leases', 'exclusive');
    for (const path of [lock, lease]) {
      writeFileSync(path, '');
      utimesSync(path, future, future);
    }
    await workspace.create();
    expect([existsSync(lock), existsSync(lease)]).toEqual([false, false]);
    writeFileSync(join(workspace.folder, 'tidied.json'), JSON.stringify({ at: future * 1000, garbage: true }));
    expect(await workspace.tidy()).not.toBeNull();
    expect(await workspace.tidy()).toBeNull();
  });

  it('of another machine count until their heartbeat stops', async () => {
    const box = sandbox();
    box.write('a.txt', 'a');
    const workspace = await box.open({ env: { ...process.env, OPENCODE_CHECKPOINTS_CAPTURE_BUDGET: '200 ms' } });
    await workspace.create();
    const lease = join(workspace.folder, 'leases', 'exclusive');
    writeFileSync(lease, JSON.stringify({ pid: 1, host: 'elsewhere', start: '', purpose: 'restore' }));
    const refused = await workspace.create({ trigger: 'idle', automatic: true }).catch((error: unknown) => error);
    expect(CheckpointsError.is(refused, 'busy')).toBe(true);
    expect((refused as Error).message).toContain('elsewhere');
    utimesSync(lease, Date.now() / 1000 - 120, Date.now() / 1000 - 120);
    await workspace.create();
  });
});
