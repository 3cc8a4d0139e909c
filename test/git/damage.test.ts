import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CheckpointsError } from '../../src/core/errors';
import type { Workspace } from '../../src/core/workspace';
import { hashObject } from '../../src/git/pack-writer';
import { picture, sandbox, type Sandbox } from './rig';
import { worker } from './worker';

const processes = worker();
const text = async (workspace: Workspace, ref: string, path: string): Promise<string> =>
  Buffer.from(await workspace.cat(ref, path)).toString();
const reasonOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'no error',
    (error: unknown) => (CheckpointsError.is(error) ? error.reason : String(error)),
  );

const packs = ({ folder }: Workspace): string[] =>
  readdirSync(join(folder, 'snapshots.git/objects/pack'))
    .filter((name) => name.endsWith('.pack'))
    .map((name) => join(folder, 'snapshots.git/objects/pack', name));

function damage(path: string, from: number, to: number): void {
  chmodSync(path, 0o644);
  writeFileSync(path, readFileSync(path).fill(0, from, to));
}

async function started(): Promise<{ box: Sandbox; workspace: Workspace; gitDir: string }> {
  const box = sandbox();
  box.write('a.txt', 'committed');
  box.write('b/c.txt', 'c');
  box.git('add', '-A');
  box.git('commit', '-qm', 'one');
  const workspace = await box.open();
  await workspace.create({ name: 'first' });
  return { box, workspace, gitDir: join(workspace.folder, 'snapshots.git') };
}

describe("the user's own git", () => {
  it('may amend, reset and gc --prune=now: every checkpoint stays whole', async () => {
    const { box, workspace } = await started();
    box.write('a.txt', 'amended away');
    box.git('commit', '-qam', 'two');
    await workspace.create({ name: 'second' });
    box.sh('git reset -q --hard HEAD~1 && git reflog expire --expire=now --all && git gc -q --prune=now');
    expect(await text(workspace, 'second', 'a.txt')).toBe('amended away');
    expect(await text(workspace, 'first', 'a.txt')).toBe('committed');
    expect(await workspace.doctor()).toEqual([]);
    await workspace.restore('second');
    expect(readFileSync(join(box.root, 'a.txt'), 'utf8')).toBe('amended away');
  });

  it('never has its objects written to, nor their mode changed', async () => {
    const { box, workspace } = await started();
    const pack = join(box.root, '.git', 'objects');
    const modes = (): string =>
      execFileSync('find', [pack, '-type', 'f', '-printf', '%P %m %s %T@\\n'], { encoding: 'utf8' })
        .split('\n')
        .sort()
        .join('\n');
    const before = modes();
    box.write('a.txt', 'x');
    await workspace.create();
    await workspace.prune();
    await workspace.restore('first');
    await workspace.doctor({ repair: true });
    expect(modes()).toBe(before);
  });

  it('is not disturbed by GIT_* variables, hooks, signing or a pager of the user', async () => {
    const { box, workspace } = await started();
    box.sh(
      'mkdir -p hooks && printf "#!/bin/sh\\ntouch hook-ran\\n" > hooks/post-index-change && chmod +x hooks/post-index-change',
    );
    box.git('config', 'core.hooksPath', join(box.root, 'hooks'));
    box.git('config', 'commit.gpgSign', 'true');
    box.git('config', 'core.pager', 'false');
    const index = readFileSync(join(box.root, '.git', 'index'));
    const { code, output } = await processes.run(box, ['create', 'inside a hook'], {
      GIT_DIR: join(box.root, '.git'),
      GIT_INDEX_FILE: join(box.root, '.git', 'index'),
      GIT_WORK_TREE: '/',
    });
    expect([code, output]).toMatchObject([0, [null, { name: 'inside a hook' }]]);
    expect(readFileSync(join(box.root, '.git', 'index')).equals(index)).toBe(true);
    expect(existsSync(join(box.root, 'hook-ran'))).toBe(false);
    expect((await workspace.list())[0]!.files.paths).toEqual(['hooks/post-index-change']);
  });
});

function flip(path: string, at: number, bit: number): void {
  const content = readFileSync(path);
  content[at]! ^= bit;
  writeFileSync(path, content);
}

describe('a damaged store', () => {
  it('with a corrupt or missing scan index, base or index.db only costs time', async () => {
    const { box, workspace } = await started();
    const scan = join(workspace.folder, 'scan', 'index');
    for (const harm of [
      () => rmSync(scan),
      () => writeFileSync(scan, 'garbage'),
      () => writeFileSync(scan, readFileSync(scan).subarray(0, 100)),
      // One bit before the name tells git not to look at the file; it does not check its index by itself.
      () => flip(scan, readFileSync(scan).indexOf('a.txt') - 2, 0x80),
      () => rmSync(join(workspace.folder, 'snapshots.git', 'refs', 'base')),
      () => writeFileSync(join(workspace.folder, 'index.db'), 'garbage'),
    ]) {
      harm();
      box.write('a.txt', `after ${String(harm)}`);
      const checkpoint = await workspace.create();
      expect(await text(workspace, checkpoint.id, 'a.txt')).toBe(`after ${String(harm)}`);
      expect(await text(workspace, checkpoint.id, 'b/c.txt')).toBe('c');
    }
  });

  it('with a lost object: the checkpoint is named by doctor, others stay, nothing is deleted', async () => {
    const { box, workspace, gitDir } = await started();
    box.write('lost.txt', 'to be lost');
    await workspace.create({ name: 'lossy' });
    box.write('lost.txt', 'later');
    await workspace.create({ name: 'later' });
    const [version] = execFileSync(
      'git',
      [`--git-dir=${gitDir}`, 'rev-parse', `refs/checkpoints/${(await workspace.resolve('lossy')).id}:lost.txt`],
      { encoding: 'utf8' },
    ).split('\n');
    execFileSync('bash', [
      '-ec',
      `cd "$1/objects/pack" && for p in *.pack; do mv "$p" "$1/x.pack"; rm -f "\${p%.pack}.idx"; git --git-dir="$1" unpack-objects -q < "$1/x.pack"; done; rm "$1/objects/\${2:0:2}/\${2:2}"`,
      '-',
      gitDir,
      version!,
    ]);
    await workspace.close();
    const again = await box.open();
    const problems = await again.doctor({ repair: true });
    expect(problems.map(({ reason, repaired }) => [reason, repaired])).toEqual([['object-missing', false]]);
    expect(problems[0]!.message).toContain((await again.resolve('lossy')).id);
    expect(await again.list()).toHaveLength(3);
    expect(await reasonOf(again.cat('lossy', 'lost.txt'))).toBe('store-broken');
    expect(await text(again, 'later', 'lost.txt')).toBe('later');
    const before = readFileSync(join(box.root, 'lost.txt'), 'utf8');
    expect(await reasonOf(again.restore('lossy'))).toBe('store-broken');
    expect(readFileSync(join(box.root, 'lost.txt'), 'utf8')).toBe(before);
    expect(existsSync(join(again.folder, 'journal.json'))).toBe(false);
  });

  it.each([
    ['missing', (path: string) => rmSync(path)],
    ['damaged', (path: string) => writeFileSync(path, 'no object')],
  ])('with the content of one file %s: what changed in the others is told', async (_, harm) => {
    const { box, workspace, gitDir } = await started();
    for (const name of ['lost.txt', 'told.txt', 'gone.txt', '*.txt']) box.write(name, `${name}\nfirst\n`);
    box.write('moved.txt', 'these lines\nwill stand\nelsewhere\n');
    await workspace.create({ name: 'before' });
    for (const name of ['lost.txt', 'told.txt', '*.txt']) box.write(name, `${name}\nsecond\nthird\n`);
    box.sh('rm gone.txt && mv moved.txt elsewhere.txt');
    const { id } = await workspace.create({ name: 'after' });
    await workspace.close();
    const oid = hashObject('blob', Buffer.from('lost.txt\nfirst\n'), 'sha1');
    execFileSync('bash', [
      '-ec',
      'cd "$1/objects/pack" && for p in *.pack; do mv "$p" "$1/x.pack"; rm -f "${p%.pack}.idx"; git --git-dir="$1" unpack-objects -q < "$1/x.pack"; done; chmod -R u+w "$1/objects"',
      '-',
      gitDir,
    ]);
    harm(join(gitDir, 'objects', oid.slice(0, 2), oid.slice(2)));
    const again = await box.open();
    const counts = { additions: 2, deletions: 1, binary: false };
    const none = { additions: 0, deletions: 0, binary: false };
    const expected = [
      { path: '*.txt', status: 'modified', ...counts },
      { path: 'elsewhere.txt', from: 'moved.txt', status: 'renamed', ...none },
      { path: 'gone.txt', status: 'deleted', additions: 0, deletions: 2, binary: false },
      { path: 'lost.txt', status: 'modified', ...none, damaged: true },
      { path: 'told.txt', status: 'modified', ...counts },
    ];
    expect(await again.changes(id)).toEqual(expected);
    const { changes, patch } = await again.diff('before', 'after', { patch: true });
    expect(changes).toEqual(expected);
    expect([
      patch!.includes('told.txt'),
      patch!.includes('rename to elsewhere.txt'),
      patch!.includes('lost.txt'),
    ]).toEqual([true, true, false]);
    expect((await again.diff('before', undefined, { paths: ['told.txt', 'lost.txt'] })).changes).toEqual(
      expected.slice(3),
    );
    expect((await again.diff('before', 'after', { paths: ['told.txt'] })).changes).toEqual(expected.slice(4));
  });

  it('with damaged bytes: a restore saves what it overwrites once more, so that undo has it', async () => {
    const box = sandbox();
    const write = (): void => ['f', 'sub/g'].forEach((path) => box.write(path, randomBytes(3000)));
    write();
    const workspace = await box.open();
    await workspace.create({ name: 'one' });
    const before = packs(workspace);
    write();
    const now = picture(box.root);
    await workspace.create({ name: 'two' });
    await workspace.close();
    const [pack] = packs(workspace).filter((path) => !before.includes(path));
    damage(pack!, 100, 5500);
    const again = await box.open();
    expect((await again.restore('one')).restored).toEqual(['f', 'sub/g']);
    await again.close();
    const later = await box.open();
    await later.undo();
    expect(picture(box.root)).toEqual(now);
    expect(await later.doctor()).toEqual([]);
  });

  it('with damaged bytes: doctor saves what the workspace still has, and names the rest', async () => {
    const box = sandbox();
    box.write('f', randomBytes(3000));
    const workspace = await box.open();
    await workspace.create({ name: 'one' });
    await workspace.close();
    damage(packs(workspace)[0]!, 200, 300);
    const again = await box.open();
    expect(await again.doctor({ repair: true })).toMatchObject([{ reason: 'object-damaged', repaired: true }]);
    expect(Buffer.from(await again.cat('one', 'f'))).toEqual(readFileSync(join(box.root, 'f')));
    expect(await again.doctor()).toEqual([]);
    const known = packs(workspace);
    box.write('g', randomBytes(3000));
    const { id } = await again.create({ name: 'two' });
    rmSync(join(box.root, 'g'));
    damage(
      packs(workspace).find((path) => !known.includes(path))!,
      200,
      300,
    );
    const [found, ...more] = await again.doctor({ repair: true });
    expect([found?.reason, found?.repaired, more]).toEqual(['object-damaged', false, []]);
    expect(found?.message).toBe(
      `1 object of the store is damaged. It belongs to ${id}. Until that is deleted by its id nothing can be freed.`,
    );
    const before = picture(box.root);
    await expect(again.restore('two')).rejects.toMatchObject({ reason: 'store-broken' });
    expect(picture(box.root)).toEqual(before);
    await expect(again.prune()).rejects.toMatchObject({ reason: 'store-broken' });
    expect(await again.remove([id])).toEqual([id]);
    await again.prune();
    expect(await again.doctor()).toEqual([]);
  });

  it('with damaged bytes that only the last look at the files had: doctor has it made anew, and space is freed again', async () => {
    const box = sandbox();
    const workspace = await box.open();
    await workspace.create({ name: 'one' });
    const known = packs(workspace);
    box.write('g', randomBytes(3000));
    const { id } = await workspace.create({ name: 'two' });
    await workspace.close();
    damage(
      packs(workspace).find((path) => !known.includes(path))!,
      200,
      300,
    );
    rmSync(join(box.root, 'g'));
    const again = await box.open();
    await again.remove([id]);
    await expect(again.prune()).rejects.toMatchObject({ reason: 'store-broken' });
    expect(await again.doctor({ repair: true })).toMatchObject([{ reason: 'object-damaged', repaired: true }]);
    await again.prune();
    expect([await again.doctor(), (await again.list()).length]).toEqual([[], 1]);
  });

  it('with what git left when it was killed: deleting and cleaning up go on, and doctor knows it', async () => {
    const { workspace, gitDir } = await started();
    const { id } = await workspace.create({ name: 'second' });
    await workspace.prune();
    const leave = (...names: string[]): void => {
      for (const name of names) {
        writeFileSync(join(gitDir, name), 'half');
        execFileSync('touch', ['-d', '1 hour ago', join(gitDir, name)]);
      }
    };
    const left = (): string[] => readdirSync(gitDir).filter((name) => /\.(lock|new)$/.test(name));
    leave('packed-refs.new');
    expect((await workspace.doctor()).map((p) => p.reason)).toEqual(['stale-lock']);
    leave('packed-refs.lock', `refs/checkpoints/${id}.lock`);
    expect(await workspace.remove([id])).toEqual([id]);
    expect([left(), readdirSync(join(gitDir, 'refs', 'checkpoints'))]).toEqual([[], []]);
    leave('packed-refs.new', 'packed-refs.lock');
    await workspace.prune();
    expect([left(), await workspace.doctor()]).toEqual([[], []]);
    expect((await workspace.list()).map((c) => c.name)).toEqual(['first']);
  });

  it('with a damaged ref, stale locks, missing attributes: doctor mends and never makes it worse', async () => {
    const { workspace, gitDir } = await started();
    const { id } = await workspace.create({ name: 'second' });
    appendFileSync(join(gitDir, 'refs', 'checkpoints', id), 'garbage');
    const lock = join(gitDir, 'packed-refs.lock');
    writeFileSync(lock, '');
    execFileSync('touch', ['-d', '1 hour ago', lock]);
    rmSync(join(gitDir, 'info', 'attributes'));
    chmodSync(join(workspace.folder, '..', '..'), 0o755);
    const found = await workspace.doctor();
    expect(found.map((p) => [p.reason, p.repaired]).sort()).toEqual([
      ['attributes', false],
      ['permissions', false],
      ['ref-damaged', false],
      ['stale-lock', false],
    ]);
    const mended = await workspace.doctor({ repair: true });
    expect(mended.every((p) => p.repaired)).toBe(true);
    expect(await workspace.doctor()).toEqual([]);
    expect((await workspace.list()).map((c) => c.name)).toEqual(['second', 'first']);
    expect(readdirSync(join(workspace.folder, 'damaged'))).toHaveLength(1);
  });

  it.each([
    ['empty', []],
    ['with something in it', ['thing']],
  ])('with a folder in place of index.db, %s: doctor finds it, and nothing of it is deleted', async (_, inside) => {
    const { workspace } = await started();
    const at = join(workspace.folder, 'index.db');
    mkdirSync(at);
    for (const name of inside) writeFileSync(join(at, name), 'mine');
    expect(await workspace.doctor()).toMatchObject([{ reason: 'index-blocked', repaired: false }]);
    expect(existsSync(at)).toBe(true);
    expect(await workspace.doctor({ repair: true })).toMatchObject([{ reason: 'index-blocked', repaired: true }]);
    expect([existsSync(at), await workspace.doctor()]).toEqual([false, []]);
    const aside = join(workspace.folder, 'damaged');
    const kept = existsSync(aside) ? readdirSync(aside).flatMap((name) => readdirSync(join(aside, name))) : [];
    expect(kept).toEqual(inside);
  });

  it.each([
    ['empty', (head: string) => writeFileSync(head, '')],
    ['gone', (head: string) => rmSync(head)],
  ])('whose HEAD is %s is no repository to git: doctor makes it one again, and nothing is lost', async (_, damage) => {
    const { box, workspace, gitDir } = await started();
    damage(join(gitDir, 'HEAD'));
    const mended = await workspace.doctor({ repair: true });
    expect(mended).toContainEqual(expect.objectContaining({ reason: 'head', repaired: true }));
    expect(await workspace.doctor()).toEqual([]);
    box.write('later.txt', 'later\n');
    await workspace.create({ name: 'later' });
    expect((await workspace.list()).map(({ name }) => name)).toEqual(['later', 'first']);
    expect((await workspace.diff('first', 'later', { patch: true })).patch).toContain('+later');
  });

  it('of a newer format is refused, not touched', async () => {
    const { box, workspace } = await started();
    const file = join(workspace.folder, 'workspace.json');
    writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), format: 99 }));
    expect(await reasonOf(box.open())).toBe('not-supported');
  });
});

describe('a file system that says no', () => {
  // Root may read and write everything: these run in a process of another user.
  const asNobody = async (box: Sandbox, args: string[]) => {
    execFileSync('chown', ['-R', 'nobody', join(box.home, '..')]);
    return processes.run(box, args, { RUN_AS: 'nobody' });
  };

  it('on entering a folder: what it holds is named, and not taken for unchanged', async () => {
    const { box } = await started();
    box.write('d/x', 'x');
    await (await box.open()).create({ name: 'before' });
    box.write('d/x', 'changed');
    box.write('d/n', 'new');
    chmodSync(join(box.root, 'd'), 0o444);
    for (const name of ['closed', 'again']) {
      const { output } = await asNobody(box, ['create', name]);
      const [, checkpoint] = output as [unknown, { files: { partial: Array<{ path: string }> } }];
      expect(checkpoint.files.partial.map((entry) => entry.path).sort()).toEqual(['d/.gitignore', 'd/n', 'd/x']);
    }
    chmodSync(join(box.root, 'd'), 0o755);
    const workspace = await box.open();
    const result = await workspace.restore('again');
    expect([result.restored, result.deleted]).toEqual([[], []]);
    await workspace.create({ name: 'open' });
    expect(Buffer.from(await workspace.cat('open', 'd/x')).toString()).toBe('changed');
    expect(Buffer.from(await workspace.cat('open', 'd/n')).toString()).toBe('new');
  });

  it('on one file or folder: the rest is captured, what could not be read is named', async () => {
    const { box } = await started();
    box.write('locked.txt', 'cannot read');
    box.write('closed/in.txt', 'cannot enter');
    chmodSync(join(box.root, 'locked.txt'), 0o000);
    chmodSync(join(box.root, 'closed'), 0o000);
    const { output } = await asNobody(box, ['create', 'partly']);
    const [, checkpoint] = output as [unknown, { files: { partial: Array<{ path: string }>; paths: string[] } }];
    expect(checkpoint.files.partial.map((entry) => entry.path).sort()).toEqual(['closed', 'locked.txt']);
    chmodSync(join(box.root, 'locked.txt'), 0o644);
    chmodSync(join(box.root, 'closed'), 0o755);
    // What the checkpoint could not read is not touched by a restore to it.
    box.write('a.txt', 'changed');
    const workspace = await box.open();
    const result = await workspace.restore('partly');
    expect(result.restored).toEqual(['a.txt']);
    expect(result.skipped.map((entry) => entry.path).sort()).toEqual(['closed/in.txt', 'locked.txt']);
    expect(readFileSync(join(box.root, 'closed/in.txt'), 'utf8')).toBe('cannot enter');
  });

  it('on the store: a reason, and nothing else', async () => {
    const { box, workspace } = await started();
    await workspace.close();
    execFileSync('chown', ['-R', 'nobody', join(box.home, '..')]);
    execFileSync('chmod', ['-R', 'a-w', box.home]);
    const { output } = await processes.run(box, ['create', 'x'], { RUN_AS: 'nobody' });
    expect(output).toMatchObject({ error: { reason: 'store-readonly' } });
  });

  it('is told by the doctor, too', async () => {
    const { box, workspace } = await started();
    await workspace.close();
    execFileSync('chown', ['-R', 'nobody', join(box.home, '..')]);
    execFileSync('chmod', ['-R', 'a-w', box.home]);
    const { output } = await processes.run(box, ['doctor'], { RUN_AS: 'nobody', XDG_CONFIG_HOME: box.home });
    expect(output).toEqual([null, [expect.objectContaining({ reason: 'store-readonly', repaired: false })]]);
  });
});

describe('retention', () => {
  it('gives the bytes of deleted checkpoints really back', async () => {
    const box = sandbox({ git: false });
    box.write('keep.txt', 'keep');
    const workspace = await box.open();
    await workspace.create({ name: 'keep' });
    for (let i = 0; i < 5; i++) {
      box.write('noise.bin', execFileSync('head', ['-c', '500000', '/dev/urandom']));
      await workspace.create({ name: `noise-${i}` });
    }
    rmSync(join(box.root, 'noise.bin'));
    await workspace.create({ name: 'end' });
    const before = (await workspace.stats()).bytes;
    await workspace.remove(Array.from({ length: 5 }, (_, i) => `noise-${i}`));
    const { freedBytes } = await workspace.prune();
    expect(freedBytes).toBeGreaterThan(2_000_000);
    expect((await workspace.stats()).bytes).toBeLessThan(before - 2_000_000);
    expect(await text(workspace, 'keep', 'keep.txt')).toBe('keep');
    await workspace.create();
  });

  it('drops the oldest automatic turns over maxStoreSize, never pinned or named ones', async () => {
    const box = sandbox({ git: false });
    const workspace = await box.open({ env: { ...process.env, OPENCODE_CHECKPOINTS_MAX_STORE_SIZE: '1500 KB' } });
    for (let i = 0; i < 6; i++) {
      box.write('noise.bin', execFileSync('head', ['-c', '400000', '/dev/urandom']));
      const session = { id: 'ses_1', messageId: null, messageCount: 0, title: null, parent: null };
      const turn = { number: i, prompt: `p${i}`, model: null, agent: null, cost: null, tokens: null };
      await workspace.create({ trigger: 'turn', session, turn, name: i === 1 ? 'named' : null });
    }
    const { deleted } = await workspace.prune();
    expect(deleted.length).toBeGreaterThan(1);
    const left = await workspace.list();
    expect(left.map((c) => c.name)).toContain('named');
    expect(left[0]!.turn?.number).toBe(5);
    expect((await workspace.stats()).bytes).toBeLessThan(1_600_000);
  });

  it('that lost its objects says that the store is broken, not that git failed', async () => {
    const { box, workspace, gitDir } = await started();
    await workspace.close();
    rmSync(join(gitDir, 'objects'), { recursive: true });
    const again = await box.open();
    expect(await reasonOf(again.list())).toBe('store-broken');
  });

  it('leaves what living processes are writing, though nobody else works on the store', async () => {
    const { workspace } = await started();
    const leases = join(workspace.folder, 'leases');
    const drafts = (pid: number): string[] => [
      join(workspace.folder, `task.json.tmp-${pid}-0a1b2c3d`),
      join(leases, `exclusive.new-${pid}-0a1b2c3d`),
      // It may be a newcomer's lease that is about to be put back.
      join(leases, `exclusive.dead-${pid}-0a1b2c3d`),
    ];
    mkdirSync(leases, { recursive: true });
    const living = [...drafts(process.ppid), ...drafts(process.pid)];
    for (const path of [...living, ...drafts(4_000_000)]) writeFileSync(path, 'half');
    await workspace.prune();
    expect(living.filter((path) => !existsSync(path))).toEqual([]);
    expect(drafts(4_000_000).filter((path) => existsSync(path))).toEqual([]);
  });

  it('sweeps what killed processes left behind', async () => {
    const { workspace, gitDir } = await started();
    const pack = join(gitDir, 'objects', 'pack');
    for (const name of ['tmp_pack_abc', 'pack-0123.pack']) writeFileSync(join(pack, name), 'left');
    mkdirSync(join(workspace.folder, 'stage-dead'));
    mkdirSync(join(workspace.folder, 'merge-4000000-Ab12Cd'));
    mkdirSync(join(workspace.folder, 'scan', '4000000-abcd'));
    const lock = join(gitDir, 'refs', 'checkpoints', 'cp_01m7tyx4392sp9pmpzcj0p35k0.lock');
    writeFileSync(lock, '');
    execFileSync('touch', ['-d', '1 hour ago', lock]);
    await workspace.prune();
    expect(existsSync(lock)).toBe(false);
    expect(readdirSync(pack).filter((name) => name.startsWith('tmp_') || name.includes('0123'))).toEqual([]);
    expect(readdirSync(workspace.folder).filter((name) => /^(stage|merge)-/.test(name))).toEqual([]);
    expect(readdirSync(join(workspace.folder, 'scan'))).not.toContain('4000000-abcd');
    expect(statSync(join(workspace.folder, '..', '..')).mode & 0o777).toBe(0o700);
  });
});
