import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Workspace } from '../../src/core/workspace';
import { copied, crashing } from './crash-rig';
import { sandbox, type Sandbox } from './rig';
import { worker } from './worker';

const processes = worker();
const atEveryCall = crashing(processes);
const all = ['three', 'two', 'one'];

interface Started {
  box: Sandbox;
  folder: string;
  gitDir: string;
  ids: Record<string, string>;
}

/** Three checkpoints of one file, whose content is their name; with `packed` their refs are in one file. */
async function started(packed = false): Promise<Started> {
  const box = sandbox();
  const ids: Record<string, string> = {};
  const workspace = await box.open();
  for (const name of ['one', 'two', 'three']) {
    box.write('a.txt', name);
    ids[name] = (await workspace.create({ name })).id;
  }
  if (packed) await workspace.prune();
  await workspace.close();
  return { box, folder: workspace.folder, gitDir: join(workspace.folder, 'snapshots.git'), ids };
}

const names = async (workspace: Workspace): Promise<Array<string | null>> =>
  (await workspace.list()).map(({ name }) => name);

/** Each is what its name says: nothing of it was freed. */
const contents = (workspace: Workspace, wanted: string[]): Promise<string[]> =>
  Promise.all(wanted.map(async (name) => Buffer.from(await workspace.cat(name, 'a.txt')).toString()));

/** All of them are there, and nothing is left of the accident. */
async function expectWhole(at: number, workspace: Workspace, wanted = all): Promise<void> {
  const again = await workspace.doctor({ repair: true });
  expect([at, await names(workspace), await contents(workspace, wanted)]).toEqual([at, wanted, wanted]);
  expect([at, workspace.lost(), again.filter(({ repaired }) => !repaired)]).toEqual([
    at,
    { refs: [], records: [], content: [] },
    [],
  ]);
  await workspace.prune();
  expect([at, await workspace.doctor(), await contents(workspace, wanted)]).toEqual([at, [], wanted]);
}

describe('a process that dies', () => {
  it.each([false, true])('while it deletes leaves no checkpoint that comes back (refs packed: %s)', async (packed) => {
    const { box, gitDir, ids } = await started(packed);
    const seen = new Set<number>();
    await atEveryCall(box, ['delete', ids['two']!], copied(box), async (at) => {
      const workspace = await box.open();
      const left = await names(workspace);
      seen.add(left.length);
      expect([at, left.filter((name) => name !== 'two'), workspace.lost().refs]).toEqual([at, ['three', 'one'], []]);
      await expectWhole(
        at,
        workspace,
        all.filter((name) => left.includes(name)),
      );
      // And if the refs are lost after all, what was deleted is not among them.
      rmSync(join(gitDir, 'packed-refs'));
      await expectWhole(
        at,
        workspace,
        all.filter((name) => left.includes(name)),
      );
      await workspace.close();
    });
    expect([...seen].sort()).toEqual([2, 3]);
  });

  it('while lost refs are brought back leaves them to the next repair', async () => {
    const { box, gitDir } = await started(true);
    rmSync(join(gitDir, 'packed-refs'));
    const workspace = await box.open();
    await workspace.prune(); // held by refs of their own
    await workspace.close();
    const missing = new Set<number>();
    await atEveryCall(box, ['repair'], copied(box), async (at) => {
      const again = await box.open();
      missing.add(again.lost().refs.length);
      expect([at, (await names(again)).length + again.lost().refs.length]).toEqual([at, 3]);
      await again.prune();
      await expectWhole(at, again);
      await again.close();
    });
    expect(missing.size).toBeGreaterThan(2);
  });

  it('in a clean-up while refs are lost frees nothing of them', async () => {
    const { box, gitDir } = await started(true);
    rmSync(join(gitDir, 'packed-refs'));
    const workspace = await box.open();
    box.write('a.txt', 'four');
    await workspace.create({ name: 'four' });
    await workspace.close();
    await atEveryCall(box, ['prune'], copied(box), async (at) => {
      const again = await box.open();
      expect([at, await names(again), again.lost().refs.length]).toEqual([at, ['four'], 3]);
      await expectWhole(at, again, ['four', ...all]);
      await again.close();
    });
  });

  it('in the clean-up that lets go of what came back leaves nothing held', async () => {
    const { box, gitDir, ids } = await started(true);
    const packed = readFileSync(join(gitDir, 'packed-refs'));
    rmSync(join(gitDir, 'packed-refs'));
    const workspace = await box.open();
    await workspace.prune();
    // As a repair that dies before its last step: they have their refs, and are held all the same.
    for (const [, oid, ref] of packed.toString().matchAll(/^([0-9a-f]{40}) (refs\/checkpoints\/\S+)$/gm))
      box.sh(`git --git-dir='${gitDir}' update-ref ${ref} ${oid}`);
    await workspace.remove(['two']);
    await workspace.close();
    await atEveryCall(box, ['prune'], copied(box), async (at) => {
      const again = await box.open();
      await expectWhole(at, again, ['three', 'one']);
      const refs = box.sh(`git --git-dir='${gitDir}' for-each-ref --format='%(refname)'`);
      expect([at, refs.includes('refs/lost'), refs.includes(ids['two']!)]).toEqual([at, false, false]);
      await again.close();
    });
  });

  it('while a lost one is given up leaves it lost or gone', async () => {
    const { box, gitDir, ids } = await started(true);
    const lost = ids['two']!;
    box.sh(`git --git-dir='${gitDir}' update-ref -d refs/checkpoints/${lost}`);
    const workspace = await box.open();
    await workspace.prune();
    await workspace.close();
    const seen = new Set<number>();
    await atEveryCall(box, ['delete', lost], copied(box), async (at) => {
      const again = await box.open();
      const left = again.lost().refs;
      seen.add(left.length);
      await expectWhole(at, again, left.includes(lost) ? all : ['three', 'one']);
      expect([at, box.sh(`git --git-dir='${gitDir}' for-each-ref refs/lost`)]).toEqual([at, '']);
      await again.close();
    });
    expect([...seen].sort()).toEqual([0, 1]);
  });

  it('at the first line of the log of an older store leaves one that is right', async () => {
    const { box, folder, gitDir, ids } = await started();
    rmSync(join(folder, 'refs.log'));
    for (const args of [
      ['create', 'four'],
      ['delete', ids['two']!],
    ])
      await atEveryCall(box, args, copied(box), async (at) => {
        const workspace = await box.open();
        const left = (await names(workspace)).filter((name) => name !== null);
        expect([at, workspace.lost().refs]).toEqual([at, []]);
        if (existsSync(join(folder, 'refs.log')) && left.includes('two')) {
          rmSync(join(gitDir, 'refs/checkpoints'), { recursive: true });
          await workspace.doctor({ repair: true });
          expect([at, (await names(workspace)).filter((name) => name !== 'four' && name !== 'two')]).toEqual([
            at,
            ['three', 'one'],
          ]);
        }
        await workspace.close();
      });
  });

  it.each<[string, (folder: string, safety: string, window: Workspace) => unknown, boolean]>([
    ['was deleted', (_folder, safety, window) => window.remove([safety]), false],
    [
      'has lost its ref',
      (folder, safety) => rmSync(join(folder, 'snapshots.git/refs/checkpoints', safety), { force: true }),
      true,
    ],
  ])(
    'in a restore whose safety checkpoint %s by the next start keeps nobody from going on',
    async (_, lose, undone) => {
      const { box, folder } = await started();
      const window = await box.open();
      await lose(folder, await restoreThatDies(box, folder), window);
      const again = await box.open();
      expect([again.recovered?.outcome, box.read('a.txt'), existsSync(join(folder, 'journal.json'))]).toEqual([
        'finished',
        'one',
        false,
      ]);
      expect([await again.doctor({ repair: true }), (await again.undoState()).undo !== null]).toEqual([[], undone]);
      if (undone) await again.undo();
      expect(box.read('a.txt')).toBe(undone ? 'three' : 'one');
    },
  );

  it('in a restore whose content is lost by the next start leaves that file, and says so', async () => {
    const { box, folder, gitDir, ids } = await started();
    await restoreThatDies(box, folder);
    const lost = loseObject(box, gitDir, `refs/checkpoints/${ids['one']}:a.txt`);
    const again = await box.open();
    expect(again.recovered?.kept).toEqual([{ path: 'a.txt', reason: expect.stringContaining(lost) as string }]);
    expect([box.read('a.txt'), existsSync(join(folder, 'journal.json'))]).toEqual(['three', false]);
  });

  it.each([
    ['the checkpoint that it goes back to', 'one^{tree}', 'one'],
    ['the tree that would bring the file back', 'three^{tree}', 'three'],
    ['its safety checkpoint', 'safety', 'three'],
  ])(
    'in a restore, and by the next start the store has lost %s: nobody is kept from going on',
    async (_, what, text) => {
      const { box, folder, gitDir, ids } = await started();
      const safety = await restoreThatDies(box, folder);
      const of = what === 'safety' ? safety : what.replace(/^[a-z]+/, (name) => ids[name]!);
      loseObject(box, gitDir, `refs/checkpoints/${of}`);
      const again = await box.open();
      const kept = text === 'one' ? [] : [{ path: 'a.txt', reason: expect.stringContaining('has lost') as string }];
      expect(again.recovered).toMatchObject({ outcome: 'finished', restored: text === 'one' ? ['a.txt'] : [], kept });
      // What nothing would bring back is not overwritten.
      expect([box.read('a.txt'), existsSync(join(folder, 'journal.json'))]).toEqual([text, false]);
      await again.create({ name: 'later' });
      expect(await contents(again, ['later'])).toEqual([text]);
      const { id } = (await again.list()).find(({ name }) => name === 'two')!;
      await again.restore(id);
      await again.undo();
      expect(box.read('a.txt')).toBe(text);
      // What the files still told is there again.
      const left = (await again.doctor({ repair: true })).map(({ reason }) => reason);
      expect(left).toEqual(what === 'safety' ? ['object-missing'] : []);
    },
  );
});

describe('a clean-up', () => {
  it('during which refs are lost frees nothing of them', async () => {
    const { box, gitDir } = await started();
    const folder = join(box.home, '..', 'bin');
    mkdirSync(folder);
    const git = box.sh('command -v git').trim();
    const script = `#!/bin/sh\n'${git}' "$@"; code=$?\ncase "$*" in *pack-refs*) rm '${gitDir}/packed-refs';; esac\nexit $code\n`;
    writeFileSync(join(folder, 'git'), script, { mode: 0o755 });
    const { output } = await processes.run(box, ['prune'], { PATH: `${folder}:${process.env['PATH']}` });
    expect(output).toMatchObject({ error: { reason: 'store-broken' } });
    const workspace = await box.open();
    expect(workspace.lost().refs).toHaveLength(3);
    await expectWhole(0, workspace);
  });
});

/** The answer is its name. */
function loseObject(box: Sandbox, gitDir: string, name: string): string {
  const lost = box.sh(`git --git-dir='${gitDir}' rev-parse '${name}'`).trim();
  box.sh(
    `cd '${gitDir}'; mkdir aside; mv objects/pack/* aside; for p in aside/*.pack; do git unpack-objects -q < $p; done; rm -f objects/${lost.slice(0, 2)}/${lost.slice(2)}`,
  );
  return lost;
}

/** Restores `one`, and dies right before the file is put in its place. The answer is the safety checkpoint. */
async function restoreThatDies(box: Sandbox, folder: string): Promise<string> {
  const reset = copied(box);
  for (let at = 1; at < 20; at++) {
    reset();
    const fault = { FAULT_AT: String(at), FAULT_UNDER: join(folder, 'stage-') };
    const { signal } = await processes.run(box, ['restore', 'one'], fault);
    const journal = JSON.parse(readFileSync(join(folder, 'journal.json'), 'utf8')) as { phase: string; safety: string };
    expect([at, signal, box.read('a.txt')]).toEqual([at, 'SIGKILL', 'three']);
    if (journal.phase === 'applying') return journal.safety;
  }
  throw new Error('it never got so far');
}
