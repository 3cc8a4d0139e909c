import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CheckpointsError } from '../../src/core/errors';
import type { Checkpoint, RestoreResult } from '../../src/core/model';
import { storeFailure } from '../../src/git/file-failure';
import { makeFolder } from '../../src/git/folders';
import { openWorkspace } from '../../src/git/open';
import { sandbox, type Sandbox } from './rig';
import { worker } from './worker';

const processes = worker();

/** Root may write everywhere: these run in a process of another user. */
const asNobody = async (box: Sandbox, args: string[], env: NodeJS.ProcessEnv = {}) => {
  execFileSync('chown', ['-R', 'nobody', join(box.home, '..')]);
  return processes.run(box, args, { ...env, RUN_AS: 'nobody' });
};
const contents = (box: Sandbox, paths: string[]): string[] =>
  paths.map((path) => readFileSync(join(box.root, path), 'utf8'));

async function changedSince(files: Record<string, [string, string | null]>): Promise<Sandbox> {
  const box = sandbox();
  for (const [path, [then]] of Object.entries(files)) box.write(path, then);
  const workspace = await box.open();
  await workspace.create({ name: 'then' });
  await workspace.close();
  for (const [path, [, now]] of Object.entries(files))
    if (now === null) rmSync(join(box.root, path));
    else box.write(path, now);
  return box;
}

describe('a path that may not be changed', () => {
  it('is skipped and named, the rest is restored, and every later command works', async () => {
    const box = await changedSince({ a: ['1', '2'], 'ro/f': ['1', '2'], z: ['1', '2'] });
    box.write('ro/new', 'made since');
    chmodSync(join(box.root, 'ro'), 0o555);
    const { output } = await asNobody(box, ['restore', 'then']);
    const [, result] = output as [unknown, RestoreResult];
    expect(result.restored).toEqual(['a', 'z']);
    expect(result.skipped).toEqual([
      { path: 'ro/new', reason: 'may not be written' },
      { path: 'ro/f', reason: 'may not be written' },
    ]);
    expect(contents(box, ['a', 'ro/f', 'z', 'ro/new'])).toEqual(['1', '2', '1', 'made since']);
    const later = await asNobody(box, ['create', 'later']);
    expect(later.output).toMatchObject([null, { name: 'later' }]);
  });

  it('nor read is in the next checkpoint as it was, whoever captured it first', async () => {
    const box = sandbox();
    box.write('a', '1');
    box.write('tracked/f', 'f');
    box.git('add', '-A');
    box.git('commit', '-qm', 'one');
    // Too little for the scanner's index to have it at once.
    box.write('closed/new', 'new');
    await asNobody(box, ['create', 'one']);
    box.write('a', '2');
    for (const folder of ['closed', 'tracked']) chmodSync(join(box.root, folder), 0);
    const { output } = await asNobody(box, ['create', 'two']);
    for (const folder of ['closed', 'tracked']) chmodSync(join(box.root, folder), 0o755);
    const [, { files }] = output as [unknown, Checkpoint];
    expect([files.paths, files.deleted]).toEqual([['a'], 0]);
    expect(files.partial).toContainEqual({ path: 'closed/new', reason: 'EACCES' });
    const later = await asNobody(box, ['create', 'three']);
    expect((later.output as [unknown, Checkpoint])[1].files).toMatchObject({ paths: [], partial: [] });
    expect(contents(box, ['closed/new', 'tracked/f'])).toEqual(['new', 'f']);
  });

  it('among many files, which are moved aside first', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 100 }, (_, i): [string, [string, string]] => [`${i % 2 ? 'ro' : 'rw'}/${i}`, ['1', '2']]),
    );
    const box = await changedSince(files);
    chmodSync(join(box.root, 'ro'), 0o555);
    const [, result] = (await asNobody(box, ['restore', 'then'])).output as [unknown, RestoreResult];
    expect([result.restored.length, result.skipped.length]).toEqual([50, 50]);
    expect(
      new Set(
        contents(
          box,
          Object.keys(files).filter((path) => path.startsWith('ro')),
        ),
      ),
    ).toEqual(new Set(['2']));
  });

  it('in a root that may not be written: everything is named', async () => {
    const box = await changedSince({ a: ['1', '2'], gone: ['1', null] });
    mkdirSync(join(box.root, 'hollow'));
    execFileSync('chown', ['-R', 'nobody', join(box.home, '..')]);
    chmodSync(box.root, 0o555);
    const [, result] = (await asNobody(box, ['restore', 'then'])).output as [unknown, RestoreResult];
    expect(result.restored).toEqual([]);
    expect(result.skipped.map(({ path }) => path)).toEqual(['a', 'gone', 'hollow']);
    expect((await asNobody(box, ['open'])).code).toBe(0);
  });

  it('does not keep the recovery from finishing the rest', async () => {
    const box = await changedSince({ a: ['1', '2'], 'ro/f': ['1', '2'], z: ['1', '2'] });
    box.write('made', 'since');
    // The first thing it does to the workspace is to delete that file.
    const dead = await asNobody(box, ['restore', 'then'], { FAULT_AT: '1', FAULT_UNDER: box.root });
    expect(dead.signal).toBe('SIGKILL');
    chmodSync(join(box.root, 'ro'), 0o555);
    const { output } = await asNobody(box, ['open']);
    expect(output).toMatchObject([
      { outcome: 'finished', restored: ['a', 'z'], kept: [{ path: 'ro/f', reason: 'may not be written' }] },
    ]);
    expect(contents(box, ['a', 'ro/f', 'z'])).toEqual(['1', '2', '1']);
    expect(existsSync(join(box.root, 'made'))).toBe(false);
    expect((await asNobody(box, ['create', 'later'])).output).toMatchObject([null, { name: 'later' }]);
  });

  it('and could not be read is named, though nobody knows whether it changed', async () => {
    const box = await changedSince({ a: ['1', '2'], 'closed/f': ['1', '2'] });
    chmodSync(join(box.root, 'closed'), 0o000);
    const [, result] = (await asNobody(box, ['restore', 'then'])).output as [unknown, RestoreResult];
    expect(result.restored).toEqual(['a']);
    expect(result.skipped.map(({ path }) => path)).toEqual(['closed/f', 'closed']);
    for (const { reason } of result.skipped) expect(reason).toMatch(/^cannot be read/);
  });
});

describe('what the file system says', () => {
  const failure = (code: string, path: string, dest?: string): unknown =>
    storeFailure(Object.assign(new Error(code), { code, errno: -1, path, dest }), '/store/ws', '/project');
  const reason = (error: unknown): string =>
    CheckpointsError.is(error) ? `${error.reason}: ${error.message}` : 'none';

  it('is about the store or about the workspace, as its path tells', () => {
    expect(reason(failure('ENOSPC', '/store/ws/x'))).toBe('disk-full: The disk of the store is full (/store/ws).');
    expect(reason(failure('ENOSPC', '/project/x'))).toBe('disk-full: The disk of the workspace is full (/project).');
    expect(reason(failure('EACCES', '/store/ws/x', '/project/x'))).toMatch(/^workspace-readonly: /);
    expect(reason(failure('EROFS', '/store/ws/x'))).toMatch(/^store-readonly: /);
    expect(reason(failure('EACCES', '/workshop/x'))).toMatch(/^store-readonly: /);
    expect(reason(failure('EIO', '/project/x'))).toBe('none');
    expect(reason(failure('EIO', '/store/ws/x'))).toMatch(/^store-broken: /);
    expect(reason(failure('ENOTDIR', '/store/ws/x'))).toMatch(/^store-broken: /);
    expect(reason(failure('ENOTDIR', '/project/x'))).toBe('none');
  });
});

describe('a place for the store that can hold none', () => {
  it('is told at once, with the path and the reason', async () => {
    const box = sandbox();
    const file = join(box.root, '..', 'file');
    writeFileSync(file, '1');
    // Making a folder in /proc fails with "no such file": Node's own `recursive` then tries for ever.
    for (const home of [join(file, 'store'), '/proc/store/below'])
      await expect(openWorkspace({ directory: box.root, home })).rejects.toMatchObject({
        reason: 'store-readonly',
        message: expect.stringContaining(home) as string,
      });
    expect(readFileSync(file, 'utf8')).toBe('1');
  });

  it('keeps the reason of the file system: a full or read-only volume is not a missing folder', () => {
    const calls: string[] = [];
    const volume = (path: string): void => {
      calls.push(path);
      if (path === '/v/a') throw Object.assign(new Error('EROFS'), { code: 'EROFS', errno: -30 });
      throw Object.assign(new Error('ENOENT'), { code: 'ENOENT', errno: -2 });
    };
    expect(() => makeFolder('/v/a/b', 0o700, volume)).toThrow('EROFS');
    expect(calls).toEqual(['/v/a/b', '/v/a']);
  });
});
