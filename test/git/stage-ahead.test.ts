import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CheckpointsError } from '../../src/core/errors';
import type { GitStore } from '../../src/git/store';
import { stagedAt } from '../../src/git/stage';
import { picture, sandbox, type Sandbox } from './rig';

const names = Array.from({ length: 400 }, (_, i) => `many/${i % 4}/${String(i).padStart(3, '0')}.txt`);

/** `then` and `now` differ in every one of these files. */
async function twoStates(): Promise<{
  box: Sandbox;
  workspace: Awaited<ReturnType<Sandbox['open']>>;
  store: GitStore;
}> {
  const box = sandbox();
  for (const name of names) box.write(name, `old ${name}`);
  box.sh('ln -s 000.txt many/0/link && printf run > many/0/run.sh && chmod +x many/0/run.sh');
  const workspace = await box.open();
  await workspace.create({ name: 'then' });
  for (const name of names) box.write(name, `new ${name}`);
  box.sh('rm many/0/link many/0/run.sh && echo made > many/0/made.txt');
  await workspace.create({ name: 'now' });
  return { box, workspace, store: (workspace as unknown as { store: GitStore }).store };
}

const stagesIn = (folder: string): string[] => readdirSync(folder).filter((name) => name.startsWith('stage-'));

describe('what a restore needs, staged while the files are looked at', () => {
  it('has every new content under the number that the journal gives it', async () => {
    const { workspace, store } = await twoStates();
    const [now, then] = await workspace.list();
    const changes = await store.diff(now!.files.tree, then!.files.tree);
    store.stageAhead.begin(now!.files.tree, { tree: then!.files.tree, isWanted: () => true, isOurs: true });
    // Some are not wanted after all, and others have other numbers therefore.
    const wanted = changes.filter((_, i) => i % 5 !== 1);
    const taken = (await store.stageAhead.take(wanted))!;
    const writes = wanted.flatMap(({ after }, i) => (after ? [{ i, after }] : []));
    expect([...taken.has].sort((a, b) => a - b)).toEqual(writes.map(({ i }) => i));
    for (const { i, after } of writes) {
      if (wanted[i]!.path.endsWith('link')) continue;
      expect(store.hashOf(readFileSync(stagedAt(taken.stage, i)))).toBe(after.oid);
    }
    const numbers = readdirSync(join(taken.stage, '0')).map(Number);
    expect(numbers.filter((i) => !taken.has.has(i))).toEqual([]);
    rmSync(taken.stage, { recursive: true });
    await workspace.close();
  });

  it('is right also where files changed since the last checkpoint, and nothing of it stays', async () => {
    const { box, workspace, store } = await twoStates();
    await workspace.restore('then');
    const then = picture(box.root);
    await workspace.undo();
    // One is as it was then, one is gone, one is new and comes first, one is another's: the numbers of all others move.
    box.write(names[4]!, `old ${names[4]!}`);
    box.sh('rm many/1/001.txt && echo first > 000.txt && echo edited > many/2/002.txt');
    const edited = picture(box.root);
    let used = 0;
    const take = store.stageAhead.take.bind(store.stageAhead);
    store.stageAhead.take = async (...args) => {
      const taken = await take(...args);
      used = taken?.has.size ?? 0;
      return taken;
    };
    const result = await workspace.restore('then');
    expect(used).toBeGreaterThan(380);
    expect(result.skipped).toEqual([]);
    expect(picture(box.root)).toEqual(then);
    await workspace.undo();
    expect(picture(box.root)).toEqual(edited);
    await workspace.close();
    expect(stagesIn(workspace.folder)).toEqual([]);
  });

  it('goes when the restore is refused', async () => {
    const { box, workspace } = await twoStates();
    box.sh('rm -r many && mkdir others && for i in $(seq 400); do echo $i > others/$i; done');
    await workspace.create({ name: 'others' });
    const before = picture(box.root);
    const reason = await workspace.restore('then').then(
      () => 'no error',
      (error: unknown) => (CheckpointsError.is(error) ? error.reason : String(error)),
    );
    expect(reason).toBe('mass-delete');
    expect(stagesIn(workspace.folder)).toEqual([]);
    expect(picture(box.root)).toEqual(before);
    await workspace.close();
  });

  it('is left out for what lies outside of the paths that are asked for', async () => {
    const { box, workspace, store } = await twoStates();
    const [now, then] = await workspace.list();
    const inFirst = (path: string): boolean => path.startsWith('many/3/');
    store.stageAhead.begin(now!.files.tree, { tree: then!.files.tree, isWanted: inFirst, isOurs: true });
    // Too few for a git of their own.
    expect(await store.stageAhead.take(await store.diff(now!.files.tree, then!.files.tree))).toBeNull();
    expect(stagesIn(workspace.folder)).toEqual([]);
    await workspace.restore('then', { paths: ['many/3'] });
    expect(readFileSync(join(box.root, names[3]!), 'utf8')).toBe(`old ${names[3]!}`);
    expect(readFileSync(join(box.root, names[0]!), 'utf8')).toBe(`new ${names[0]!}`);
    await workspace.close();
  });
});
