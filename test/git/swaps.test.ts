import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Workspace } from '../../src/core/workspace';
import { picture, sandbox, type Sandbox } from './rig';

function nest(box: Sandbox, path: string, options: { commit?: boolean } = {}): void {
  mkdirSync(join(box.root, path), { recursive: true });
  box.git('init', '-q', path);
  if (options.commit) box.git('-C', path, 'commit', '-q', '--allow-empty', '-m', 'one');
}

/** The files of a checkpoint as the store has them. */
async function filesOf(workspace: Workspace, reference: string): Promise<string[]> {
  const { files } = await workspace.resolve(reference);
  const gitDir = join(workspace.folder, 'snapshots.git');
  const listed = execFileSync('git', [`--git-dir=${gitDir}`, 'ls-tree', '-r', '--name-only', files.tree]);
  return listed.toString().trim().split('\n');
}

const many = (box: Sandbox, folder: string): void => {
  // So many that the scanner's index catches up.
  for (let i = 0; i < 80; i++) box.write(`${folder}/${i}`, String(i));
};

describe.each([
  ['in a git repository', true],
  ['in a folder without git', false],
])('a nested repository in the place of a file, %s', (_name, git) => {
  function start(): Sandbox {
    const box = sandbox({ git });
    box.write('a', 'a');
    box.write('p', 'v1');
    symlinkSync('a', join(box.root, 'link'));
    if (git) {
      box.git('add', '-A');
      box.git('commit', '-qm', 'one');
    }
    return box;
  }

  it.each([
    ['p/sub', false],
    ['p/deep/sub', true],
  ])('deeper, at %s, leaves no file behind', async (path, commit) => {
    const box = start();
    const workspace = await box.open();
    await workspace.create({ name: 'one' });
    rmSync(join(box.root, 'p'));
    nest(box, path, { commit });
    box.write(`${path}/f`, 'x');
    await workspace.create({ name: 'two' });
    expect(await filesOf(workspace, 'two')).toEqual(['a', 'link', `${path}/f`]);
    // By another process, from the published index.
    const other = await box.open();
    await other.create({ name: 'again' });
    expect(await filesOf(other, 'again')).toEqual(['a', 'link', `${path}/f`]);
    rmSync(join(box.root, 'p'), { recursive: true });
    await other.create({ name: 'three' });
    expect(await filesOf(other, 'three')).toEqual(['a', 'link']);
    await other.restore('one');
    expect(readFileSync(join(box.root, 'p'), 'utf8')).toBe('v1');
  });

  it('and back, when the index has caught up in between', async () => {
    const box = start();
    const workspace = await box.open();
    await workspace.create({ name: 'one' });
    rmSync(join(box.root, 'p'));
    nest(box, 'p/sub');
    many(box, 'p/sub');
    await workspace.create({ name: 'two' });
    many(box, 'more');
    await workspace.create({ name: 'three' });
    expect(await filesOf(workspace, 'three')).not.toContain('p');
    rmSync(join(box.root, 'p'), { recursive: true });
    box.write('p', 'v1');
    await workspace.create({ name: 'four' });
    expect((await filesOf(workspace, 'four')).filter((path) => path.startsWith('p'))).toEqual(['p']);
    await workspace.restore('two', { allowMassDelete: true });
    expect(readFileSync(join(box.root, 'p/sub/7'), 'utf8')).toBe('7');
  });

  it.each([
    ['p', false],
    ['p', true],
    ['link', false],
    ['link', true],
  ])('itself, at %s (with a commit: %s), is captured', async (path, commit) => {
    const box = start();
    const workspace = await box.open();
    await workspace.create({ name: 'one' });
    rmSync(join(box.root, path));
    nest(box, path, { commit });
    box.write(`${path}/f`, 'precious');
    box.write(`${path}/g/h`, 'more');
    const before = picture(box.root);
    const two = await workspace.create({ name: 'two' });
    expect(two.files.partial).toEqual([]);
    rmSync(join(box.root, path, 'f'));
    box.write(`${path}/later`, 'x');
    const other = await box.open();
    await other.restore('two');
    expect(picture(box.root)).toEqual(before);
  });

  it('is captured by the fast lane as far as it is named, and wholly by the next scan', async () => {
    const box = start();
    const workspace = await box.open();
    await workspace.create({ name: 'one' });
    rmSync(join(box.root, 'p'));
    nest(box, 'p');
    box.write('p/f', 'named');
    box.write('p/g', 'not named');
    const fast = await workspace.create({ trigger: 'tool', paths: ['p/f'] });
    expect([fast.files.lane, await filesOf(workspace, fast.id)]).toEqual(['paths', ['a', 'link', 'p/f']]);
    const whole = await workspace.create();
    expect(await filesOf(workspace, whole.id)).toEqual(['a', 'link', 'p/f', 'p/g']);
    rmSync(join(box.root, 'p'), { recursive: true });
    box.write('p', 'v2');
    const back = await workspace.create({ trigger: 'tool', paths: ['p'] });
    expect([back.files.lane, await filesOf(workspace, back.id)]).toEqual(['paths', ['a', 'link', 'p']]);
    expect(await filesOf(workspace, (await workspace.create()).id)).toEqual(['a', 'link', 'p']);
  });
});

describe('a folder that is a link now', () => {
  it('is no repository of the workspace, wherever it leads', async () => {
    const box = sandbox();
    const outside = sandbox();
    outside.write('secret', 's');
    box.write('p', 'v1');
    const workspace = await box.open();
    await workspace.create({ name: 'one' });
    rmSync(join(box.root, 'p'));
    symlinkSync(outside.root, join(box.root, 'p'));
    const two = await workspace.create({ name: 'two' });
    expect(two.files.partial).toEqual([]);
    expect(await filesOf(workspace, 'two')).toEqual(['p']);
  });
});

it.each([
  ['longer than names can be', 'x'.repeat(1000)],
  ['that leads to itself', 'l'],
])('a folder that had become a link to a name %s comes back, whole or by its path', async (_what, target) => {
  const box = sandbox();
  symlinkSync(target, join(box.root, 'l'));
  const workspace = await box.open();
  const one = await workspace.create({ name: 'one' });
  rmSync(join(box.root, 'l'));
  box.write('l/now/file', 'x');
  const then = picture(box.root);
  const two = await workspace.create({ name: 'two' });
  await workspace.restore(one.id);
  await workspace.undo();
  expect(picture(box.root)).toEqual(then);
  await workspace.restore(one.id);
  await expect(workspace.plan(one.id, { paths: ['l/now/nothing'] })).rejects.toMatchObject({
    reason: 'not-in-checkpoint',
  });
  await workspace.restore(two.id, { paths: ['l'] });
  expect(picture(box.root)).toEqual(then);
});

it('a file that was too large for a while is captured when it is what it was', async () => {
  const box = sandbox();
  box.write('data', 'small');
  box.sh('touch -d 2020-01-01 data');
  const workspace = await box.open({ env: { ...process.env, OPENCODE_CHECKPOINTS_MAX_FILE_SIZE: '1 MB' } });
  await workspace.create({ name: 'one' });
  box.write('data', Buffer.alloc(2 << 20));
  many(box, 'more');
  await workspace.create({ name: 'two' });
  expect(await filesOf(workspace, 'two')).not.toContain('data');
  box.write('data', 'small');
  await workspace.create({ name: 'three' });
  expect(await filesOf(workspace, 'three')).toContain('data');
});

it.each([
  ['itself', 'p'],
  ['a name longer than names can be', 'x'.repeat(4000)],
])(
  'a link to %s in the place of a nested repository is a link, and nothing is called unreadable',
  async (_, target) => {
    const box = sandbox();
    nest(box, 'p');
    nest(box, 'q');
    const workspace = await box.open();
    await workspace.create({ name: 'one' });
    rmSync(join(box.root, 'p'), { recursive: true });
    symlinkSync(target, join(box.root, 'p'));
    for (const name of ['two', 'three']) {
      expect((await workspace.create({ name })).files.partial).toEqual([]);
      expect(await filesOf(workspace, name)).toEqual(['p']);
    }
  },
);
