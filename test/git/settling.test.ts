import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseIndex } from '../../src/git/index-file';
import { treeMark } from '../../src/git/status-rows';
import type { GitStore } from '../../src/git/store';
import { picture, sandbox, type Sandbox } from './rig';

const names = Array.from({ length: 100 }, (_, i) => `many/${i % 9}/f${i}.txt`);

/** What git makes of all files. */
function treeByGit(box: Sandbox): string {
  box.git('add', '-A');
  return box.git('write-tree').trim();
}

/** The tree that the scanner's index stands for, as it lies on the disk. */
function indexed(workspace: unknown): string | undefined {
  const { layout } = (workspace as { store: GitStore }).store;
  const { entries } = parseIndex(readFileSync(join(layout.scan, 'index')), 20);
  return entries.find(({ path }) => path.startsWith(treeMark))?.path.slice(treeMark.length, treeMark.length + 40);
}

const packsOf = (folder: string): number =>
  Number(execFileSync('sh', ['-c', 'ls snapshots.git/objects/pack/*.pack | wc -l'], { cwd: folder }).toString());

describe("before the scanner's index has caught up with a checkpoint", () => {
  it('scans and restores are right, at once and one after the other', async () => {
    const box = sandbox();
    for (const name of names) box.write(name, `old ${name}\n`);
    box.git('add', '-A');
    box.git('commit', '-q', '-m', 'one');
    const workspace = await box.open();
    const one = await workspace.create();
    const atOne = picture(box.root);
    for (const name of names) box.write(name, `new ${name}\n`);
    box.write('made.txt', 'made\n');
    const two = await workspace.create();
    const atTwo = picture(box.root);
    expect(two.files.tree).toBe(treeByGit(box));
    expect(indexed(workspace)).toBe(one.files.tree); // nobody has waited for it

    // The same size, within the same second; and half of what was changed is changed back.
    for (const name of names.slice(0, 50)) box.write(name, `NEW ${name}\n`);
    for (const name of names.slice(50, 75)) box.write(name, `old ${name}\n`);
    const three = await workspace.create();
    expect(three.files.tree).toBe(treeByGit(box));
    const atThree = picture(box.root);
    await workspace.restore(one.id);
    expect(picture(box.root)).toEqual(atOne);
    await workspace.restore(two.id);
    expect(picture(box.root)).toEqual(atTwo);
    await workspace.restore(three.id);
    expect(picture(box.root)).toEqual(atThree);
    expect((await workspace.create()).files.tree).toBe(three.files.tree);
  });

  it('what the last checkpoint has is not written again', async () => {
    const box = sandbox();
    for (const name of names) box.write(name, `old ${name}\n`);
    box.git('add', '-A');
    box.git('commit', '-q', '-m', 'one');
    const workspace = await box.open();
    await workspace.create();
    for (const name of names) box.write(name, `new ${name}\n`);
    const two = await workspace.create();
    const before = packsOf(workspace.folder);
    await workspace.plan(two.id);
    expect(packsOf(workspace.folder)).toBe(before);
  });

  it('it does so when nothing else is wanted, and when the workspace is closed', async () => {
    const box = sandbox();
    for (const name of names) box.write(name, `old ${name}\n`);
    const workspace = await box.open();
    await workspace.create();
    for (const name of names) box.write(name, `new ${name}\n`);
    const two = await workspace.create();
    await expect.poll(() => indexed(workspace), { timeout: 30_000 }).toBe(two.files.tree);
    for (const name of names) box.write(name, `newer ${name}\n`);
    const three = await workspace.create();
    await workspace.close();
    expect(indexed(workspace)).toBe(three.files.tree);
  });
});
