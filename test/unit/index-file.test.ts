import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import initSqlJs from 'sql.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CheckpointsError } from '../../src/core/errors';
import type { Checkpoint } from '../../src/core/model';
import { CheckpointIndex, type IndexOptions } from '../../src/index/checkpoint-index';
import { digestOfRefs, isUpToDate, readIndexFile, writeIndexFile } from '../../src/index/index-file';
import { Records } from './records';

const wasm = { file: join(process.cwd(), 'node_modules/sql.js/dist/sql-wasm.wasm') };
let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'index-file-'));
  path = join(folder, 'index.db');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (more: Partial<IndexOptions> = {}): Promise<CheckpointIndex> =>
  CheckpointIndex.open({ path, wasm, ...more });

function make(count: number): Checkpoint[] {
  const records = new Records();
  return Array.from({ length: count }, (_, i) =>
    records.next(i % 3 ? 'tool' : 'turn', {
      title: `Checkpoint ${i}`,
      name: i % 10 === 0 ? `name ${i}` : null,
      session: `ses_${i % 4}`,
      turn: i,
      git: { commit: 'c'.repeat(40), branch: 'main', dirty: true },
      files: { paths: [`src/file${i}.ts`] },
      metadata: { number: i },
    }),
  );
}

async function fill(index: CheckpointIndex, all: Checkpoint[]): Promise<number> {
  let loaded = 0;
  await index.sync(new Map(all.map((c) => [c.id, c.files.commit])), async (ids) => {
    loaded += ids.length;
    return all.filter((c) => ids.includes(c.id));
  });
  return loaded;
}

describe('index.db', () => {
  it('is not written by a sync, is written by flush, and is loaded again without loading a record', async () => {
    const all = make(50);
    const first = await open();
    expect(first.origin).toBe('missing');
    await fill(first, all);
    expect(readdirSync(folder)).toEqual([]);
    await first.flush();
    expect(readdirSync(folder)).toEqual(['index.db']);
    expect(first.query({ search: 'file7', limit: 1 })).toEqual([all[7]]);
    await first.close();

    const second = await open();
    expect(second.origin).toBe('loaded');
    expect(await fill(second, all)).toBe(0);
    expect(second.query()).toEqual([...all].reverse());
    expect(second.query({ search: 'file7' })).toEqual([all[7]]);
    const before = statSync(path).mtimeMs;
    await second.close();
    expect(statSync(path).mtimeMs).toBe(before);
  });

  it('tells without SQLite whether it is made from the refs of now', async () => {
    const all = make(3);
    const refs = (some: Checkpoint[]): Map<string, string> => new Map(some.map((c) => [c.id, c.files.commit]));
    expect(await isUpToDate(path, refs([]))).toBe(false);
    const index = await open();
    await fill(index, all);
    await index.close();
    expect(await isUpToDate(path, refs(all))).toBe(true);
    expect(await isUpToDate(path, refs([...all].reverse()))).toBe(true);
    expect(await isUpToDate(path, refs(all.slice(1)))).toBe(false);
    expect(await isUpToDate(path, refs(all).set(all[1]!.id, 'f'.repeat(40)))).toBe(false);
    writeFileSync(path, readFileSync(path).fill(7, 200, 201));
    expect(await isUpToDate(path, refs(all))).toBe(false);
  });

  it('goes on correctly after it was loaded', async () => {
    const all = make(30);
    const first = await open();
    await fill(first, all.slice(0, 20));
    await first.close();
    const second = await open();
    expect(await fill(second, all.slice(5))).toBe(10);
    expect(second.query()).toEqual(all.slice(5).reverse());
    expect(second.query({ search: 'file3' })).toEqual([]);
    expect(second.query({ search: 'file25' })).toEqual([all[25]]);
    await second.close();
  });

  const damages: Array<[string, (bytes: Buffer) => Buffer | null]> = [
    ['is deleted', () => null],
    ['is empty', () => Buffer.alloc(0)],
    ['is cut off', (bytes) => bytes.subarray(0, bytes.length / 2)],
    ['lost its last byte', (bytes) => bytes.subarray(0, -1)],
    ['is another file', () => Buffer.from('not a database, but a long enough text to hold a trailer of 48 bytes')],
    ['has garbage in its header', (bytes) => bytes.fill(7, 0, 100)],
    [
      'has one bit flipped in the middle of a text',
      (bytes) => {
        const at = bytes.indexOf('Checkpoint 17');
        bytes[at] = (bytes[at] as number) ^ 1;
        return bytes;
      },
    ],
  ];

  it.each(damages)('is rebuilt when it %s', async (_, damage) => {
    const all = make(40);
    const first = await open();
    await fill(first, all);
    await first.close();
    const bytes = damage(readFileSync(path));
    if (bytes === null) rmSync(path);
    else writeFileSync(path, bytes);
    const second = await open();
    expect(second.origin).not.toBe('loaded');
    expect(await fill(second, all)).toBe(40);
    expect(second.query()).toEqual([...all].reverse());
    await second.close();
    const third = await open();
    expect(third.origin).toBe('loaded');
    await third.close();
  });

  it('is rebuilt when it is of another version, or a database of somebody else', async () => {
    const SQL = await initSqlJs({ wasmBinary: new Uint8Array(readFileSync(wasm.file)).buffer });
    const foreign = new SQL.Database();
    foreign.exec('CREATE TABLE checkpoints (id INTEGER); PRAGMA user_version = 1');
    await writeIndexFile(path, foreign.export(), digestOfRefs([]));
    foreign.close();
    const first = await open();
    expect(first.origin).toBe('other-version');
    await fill(first, make(3));
    await first.close();

    const file = await readIndexFile(path);
    if (file.state !== 'whole') throw new Error('not written');
    const ours = new SQL.Database(file.database);
    ours.exec('PRAGMA user_version = 999');
    await writeIndexFile(path, ours.export(), digestOfRefs([]));
    ours.close();
    const second = await open();
    expect(second.origin).toBe('other-version');
    await second.close();
  });

  it('is rebuilt when its tables are not what they should be', async () => {
    const first = await open();
    await first.close();
    const SQL = await initSqlJs({ wasmBinary: new Uint8Array(readFileSync(wasm.file)).buffer });
    const file = await readIndexFile(path);
    if (file.state !== 'whole') throw new Error('not written');
    const ours = new SQL.Database(file.database);
    ours.exec('DROP TABLE checkpoints');
    await writeIndexFile(path, ours.export(), digestOfRefs([]));
    ours.close();
    const problems: unknown[] = [];
    const second = await open({ onProblem: (error) => problems.push(error) });
    expect(second.origin).toBe('damaged');
    expect(problems).toHaveLength(1);
    await second.close();
  });

  it('is an ordinary SQLite database with the known columns', async () => {
    const all = make(12);
    const index = await open();
    await fill(index, all);
    await index.close();
    const SQL = await initSqlJs({ wasmBinary: new Uint8Array(readFileSync(wasm.file)).buffer });
    // The whole file, trailer included, as any other program would open it.
    const db = new SQL.Database(readFileSync(path));
    const [row] = db.exec(
      "SELECT id, session_id, name, description, message_count, git_commit, created_at, metadata FROM checkpoints WHERE name = 'name 10'",
    )[0]?.values as unknown[][];
    const one = all[10] as Checkpoint;
    expect(row).toEqual([
      one.id,
      'ses_2',
      'name 10',
      null,
      2,
      'c'.repeat(40),
      Date.parse(one.createdAt),
      '{"number":10}',
    ]);
    expect(db.exec("SELECT count(*) FROM checkpoints WHERE trigger = 'turn' AND modified > 0")[0]?.values).toEqual([
      [4],
    ]);
    expect(db.exec("SELECT count(*) FROM search WHERE search MATCH 'file3'")[0]?.values).toEqual([[1]]);
    expect(db.exec('PRAGMA integrity_check')[0]?.values).toEqual([['ok']]);
    db.close();
  });

  it('answers the sqlite3 command', async () => {
    const index = await open();
    await fill(index, make(12));
    await index.close();
    const ask = (sql: string): string => execFileSync('sqlite3', ['-readonly', path, sql], { encoding: 'utf8' }).trim();
    expect(ask('PRAGMA integrity_check')).toBe('ok');
    expect(ask('SELECT session_id, count(*) FROM checkpoints GROUP BY session_id')).toBe(
      'ses_0|3\nses_1|3\nses_2|3\nses_3|3',
    );
    const again = await open();
    expect(again.origin).toBe('loaded');
    await again.close();
  });

  it('shrinks after much was deleted', async () => {
    const all = make(2000);
    const index = await open();
    await fill(index, all);
    await index.flush();
    const full = statSync(path).size;
    await fill(index, all.slice(-100));
    await index.flush();
    expect(statSync(path).size).toBeLessThan(full / 4);
    expect(index.query({ search: 'file1999' })).toEqual([all[1999]]);
    await index.close();
  });

  it('leaves no temporary file, and sweeps those of killed writers only', async () => {
    const old = join(folder, 'index.db.tmp-999999-0123456789ab');
    const fresh = join(folder, 'index.db.tmp-999999-0123456789ac');
    for (const file of [old, fresh]) writeFileSync(file, 'half');
    writeFileSync(join(folder, 'task.json'), '{}');
    utimesSync(old, 0, 0);
    const index = await open();
    await fill(index, make(3));
    await index.close();
    expect(readdirSync(folder).sort()).toEqual(['index.db', 'index.db.tmp-999999-0123456789ac', 'task.json']);
  });

  it('says why it could not be written, keeps working, and tries again', async () => {
    // A folder in its place: no user, root included, can rename a file over it.
    mkdirSync(path);
    const problems: unknown[] = [];
    const index = await open({ onProblem: (error) => problems.push(error) });
    expect(index.origin).toBe('damaged');
    await fill(index, make(5));
    await expect(index.flush()).rejects.toThrow();
    expect(index.query({ search: 'file3' })).toHaveLength(1);
    expect(readdirSync(folder)).toEqual(['index.db']);
    rmSync(path, { recursive: true });
    await index.flush();
    expect(statSync(path).isFile()).toBe(true);
    await index.close();
    expect(problems).toEqual([]);
  });

  it('names a read-only store', async () => {
    const index = await open();
    await fill(index, make(2));
    chmodSync(folder, 0o555);
    // Root may write everywhere; as nobody it may not.
    const root = process.getuid?.() === 0;
    if (root) process.seteuid?.(65534);
    try {
      await expect(index.flush()).rejects.toSatisfy((error) => CheckpointsError.is(error, 'store-readonly'));
    } finally {
      if (root) process.seteuid?.(0);
      chmodSync(folder, 0o700);
    }
    await index.close();
  });

  it('closes although it cannot be written, and says so', async () => {
    mkdirSync(path);
    const problems: unknown[] = [];
    const index = await open({ onProblem: (error) => problems.push(error) });
    await fill(index, make(2));
    await index.close();
    expect(problems).toHaveLength(1);
  });

  it('two processes may write it: each file is whole, and the refs mend what one did not know', async () => {
    const all = make(20);
    const [one, two] = [await open(), await open()];
    await fill(one, all.slice(0, 12));
    await fill(two, all);
    await Promise.all([two.flush(), one.flush()]);
    await one.close();
    await two.close();
    const third = await open();
    expect(third.origin).toBe('loaded');
    await fill(third, all);
    expect(third.query()).toEqual([...all].reverse());
    await third.close();
  });

  it('says where the engine was looked for when it cannot be loaded', async () => {
    await expect(open({ wasm: { file: join(folder, 'nowhere.wasm') } })).rejects.toThrow(/nowhere\.wasm/);
  });
});
