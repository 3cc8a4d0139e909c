import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LostCheckpoints, Problem, Stats } from '../../src/core/api';
import type { Checkpoint } from '../../src/core/model';
import { useBuilt, Desk } from './cli-rig';

const program = useBuilt('cli');
let desk: Desk;
let ids: Record<string, string>;
let gitDir: string;

/** Three checkpoints and a safety checkpoint; every object lies by itself. */
beforeEach(async () => {
  desk = new Desk(program(), { git: false });
  ids = {};
  for (const name of ['one', 'two', 'three']) {
    desk.write({ 'a.txt': `${name}\n`, 'dir/x.txt': `x ${name}\n`, 'keep.txt': 'kept\n' });
    const { checkpoint } = await desk.answer<{ checkpoint: Checkpoint }>(['create', name]);
    ids[name] = checkpoint.id;
  }
  desk.write({ 'a.txt': 'now\n' });
  await desk.answer(['restore', 'three', '--path', 'a.txt']);
  const { store } = await desk.answer<Stats>(['stats']);
  gitDir = path.join(store, 'snapshots.git');
  const packs = path.join(gitDir, 'objects/pack');
  const packed = readdirSync(packs).filter((name) => name.endsWith('.pack'));
  const contents = packed.map((name) => readFileSync(path.join(packs, name)));
  rmSync(packs, { recursive: true });
  mkdirSync(packs);
  for (const input of contents) execFileSync('git', ['--git-dir', gitDir, 'unpack-objects', '-q'], { input });
});
afterEach(() => desk.dispose());

const git = (...args: string[]): string => execFileSync('git', ['--git-dir', gitDir, ...args], { encoding: 'utf8' });
/** Of checkpoint `two`. */
const objects: Record<string, () => string> = {
  record: () => `refs/checkpoints/${ids['two']}`,
  tree: () => `refs/checkpoints/${ids['two']}^{tree}`,
  folder: () => `refs/checkpoints/${ids['two']}:dir`,
  file: () => `refs/checkpoints/${ids['two']}:a.txt`,
};
function fileOf(what: string): string {
  const oid = git('rev-parse', objects[what]!()).trim();
  return path.join(gitDir, 'objects', oid.slice(0, 2), oid.slice(2));
}
const lose = (what: string): void => rmSync(fileOf(what));
function spoil(what: string): void {
  chmodSync(fileOf(what), 0o644);
  writeFileSync(fileOf(what), 'no object');
}
function flip(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at]! ^= 0xff;
  chmodSync(file, 0o644);
  writeFileSync(file, bytes);
}
/** In the middle of it, as git packs it. */
function flipPacked(what = 'record'): void {
  git('repack', '-a', '-d', '-q');
  const folder = path.join(gitDir, 'objects/pack');
  const pack = path.join(
    folder,
    readdirSync(folder).find((name) => name.endsWith('.pack'))!,
  );
  const oid = git('rev-parse', objects[what]!()).trim();
  const [, , , size, offset] = git('verify-pack', '-v', pack)
    .split('\n')
    .find((line) => line.startsWith(oid))!
    .split(/ +/);
  flip(pack, Number(offset) + Math.floor(Number(size) / 2));
}
const names = async (): Promise<Array<string | null>> =>
  (await desk.answer<{ checkpoints: Checkpoint[] }>(['list'])).checkpoints.map(({ name }) => name);
const lostOf = async (command: string): Promise<LostCheckpoints | undefined> =>
  (await desk.answer<{ lost?: LostCheckpoints }>([command])).lost;

describe('where a checkpoint has lost something', () => {
  it.each([
    ['its record', () => lose('record'), 3],
    ['its record, damaged', () => spoil('record'), 3],
    ['a bit of its record', () => flip(fileOf('record'), 60), 3],
    ['a bit of its packed record', flipPacked, 3],
    ['its tree', () => lose('tree'), 4],
    ['its tree, damaged', () => spoil('tree'), 4],
    ['a folder', () => lose('folder'), 4],
    ['a file', () => lose('file'), 4],
  ])('%s: the others are whole, and it is told by name with a way out', async (_, damage, listed) => {
    damage();
    const id = ids['two']!;
    expect(await desk.answer<Stats>(['stats'])).toMatchObject({ checkpoints: 4, lost: { refs: [], content: [id] } });
    const { stderr } = await desk.run(['stats']);
    expect(stderr).toContain(id);
    expect(stderr).toContain('`opencode-checkpoints doctor`');
    expect(await names()).toHaveLength(listed);
    expect((await lostOf('list'))?.records ?? []).toEqual(listed === 3 ? [id] : []);
    // What is whole can be used.
    await desk.answer(['diff', 'one', 'three']);
    expect((await desk.run(['cat', 'one', 'a.txt'])).stdout).toBe('one\n');
    await desk.answer(['restore', 'one', '--allow-mass-delete']);
    await desk.answer(['undo']);
    await desk.answer(['create', 'four']);
    await desk.answer(['export', 'one', 'three', '--out', path.join(desk.top, 'x.bundle')]);
    // What is not says so.
    const refused = await desk.refusal(['restore', id, '--path', 'a.txt', '--path', 'dir']);
    expect(refused.reason).toBe('store-broken');
    expect(refused.message).toMatch(/has lost|cannot be read/);
    expect(await desk.refusal(['prune'])).toMatchObject({ reason: 'store-broken' });
    const { problems } = await desk.answer<{ problems: Problem[] }>(['doctor', '--repair']);
    expect(problems.map(({ message }) => message).every((message) => message.includes(id))).toBe(true);
    // And it can be let go.
    expect(await desk.answer(['delete', id])).toEqual({ deleted: [id] });
    await desk.answer(['prune']);
    expect(await desk.answer(['doctor'])).toEqual({ problems: [] });
    expect(await lostOf('stats')).toBeUndefined();
  });

  it('the others are pushed, and nothing of it is deleted elsewhere', async () => {
    const remote = path.join(desk.top, 'remote.git');
    execFileSync('git', ['init', '-q', '--bare', remote]);
    const { checkpoint: sent } = await desk.answer<{ checkpoint: Checkpoint }>(['create', 'sent']);
    const pushed = await desk.answer(['sync', 'push', remote, 'sent']);
    expect(pushed).toMatchObject({ push: { added: [sent.id], damaged: [] } });
    git('update-ref', '-d', `refs/checkpoints/${sent.id}`);
    for (const what of ['file', 'tree']) {
      lose(what);
      desk.write({ 'a.txt': what });
      const { checkpoint } = await desk.answer<{ checkpoint: Checkpoint }>(['create', what]);
      const { push } = await desk.answer<{ push: { added: string[] } }>(['sync', 'push', remote]);
      expect(push).toMatchObject({ deleted: [], damaged: [ids['two']] });
      expect(push.added).toContain(checkpoint.id);
    }
    expect((await desk.run(['sync', 'push', remote])).stdout).toContain(`Not sent`);
  });

  it.each([
    ['by itself', spoil],
    ['in a pack', () => flipPacked('file')],
  ])('what is damaged %s: the others are pushed, and what is not sent is named', async (_, damage) => {
    const remote = path.join(desk.top, 'remote.git');
    execFileSync('git', ['init', '-q', '--bare', remote]);
    damage('file');
    const { push } = await desk.answer<{ push: { added: string[] } }>(['sync', 'push', remote]);
    expect(push).toMatchObject({ damaged: [ids['two']] });
    expect(push.added.sort()).toEqual([ids['one'], ids['three']].sort());
    expect((await desk.run(['sync', 'push', remote])).stdout).toContain(`doctor\` tells: ${ids['two']}`);
  });

  it('content of a file: a restore names the file, and restores the others by their paths', async () => {
    lose('file');
    const { message } = await desk.refusal(['restore', 'two']);
    expect(message).toContain('the content of a.txt');
    await desk.answer(['restore', 'two', '--path', 'dir']);
    expect(readFileSync(path.join(desk.root, 'dir/x.txt'), 'utf8')).toBe('x two\n');
  });
});

describe('refs that plain git deleted', () => {
  const forget = (...wanted: string[]): void => {
    for (const id of wanted) git('update-ref', '-d', `refs/checkpoints/${id}`);
  };

  it('are told beside what is left, and brought back', async () => {
    forget(ids['two']!);
    expect(await lostOf('list')).toEqual({ refs: [ids['two']], records: [], content: [] });
    expect(await lostOf('stats')).toEqual({ refs: [ids['two']], records: [], content: [] });
    expect((await desk.run(['list'])).stderr).toMatch(/1 checkpoint has lost its ref.*doctor --repair/);
    expect(await desk.refusal(['show', ids['two']!])).toMatchObject({ reason: 'store-broken' });
    const unknown = await desk.refusal(['show', 'two']);
    expect([unknown.reason, unknown.message]).toEqual([
      'unknown-reference',
      expect.stringContaining('1 checkpoint is lost'),
    ]);
    expect((await desk.run(['show', 'two'])).stderr).toContain('doctor --repair');
    await desk.answer(['doctor', '--repair']);
    expect(await names()).toContain('two');
    expect(await lostOf('list')).toBeUndefined();
  });

  it('all of them: the list is empty, says so, and is no error', async () => {
    const { checkpoints } = await desk.answer<{ checkpoints: Checkpoint[] }>(['list']);
    forget(...checkpoints.map(({ id }) => id));
    expect(await desk.document(['list'])).toMatchObject({ checkpoints: [], lost: { refs: { length: 4 } } });
    const { code, stdout, stderr } = await desk.run(['list']);
    expect([code, stdout]).toEqual([0, 'No checkpoints.\n']);
    expect(stderr).toContain('4 checkpoints have lost their refs');
    expect(await desk.refusal(['undo'])).toMatchObject({
      reason: 'nothing-to-undo',
      message: expect.stringContaining('4 checkpoints are lost') as string,
    });
    await desk.answer(['prune']);
    await desk.answer(['doctor', '--repair']);
    expect(await names()).toHaveLength(4);
  });

  it('are given up by delete and by clear, and do not come back', async () => {
    forget(ids['two']!, ids['one']!);
    expect(await desk.answer(['delete', ids['two']!])).toEqual({ deleted: [ids['two']] });
    await desk.answer(['doctor', '--repair']);
    expect(await names()).toEqual([null, 'three', 'one']);
    forget(ids['one']!);
    const { deleted } = await desk.answer<{ deleted: string[] }>(['clear']);
    expect(deleted).toHaveLength(3);
    await desk.answer(['prune']);
    expect(await desk.answer(['doctor', '--repair'])).toEqual({ problems: [] });
    expect(await names()).toEqual([]);
  });
});
