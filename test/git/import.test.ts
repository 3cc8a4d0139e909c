import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CheckpointsError } from '../../src/core/errors';
import type { TaskState } from '../../src/core/model';
import type { Workspace } from '../../src/core/workspace';
import { runImport, type ImportRequest } from '../../src/imports/run';
import { oldDatabase, oldManifest, put, wasm } from './import-rig';
import { picture, sandbox, type Sandbox } from './rig';

const run = (workspace: Workspace, request: ImportRequest) => runImport(request, { workspace, wasm });
const reasonOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'no error',
    (error: unknown) => (CheckpointsError.is(error) ? error.reason : String(error)),
  );

async function started(box: Sandbox): Promise<Workspace> {
  box.write('a.txt', 'one\n');
  box.write('src/b.txt', 'two\n');
  return box.open();
}

describe('a checkpoints.db', () => {
  it('becomes checkpoints in their place in time, which `latest` does not count', async () => {
    const box = sandbox();
    const workspace = await started(box);
    const own = await workspace.create({ name: 'mine' });
    const db = join(box.home, '..', 'checkpoints.db');
    const metadata = JSON.stringify({ directory: join(box.root, 'src'), timestamp: 1 });
    await oldDatabase(db, [
      { id: 3, name: '3 fixes', description: 'before them', git_commit: 'ab'.repeat(20), metadata },
      { id: 7, name: 'mine', message_count: 9, created_at: 1_760_000_100_000, metadata },
    ]);
    const report = await run(workspace, { from: 's1', path: db });
    expect(report).toMatchObject({ from: 's1', path: db, dryRun: false, skipped: [], problems: [] });
    expect(report.imported.map(({ title }) => title)).toEqual(['3 fixes', 'mine']);

    const list = await workspace.list();
    expect(list.map(({ id }) => id)).toEqual([own.id, report.imported[1]?.id, report.imported[0]?.id]);
    const first = await workspace.resolve('3 fixes');
    expect(first).toMatchObject({
      name: '3 fixes',
      description: 'before them',
      createdAt: '2025-10-09T08:53:20.000Z',
      trigger: 'import',
      session: { id: 'ses_old', messageId: null, messageCount: 6 },
      git: { commit: 'ab'.repeat(20) },
      origin: null,
      metadata: { legacyId: 3 },
      files: { only: [], paths: [], added: 0 },
    });
    // The newest of that name is the one that was made here.
    expect((await workspace.resolve('mine')).id).toBe(own.id);
    expect((await workspace.resolve('latest')).id).toBe(own.id);
    expect(await reasonOf(workspace.resolve('latest~1'))).toBe('unknown-reference');
  });

  it('adds nothing at a second run, in another process, or under another path', async () => {
    const box = sandbox();
    const workspace = await started(box);
    const db = join(box.home, '..', 'checkpoints.db');
    await oldDatabase(db, [{ id: 1 }, { id: 2, created_at: 1_760_000_000_001 }]);
    const dry = await run(workspace, { from: 's1', path: db, dryRun: true });
    expect(await workspace.list()).toEqual([]);
    const first = await run(workspace, { from: 's1', path: db });
    expect(first.imported).toEqual(dry.imported);
    await workspace.rename(first.imported[0]?.id ?? '', 'renamed since');
    const copy = join(box.home, '..', 'copy.db');
    writeFileSync(copy, readFileSync(db));
    const again = await run(await box.open(), { from: 's1', path: copy });
    expect(again.imported).toEqual([]);
    expect(again.skipped.map(({ reason }) => reason)).toEqual(['is here already', 'is here already']);
    expect((await workspace.list()).map(({ name }) => name)).toEqual(['a bookmark', 'renamed since']);
    // Another row with the same number is another checkpoint.
    await oldDatabase(db, [{ id: 1, session_id: 'ses_other' }]);
    expect((await run(workspace, { from: 's1', path: db })).imported).toHaveLength(1);
  });

  it('is imported once, though a wrong clock dated it after today', async () => {
    const box = sandbox();
    const workspace = await started(box);
    const db = join(box.home, '..', 'checkpoints.db');
    await oldDatabase(db, [{ id: 1, created_at: Date.now() + 86_400_000 }]);
    expect((await run(workspace, { from: 's1', path: db })).imported).toHaveLength(1);
    const again = await run(workspace, { from: 's1', path: db });
    expect(again).toMatchObject({ imported: [], skipped: [{ reason: 'is here already' }] });
    expect(await workspace.list()).toHaveLength(1);
  });

  it('is imported once by two at the same time', async () => {
    const box = sandbox();
    const [one, two] = [await started(box), await box.open()];
    const db = join(box.home, '..', 'checkpoints.db');
    await oldDatabase(
      db,
      Array.from({ length: 40 }, (_, i) => ({ id: i + 1, created_at: 1_760_000_000_000 + i })),
    );
    const reports = await Promise.all([one, two].map((workspace) => run(workspace, { from: 's1', path: db })));
    expect(reports.flatMap(({ imported }) => imported)).toHaveLength(40);
    expect(await one.list()).toHaveLength(40);
    put(`${db}-journal`, 'half');
    expect((await run(one, { from: 's1', path: db })).problems.map(({ item }) => item)).toEqual([`${db}-journal`]);
  });

  it('has no files: nothing can be lost by restoring or comparing it', async () => {
    const box = sandbox();
    const workspace = await started(box);
    const db = join(box.home, '..', 'checkpoints.db');
    await oldDatabase(db, [{ id: 1 }]);
    const [imported] = (await run(workspace, { from: 's1', path: db })).imported;
    const before = picture(box.root);
    expect(await reasonOf(workspace.restore(imported?.id ?? '', { scope: ['files'] }))).toBe('no-files');
    expect(await reasonOf(workspace.plan(imported?.id ?? ''))).toBe('no-files');
    expect(await reasonOf(workspace.diff(imported?.id))).toBe('no-files');
    expect(await workspace.changes(imported?.id ?? '')).toEqual([]);
    expect(picture(box.root)).toEqual(before);
    // The first own checkpoint compares with nothing, not with the imported one; the next one with the first.
    const first = await workspace.create({ name: 'first' });
    expect(first.files).toMatchObject({ added: 2, deleted: 0 });
    box.write('a.txt', 'changed\n');
    await workspace.create({ name: 'second' });
    expect((await workspace.changes('second')).map(({ path }) => path)).toEqual(['a.txt']);
    await workspace.restore('first');
    expect(readFileSync(join(box.root, 'a.txt'), 'utf8')).toBe('one\n');
  });

  it('gives what is whole of damaged rows, and names the rest', async () => {
    const box = sandbox();
    const workspace = await started(box);
    const db = join(box.home, '..', 'checkpoints.db');
    await oldDatabase(db, [
      { id: 1, created_at: 'never' },
      { id: 2, created_at: 'never', metadata: '{"timestamp": 1760000000000}' },
      { id: 3, session_id: '' },
      { id: 4, message_count: 0 },
      { id: 5, metadata: '{not json' },
      { id: 6, name: 'two\nlines | and a table' },
      { id: 7, name: 'x'.repeat(300) },
      { id: 8, name: '' },
    ]);
    const { imported, problems } = await run(workspace, { from: 's1', path: db });
    expect(problems.map(({ item, message }) => `${item}: ${message}`)).toEqual([
      'row 1: It has no time and was left out.',
      'row 3: It has no session and was left out.',
      expect.stringContaining('row 4'),
      expect.stringContaining('row 5'),
    ]);
    const all = await workspace.list();
    expect(imported).toHaveLength(6);
    const byNumber = (n: number) => all.find(({ metadata }) => metadata['legacyId'] === n);
    expect(byNumber(2)?.createdAt).toBe('2025-10-09T08:53:20.000Z');
    // A count of 0 was a failure of the old plugin, not an empty conversation.
    expect(byNumber(4)?.session).toBeNull();
    expect(byNumber(6)).toMatchObject({ name: 'two lines | and a table', description: 'two\nlines | and a table' });
    expect(byNumber(7)?.name).toHaveLength(200);
    expect(byNumber(7)?.description).toBe('x'.repeat(300));
    expect(byNumber(8)).toMatchObject({ name: null, title: 'Imported checkpoint' });
  });

  it('gives the rows around a hole in the file', async () => {
    const box = sandbox();
    const workspace = await started(box);
    const db = join(box.home, '..', 'checkpoints.db');
    const rows = Array.from({ length: 400 }, (_, i) => ({
      id: i + 1,
      name: `n${i + 1}`,
      description: `[${i + 1}]${'y'.repeat(150)}`,
      created_at: 1_760_000_000_000 + i,
    }));
    await oldDatabase(db, rows);
    const bytes = readFileSync(db);
    const hole = bytes.indexOf('[200]');
    bytes.fill(0, hole - (hole % 4096), hole - (hole % 4096) + 4096);
    writeFileSync(db, bytes);
    const { imported, problems } = await run(workspace, { from: 's1', path: db });
    expect(problems.map(({ message }) => message)).toEqual([expect.stringContaining('damaged')]);
    const names = new Set(imported.map(({ title }) => title));
    expect([names.has('n1'), names.has('n200'), names.has('n400')]).toEqual([true, false, true]);
    expect(imported.length).toBeGreaterThan(350);
  });

  it('says how to finish one whose rows are all in an unfinished change', async () => {
    const box = sandbox();
    const workspace = await started(box);
    const db = join(box.home, '..', 'checkpoints.db');
    put(db, '');
    const refusal = async (): Promise<string> =>
      run(workspace, { from: 's1', path: db }).then(
        () => '',
        (error: Error) => error.message,
      );
    expect(await refusal()).toMatch(/has no table of checkpoints\.$/);
    put(`${db}-wal`, 'rows');
    expect(await refusal()).toContain(`\`sqlite3 ${db} .tables\` finishes it`);
  });

  it('is refused when it is none, with nothing changed', async () => {
    const box = sandbox();
    const workspace = await started(box);
    const file = join(box.home, '..', 'checkpoints.db');
    expect(await reasonOf(run(workspace, { from: 's1', path: file }))).toBe('invalid-argument');
    put(file, 'this is no database, but a text that is long enough to look at'.repeat(100));
    expect(await reasonOf(run(workspace, { from: 's1', path: file }))).toBe('invalid-argument');
    await oldDatabase(file, [{ id: 1 }]);
    truncateSync(file, 1000);
    expect(await reasonOf(run(workspace, { from: 's1', path: file }))).toBe('invalid-argument');
    expect(await workspace.list()).toEqual([]);
  });

  it('gives each workspace its own rows', async () => {
    const box = sandbox();
    const workspace = await started(box);
    const db = join(box.home, '..', 'checkpoints.db');
    const other = join(dirname(box.root), 'other');
    mkdirSync(other);
    const link = join(dirname(box.root), 'link');
    symlinkSync(box.root, link);
    const of = (directory: string) => JSON.stringify({ directory });
    await oldDatabase(db, [
      { id: 1, name: 'here', metadata: of(box.root) },
      { id: 2, name: 'by a link', metadata: of(link) },
      { id: 3, name: 'elsewhere', metadata: of(other) },
      { id: 4, name: 'gone', metadata: of('/gone/from/this/machine') },
      { id: 5, name: 'anywhere' },
    ]);
    const { imported, skipped } = await run(workspace, { from: 's1', path: db });
    expect(imported.map(({ title }) => title).sort()).toEqual(['anywhere', 'by a link', 'gone', 'here']);
    expect(skipped).toEqual([{ item: 'row 3 (elsewhere)', reason: `belongs to ${other}` }]);
  });
});

describe('task state files', () => {
  const state = (title: string, updatedAt: string, more: object = {}) => ({
    version: 2,
    updatedAt,
    task: { title, status: 'in_progress' },
    currentPlan: [],
    completedSteps: ['one'],
    nextSteps: [],
    blockers: [],
    filesTouched: [],
    notes: [],
    ...more,
  });
  const t = (minute: number) => `2025-10-09T09:${String(minute).padStart(2, '0')}:00.000Z`;
  const old = (folder: string) => {
    put(join(folder, 'checkpoint.json'), JSON.stringify(state('now', t(5))));
    const snapshots = [
      { name: 'start', savedAt: t(1), data: state('first', t(1)) },
      { name: 'start', savedAt: t(2), data: state('second', t(2)) },
      { name: 'auto-1759999999999', savedAt: t(3), data: state('third', t(3)) },
      { name: 'broken', savedAt: 'sometime', data: state('x', t(3)) },
      { name: 'bogus', savedAt: t(4), data: state('y', t(4), { task: { title: 'y', status: 'bogus' } }) },
    ];
    put(join(folder, 'checkpoint-history.json'), JSON.stringify({ snapshots }));
  };

  it('become saves of the task with their own times', async () => {
    const box = sandbox();
    const workspace = await started(box);
    const folder = join(box.home, '..', 'old-project');
    old(join(folder, '.opencode/state'));
    const report = await run(workspace, { from: 's2', path: folder });
    expect(report.problems.map(({ message }) => message)).toEqual([
      expect.stringContaining('Snapshot 4 of the history cannot be read'),
      expect.stringContaining('Snapshot 5 of the history: The status "bogus" was left out'),
    ]);
    const list = await workspace.list();
    const told = list.map(({ name, title, createdAt, task }) => [name, title, createdAt, task?.title]);
    expect(told).toEqual([
      [null, 'Task: now', t(5), 'now'],
      ['bogus', 'bogus', t(4), 'y'],
      [null, 'Task: third', t(3), 'third'],
      ['start', 'start', t(2), 'second'],
      ['start', 'start', t(1), 'first'],
    ]);
    expect(list.every(({ files, trigger }) => files.only?.length === 0 && trigger === 'import')).toBe(true);
    const again = await run(workspace, { from: 's2', path: join(folder, '.opencode/state/checkpoint.json') });
    expect(again.imported).toEqual([]);
    expect(again.skipped).toHaveLength(5);
  });

  it('may have a status that an agent made up', async () => {
    const workspace = await started(sandbox());
    const folder = join(workspace.root, '.opencode/state');
    put(
      join(folder, 'checkpoint.json'),
      JSON.stringify(state('now', t(5), { task: { title: 'now', status: 'soon' } })),
    );
    const { imported, problems } = await run(workspace, { from: 's2', path: folder });
    expect(imported.map(({ title }) => title)).toEqual(['Task: now']);
    expect(problems[0]?.message).toContain('"soon" was left out');
  });

  it('restore the task alone', async () => {
    const box = sandbox();
    let live: TaskState | null = { title: 'live', notes: ['kept?'] };
    box.write('a.txt', 'one\n');
    const workspace = await box.open({
      task: () => ({
        read: () => Promise.resolve(live),
        replace: (task) => {
          live = task;
          return Promise.resolve();
        },
      }),
    });
    const folder = join(box.home, '..', 'state');
    old(folder);
    await run(workspace, { from: 's2', path: folder });
    await workspace.restore('start', { scope: ['task'] });
    expect(live).toEqual({ title: 'second', status: 'in_progress', completedSteps: ['one'] });
    await workspace.undo();
    expect(live).toEqual({ title: 'live', notes: ['kept?'] });
  });

  it('may be half gone', async () => {
    const box = sandbox();
    const workspace = await started(box);
    const folder = join(box.home, '..', 'state');
    old(folder);
    put(join(folder, 'checkpoint.json'), '{"version": 2, "task"');
    const { imported, problems } = await run(workspace, { from: 's2', path: folder });
    expect(imported).toHaveLength(4);
    expect(problems[2]?.item).toBe(join(folder, 'checkpoint.json'));
    rmSync(join(folder, 'checkpoint.json'));
    put(join(folder, 'checkpoint-history.json'), '{}');
    expect((await run(workspace, { from: 's2', path: folder })).problems).toHaveLength(1);
    rmSync(join(folder, 'checkpoint-history.json'));
    expect(await reasonOf(run(workspace, { from: 's2', path: folder }))).toBe('invalid-argument');
    expect(await reasonOf(run(workspace, { from: 's2' }))).toBe('invalid-argument');
  });
});

describe("OpenOrca's manifests", () => {
  const at = (second: number) => `2025-10-09T08:00:0${second}.1234567Z`;

  it('become checkpoints that hold the first versions, and bring back exactly these', async () => {
    const box = sandbox();
    const workspace = await started(box);
    const all = join(box.home, '..', 'checkpoints');
    const binary = Buffer.from([0, 255, 13, 10, 0]);
    oldManifest(join(all, 'ab12cd34'), [
      { filePath: join(box.root, 'a.txt'), content: 'first a\n', at: at(1) },
      { path: 'gone/deep/c.bin', content: binary, at: at(0) },
      { filePath: '/somewhere/else.txt', content: 'x', at: at(2) },
      { filePath: join(box.root, '.env'), content: 'SECRET=1', at: at(3) },
    ]);
    const report = await run(workspace, { from: 's5', path: all });
    expect(report.imported).toMatchObject([
      { title: 'Originals of OpenOrca session ab12cd34', createdAt: '2025-10-09T08:00:00.123Z' },
    ]);
    expect(report.skipped).toMatchObject([{ reason: '1 of 4 files belong to other folders' }]);
    expect(report.problems).toMatchObject([{ message: 'It was left out: excluded.' }]);
    const id = report.imported[0]?.id ?? '';
    const imported = await workspace.resolve(id);
    expect(imported.files).toMatchObject({ only: ['a.txt', 'gone/deep/c.bin'], added: 2 });
    expect(Buffer.from(await workspace.cat(id, 'gone/deep/c.bin'))).toEqual(binary);
    expect(await reasonOf(workspace.cat(id, '.env'))).toBe('not-in-checkpoint');

    expect((await workspace.diff(id)).changes.map(({ path, status }) => [path, status])).toEqual([
      ['a.txt', 'modified'],
      ['gone/deep/c.bin', 'deleted'],
    ]);
    expect((await workspace.diff(id, undefined, { paths: ['src'] })).changes).toEqual([]);
    expect((await workspace.changes(id)).map(({ path, status }) => [path, status])).toEqual([
      ['a.txt', 'added'],
      ['gone/deep/c.bin', 'added'],
    ]);
    mkdirSync(join(box.root, 'empty'));
    const before = picture(box.root);
    const result = await workspace.restore(id);
    expect([result.restored.sort(), result.deleted]).toEqual([['a.txt', 'gone/deep/c.bin'], []]);
    expect(readFileSync(join(box.root, 'a.txt'), 'utf8')).toBe('first a\n');
    expect(readFileSync(join(box.root, 'src/b.txt'), 'utf8')).toBe('two\n');
    expect(existsSync(join(box.root, 'empty'))).toBe(true);
    await workspace.undo();
    const after = picture(box.root, { except: (path) => path.startsWith('gone') });
    expect(after).toEqual(before);
    await workspace.restore(id, { paths: ['gone'] });
    expect(readFileSync(join(box.root, 'a.txt'), 'utf8')).toBe('one\n');
    expect(readFileSync(join(box.root, 'gone/deep/c.bin'))).toEqual(binary);
  });

  it('are read again when they have grown, and only what is new', async () => {
    const box = sandbox();
    const workspace = await started(box);
    const folder = join(box.home, '..', 'default');
    const first = { filePath: join(box.root, 'a.txt'), content: 'first a\n', at: at(1) };
    const second = { filePath: join(box.root, 'src/b.txt'), content: 'first b\n', at: at(5) };
    oldManifest(folder, [first]);
    expect((await run(workspace, { from: 's5', path: join(folder, 'manifest.json') })).imported).toHaveLength(1);
    expect((await run(workspace, { from: 's5', path: folder })).imported).toEqual([]);
    oldManifest(folder, [first, second]);
    const { imported, skipped } = await run(workspace, { from: 's5', path: folder });
    expect(skipped).toEqual([{ item: first.filePath, reason: 'is here already' }]);
    expect((await workspace.resolve(imported[0]?.id ?? '')).files.only).toEqual(['src/b.txt']);
  });

  it('may be damaged, and lead nowhere but to what lies beside them', async () => {
    const box = sandbox();
    const workspace = await started(box);
    const all = join(box.home, '..', 'checkpoints');
    const file = join(box.root, 'a.txt');
    put(join(all, 'torn/manifest.json'), '[{"filePath":');
    put(join(all, 'other/manifest.json'), '{"files": []}');
    put(join(all, 'secret.bak'), 'not yours');
    oldManifest(join(all, 'mixed'), [
      { filePath: file, content: 'later', at: at(5) },
      { filePath: file, content: 'earlier', at: at(1), size: 99 },
      { filePath: join(box.root, 'missing.txt'), content: null, at: at(1) },
      { filePath: join(box.root, 'timeless.txt'), content: 'x', at: 'yesterday' },
      { filePath: join(box.root, 'stolen.txt'), content: null, at: at(1), as: '../secret.bak' },
      { filePath: join(box.root, '.git/config'), content: 'evil', at: at(1) },
      { filePath: join(box.root, '../outside.txt'), content: 'x', at: at(1) },
    ]);
    put(join(all, 'mixed/link.bak'), '');
    rmSync(join(all, 'mixed/link.bak'));
    const { imported, problems } = await run(workspace, { from: 's5', path: all });
    expect(imported).toHaveLength(1);
    const { files } = await workspace.resolve(imported[0]?.id ?? '');
    expect(files.only).toEqual(['a.txt']);
    expect(Buffer.from(await workspace.cat(imported[0]?.id ?? '', 'a.txt')).toString()).toBe('earlier');
    const told = problems.map(({ message }) => message).join('\n');
    for (const part of [
      'cannot be read',
      'no list of files',
      'the manifest says 99',
      'content is missing',
      'it has no time',
      'outside of the folder',
      'inside a git folder',
    ])
      expect(told).toContain(part);
    expect(await reasonOf(run(workspace, { from: 's5', path: box.root }))).toBe('invalid-argument');
    expect(await reasonOf(run(workspace, { from: 's5', path: join(box.root, 'a.txt') }))).toBe('invalid-argument');
  });
});
