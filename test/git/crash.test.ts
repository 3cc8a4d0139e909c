import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { TaskService } from '../../src/core/task-service';
import { TaskStore } from '../../src/core/task-store';
import { copied, crashing } from './crash-rig';
import { gitBytes, picture, sandbox, type Sandbox } from './rig';
import { worker } from './worker';

const processes = worker();
const atEveryCall = crashing(processes);

/** A workspace with two checkpoints, `old` and `new`, whose files are those of `new`, and a copy of everything. */
async function twoStates(): Promise<{
  box: Sandbox;
  old: Map<string, string>;
  fresh: Map<string, string>;
  reset(): void;
}> {
  const box = sandbox();
  box.write('same.txt', 'same');
  box.write('edited.txt', 'old');
  box.write('gone/deep.txt', 'deep');
  box.write('swap', 'file');
  const workspace = await box.open({ task });
  await task(workspace.folder, box.root).replace({ title: 'old' });
  await workspace.create({ name: 'old' });
  const old = picture(box.root);
  box.write('edited.txt', 'new');
  box.sh('rm -r gone swap && mkdir swap && echo in > swap/in.txt && echo made > made.txt && mkdir hollow');
  await task(workspace.folder, box.root).replace({ title: 'new' });
  await workspace.create({ name: 'new' });
  const fresh = picture(box.root);
  await workspace.close();
  return { box, old, fresh, reset: copied(box) };
}

const task = (folder: string, root: string): TaskService =>
  new TaskService(new TaskStore({ folder, root, exportState: () => false }));

describe('a process that dies', () => {
  it('in a capture leaves the checkpoint whole or not there, and the next capture works', async () => {
    const { box, fresh, reset } = await twoStates();
    await atEveryCall(box, ['create', 'third'], reset, async (at) => {
      const workspace = await box.open();
      const names = (await workspace.list()).map((c) => c.name);
      expect([at, names.filter((name) => name !== 'third')]).toEqual([at, ['new', 'old']]);
      if (names.includes('third'))
        expect(Buffer.from(await workspace.cat('third', 'edited.txt')).toString()).toBe('new');
      expect(picture(box.root)).toEqual(fresh);
      const next = await workspace.create({ name: 'after' });
      expect(next.files.partial).toEqual([]);
      await workspace.close();
    });
  });

  it('while it takes over a lock of the dead leaves nothing that git takes for a ref', async () => {
    const { box, reset } = await twoStates();
    const gitDir = join((await box.open()).folder, 'snapshots.git');
    const under = join(gitDir, 'refs');
    const leave = (): void => {
      reset();
      writeFileSync(join(under, 'base.lock'), '');
      utimesSync(join(under, 'base.lock'), 1, 1);
    };
    leave();
    const log = join(box.home, '..', 'calls');
    await processes.run(box, ['create', 'third'], { FAULT_AT: '999999', FAULT_UNDER: under, FAULT_LOG: log });
    const calls = Number(readFileSync(log, 'utf8').trim().split('\n').at(-1));
    for (let at = 1; at <= calls; at++) {
      leave();
      const { signal } = await processes.run(box, ['create', 'third'], { FAULT_AT: String(at), FAULT_UNDER: under });
      expect([at, signal]).toEqual([at, 'SIGKILL']);
      execFileSync('git', [`--git-dir=${gitDir}`, 'fsck', '--no-dangling'], { stdio: 'pipe' });
      const workspace = await box.open();
      expect([at, (await workspace.doctor()).filter(({ reason }) => reason !== 'stale-lock')]).toEqual([at, []]);
      await workspace.close();
    }
  });

  it('in the fast lane never makes a later point forget what was named', async () => {
    const { box, reset } = await twoStates();
    await atEveryCall(box, ['tool', 'edited.txt'], reset, async (at) => {
      // The tool ran although its capture died; the next call names another file.
      const workspace = await box.open();
      box.write('edited.txt', 'by the agent');
      const next = await workspace.create({
        trigger: 'tool',
        paths: ['made.txt'],
        cause: { tool: 'write', callId: null, paths: ['made.txt'] },
      });
      const named = (await workspace.list()).some((c) => c.cause?.paths.includes('edited.txt'));
      const content = Buffer.from(await workspace.cat(next.id, 'edited.txt')).toString();
      // If the dead capture became a checkpoint, its paths are read again by every later one.
      if (named) expect([at, content]).toEqual([at, 'by the agent']);
      await workspace.close();
    });
  });

  it('in a restore is finished or rolled back at the next start, and can be undone', async () => {
    const { box, old, fresh, reset } = await twoStates();
    const outcomes = new Set<string>();
    const untouched = gitBytes(box.root);
    await atEveryCall(box, ['restore', 'old'], reset, async (at) => {
      const workspace = await box.open();
      const now = picture(box.root);
      const finished = JSON.stringify([...now]) === JSON.stringify([...old]);
      if (!finished) expect([at, now]).toEqual([at, fresh]);
      outcomes.add(workspace.recovered?.outcome ?? 'none');
      const { undo } = await workspace.undoState();
      if (undo) {
        await workspace.undo();
        expect([at, picture(box.root)]).toEqual([at, fresh]);
      } else expect([at, now]).toEqual([at, fresh]);
      expect(gitBytes(box.root)).toBe(untouched);
      expect(await workspace.doctor()).toEqual([]);
      await workspace.close();
    });
    expect([...outcomes].sort()).toEqual(['finished', 'none', 'rolled-back']);
  });

  it('in a restore is left as it is where nothing may be changed, and finished later', async () => {
    const { box, old, fresh, reset } = await twoStates();
    const log = join(box.home, '..', 'calls');
    await processes.run(box, ['restore', 'old'], { FAULT_AT: '999999', FAULT_UNDER: box.root, FAULT_LOG: log });
    const calls = Number(readFileSync(log, 'utf8').trim().split('\n').at(-1));
    reset();
    const died = { FAULT_AT: String(calls - 2), FAULT_UNDER: box.root };
    expect((await processes.run(box, ['restore', 'old'], died)).signal).toBe('SIGKILL');
    const half = picture(box.root);
    expect(half).not.toEqual(old);
    expect(half).not.toEqual(fresh);
    const looking = await box.open({ task, recover: false });
    expect((await looking.list()).map((c) => c.name)).toContain('old');
    expect([looking.recovered, picture(box.root)]).toEqual([null, half]);
    await looking.close();
    expect((await box.open({ task })).recovered?.outcome).toBe('finished');
    expect(picture(box.root)).toEqual(old);
  });

  it.each([
    ['many files, which are moved aside first', 80],
    ['so many that a git of their own hands them over', 300],
  ])('in a restore of %s', async (_, count) => {
    const box = sandbox();
    box.sh(`mkdir many && for i in $(seq ${count}); do echo old $i > many/$i.txt; done`);
    const workspace = await box.open();
    await workspace.create({ name: 'old' });
    const old = picture(box.root);
    box.sh(
      `for i in $(seq ${count - 10}); do echo new $i > many/$i.txt; done; rm many/${count / 10 - 1}?.txt; mkdir more; echo made > more/made.txt`,
    );
    await workspace.create({ name: 'new' });
    const fresh = picture(box.root);
    await workspace.close();
    const keep = copied(box);
    const outcomes = new Set<string>();
    await atEveryCall(box, ['restore', 'old'], keep, async (at) => {
      const again = await box.open();
      outcomes.add(again.recovered?.outcome ?? 'none');
      expect([at, again.recovered?.kept ?? []]).toEqual([at, []]);
      const { undo } = await again.undoState();
      expect([at, picture(box.root)]).toEqual([at, undo ? old : fresh]);
      if (undo) await again.undo();
      expect([at, picture(box.root)]).toEqual([at, fresh]);
      await again.close();
    });
    expect([...outcomes].sort()).toEqual(['finished', 'none', 'rolled-back']);
  });

  it('in the recovery of a restore of many files, too', async () => {
    const box = sandbox();
    box.sh('mkdir many && for i in $(seq 180); do echo old $i > many/$i.txt; done');
    const workspace = await box.open();
    await workspace.create({ name: 'old' });
    const old = picture(box.root);
    box.sh('for i in $(seq 180); do echo new $i > many/$i.txt; done');
    await workspace.create({ name: 'new' });
    const fresh = picture(box.root);
    await workspace.close();
    // Dies where some files are restored and more than a handful are not.
    const log = join(box.home, '..', 'calls');
    const keep = copied(box);
    await processes.run(box, ['restore', 'old'], { FAULT_AT: '999999', FAULT_UNDER: box.root, FAULT_LOG: log });
    const inRoot = Number(readFileSync(log, 'utf8').trim().split('\n').at(-1));
    keep();
    const died = { FAULT_AT: String(Math.floor(inRoot / 4)), FAULT_UNDER: box.root };
    expect((await processes.run(box, ['restore', 'old'], died)).signal).toBe('SIGKILL');
    const half = copied(box);
    let finished = 0;
    await atEveryCall(box, ['open'], half, async (at) => {
      const again = await box.open();
      expect([at, again.recovered?.kept ?? []]).toEqual([at, []]);
      expect([at, picture(box.root)]).toEqual([at, old]);
      finished += again.recovered?.outcome === 'finished' ? 1 : 0;
      await again.undo();
      expect([at, picture(box.root)]).toEqual([at, fresh]);
      await again.close();
    });
    expect(finished).toBeGreaterThan(3);
  });

  it('between the folders of an empty tree leaves none of them behind', async () => {
    const box = sandbox();
    box.write('a.txt', 'a');
    const workspace = await box.open();
    await workspace.create({ name: 'old' });
    await workspace.close();
    const old = picture(box.root);
    box.sh('mkdir -p one/two/three');
    const died = { FAULT_AT: '2', FAULT_UNDER: box.root };
    expect((await processes.run(box, ['restore', 'old'], died)).signal).toBe('SIGKILL');
    expect(picture(box.root).has('one/two/')).toBe(true);
    await box.open();
    expect(picture(box.root)).toEqual(old);
  });

  it('in a restore of files and task brings both back, or neither', async () => {
    const { box, old, fresh, reset } = await twoStates();
    const seen = new Set<string>();
    await atEveryCall(box, ['restore-task', 'old'], reset, async (at) => {
      const workspace = await box.open({ task });
      const title = (await task(workspace.folder, box.root).read())?.title;
      seen.add(title ?? 'none');
      expect([at, title, picture(box.root)]).toEqual([at, title, title === 'old' ? old : fresh]);
      await workspace.close();
    });
    expect([...seen].sort()).toEqual(['new', 'old']);
  });

  it('in a restore, and the user edits before the next start: the edit is kept and named', async () => {
    const { box, reset } = await twoStates();
    let kept = 0;
    await atEveryCall(box, ['restore', 'old'], reset, async () => {
      box.write('edited.txt', 'typed after the crash');
      const workspace = await box.open();
      expect(readFileSync(join(box.root, 'edited.txt'), 'utf8')).toBe('typed after the crash');
      kept += workspace.recovered?.kept.filter((entry) => entry.path === 'edited.txt').length ?? 0;
      await workspace.close();
    });
    expect(kept).toBeGreaterThan(0);
  });

  it('in a rename or a clean-up loses no checkpoint', async () => {
    const { box, reset } = await twoStates();
    for (const args of [['rename', 'old', 'older'], ['prune']])
      await atEveryCall(box, args, reset, async (at) => {
        const workspace = await box.open();
        const names = (await workspace.list()).map((c) => (c.name === 'older' ? 'old' : c.name));
        expect([at, names]).toEqual([at, ['new', 'old']]);
        for (const checkpoint of await workspace.list())
          expect(Buffer.from(await workspace.cat(checkpoint.id, 'same.txt')).toString()).toBe('same');
        await workspace.create();
        await workspace.close();
      });
  });
});

describe('a full disk', () => {
  it('stops a capture with a reason, and nothing is half there', async () => {
    const { box, fresh, reset } = await twoStates();
    await atEveryCall(
      box,
      ['create', 'third'],
      reset,
      async (at) => {
        const workspace = await box.open();
        const names = (await workspace.list()).map((c) => c.name).filter((name) => name !== 'third');
        expect([at, names]).toEqual([at, ['new', 'old']]);
        expect(picture(box.root)).toEqual(fresh);
        await workspace.create({ name: 'after' });
        await workspace.close();
      },
      'ENOSPC',
    );
  });

  it('stops a restore before anything is touched, or leaves what the next start finishes', async () => {
    const { box, old, fresh, reset } = await twoStates();
    await atEveryCall(
      box,
      ['restore', 'old'],
      reset,
      async (at) => {
        const workspace = await box.open();
        const now = JSON.stringify([...picture(box.root)]);
        expect([at, [JSON.stringify([...old]), JSON.stringify([...fresh])].includes(now)]).toEqual([at, true]);
        await workspace.close();
      },
      'ENOSPC',
    );
  });

  it('of the workspace takes back what was done', async () => {
    const { box, fresh, reset } = await twoStates();
    const log = join(box.home, '..', 'calls');
    await processes.run(box, ['restore', 'old'], { FAULT_AT: '999999', FAULT_UNDER: box.root, FAULT_LOG: log });
    const inRoot = Number(readFileSync(log, 'utf8').trim().split('\n').at(-1));
    // The last two are about empty folders: what the next start finishes.
    for (let at = 1; at <= inRoot - 2; at++) {
      reset();
      const fault = { FAULT_AT: String(at), FAULT_KIND: 'ENOSPC', FAULT_UNDER: box.root };
      const { output } = await processes.run(box, ['restore', 'old'], fault);
      expect([at, output]).toMatchObject([
        at,
        { error: { reason: 'disk-full', message: expect.stringMatching(/workspace is full.*as it was before/) } },
      ]);
      expect([at, picture(box.root)]).toEqual([at, fresh]);
      const workspace = await box.open();
      expect([at, workspace.recovered]).toEqual([at, null]);
      await workspace.close();
    }
  });

  it('leaves no folder behind that was made for a file, and every empty one that was there', async () => {
    const box = sandbox();
    box.write('deep/in/one.txt', 'one');
    box.write('hollow/two.txt', 'two');
    const workspace = await box.open();
    await workspace.create({ name: 'old' });
    rmSync(join(box.root, 'deep'), { recursive: true });
    rmSync(join(box.root, 'hollow/two.txt'));
    await workspace.create({ name: 'new' });
    await workspace.close();
    const fresh = picture(box.root);
    const reset = copied(box);
    const stage = join(workspace.folder, 'stage-');
    const log = join(box.home, '..', 'calls');
    await processes.run(box, ['restore', 'old'], { FAULT_AT: '999999', FAULT_UNDER: stage, FAULT_LOG: log });
    const calls = Number(readFileSync(log, 'utf8').trim().split('\n').at(-1));
    let refused = 0;
    for (let at = 1; at <= calls; at++) {
      reset();
      const fault = { FAULT_AT: String(at), FAULT_KIND: 'ENOSPC', FAULT_UNDER: stage };
      const { output } = await processes.run(box, ['restore', 'old'], fault);
      if (!JSON.stringify(output).includes('disk-full')) continue;
      refused += 1;
      expect([at, picture(box.root)]).toEqual([at, fresh]);
    }
    expect(refused).toBeGreaterThan(5);
  });

  it('has the reason disk-full', async () => {
    const { box, reset } = await twoStates();
    reset();
    writeFileSync(join(box.root, 'more.txt'), 'more');
    const { output } = await processes.run(box, ['create', 'x'], {
      FAULT_AT: '8',
      FAULT_KIND: 'ENOSPC',
      FAULT_UNDER: box.home,
    });
    expect(output).toMatchObject({ error: { reason: 'disk-full' } });
  });
});
