import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { gitBytes, picture, sandbox, type Sandbox } from './rig';

/** Captures, wrecks the files, restores, and expects every byte back and every `.git` untouched. */
async function roundTrip(box: Sandbox, wreck: () => void = () => wreckAll(box)): Promise<void> {
  const workspace = await box.open();
  const before = picture(box.root);
  const untouched = gitBytes(box.root);
  const checkpoint = await workspace.create({ name: 'then' });
  expect(checkpoint.files.partial).toEqual([]);
  expect(gitBytes(box.root)).toBe(untouched);
  wreck();
  const result = await workspace.restore('then', { allowMassDelete: true });
  expect(result.skipped).toEqual([]);
  expect(picture(box.root)).toEqual(before);
  expect(gitBytes(box.root)).toBe(untouched);
  // A second look agrees with the first.
  const again = await workspace.create();
  expect(again.files.tree).toBe(checkpoint.files.tree);
}

function wreckAll(box: Sandbox): void {
  for (const [path, kind] of [...picture(box.root)].reverse()) {
    const full = Buffer.from(join(box.root, 'x').slice(0, -1) + path, 'latin1');
    if (kind === 'folder') continue;
    if (path.length % 3 === 0) rmSync(full);
    else if (kind.startsWith('link')) {
      rmSync(full);
      writeFileSync(full, 'was a link');
    } else writeFileSync(full, `wrecked ${path}`);
  }
  box.write('made-later.txt', 'later');
}

const attributes = [
  '* text=auto',
  '*.txt text eol=crlf',
  '*.id ident',
  '*.enc working-tree-encoding=UTF-16',
  '*.lfs filter=lfs diff=lfs merge=lfs -text',
  '*.rot filter=rot13',
].join('\n');

describe('the snapshot is what is on disk', () => {
  it('whatever .gitattributes and autocrlf say, in a repository with a checkout of them', async () => {
    const box = sandbox();
    box.git('config', 'core.autocrlf', 'true');
    box.git('config', 'filter.rot13.clean', 'tr a-z n-za-m');
    box.git('config', 'filter.rot13.smudge', 'tr a-z n-za-m');
    box.write('.gitattributes', `${attributes}\n`);
    box.write('dos.txt', 'one\r\ntwo\r\n');
    box.write('unix.txt', 'one\ntwo\n');
    box.write('mixed.c', 'a\r\nb\nc');
    box.write('key.id', '$Id$\n');
    box.write('wide.enc', Buffer.from('\ufeffhello\n', 'utf16le'));
    box.write('secret.rot', 'hello\n');
    box.git('add', '-A');
    box.git('commit', '-qm', 'converted');
    box.sh('rm -f *.txt *.c *.id *.enc *.rot && git checkout -q -- . && sleep 1.1 && git status --porcelain');
    expect(box.read('key.id')).toMatch(/\$Id: [0-9a-f]+ \$/);
    await roundTrip(box);
  });

  it('when a required filter is missing', async () => {
    const box = sandbox();
    box.git('config', 'filter.lfs.required', 'true');
    box.git('config', 'filter.lfs.clean', 'no-such-program-here');
    box.write('.gitattributes', '*.lfs filter=lfs\n');
    box.write('big.lfs', 'raw bytes \u0000\u0001');
    await roundTrip(box);
  });

  it('where git does not understand the .gitattributes, and says so: nothing of it counts as not read', async () => {
    const box = sandbox();
    box.write('.gitattributes', `* -no!name\n!not text\n* ${'a'.repeat(3000)}\n`);
    box.write('vendor/.gitattributes', '[attr]macro text\n');
    box.write('vendor/a.txt', 'a');
    const workspace = await box.open();
    for (const text of ['b', 'c']) {
      await workspace.create({ name: text });
      box.write('vendor/a.txt', text);
      box.write('b.txt', text);
    }
    const { files } = await workspace.create({ name: 'last' });
    expect([files.paths, files.partial]).toEqual([['b.txt', 'vendor/a.txt'], []]);
    const { skipped, failed } = await workspace.restore('c');
    expect([skipped, failed, box.read('vendor/a.txt')]).toEqual([[], undefined, 'b']);
  });

  it('in an unborn repository, a folder without git, and one with sha256 objects', async () => {
    for (const make of [() => sandbox(), () => sandbox({ git: false }), sha256]) {
      const box = make();
      box.write('a.txt', 'a');
      box.write('d/e/f.txt', 'deep');
      await roundTrip(box);
    }
  });

  it('with nested repositories, unborn ones, submodules and linked worktrees as plain files', async () => {
    const box = sandbox();
    box.write('a.txt', 'a');
    box.git('add', '-A');
    box.git('commit', '-qm', 'one');
    box.sh(
      'git init -q unborn && echo u > unborn/u.txt && mkdir -p deep/er && git init -q deep/er/repo && cd deep/er/repo && echo r > r.txt && git add . && git -c user.name=t -c user.email=t@t commit -qm r && echo s > s.txt && mkdir sub && echo i > sub/i.txt && git init -q sub/inner && echo x > sub/inner/x.txt',
    );
    box.sh('git worktree add -q wt -b side && echo w > wt/w.txt');
    box.sh('git -c protocol.file.allow=always submodule --quiet add ./deep/er/repo mod && echo m > mod/m.txt');
    const workspace = await box.open();
    const { files } = await workspace.create();
    const list = files.paths;
    for (const path of [
      'unborn/u.txt',
      'deep/er/repo/r.txt',
      'deep/er/repo/s.txt',
      'deep/er/repo/sub/inner/x.txt',
      'wt/a.txt',
      'wt/w.txt',
      'mod/r.txt',
      'mod/m.txt',
      '.gitmodules',
    ])
      expect(list).toContain(path);
    expect(list.filter((path) => /(^|\/)\.git(\/|$)/.test(path))).toEqual([]);
    await roundTrip(box);
  });

  it('with assume-unchanged, skip-worktree, intent-to-add, conflicts and a split index', async () => {
    const box = sandbox();
    for (const name of ['assumed', 'skipped', 'both', 'plain']) box.write(`${name}.txt`, 'old\n');
    box.git('add', '-A');
    box.git('commit', '-qm', 'one');
    box.git('update-index', '--assume-unchanged', 'assumed.txt');
    box.git('update-index', '--skip-worktree', 'skipped.txt');
    box.write('assumed.txt', 'new\n');
    box.write('skipped.txt', 'new\n');
    box.write('intended.txt', 'intended\n');
    box.git('add', '-N', 'intended.txt');
    box.sh(
      'git checkout -q -b side && echo side > both.txt && git -c user.name=t -c user.email=t@t commit -qam side && git checkout -q main && echo main > both.txt && git -c user.name=t -c user.email=t@t commit -qam main && (git -c user.name=t -c user.email=t@t merge -q side || true)',
    );
    expect(box.read('both.txt')).toContain('<<<<');
    await roundTrip(box);
    const split = sandbox();
    split.write('a.txt', 'a');
    split.write('b.txt', 'b');
    split.git('add', '-A');
    split.git('update-index', '--split-index');
    split.write('c.txt', 'c');
    split.git('add', 'c.txt');
    await roundTrip(split);
  });

  it('with a split index, in the workspace and below it, whose shared part git dates anew when it reads it', async () => {
    const box = sandbox();
    const shared: string[] = [];
    for (const folder of ['.', 'nested']) {
      box.write(`${folder}/a.txt`, 'a');
      if (folder === 'nested') box.git('init', '-q', folder);
      box.git('-C', folder, 'add', 'a.txt');
      box.git('-C', folder, 'commit', '-qm', 'one');
      box.git('-C', folder, 'update-index', '--split-index');
      box.write(`${folder}/b.txt`, 'b');
      box.git('-C', folder, 'add', 'b.txt');
      box.git('-C', folder, 'commit', '-qm', 'two');
      const git = join(box.root, folder, '.git');
      for (const name of readdirSync(git)) if (name.startsWith('sharedindex.')) shared.push(join(git, name));
    }
    box.write('.git/info/exclude', 'nested/\n');
    box.write('nested/.git/info/exclude', '*.log\n');
    box.write('nested/x.log', 'x');
    for (const file of shared) utimesSync(file, 1_700_000_000, 1_700_000_000);
    const dates = (): number[] => shared.map((file) => statSync(file).mtimeMs / 1000);
    const workspace = await box.open();
    expect((await workspace.create()).git).toMatchObject({ dirty: false });
    box.write('.gitattributes', '* text=auto eol=crlf\n');
    box.write('nested/y.log', 'y');
    box.git('config', 'core.autocrlf', 'true');
    expect((await workspace.create()).git).toMatchObject({ dirty: true });
    expect(shared.length).toBeGreaterThan(1);
    expect(dates()).toEqual(shared.map(() => 1_700_000_000));
  });

  it('in a sparse checkout, with and without a sparse index', async () => {
    const box = sandbox();
    for (const path of ['in/a.txt', 'out/b.txt', 'top.txt']) box.write(path, path);
    box.git('add', '-A');
    box.git('commit', '-qm', 'one');
    box.git('sparse-checkout', 'set', '--cone', '--sparse-index', 'in');
    expect(existsSync(join(box.root, 'out/b.txt'))).toBe(false);
    const workspace = await box.open();
    const { files, git } = await workspace.create();
    expect([files.paths.sort(), git?.dirty]).toEqual([['in/a.txt', 'top.txt'], false]);
    box.write('in/a.txt', 'changed');
    expect((await workspace.create()).git?.dirty).toBe(true);
    await roundTrip(box);
  });

  it.each(['true', 'false'])(
    'in a sparse checkout with something staged, and writes no object to it (index.sparse %s)',
    async (sparse) => {
      const box = sandbox();
      for (const path of ['in/a.txt', 'out/b.txt', 'top.txt']) box.write(path, path);
      box.git('add', '-A');
      box.git('commit', '-qm', 'one');
      box.git('sparse-checkout', 'set', '--cone', ...(sparse === 'false' ? ['--sparse-index'] : []), 'in');
      box.write('in/a.txt', 'staged');
      box.git('add', '-A');
      box.git('config', 'index.sparse', sparse);
      box.write('.env', 'is left out: what is dirty is then asked of git\n');
      const before = gitBytes(box.root);
      const { files, git } = await (await box.open()).create();
      expect([files.paths.sort(), git?.dirty]).toEqual([['in/a.txt', 'top.txt'], true]);
      expect(gitBytes(box.root)).toBe(before);
    },
  );

  it('in a repository that has lost its objects', async () => {
    const box = sandbox();
    box.write('a.txt', 'committed');
    box.write('b.txt', 'committed, too');
    box.git('add', '-A');
    box.git('commit', '-qm', 'one');
    box.write('b.txt', 'edited');
    rmSync(join(box.root, '.git/objects'), { recursive: true });
    mkdirSync(join(box.root, '.git/objects'));
    await roundTrip(box);
  });

  it('with odd names: newline, quotes, leading dash, spaces, not UTF-8, very long', async () => {
    const box = sandbox();
    box.write('new\nline.txt', '1');
    box.write(`quo"te's \\ back.txt`, '2');
    box.write('-rf', '3');
    box.write(' spaces ', '4');
    box.write('tab\there', '5');
    box.write(':(top)magic', '6');
    for (const name of [':(Top)empty', ':!empty', ':empty/-e']) mkdirSync(join(box.root, name), { recursive: true });
    box.write('emoji-😀-é-é.txt', '7');
    box.write('*.glob?[x]', '8');
    box.write(`${'d'.repeat(100)}/${'f'.repeat(200)}`, '9');
    writeFileSync(
      Buffer.concat([Buffer.from(`${box.root}/`), Buffer.from([0x66, 0xff, 0xfe, 0x80, 0x2e, 0xc3])]),
      'bytes',
    );
    await roundTrip(box);
  });

  it('with links, dangling ones, links to folders and out of the root, and executable bits', async () => {
    const box = sandbox();
    box.write('run.sh', '#!/bin/sh\n');
    chmodSync(join(box.root, 'run.sh'), 0o755);
    box.write('plain.sh', '#!/bin/sh\n');
    box.write('folder/f.txt', 'f');
    symlinkSync('run.sh', join(box.root, 'link'));
    symlinkSync('nowhere', join(box.root, 'dangling'));
    symlinkSync('folder', join(box.root, 'to-folder'));
    symlinkSync('/etc/hostname', join(box.root, 'outside'));
    await roundTrip(box, () => {
      chmodSync(join(box.root, 'run.sh'), 0o644);
      chmodSync(join(box.root, 'plain.sh'), 0o755);
      rmSync(join(box.root, 'link'));
      rmSync(join(box.root, 'to-folder'));
      box.write('to-folder/now-a-folder.txt', 'x');
    });
  });

  it('through swaps: file to folder, folder to file, folder to link, case-only rename', async () => {
    const box = sandbox();
    box.write('was-file', 'file');
    box.write('was-folder/a/b.txt', 'b');
    box.write('was-folder/c.txt', 'c');
    box.write('linked/x.txt', 'x');
    box.write('Case.txt', 'case');
    await roundTrip(box, () => {
      rmSync(join(box.root, 'was-file'));
      box.write('was-file/inside.txt', 'i');
      rmSync(join(box.root, 'was-folder'), { recursive: true });
      box.write('was-folder', 'now a file');
      renameSync(join(box.root, 'linked'), join(box.root, 'moved'));
      symlinkSync('moved', join(box.root, 'linked'));
      renameSync(join(box.root, 'Case.txt'), join(box.root, 'case.txt'));
    });
  });

  it('remembers empty folders, and takes back those made later', async () => {
    const box = sandbox();
    box.write('a.txt', 'a');
    mkdirSync(join(box.root, 'empty/nested/deep'), { recursive: true });
    mkdirSync(join(box.root, 'other'));
    await roundTrip(box, () => {
      rmSync(join(box.root, 'empty'), { recursive: true });
      mkdirSync(join(box.root, 'new/empty'), { recursive: true });
      box.write('other/filled.txt', 'x');
    });
  });

  it('finds an empty folder in the place of one with files', async () => {
    const box = sandbox({ git: false });
    box.write('u/c/f', '1');
    box.write('other/o', 'o');
    await (await box.open()).create({ name: 'one' });
    rmSync(join(box.root, 'u/c'), { recursive: true });
    mkdirSync(join(box.root, 'u/empty'));
    box.sh('touch -d "1 minute ago" u');
    // A process that has not listed the folder yet.
    const two = await (await box.open()).create({ name: 'two' });
    expect(two.files.emptyDirs).toEqual(['u/empty']);
  });

  it('names what lies too deep to be read, and captures the rest', async () => {
    const box = sandbox();
    box.write('a.txt', 'a');
    const name = 'd'.repeat(200);
    box.sh(`for i in $(seq 22); do mkdir ${name}; cd ${name}; done; echo deep > f`);
    try {
      const workspace = await box.open();
      const { files } = await workspace.create({ name: 'then' });
      expect([files.paths, files.partial.map(({ reason }) => reason)]).toEqual([['a.txt'], ['path too long']]);
      expect(files.partial[0]!.path).toMatch(new RegExp(`^${name}(/${name})+$`));
      box.write('a.txt', 'b');
      expect((await workspace.restore('then')).restored).toEqual(['a.txt']);
      expect(box.sh(`for i in $(seq 22); do cd ${name}; done; cat f`)).toBe('deep\n');
    } finally {
      box.sh(`rm -rf ${name}`); // Node cannot
    }
  });

  it('misses no rapid edit of the same size', async () => {
    const box = sandbox();
    box.write('a.txt', 'aaaa');
    const workspace = await box.open();
    for (let i = 0; i < 30; i++) {
      box.write('a.txt', String(1000 + i));
      await workspace.create({ name: `n${i}` });
    }
    for (let i = 0; i < 30; i++)
      expect(Buffer.from(await workspace.cat(`n${i}`, 'a.txt')).toString()).toBe(String(1000 + i));
  });
});

describe('what stays out', () => {
  it.runIf(process.platform === 'linux')('with names that are git’s only elsewhere', async () => {
    const box = sandbox();
    for (const path of ['git~1', '.git ', '.GIT/config', 'x/.Git']) box.write(path, path);
    const workspace = await box.open();
    const before = picture(box.root);
    await workspace.create({ name: 'all' });
    box.sh('rm -rf git~1 ".git " .GIT x');
    const { restored, skipped } = await workspace.restore('all');
    expect([restored.length, skipped]).toEqual([4, []]);
    expect(picture(box.root)).toEqual(before);
    // So many that the scanner's index takes them in; what it did not take is not gone by that, nor there for ever.
    box.sh(
      'mkdir d; for i in $(seq 70); do echo $i > d/$i; done; mkdir git~2; mv git~1 git~2/git~1; ln -s x .gitmodules',
    );
    await workspace.create({ name: 'many' });
    await workspace.close();
    box.sh('rm -rf git~2 ".git " .GIT x .gitmodules');
    const again = await box.open();
    const { files } = await again.create({ name: 'none' });
    expect(files.paths.sort()).toEqual(['.GIT/config', '.git ', '.gitmodules', 'git~2/git~1', 'x/.Git']);
    await again.restore('many');
    expect(picture(box.root).get('x/.Git')).toBe('file x/.Git');
    await again.restore('none');
    expect([...picture(box.root).keys()].some((path) => !path.startsWith('d/'))).toBe(false);
  });

  it('ignored files by every ignore file the user has, until a tool names them', async () => {
    const box = sandbox();
    box.write('.gitignore', '*.log\n');
    box.write('.git/info/exclude', '*.tmp\n');
    box.write('sub/.gitignore', 'local\n');
    const globalIgnore = join(box.home, '..', 'global-ignore');
    writeFileSync(globalIgnore, '*.secret\n');
    box.git('config', 'core.excludesFile', globalIgnore);
    for (const path of ['a.log', 'b.tmp', 'sub/local', 'c.secret', 'kept.txt']) box.write(path, path);
    const workspace = await box.open();
    const first = await workspace.create();
    expect(first.files.paths.sort()).toEqual(['.gitignore', 'kept.txt', 'sub/.gitignore']);
    await workspace.create({ trigger: 'tool', paths: ['a.log'] });
    expect(Buffer.from(await workspace.cat((await workspace.list())[0]!.id, 'a.log')).toString()).toBe('a.log');
    // From then on it belongs to the workspace's files, for scans too.
    box.write('a.log', 'changed');
    const later = await workspace.create({ name: 'later' });
    expect(later.files.paths).toEqual(['a.log']);
    box.write('a.log', 'again');
    await workspace.restore('later');
    expect(box.read('a.log')).toBe('changed');
  });

  it('secrets and oversized files are named, kept out, and never touched by a restore', async () => {
    const box = sandbox();
    box.write('.gitignore', '!.env\n');
    box.write('.env', 'KEY=1');
    box.write('deep/.env.local', 'KEY=2');
    box.write('server.pem', 'PEM');
    box.write('big.bin', Buffer.alloc(3 << 20));
    box.write('a.txt', 'a');
    box.git('add', '-A');
    box.git('commit', '-qm', 'even committed ones');
    const workspace = await box.open({ env: { ...process.env, OPENCODE_CHECKPOINTS_MAX_FILE_SIZE: '1 MB' } });
    const { files } = await workspace.create({ name: 'then' });
    expect(files.paths.sort()).toEqual(['.gitignore', 'a.txt']);
    expect(files.skipped.map((s) => [s.path, s.reason]).sort()).toEqual([
      ['.env', 'excluded'],
      ['big.bin', 'too-large'],
      ['deep/.env.local', 'excluded'],
      ['server.pem', 'excluded'],
    ]);
    for (const path of ['.env', 'deep/.env.local', 'server.pem']) box.write(path, 'changed');
    box.write('big.bin', Buffer.alloc(2 << 20, 7));
    box.write('a.txt', 'b');
    const result = await workspace.restore('then');
    expect(result.restored).toEqual(['a.txt']);
    expect(box.read('.env')).toBe('changed');
    expect(readFileSync(join(box.root, 'big.bin')).equals(Buffer.alloc(2 << 20, 7))).toBe(true);
  });

  it('a file at the limit is captured, one byte more is not, and never one of more than 2 GB', async () => {
    const box = sandbox();
    const env = { ...process.env, OPENCODE_CHECKPOINTS_MAX_FILE_SIZE: '1000' };
    const workspace = await box.open({ env });
    box.write('exact', 'x'.repeat(1000));
    box.write('over', 'x'.repeat(1001));
    box.sh('truncate -s 2200M huge');
    const { files } = await workspace.create({ name: 'small limit' });
    expect([files.paths, files.skipped.map(({ path }) => path).sort()]).toEqual([['exact'], ['huge', 'over']]);
    env.OPENCODE_CHECKPOINTS_MAX_FILE_SIZE = '5 GB';
    const more = (await workspace.create({ name: 'large limit' })).files;
    expect([more.paths, more.partial]).toEqual([['over'], []]);
    expect(more.skipped).toMatchObject([{ path: 'huge', reason: 'too-large' }]);
    expect((await workspace.restore('small limit')).deleted).toEqual([]);
    expect(box.sh('stat -c %s huge over').trim().split('\n')).toEqual([String(2200 * 1024 * 1024), '1001']);
  });

  it('a file that grew over the limit is left as it is by a restore to when it was small', async () => {
    const box = sandbox();
    box.write('data.bin', 'small');
    const workspace = await box.open({ env: { ...process.env, OPENCODE_CHECKPOINTS_MAX_FILE_SIZE: '1 MB' } });
    await workspace.create({ name: 'small' });
    box.write('data.bin', Buffer.alloc(2 << 20, 1));
    const result = await workspace.restore('small');
    expect(result.skipped).toEqual([{ path: 'data.bin', reason: 'too-large' }]);
    expect(readFileSync(join(box.root, 'data.bin')).length).toBe(2 << 20);
  });

  it('settings add patterns, and lift a default', async () => {
    const box = sandbox();
    box.write('.env', 'KEY=1');
    box.write('private/x.txt', 'x');
    box.write('a.txt', 'a');
    const first = await (await box.open()).create();
    expect(first.files.paths).toContain('private/x.txt');
    box.write('.opencode/checkpoints.json', JSON.stringify({ exclude: ['private/', '!.env'] }));
    const second = await (await box.open()).create();
    expect(second.files.paths.sort()).toEqual(['.env', '.opencode/checkpoints.json', 'private/x.txt']);
    expect(second.files.deleted).toBe(1);
  });

  it('our own files do not travel back in time', async () => {
    const box = sandbox();
    box.write('.opencode/state/checkpoint.json', '{}');
    box.write('.opencode/plugins/opencode-checkpoints.js', '// plugin');
    box.write('.opencode/opencode.json', '{}');
    const { files } = await (await box.open()).create();
    expect(files.paths).toEqual(['.opencode/opencode.json']);
    expect(files.skipped).toEqual([]);
  });
});

function sha256(): Sandbox {
  const box = sandbox({ git: false });
  box.git('init', '-q', '--object-format=sha256', '-b', 'main');
  box.write('committed.txt', 'c');
  box.git('add', '-A');
  box.git('commit', '-qm', 'one');
  return box;
}
