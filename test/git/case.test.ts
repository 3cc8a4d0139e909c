import { readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Workspace } from '../../src/core/workspace';
import { picture, sandbox, type Sandbox } from './rig';
import { worker } from './worker';

const processes = worker();

/*
 * Passes wherever names that differ in case are two files. That it also does where they are one is seen with TMPDIR on such a volume; there a restore
 * deleted what had been renamed.
 */

const stored = async (box: Sandbox, workspace: Workspace, id: string): Promise<string[]> => {
  const { tree } = (await workspace.resolve(id)).files;
  const out = box.sh(`git --git-dir='${join(workspace.folder, 'snapshots.git')}' ls-tree -r --name-only ${tree}`);
  return out.trim().split('\n');
};

async function renamed(): Promise<{
  box: Sandbox;
  workspace: Workspace;
  old: Map<string, string>;
  now: Map<string, string>;
}> {
  const box = sandbox({ git: false });
  for (const path of ['name.txt', 'Folder/a.txt', 'Folder/b.txt', 'edited.txt']) box.write(path, path);
  const workspace = await box.open();
  await workspace.create({ name: 'old' });
  const old = picture(box.root);
  renameSync(join(box.root, 'name.txt'), join(box.root, 'NAME.txt'));
  renameSync(join(box.root, 'Folder'), join(box.root, 'folder'));
  renameSync(join(box.root, 'edited.txt'), join(box.root, 'Edited.txt'));
  box.write('Edited.txt', 'and edited');
  const now = picture(box.root);
  return { box, workspace, old, now };
}

describe('a file or folder that was renamed in case alone', () => {
  it('has one name in each checkpoint, and goes back and forth', async () => {
    const { box, workspace, old, now } = await renamed();
    const names = ['Edited.txt', 'NAME.txt', 'folder/a.txt', 'folder/b.txt'];
    expect(await stored(box, workspace, (await workspace.create({ name: 'new' })).id)).toEqual(names);
    await workspace.prune(); // the scanner's index has caught up
    expect(await stored(box, workspace, (await workspace.create()).id)).toEqual(names);
    expect((await workspace.restore('old')).failed ?? 0).toBe(0);
    expect(picture(box.root)).toEqual(old);
    await workspace.undo();
    expect(picture(box.root)).toEqual(now);
    await workspace.restore('old', { paths: ['name.txt', 'NAME.txt'] });
    expect(readdirSync(box.root).sort()).toEqual(['Edited.txt', 'folder', 'name.txt']);
  });

  it('is there, old or new, wherever a restore dies', async () => {
    const { box, workspace, old, now } = await renamed();
    await workspace.create({ name: 'new' });
    let at = 1;
    for (; ; at++) {
      const died = await processes.run(box, ['restore', 'old'], { FAULT_UNDER: box.root, FAULT_AT: String(at) });
      const open = await box.open();
      expect([at, open.recovered?.kept ?? []]).toEqual([at, []]);
      expect([at, picture(box.root)]).toEqual([at, old]);
      await open.undo();
      expect([at, picture(box.root)]).toEqual([at, now]);
      await open.close();
      if (died.signal === null) break;
    }
    expect(at).toBeGreaterThan(4);
  });

  it('is the one that a tool means, however that writes it', async () => {
    const box = sandbox({ git: false });
    box.write('Folder/Name.txt', '0');
    const workspace = await box.open();
    await workspace.create({ name: 'old' });
    // Where case counts, this is a file that is not there.
    const path = 'folder/name.txt';
    const named = () =>
      workspace.create({ trigger: 'tool', paths: [path], cause: { tool: 'write', callId: null, paths: [path] } });
    await named();
    writeFileSync(join(box.root, 'Folder/Name.txt'), '1');
    const { id } = await named();
    expect(await stored(box, workspace, id)).toEqual(['Folder/Name.txt']);
    expect(await stored(box, workspace, (await workspace.create()).id)).toEqual(['Folder/Name.txt']);
    await workspace.restore('old');
    expect(box.read('Folder/Name.txt')).toBe('0');
  });
});
