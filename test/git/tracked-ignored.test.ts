import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { gitBytes, sandbox, type Sandbox } from './rig';

/** A repository that ignores `dist/`, with a file in it that is tracked all the same. */
function started(): Sandbox {
  const box = sandbox();
  box.write('.gitignore', 'dist/\n*.log\n');
  box.write('dist/app.js', 'app');
  box.write('a.txt', 'a');
  box.git('add', '-f', '.');
  box.git('commit', '-qm', 'one');
  box.write('dist/built.js', 'not tracked');
  return box;
}

const text = (box: Sandbox, path: string): string => readFileSync(join(box.root, path), 'utf8');

describe('a file that git tracks though it is ignored', () => {
  it('stays in the snapshots when the rules for what is out change, and no restore deletes it', async () => {
    const box = started();
    await (await box.open()).create({ name: 'A' });
    for (const settings of [{ maxFileSize: '30 MB' }, { exclude: ['*.zzz'] }]) {
      box.write('.opencode/checkpoints.json', JSON.stringify(settings));
      const { files } = await (await box.open()).create({ name: Object.keys(settings)[0] });
      expect([files.paths, files.deleted]).toEqual([['.opencode/checkpoints.json'], 0]);
    }
    const workspace = await box.open();
    box.write('dist/app.js', 'broken');
    await workspace.restore('A');
    expect(text(box, 'dist/app.js')).toBe('app');
    await workspace.restore('exclude');
    expect(text(box, 'dist/app.js')).toBe('app');
    expect(text(box, 'dist/built.js')).toBe('not tracked');
  });

  it.each(['damaged', 'lost'])('stays when the index of the scanner is %s', async (how) => {
    const box = started();
    const workspace = await box.open();
    await workspace.create({ name: 'A' });
    const index = join(workspace.folder, 'scan', 'index');
    if (how === 'lost') rmSync(index);
    else writeFileSync(index, 'junk');
    box.write('a.txt', 'b');
    expect((await workspace.create()).files.paths).toEqual(['a.txt']);
    box.write('dist/app.js', 'edited');
    expect((await (await box.open()).create()).files.paths).toEqual(['dist/app.js']);
  });

  it('is captured when it is added after the first capture, and when it comes back', async () => {
    const box = started();
    const workspace = await box.open();
    await workspace.create();
    box.write('keep.log', 'kept');
    expect((await workspace.create()).files.paths).toEqual([]);
    box.git('add', '-f', 'keep.log');
    const untouched = gitBytes(box.root);
    expect((await workspace.create({ name: 'added' })).files.paths).toEqual(['keep.log']);
    box.write('keep.log', 'broken');
    await workspace.restore('added');
    expect(text(box, 'keep.log')).toBe('kept');
    rmSync(join(box.root, 'keep.log'));
    rmSync(join(box.root, 'dist'), { recursive: true });
    // So many that the scanner's index catches up, and forgets them.
    for (let i = 0; i < 80; i++) box.write(`more/${i}`, String(i));
    await workspace.create();
    box.write('keep.log', 'again');
    box.write('dist/app.js', 'again');
    expect((await (await box.open()).create()).files.paths).toEqual(['dist/app.js', 'keep.log']);
    expect(gitBytes(box.root)).toBe(untouched);
  });

  it('is found by the rules as they are now', async () => {
    const box = started();
    const workspace = await box.open();
    await workspace.create();
    rmSync(join(box.root, 'a.txt'));
    for (let i = 0; i < 80; i++) box.write(`more/${i}`, String(i));
    await workspace.create();
    box.write('.gitignore', 'dist/\na.txt\n');
    box.write('a.txt', 'back');
    expect((await workspace.create()).files.paths).toEqual(['.gitignore', 'a.txt']);
  });

  it('is captured in a nested repository too', async () => {
    const box = sandbox({ git: false });
    box.write('a.txt', 'a');
    box.write('lib/.gitignore', '*.log\n');
    box.write('lib/keep.log', 'kept');
    box.write('lib/other.log', 'ignored');
    box.git('init', '-q', 'lib');
    const workspace = await box.open();
    expect((await workspace.create()).files.paths).toEqual(['a.txt', 'lib/.gitignore']);
    box.git('-C', 'lib', 'add', '-f', 'keep.log');
    expect((await workspace.create()).files.paths).toEqual(['lib/keep.log']);
    box.write('lib/keep.log', 'changed');
    expect((await (await box.open()).create()).files.paths).toEqual(['lib/keep.log']);
  });

  it('is out where it is excluded, or too large', async () => {
    const box = started();
    box.write('dist/big.bin', Buffer.alloc(2 << 20));
    box.write('dist/.env', 'KEY=1');
    box.git('add', '-f', 'dist/big.bin', 'dist/.env');
    const workspace = await box.open({ env: { ...process.env, OPENCODE_CHECKPOINTS_MAX_FILE_SIZE: '1 MB' } });
    const { files } = await workspace.create();
    expect(files.paths).toEqual(['.gitignore', 'a.txt', 'dist/app.js']);
    expect(files.skipped.map(({ path, reason }) => [path, reason])).toEqual([['dist/big.bin', 'too-large']]);
  });

  it('is asked of git only when an index of the user changed', async () => {
    const box = started();
    const calls = gitCalls();
    await (await box.open()).create();
    expect(calls('ls-files')).toBe(0); // the seed has them all
    for (let i = 0; i < 3; i++) {
      box.write('a.txt', String(i));
      await (await box.open()).create();
    }
    expect(calls('ls-files')).toBe(0);
    box.write('keep.log', 'kept');
    box.git('add', '-f', 'keep.log');
    for (let i = 0; i < 3; i++) {
      box.write('a.txt', `more ${i}`);
      await (await box.open()).create();
    }
    expect(calls('ls-files')).toBe(1);
  });
});

it('a captured file that is ignored since stays in the snapshots when the scanner starts anew', async () => {
  for (const git of [true, false]) {
    const box = sandbox({ git });
    box.write('notes.log', 'notes');
    box.write('a.txt', 'a');
    const workspace = await box.open();
    await workspace.create({ name: 'A' });
    box.write('.gitignore', '*.log\n');
    if (git) box.git('add', 'a.txt');
    rmSync(join(workspace.folder, 'scan', 'index'));
    for (const name of ['B', 'C']) expect((await workspace.create({ name })).files.deleted).toBe(0);
    expect(Buffer.from(await workspace.cat('C', 'notes.log')).toString()).toBe('notes');
    expect(existsSync(join(workspace.folder, 'scan', 'index'))).toBe(true);
    box.write('notes.log', 'changed');
    expect((await (await box.open()).create()).files.paths).toEqual(['notes.log']);
  }
});

it.each([
  ['a few', 3],
  ['so many that the scanner has caught up', 100],
])('captured files that are ignored since stay in the snapshots, %s', async (_name, count) => {
  for (const git of [true, false]) {
    const box = sandbox({ git });
    box.write('a.txt', 'a');
    const workspace = await box.open();
    await workspace.create({ name: 'before' });
    for (let i = 0; i < count; i++) box.write(`out/${i}.log`, String(i));
    await workspace.create({ name: 'with' });
    box.write('.gitignore', 'out/\n');
    box.write('out/never.log', 'ignored from the start');
    const { files } = await workspace.create({ name: 'ignored' });
    expect([files.added, files.modified, files.deleted, files.paths]).toEqual([1, 0, 0, ['.gitignore']]);
    box.write('out/0.log', 'changed');
    rmSync(join(box.root, 'out/1.log'));
    const later = await (await box.open()).create();
    expect(later.files.paths).toEqual(['out/0.log', 'out/1.log']);
    const { restored } = await workspace.restore('ignored');
    expect(restored).toEqual(['out/0.log', 'out/1.log']);
    expect(box.read('out/never.log')).toBe('ignored from the start');
  }
});

it('a link that the user tracks though it is ignored is captured in the place of a folder', async () => {
  const box = sandbox();
  box.write('build/one.txt', 'one');
  box.write('src/a.txt', 'a');
  const workspace = await box.open();
  await workspace.create({ name: 'folder' });
  rmSync(join(box.root, 'build'), { recursive: true });
  symlinkSync('src', join(box.root, 'build'));
  box.git('add', '-A');
  box.write('.gitignore', '*\n!*.txt\n!*/\n');
  const { files } = await workspace.create({ name: 'link' });
  expect(files.paths).toEqual(['build', 'build/one.txt']);
  expect(Buffer.from(await workspace.cat('link', 'build')).toString()).toBe('src');
});

/** How often git was started for something, by a git on PATH that writes down what it is asked. */
function gitCalls(): (verb: string) => number {
  const folder = mkdtempSync(join(tmpdir(), 'checkpoints-path-'));
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const log = join(folder, 'log');
  writeFileSync(log, '');
  writeFileSync(join(folder, 'git'), `#!/bin/sh\necho "$*" >> '${log}'\nexec '${real}' "$@"\n`);
  chmodSync(join(folder, 'git'), 0o755);
  const before = process.env.PATH;
  process.env.PATH = `${folder}:${before}`;
  onTestFinished(() => {
    process.env.PATH = before;
    rmSync(folder, { recursive: true });
  });
  return (verb) =>
    readFileSync(log, 'utf8')
      .split('\n')
      .filter((line) => line.includes(` ${verb} `)).length;
}
