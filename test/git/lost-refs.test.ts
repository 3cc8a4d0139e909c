import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CheckpointsError } from '../../src/core/errors';
import type { Workspace } from '../../src/core/workspace';
import { Leases } from '../../src/git/leases';
import { examineStoreFiles } from '../../src/git/store-file';
import { sandbox, type Sandbox } from './rig';
import { bareRemote } from './sync-rig';

interface Started {
  box: Sandbox;
  workspace: Workspace;
  gitDir: string;
  /** Again, as another process would: nothing is remembered. */
  again(): Promise<Workspace>;
}

/** Three checkpoints, `one` renamed since; with `packed` their refs are in one file. */
async function started(packed = false): Promise<Started> {
  const box = sandbox();
  box.write('kept.txt', 'kept');
  box.git('add', '-A');
  box.git('commit', '-qm', 'one');
  const workspace = await box.open();
  for (const name of ['first', 'two', 'three']) {
    box.write('a.txt', name);
    await workspace.create({ name });
  }
  await workspace.rename('first', 'one');
  if (packed) await workspace.prune();
  return { box, workspace, gitDir: join(workspace.folder, 'snapshots.git'), again: () => box.open() };
}

const names = async (workspace: Workspace): Promise<Array<string | null>> =>
  (await workspace.list()).map(({ name }) => name);
const reasons = async (workspace: Workspace, repair = false): Promise<string[]> =>
  (await workspace.doctor({ repair })).map(({ reason }) => reason);
const text = async (workspace: Workspace, ref: string): Promise<string> =>
  Buffer.from(await workspace.cat(ref, 'a.txt')).toString();
const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: unknown) => (CheckpointsError.is(error) ? error.reason : String(error)),
  );

const all = ['three', 'two', 'one'];
const packsOf = (gitDir: string, kind: string): string[] =>
  readdirSync(join(gitDir, 'objects/pack'))
    .filter((name) => name.endsWith(kind))
    .map((name) => join(gitDir, 'objects/pack', name));

function flipInName(gitDir: string, name: string, at: number, bit: number): void {
  const packed = join(gitDir, 'packed-refs');
  const content = readFileSync(packed);
  content[content.indexOf(name) + at]! ^= bit;
  writeFileSync(packed, content);
}

describe('refs that are lost', () => {
  it.each<[string, boolean, (gitDir: string) => void, string[]]>([
    ['with their folder', false, (dir) => rmSync(join(dir, 'refs/checkpoints'), { recursive: true }), ['refs-lost']],
    ['with all refs', false, (dir) => rmSync(join(dir, 'refs'), { recursive: true }), ['folder-missing', 'refs-lost']],
    ['with packed-refs', true, (dir) => rmSync(join(dir, 'packed-refs')), ['refs-lost']],
    ['in an emptied packed-refs', true, (dir) => truncateSync(join(dir, 'packed-refs')), ['refs-lost']],
    [
      'in packed-refs, overwritten',
      true,
      (dir) => writeFileSync(join(dir, 'packed-refs'), Buffer.alloc(300, 7)),
      ['packed-refs', 'refs-lost'],
    ],
    // A name with such a sign is none, and ends git; and out of order git does not find it and those behind.
    ['in packed-refs, one bit', true, (dir) => flipInName(dir, '/cp_', 5, 0x20), ['packed-refs', 'refs-lost']],
    [
      'in packed-refs, a bit of order',
      true,
      (dir) => flipInName(dir, 'checkpoints/', 0, 2),
      ['packed-refs', 'refs-lost'],
    ],
  ])('%s are told, and come back as they were', async (_, packed, damage, expected) => {
    const { workspace, gitDir, again } = await started(packed);
    await workspace.close();
    damage(gitDir);
    const other = await again();
    if (expected[0] === 'packed-refs') expect(await refusal(other.list())).toBe('store-broken');
    else expect([await names(other), other.lost().refs.length]).toEqual([[], 3]);
    expect(await reasons(other, true)).toEqual(expected);
    expect([await names(other), await reasons(other)]).toEqual([all, []]);
    expect(await Promise.all(all.map((name) => text(other, name)))).toEqual(['three', 'two', 'first']);
  });

  it('in packed-refs that was cut off come back, the others stay', async () => {
    const { workspace, gitDir, again } = await started(true);
    await workspace.close();
    const path = join(gitDir, 'packed-refs');
    truncateSync(path, readFileSync(path).length - 10);
    const other = await again();
    expect(await reasons(other)).toEqual(['packed-refs']);
    expect(await reasons(other, true)).toEqual(expect.arrayContaining(['packed-refs']));
    expect([await names(other), await reasons(other)]).toEqual([all, []]);
    expect(readdirSync(join(other.folder, 'damaged'))).toEqual([expect.stringMatching(/^packed-refs-/)]);
  });

  it.each([
    ['empty', ''],
    ['of what is not there', `${'1'.repeat(40)}\n`],
  ])('one file of them %s is set right', async (_, content) => {
    const { workspace, gitDir } = await started();
    const { id } = await workspace.resolve('one');
    writeFileSync(join(gitDir, 'refs/checkpoints', id), content);
    expect(await reasons(workspace, true)).toEqual(['ref-damaged']);
    expect([await names(workspace), await reasons(workspace)]).toEqual([all, []]);
  });

  it('one of them that names another checkpoint, or a tree, is set right', async () => {
    const { workspace, gitDir } = await started();
    writeFileSync(join(workspace.folder, 'damaged'), 'in the way of what is set aside');
    const [three, two, one] = await workspace.list();
    const file = (id: string): string => join(gitDir, 'refs/checkpoints', id);
    writeFileSync(file(three!.id), `${two!.files.commit}\n`);
    writeFileSync(file(two!.id), 'none');
    writeFileSync(file(one!.id), `${one!.files.tree}\n`);
    expect(await reasons(workspace, true)).toEqual(['ref-damaged', 'ref-damaged', 'ref-damaged']);
    expect([await names(workspace), await reasons(workspace)]).toEqual([all, []]);
  });

  it('one of them whose record is none hides no other, is named, and can be deleted', async () => {
    const { workspace, gitDir } = await started();
    const [three, two] = await workspace.list();
    const facets = ['session', 'turn', 'git', 'task', 'cause', 'restore', 'metadata'];
    const { files } = two!;
    const nonsense: unknown[] = [
      'no JSON',
      null,
      7,
      [],
      {},
      { ...two, id: three!.id },
      { ...two, createdAt: 'yesterday' },
      { ...two, files: [] },
      { ...two, files: { ...files, paths: 'a.txt' } },
      { ...two, files: { ...files, added: '1' } },
      { ...two, name: 5 },
      ...facets.map((facet) => ({ ...two, [facet]: ['x'] })),
    ];
    for (const record of nonsense) {
      const text = `two\n\n${record === 'no JSON' ? '{' : JSON.stringify(record)}\n`;
      const git = ['-c', 'user.name=t', '-c', 'user.email=t@t', `--git-dir=${gitDir}`];
      const made = execFileSync('git', [...git, 'commit-tree', files.tree], { input: text, encoding: 'utf8' }).trim();
      // Without the log, which would bring the right one back.
      rmSync(join(workspace.folder, 'refs.log'), { force: true });
      execFileSync('git', [...git, 'update-ref', `refs/checkpoints/${two!.id}`, made]);
      const seen = { names: await names(workspace), records: workspace.lost().records };
      expect([record, seen]).toEqual([record, { names: ['three', 'one'], records: [two!.id] }]);
      expect([record, await workspace.doctor({ repair: true })]).toEqual([
        record,
        [{ reason: 'record-damaged', message: expect.stringContaining(two!.id) as string, repaired: false }],
      ]);
    }
    expect(await workspace.remove([two!.id])).toEqual([two!.id]);
    expect([await names(workspace), await reasons(workspace)]).toEqual([['three', 'one'], []]);
  });

  it('keep what they named from being freed, and from being deleted elsewhere', async () => {
    const { box, workspace, gitDir, again } = await started(true);
    const remote = bareRemote();
    await workspace.sync.push(remote.path);
    await workspace.close();
    rmSync(join(gitDir, 'packed-refs'));
    const other = await again();
    box.write('a.txt', 'four');
    // Capturing goes on: a full list is not needed for it.
    await other.create({ name: 'four' });
    await other.prune();
    expect((await other.sync.push(remote.path)).deleted).toEqual([]);
    expect(await reasons(other)).toEqual(['refs-lost']);
    await other.prune();
    await other.doctor({ repair: true });
    expect(await names(other)).toEqual(['four', ...all]);
    await other.remove(['three']);
    await other.prune();
    expect([await text(other, 'two'), await reasons(other)]).toEqual(['two', []]);
    expect(box.sh(`git --git-dir='${gitDir}' for-each-ref --format='%(refname)' refs/lost`)).toBe('');
  });

  it('are not those of checkpoints that were deleted, whether or not their space is free', async () => {
    const { box, workspace, gitDir } = await started();
    await workspace.remove(['two']);
    expect(await reasons(workspace, true)).toEqual([]);
    await workspace.prune();
    await workspace.remove(['three']);
    box.write('a.txt', 'four');
    await workspace.create({ name: 'four' });
    rmSync(join(gitDir, 'packed-refs'));
    expect(await reasons(workspace, true)).toEqual(['refs-lost']);
    expect(await names(workspace)).toEqual(['four', 'one']);
  });

  it('of a store that was made before they were logged come back from then on', async () => {
    const { box, workspace, gitDir } = await started();
    rmSync(join(workspace.folder, 'refs.log'));
    box.write('a.txt', 'four');
    await workspace.create({ name: 'four' });
    rmSync(join(gitDir, 'refs/checkpoints'), { recursive: true });
    await workspace.doctor({ repair: true });
    expect(await names(workspace)).toEqual(['four', ...all]);
  });

  it('and the indexes of packs with them come back, and nothing is freed before', async () => {
    const { workspace, gitDir, again } = await started(true);
    await workspace.close();
    rmSync(join(gitDir, 'packed-refs'));
    for (const path of packsOf(gitDir, '.idx')) rmSync(path);
    const other = await again();
    expect(await refusal(other.prune())).toBe('store-broken');
    expect(await reasons(other, true)).toEqual(['pack-index', 'refs-lost']);
    expect([await names(other), await reasons(other)]).toEqual([all, []]);
    expect(await Promise.all(all.map((name) => text(other, name)))).toEqual(['three', 'two', 'first']);
  });

  it('with all that they named are told once', async () => {
    const { workspace, gitDir, again } = await started();
    await workspace.close();
    rmSync(gitDir, { recursive: true });
    const other = await again();
    expect(await other.doctor({ repair: true })).toMatchObject([{ reason: 'checkpoints-lost', repaired: false }]);
    expect([await names(other), await reasons(other)]).toEqual([[], []]);
  });
});

describe('content that is lost', () => {
  it('with the indexes of packs only is found again, and not freed before', async () => {
    const { workspace, gitDir, again } = await started();
    await workspace.close();
    for (const path of packsOf(gitDir, '.idx')) rmSync(path);
    const other = await again();
    expect(await refusal(other.prune())).toBe('store-broken');
    expect(await reasons(other, true)).toEqual(['pack-index']);
    expect([await names(other), await reasons(other)]).toEqual([all, []]);
  });

  it("and that the user's repository has comes from there", async () => {
    const { workspace, again } = await started();
    await workspace.close();
    rmSync(join(workspace.folder, 'borrowed'), { recursive: true });
    const other = await again();
    expect(await reasons(other, true)).toEqual(['borrowed']);
    expect([await names(other), await reasons(other)]).toEqual([all, []]);
  });

  it('for good keeps nobody from capturing anew, nor from deleting what cannot be read', async () => {
    const { box, workspace, gitDir, again } = await started(true);
    const ids = (await workspace.list()).map(({ id }) => id);
    await workspace.close();
    for (const path of packsOf(gitDir, '.pack')) {
      chmodSync(path, 0o644);
      truncateSync(path, 40);
    }
    const other = await again();
    box.write('a.txt', 'four');
    await other.create({ name: 'four' });
    expect(await text(other, 'four')).toBe('four');
    const found = await other.doctor({ repair: true });
    expect(ids.every((id) => found.some(({ message, repaired }) => message.includes(id) && !repaired))).toBe(true);
    expect(await other.remove(ids)).toEqual(ids);
    await other.prune();
    expect([await names(other), await text(other, 'four'), await reasons(other)]).toEqual([['four'], 'four', []]);
  });
});

describe('the rest of the store', () => {
  it.each(['', '{"pid":', 'null'])('with a lease that only says %j waits for it while it is young', async (content) => {
    const folder = join(sandbox().home, 'leases');
    mkdirSync(folder, { recursive: true });
    const leases = new Leases(folder);
    for (const [name, take] of [
      ['exclusive', () => leases.shared('test', 50)],
      ['shared-1-00', () => leases.exclusive('test', 50)],
    ] as const) {
      const path = join(folder, name);
      writeFileSync(path, content);
      expect(await refusal(take())).toBe('busy');
      utimesSync(path, 1, 1);
      (await take()).release();
      expect(existsSync(path)).toBe(false);
    }
  });

  it.each<[string, (folder: string) => void, string]>([
    ['settings that git cannot read', (dir) => writeFileSync(join(dir, 'snapshots.git/config'), '[[['), 'store-config'],
    ['no settings', (dir) => rmSync(join(dir, 'snapshots.git/config')), 'store-config'],
    [
      'a file in place of its leases',
      (dir) => {
        rmSync(join(dir, 'leases'), { recursive: true });
        writeFileSync(join(dir, 'leases'), 'mine');
      },
      'folder-blocked',
    ],
  ])('with %s is mended', async (_, damage, reason) => {
    const { box, workspace, again } = await started();
    await workspace.close();
    damage(workspace.folder);
    const other = await again();
    expect(await reasons(other, true)).toEqual([reason]);
    box.write('a.txt', 'four');
    await other.create({ name: 'four' });
    expect([await names(other), await reasons(other)]).toEqual([['four', ...all], []]);
  });

  it.each(['workspace.json', 'journal.json', 'fork.json', 'task.json', 'refs.log', 'snapshots.git/packed-refs'])(
    'with a folder in place of %s is mended, and nothing of it is deleted',
    async (name) => {
      const { box, workspace } = await started();
      await workspace.close();
      const path = join(workspace.folder, name);
      rmSync(path, { force: true });
      mkdirSync(path);
      writeFileSync(join(path, 'thing'), 'mine');
      if (name.endsWith('refs')) expect(await refusal(box.open().then((one) => one.list()))).toBe('store-broken');
      const { root: directory, home } = box;
      expect((await examineStoreFiles(box.root, { home })).map(({ repaired }) => repaired)).toEqual([false]);
      expect(await examineStoreFiles(directory, { home, repair: true })).toMatchObject([{ reason: 'file-blocked' }]);
      expect(await examineStoreFiles(directory, { home })).toEqual([]);
      const other = await box.open();
      expect([await names(other), await reasons(other)]).toEqual([all, []]);
      expect(
        readdirSync(join(other.folder, 'damaged')).flatMap((one) => readdirSync(join(other.folder, 'damaged', one))),
      ).toEqual(['thing']);
    },
  );

  it('with a file in place of its leases says that it is damaged', async () => {
    const { workspace, again } = await started();
    await workspace.close();
    rmSync(join(workspace.folder, 'leases'), { recursive: true });
    writeFileSync(join(workspace.folder, 'leases'), '');
    const other = await again();
    expect(await refusal(other.create())).toBe('store-broken');
    expect(existsSync(join(workspace.folder, 'leases'))).toBe(true);
  });
});
