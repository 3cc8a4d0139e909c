import { chmodSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DiffResult } from '../../src/core/api';
import type { Checkpoint } from '../../src/core/model';
import { useBuilt, Desk } from './cli-rig';

const program = useBuilt('cli');
let desk: Desk;
beforeEach(() => {
  desk = new Desk(program());
});
afterEach(() => desk.dispose());

const create = async (...args: string[]): Promise<Checkpoint> =>
  (await desk.answer<{ checkpoint: Checkpoint }>(['create', ...args])).checkpoint;
const diff = (...args: string[]): Promise<DiffResult> => desk.answer<DiffResult>(['diff', ...args]);
const lines = (count: number, tag = ''): string =>
  Array.from({ length: count }, (_, i) => `line ${i} ${tag}\n`).join('');

describe('diff', () => {
  it('tells added, modified, deleted, typechange and renamed apart', async () => {
    desk.write({
      'same.txt': 'x\n',
      'mod.txt': lines(5),
      'del.txt': 'gone\n',
      'type.txt': 'file\n',
      'old.txt': lines(20),
      'bin.dat': Buffer.from([0, 1, 2]),
    });
    const one = await create('one');
    desk.write({ 'mod.txt': `${lines(5)}more\n`, 'new.txt': 'a\nb\n', 'bin.dat': Buffer.from([0, 9, 2, 3]) });
    desk.remove('del.txt');
    rmSync(path.join(desk.root, 'type.txt'));
    symlinkSync('same.txt', path.join(desk.root, 'type.txt'));
    renameSync(path.join(desk.root, 'old.txt'), path.join(desk.root, 'renamed.txt'));
    const wanted = [
      { path: 'bin.dat', status: 'modified', additions: 0, deletions: 0, binary: true },
      { path: 'del.txt', status: 'deleted', additions: 0, deletions: 1, binary: false },
      { path: 'mod.txt', status: 'modified', additions: 1, deletions: 0, binary: false },
      { path: 'new.txt', status: 'added', additions: 2, deletions: 0, binary: false },
      { path: 'renamed.txt', from: 'old.txt', status: 'renamed', additions: 0, deletions: 0, binary: false },
      expect.objectContaining({ path: 'type.txt', status: 'typechange' }),
    ];
    expect(await diff('one')).toEqual({ from: one.id, to: null, changes: wanted });
    expect(await diff()).toEqual({ from: one.id, to: null, changes: wanted });
    const two = await create('two');
    expect(await diff('one', 'two')).toEqual({ from: one.id, to: two.id, changes: wanted });
    expect((await diff('two', 'one')).changes.find((change) => change.path === 'del.txt')?.status).toBe('added');
    expect(await diff('two')).toEqual({ from: two.id, to: null, changes: [] });
  });

  it('counts an append as modified and an insertion at the top as one line', async () => {
    desk.write({ 'a.txt': lines(100) });
    await create();
    desk.write({ 'a.txt': `top\n${lines(100)}` });
    expect((await diff()).changes).toEqual([
      { path: 'a.txt', status: 'modified', additions: 1, deletions: 0, binary: false },
    ]);
  });

  it('sees the executable bit', async () => {
    desk.write({ 'run.sh': '#!/bin/sh\n' });
    await create();
    chmodSync(path.join(desk.root, 'run.sh'), 0o755);
    expect((await diff()).changes).toEqual([
      { path: 'run.sh', status: 'modified', additions: 0, deletions: 0, binary: false },
    ]);
  });

  it('does not call a file deleted that grew too large or was excluded', async () => {
    desk.write({ grown: 'a\n', 'kept.out': 'b\n', gone: 'c\n' });
    await create('one');
    desk.write({
      grown: Buffer.alloc(2048),
      '.opencode/checkpoints.json': '{"maxFileSize":"1 KB","exclude":["*.out"]}',
    });
    desk.remove('gone');
    const deleted = { status: 'deleted', additions: 0, deletions: 1, binary: false };
    const wanted = [
      expect.objectContaining({ path: '.opencode/checkpoints.json', status: 'added' }),
      { path: 'gone', ...deleted },
      { path: 'grown', ...deleted, leftOut: true },
      { path: 'kept.out', ...deleted, leftOut: true },
    ];
    expect((await diff('one')).changes).toEqual(wanted);
    const seen = (await desk.run(['diff', 'one'])).stdout;
    expect(seen).toMatch(/^D +left out +grown$/m);
    expect(seen).toContain('4 files, +1 -1\n2 left out: still there, and excluded or too large since.\n');
    await create('two');
    expect((await diff('one', 'two')).changes).toEqual(wanted);
    expect((await desk.answer<{ changes: unknown }>(['show', 'two'])).changes).toEqual(wanted);
  });

  it('has the lines with --patch only, and they can be applied', async () => {
    desk.write({ 'a.txt': 'one\ntwo\n', 'ü b.txt': 'x\n' });
    await create('base');
    desk.write({ 'a.txt': 'one\n2\n', 'ü b.txt': 'y\n', 'n.txt': 'new\n' });
    expect(await diff()).not.toHaveProperty('patch');
    const { patch } = await diff('--patch');
    expect(patch).toContain('-two\n+2\n');
    expect((await desk.run(['diff', '--patch'])).stdout).toBe(patch);
    desk.write({ 'a.txt': 'one\ntwo\n', 'ü b.txt': 'x\n' });
    desk.remove('n.txt');
    desk.write({ '../patch': patch ?? '' });
    desk.git('apply', path.join(desk.top, 'patch'));
    expect((await diff('base', '--path', 'a.txt')).changes).toHaveLength(1);
  });

  it('has the lines of a file that is not UTF-8 as its bytes are, so that they can be applied', async () => {
    const before = { 'l.txt': Buffer.from('Stra\xdfe\nb\n', 'latin1') };
    desk.write(before);
    await create('base');
    desk.write({ 'l.txt': Buffer.from('Stra\xdfe 1\nb\n', 'latin1') });
    const { bytes } = await desk.run(['diff', '--patch']);
    const { patch } = await diff('--patch');
    expect(patch).toBe(bytes.toString('utf8'));
    const original = await desk.answer<DiffResult>(['originals', 'diff', 'l.txt']);
    expect(original.patch).toBe(patch);
    expect((await desk.run(['originals', 'diff', 'l.txt'])).bytes).toEqual(bytes);
    desk.write({ ...before, '../patch': bytes });
    desk.git('apply', path.join(desk.top, 'patch'));
    expect(readFileSync(path.join(desk.root, 'l.txt'), 'latin1')).toBe('Stra\xdfe 1\nb\n');
  });

  it('keeps to files and folders with --path, from anywhere', async () => {
    desk.write({ 'a.txt': '1', 'src/b.txt': '1', 'src/deep/c.txt': '1', 'srcs/d.txt': '1' });
    await create();
    desk.write({ 'a.txt': '2', 'src/b.txt': '2', 'src/deep/c.txt': '2', 'srcs/d.txt': '2' });
    const paths = async (args: string[], cwd?: string): Promise<string[]> =>
      (await desk.answer<DiffResult>(['diff', ...args], cwd ? { cwd } : {})).changes.map((change) => change.path);
    expect(await paths(['--path', 'src'])).toEqual(['src/b.txt', 'src/deep/c.txt']);
    expect(await paths(['--path', 'src/'])).toEqual(['src/b.txt', 'src/deep/c.txt']);
    expect(await paths(['--path', 'a.txt', '--path=src/deep'])).toEqual(['a.txt', 'src/deep/c.txt']);
    expect(await paths(['--path', '.'])).toHaveLength(4);
    expect(await paths(['--path', 'nowhere'])).toEqual([]);
    expect(await paths(['--path', '*.txt'])).toEqual([]);
    const src = path.join(desk.root, 'src');
    expect(await paths(['--path', 'b.txt'], src)).toEqual(['src/b.txt']);
    expect(await paths(['--path', 'src/b.txt'], src)).toEqual(['src/b.txt']);
    expect(await paths(['--path', path.join(desk.root, 'a.txt')], src)).toEqual(['a.txt']);
    expect((await desk.refusal(['diff', '--path', '/etc'])).reason).toBe('invalid-argument');
  });

  it('gives odd file names as they are', async () => {
    await create('base');
    const names = ['-dash', 'new\nline', 'quo"te', "ap'os", 'tab\there', 'ünï', '日本', 'back\\slash', ' space ', '🎉'];
    desk.write(Object.fromEntries(names.map((name) => [name, 'x\n'])));
    const { changes } = await diff();
    expect(changes.map((change) => change.path).sort()).toEqual([...names].sort());
    const table = (await desk.run(['diff'])).stdout.trimEnd().split('\n');
    expect(table).toHaveLength(names.length + 2);
    expect(table.at(-1)).toBe(`${names.length} files, +${names.length} -0`);
  });

  it('is a table, and says when there is nothing', async () => {
    desk.write({ 'a.txt': 'x\n' });
    await create();
    expect((await desk.run(['diff'])).stdout).toBe('No changes.\n');
    desk.write({ 'a.txt': 'y\n' });
    expect((await desk.run(['diff'])).stdout).toMatch(/^M +\+1 -1 {2}a\.txt\n1 file, \+1 -1\n/m);
  });

  it('is refused without a checkpoint', async () => {
    expect((await desk.refusal(['diff'])).reason).toBe('unknown-reference');
    await create('one');
    expect((await desk.refusal(['diff', 'one', 'two'])).reason).toBe('unknown-reference');
  });
});

describe('cat', () => {
  const cat = (...args: string[]) => desk.run(['cat', ...args]);

  it('gives the very bytes, text or not', async () => {
    const binary = Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 7) % 256));
    desk.write({
      'a.bin': binary,
      'crlf.txt': 'a\r\nb\r\n',
      'empty.txt': '',
      'none.txt': 'no newline',
      'big.txt': lines(60_000),
    });
    await create('one');
    desk.write({ 'a.bin': 'changed', 'big.txt': '' });
    desk.remove('crlf.txt');
    expect((await cat('one', 'a.bin')).bytes.equals(binary)).toBe(true);
    expect((await cat('one', 'crlf.txt')).stdout).toBe('a\r\nb\r\n');
    expect(await cat('one', 'empty.txt')).toMatchObject({ code: 0, stdout: '' });
    expect((await cat('one', 'none.txt')).stdout).toBe('no newline');
    expect((await cat('one', 'big.txt')).stdout).toBe(lines(60_000));
  });

  it('is a document with --json', async () => {
    desk.write({ 'a.txt': 'text\n', 'b.bin': Buffer.from([255, 254, 0]) });
    await create('one');
    expect(await desk.answer(['cat', 'one', 'a.txt'])).toEqual({
      path: 'a.txt',
      size: 5,
      encoding: 'utf8',
      content: 'text\n',
    });
    expect(await desk.answer(['cat', 'one', 'b.bin'])).toEqual({
      path: 'b.bin',
      size: 3,
      encoding: 'base64',
      content: '//4A',
    });
  });

  it('refuses what is not there: 1, and nothing on stdout', async () => {
    desk.write({ 'a.txt': 'x', 'src/b.txt': 'y' });
    await create('one');
    desk.write({ 'later.txt': 'z' });
    for (const name of ['nowhere', 'later.txt', 'src', 'a.txt/x']) {
      expect(await cat('one', name)).toMatchObject({ code: 1, stdout: '' });
      expect((await desk.refusal(['cat', 'one', name])).reason).toBe('not-in-checkpoint');
    }
    expect((await desk.refusal(['cat', 'two', 'a.txt'])).reason).toBe('unknown-reference');
  });

  it('takes a path from here or from the root', async () => {
    desk.write({ 'a.txt': 'top', 'src/a.txt': 'inner', 'src/b.txt': 'b', '-x': 'dash' });
    await create('one');
    const src = path.join(desk.root, 'src');
    const from = async (name: string): Promise<string> => (await desk.run(['cat', 'one', name], { cwd: src })).stdout;
    expect(await from('a.txt')).toBe('inner');
    expect(await from('../a.txt')).toBe('top');
    expect(await from('src/b.txt')).toBe('b');
    expect((await cat('one', '--', '-x')).stdout).toBe('dash');
  });
});
