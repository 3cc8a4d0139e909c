import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { gitBytes, sandbox, type Sandbox } from './rig';

/** A workspace with its own ignore rules, and a repository in it that has others. */
function nested(git: boolean): Sandbox {
  const box = sandbox({ git });
  box.write('.gitignore', 'build/\n/lib/only-here.txt\n');
  box.git('init', '-q', 'lib');
  box.write('lib/a.txt', 'a');
  box.write('lib/build/tool.sh', 'tool');
  box.write('lib/only-here.txt', 'tracked in lib');
  box.git('-C', 'lib', 'add', '-f', '.');
  box.git('-C', 'lib', 'commit', '-qm', 'one');
  box.write('lib/build/made.js', 'not tracked');
  return box;
}

describe.each([
  ['in a git repository', true],
  ['in a folder without git', false],
])('a repository in the workspace %s', (_name, git) => {
  it('keeps what it tracks, whatever rules outside of it say', async () => {
    const box = nested(git);
    const workspace = await box.open();
    const { files } = await workspace.create({ name: 'then' });
    expect(files.paths.toSorted()).toEqual(['.gitignore', 'lib/a.txt', 'lib/build/tool.sh', 'lib/only-here.txt']);
    box.write('lib/build/tool.sh', 'edited');
    rmSync(join(box.root, 'lib/only-here.txt'));
    const second = await box.open();
    expect((await second.create()).files).toMatchObject({ modified: 1, deleted: 1 });
    await second.restore('then');
    expect(box.read('lib/build/tool.sh')).toBe('tool');
    expect(box.read('lib/only-here.txt')).toBe('tracked in lib');
    expect(box.read('lib/build/made.js')).toBe('not tracked');
  });

  it('leaves out what its own info/exclude names, but not what it tracks; no restore touches it', async () => {
    const box = nested(git);
    box.write('lib/.git/info/exclude', '# mine\n*.secret\n/notes/\n!open.secret\nkept.cfg\n');
    box.write('lib/x.secret', 'secret');
    box.write('lib/open.secret', 'open');
    box.write('lib/notes/n', 'note');
    box.write('lib/src/notes/n', 'not at the top');
    box.write('lib/kept.cfg', 'tracked');
    box.git('-C', 'lib', 'add', '-f', 'kept.cfg');
    box.git('init', '-q', 'lib/inner');
    box.write('lib/inner/x.secret', 'the inner one has no such rule');
    box.write('x.secret', 'nor has the outer one');
    const before = gitBytes(box.root);
    const { files } = await (await box.open()).create({ name: 'then' });
    expect(files.paths.toSorted()).toEqual([
      '.gitignore',
      'lib/a.txt',
      'lib/build/tool.sh',
      'lib/inner/x.secret',
      'lib/kept.cfg',
      'lib/only-here.txt',
      'lib/open.secret',
      'lib/src/notes/n',
      'x.secret',
    ]);
    box.write('lib/y.secret', 'later');
    box.write('lib/a.txt', 'b');
    const again = await box.open();
    expect((await again.create()).files.paths).toEqual(['lib/a.txt']);
    expect((await again.restore('then')).deleted).toEqual([]);
    expect(['lib/x.secret', 'lib/y.secret', 'lib/notes/n'].every((path) => existsSync(join(box.root, path)))).toBe(
      true,
    );
    expect(gitBytes(box.root)).toBe(before);
  });
});

it('a linked worktree in the workspace has the rules of the repository it belongs to', async () => {
  const box = sandbox({ git: false });
  box.sh('git init -q ../main && cd ../main && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one');
  box.sh('echo "*.secret" > ../main/.git/info/exclude; git -C ../main worktree add -q "$PWD/tree" 2>/dev/null');
  box.write('tree/a', 'a');
  box.write('tree/x.secret', 'x');
  expect((await (await box.open()).create()).files.paths).toEqual(['tree/a']);
});

it('where its git cannot be asked, a nested repository is captured as it is', async () => {
  const box = nested(false);
  box.write('lib/.git/info/exclude', '*.secret\n');
  box.write('lib/x.secret', 'secret');
  box.write('lib/.git/config', 'this is no configuration [');
  const { files } = await (await box.open()).create();
  expect(files.paths).toContain('lib/x.secret');
  expect(files.paths).toContain('lib/a.txt');
});
