import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CheckpointsError } from '../../src/core/errors';
import { layoutOf } from '../../src/git/layout';
import { resolveRoot, workspaceFolder } from '../../src/git/roots';
import { sandbox, type Sandbox } from './rig';

const rootOf = (box: Sandbox, folder: string): Promise<string> =>
  resolveRoot(folder, box.home).catch((error: unknown) => {
    if (CheckpointsError.is(error)) return error.reason;
    throw error;
  });

function committed(): Sandbox {
  const box = sandbox();
  box.write('src/a.txt', 'a');
  box.git('add', '-A');
  box.git('commit', '-qm', 'one');
  return box;
}

describe('a git repository itself', () => {
  it('is no workspace: not .git, not a folder in it, not a bare repository', async () => {
    const box = committed();
    box.git('clone', '-q', '--bare', '.', '../bare');
    const bare = join(box.root, '../bare');
    for (const folder of [join(box.root, '.git'), join(box.root, '.git', 'hooks'), bare, join(bare, 'refs')])
      expect([folder, await rootOf(box, folder)]).toEqual([folder, 'refused-root']);
    await expect(resolveRoot(join(box.root, '.git'), box.home)).rejects.toThrow(/part of a git repository/);
  });

  it('is none either where an older version had made a store for it', async () => {
    const box = committed();
    const folder = workspaceFolder(box.home, join(box.root, '.git'));
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'workspace.json'), '{}');
    expect(await rootOf(box, join(box.root, '.git', 'hooks'))).toBe('refused-root');
  });

  it('of a submodule is none, though it names a work tree', async () => {
    const box = committed();
    box.git('clone', '-q', '--bare', '.', '../lib.git');
    box.git('-c', 'protocol.file.allow=always', 'submodule', 'add', '-q', '../lib.git', 'lib');
    expect(await rootOf(box, join(box.root, '.git', 'modules', 'lib'))).toBe('refused-root');
    expect(await rootOf(box, join(box.root, 'lib', 'src'))).toBe(join(box.root, 'lib'));
  });

  it('of another name in the folder would be captured, so that folder is none; its neighbours are fine', async () => {
    const box = committed();
    box.sh(
      'mkdir -p ../lot/notes && git clone -q --bare . ../lot/.bare && echo "gitdir: ./.bare" > ../lot/.git && git -C ../lot worktree add -q main 2>/dev/null',
    );
    const lot = join(box.root, '../lot');
    expect(await rootOf(box, lot)).toBe('refused-root');
    const fine = async (name: string): Promise<boolean> =>
      (await rootOf(box, join(lot, name))).endsWith(`/lot/${name}`);
    expect([await fine('notes'), await fine('main')]).toEqual([true, true]);
  });
});

describe('a work tree', () => {
  it('is a workspace wherever it lies: linked, inside a bare repository, beside one', async () => {
    const box = committed();
    box.sh('git worktree add -q ../linked && git clone -q --bare . ../bare && git -C ../bare worktree add -q inner');
    box.sh('mkdir -p ../beside.git/src');
    for (const name of ['linked', 'bare/inner'])
      expect(await rootOf(box, join(box.root, '..', name, 'src'))).toBe(join(box.root, '..', name));
    expect(await rootOf(box, join(box.root, '../beside.git/src'))).toBe(join(box.root, '../beside.git/src'));
    expect(await rootOf(box, join(box.root, 'src'))).toBe(box.root);
  });

  it('of another owner has its top level as its root, too', async () => {
    const box = committed();
    execFileSync('chown', ['-R', 'nobody', box.root]);
    expect(await rootOf(box, join(box.root, 'src'))).toBe(box.root);
    const workspace = await box.open({ directory: join(box.root, 'src') });
    expect(JSON.parse(readFileSync(join(layoutOf(box.home, box.root).folder, 'workspace.json'), 'utf8'))).toMatchObject(
      {
        root: box.root,
      },
    );
    expect((await workspace.create()).files.paths).toEqual(['src/a.txt']);
  });
});

describe('the system', () => {
  it('is no workspace, also where its folders are links into /usr and below them', async () => {
    const box = sandbox({ git: false });
    for (const folder of [
      '/',
      '/etc',
      '/usr',
      '/bin',
      '/lib',
      '/sbin',
      '/usr/bin',
      '/usr/lib',
      '/usr/share',
      '/var/lib',
    ])
      expect([folder, await rootOf(box, folder)]).toEqual([folder, 'refused-root']);
    const below = readdirSync('/usr/lib', { withFileTypes: true }).find((entry) => entry.isDirectory());
    expect(await rootOf(box, join('/usr/lib', below!.name))).toBe('refused-root');
    expect(await rootOf(box, box.root)).toBe(box.root);
  });
});
