import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CheckpointsError } from '../../src/core/errors';
import type { SessionAnchor, TurnInfo } from '../../src/core/model';
import { picture, sandbox } from './rig';

const session = (id: string): SessionAnchor => ({ id, messageId: null, messageCount: 0, title: id, parent: null });
const turn = (number: number): TurnInfo => ({
  number,
  prompt: `prompt ${number}`,
  model: null,
  agent: null,
  cost: null,
  tokens: null,
});
const reasonOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'no error',
    (error: unknown) => (CheckpointsError.is(error) ? error.reason : String(error)),
  );

describe('restore', () => {
  it('shows the plan and changes nothing before it is asked to', async () => {
    const box = sandbox();
    box.write('a.txt', 'old');
    box.write('gone.txt', 'gone');
    const workspace = await box.open();
    await workspace.create({ name: 'then' });
    box.write('a.txt', 'new');
    rmSync(join(box.root, 'gone.txt'));
    box.write('made.txt', 'made');
    const before = picture(box.root);
    const count = (await workspace.list()).length;
    const plan = await workspace.plan('then');
    expect(plan.entries.map(({ path, action }) => [path, action])).toEqual([
      ['a.txt', 'write'],
      ['gone.txt', 'write'],
      ['made.txt', 'delete'],
    ]);
    expect(picture(box.root)).toEqual(before);
    expect(await workspace.list()).toHaveLength(count);
  });

  it('names what it goes back to while it works, as the status bar has room for', async () => {
    const box = sandbox();
    const workspace = await box.open();
    const name = 'a '.repeat(90).trim();
    for (const one of ['then', name]) await workspace.create({ name: one });
    const seen: string[] = [];
    workspace.onDidChangeOperation((operation) => operation?.kind === 'restore' && seen.push(operation.title));
    for (const one of ['then', name]) await workspace.restore(one);
    expect(seen).toEqual(['Restoring “then”', `Restoring “${'a '.repeat(30).trim()}…”`]);
  });

  it('says what it is at: the safety checkpoint, then the files', async () => {
    const box = sandbox();
    box.write('a.txt', 'old');
    const workspace = await box.open();
    await workspace.create({ name: 'then' });
    box.write('a.txt', 'new');
    box.write('made.txt', 'made');
    const said: string[] = [];
    await workspace.restore('then', {
      onProgress: ({ done, total, part }) => said.push(part ?? `${done} of ${total}`),
    });
    // Making the safety checkpoint and staging take longest in a large folder: nobody waits for OpenCode then.
    expect(said.slice(0, 2)).toEqual(['safety', '0 of 2']);
    expect(said.at(-1)).toBe('2 of 2');
  });

  it('leaves the times of files it does not write', async () => {
    const box = sandbox();
    box.write('same.txt', 'same');
    box.write('a.txt', 'old');
    utimesSync(join(box.root, 'same.txt'), 1_600_000_000, 1_600_000_000);
    const workspace = await box.open();
    await workspace.create({ name: 'then' });
    box.write('a.txt', 'new');
    await workspace.restore('then');
    expect(statSync(join(box.root, 'same.txt')).mtimeMs).toBe(1_600_000_000_000);
  });

  it('of one file or folder touches nothing else', async () => {
    const box = sandbox();
    for (const path of ['src/a.ts', 'src/b.ts', 'other.ts']) box.write(path, 'old');
    const workspace = await box.open();
    await workspace.create({ name: 'then' });
    for (const path of ['src/a.ts', 'src/b.ts', 'other.ts', 'src/new.ts']) box.write(path, 'new');
    expect((await workspace.restore('then', { paths: ['src/a.ts'] })).restored).toEqual(['src/a.ts']);
    const result = await workspace.restore('then', { paths: ['src'] });
    expect([result.restored, result.deleted]).toEqual([['src/b.ts'], ['src/new.ts']]);
    expect(readFileSync(join(box.root, 'other.ts'), 'utf8')).toBe('new');
    expect(await reasonOf(workspace.restore('then', { paths: ['nowhere'] }))).toBe('not-in-checkpoint');
  });

  it('of an empty folder alone makes or removes it', async () => {
    const box = sandbox();
    box.write('a', 'a');
    mkdirSync(join(box.root, 'e'));
    const workspace = await box.open();
    await workspace.create({ name: 'then' });
    rmSync(join(box.root, 'e'), { recursive: true });
    mkdirSync(join(box.root, 'late/r'), { recursive: true });
    await workspace.restore('then', { paths: ['e'] });
    expect([existsSync(join(box.root, 'e')), existsSync(join(box.root, 'late'))]).toEqual([true, true]);
    await workspace.restore('then', { paths: ['late'] });
    expect(existsSync(join(box.root, 'late'))).toBe(false);
    expect(await reasonOf(workspace.restore('then', { paths: ['nope'] }))).toBe('not-in-checkpoint');
  });

  it('plans the empty folders that no file tells of', async () => {
    const box = sandbox();
    box.write('a/file', 'a');
    box.write('b/file', 'b');
    mkdirSync(join(box.root, 'e'));
    const workspace = await box.open();
    await workspace.create({ name: 'then' });
    expect(await workspace.plan('then')).not.toHaveProperty('folders');
    box.sh('rmdir e && mkdir late && rm a/file && rm -r b');
    expect(await workspace.plan('then')).toMatchObject({
      entries: [{ path: 'a/file' }, { path: 'b/file' }],
      folders: { make: ['e'], remove: ['late'] },
    });
    await workspace.restore('then', { paths: ['a', 'b', 'late'] });
    expect(await workspace.plan('then')).toMatchObject({ entries: [], folders: { make: ['e'], remove: [] } });
    await workspace.restore('then');
    expect([existsSync(join(box.root, 'e')), existsSync(join(box.root, 'late'))]).toEqual([true, false]);
    expect(await workspace.plan('then')).not.toHaveProperty('folders');
  });

  it('of no path touches no file, and no folder', async () => {
    const box = sandbox();
    box.write('a.txt', 'old');
    mkdirSync(join(box.root, 'hollow'));
    const workspace = await box.open();
    await workspace.create({ name: 'then' });
    box.write('a.txt', 'new');
    box.write('made.txt', 'made');
    box.sh('rmdir hollow && mkdir made');
    const now = picture(box.root);
    expect((await workspace.plan('then', { paths: [] })).entries).toEqual([]);
    const result = await workspace.restore('then', { paths: [] });
    expect([result.restored, result.deleted]).toEqual([[], []]);
    expect(picture(box.root)).toEqual(now);
  });

  it('never follows a folder that was swapped for a link out of the root', async () => {
    const box = sandbox();
    box.write('d/f.txt', 'inside');
    const workspace = await box.open();
    await workspace.create({ name: 'then' });
    const outside = join(box.home, '..', 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'f.txt'), 'not yours');
    rmSync(join(box.root, 'd'), { recursive: true });
    symlinkSync(outside, join(box.root, 'd'));
    await workspace.restore('then');
    expect(readFileSync(join(outside, 'f.txt'), 'utf8')).toBe('not yours');
    expect(lstatSync(join(box.root, 'd')).isDirectory()).toBe(true);
    expect(readFileSync(join(box.root, 'd/f.txt'), 'utf8')).toBe('inside');
    await workspace.undo();
    expect(lstatSync(join(box.root, 'd')).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(outside, 'f.txt'), 'utf8')).toBe('not yours');
    // One path of the folder that is now a link: refused, nothing written through it.
    const result = await workspace.restore('then', { paths: ['d/f.txt'] });
    expect(result.skipped).toEqual([{ path: 'd/f.txt', reason: 'link in the way' }]);
    expect(readFileSync(join(outside, 'f.txt'), 'utf8')).toBe('not yours');
  });

  it('puts a folder back where a link to itself stands', async () => {
    const box = sandbox();
    box.write('a/deep.txt', 'deep');
    const workspace = await box.open();
    await workspace.create({ name: 'folder' });
    const folder = picture(box.root);
    box.sh('rm -r a && ln -s a a');
    await workspace.create({ name: 'loop' });
    const loop = picture(box.root);
    await workspace.restore('folder');
    expect(picture(box.root)).toEqual(folder);
    await workspace.undo();
    expect(picture(box.root)).toEqual(loop);
  });

  it('keeps all of the conversation that is known in its safety checkpoint, not what the target had', async () => {
    const box = sandbox();
    box.write('a.txt', 'one');
    const workspace = await box.open();
    const first = await workspace.create({ session: session('ses_a') });
    const after = { ...session('ses_a'), messageId: 'msg_5', messageCount: 5 };
    await workspace.create({ session: after });
    await workspace.create({ session: { ...session('ses_b'), messageId: 'msg_9', messageCount: 9 } });
    const { undo } = await workspace.restore(first.id);
    expect((await workspace.resolve(undo!)).session).toEqual(after);
  });

  it('captures an ignored file before it overwrites it', async () => {
    const box = sandbox();
    box.write('build.log', 'then');
    const workspace = await box.open();
    await workspace.create({ name: 'then' });
    box.write('.gitignore', '*.log\n');
    rmSync(join(box.root, 'build.log'));
    await workspace.create({ name: 'without' });
    rmSync(join(workspace.folder, 'scan', 'index'));
    box.write('build.log', 'precious, and ignored');
    const { undo } = await workspace.restore('then', { paths: ['build.log'] });
    expect(readFileSync(join(box.root, 'build.log'), 'utf8')).toBe('then');
    expect(Buffer.from(await workspace.cat(undo!, 'build.log')).toString()).toBe('precious, and ignored');
    await workspace.undo();
    expect(readFileSync(join(box.root, 'build.log'), 'utf8')).toBe('precious, and ignored');
  });

  it('asks again before it deletes much', async () => {
    const box = sandbox();
    box.write('first.txt', '1');
    const workspace = await box.open();
    await workspace.create({ name: 'small' });
    for (let i = 0; i < 30; i++) box.write(`new/${i}.txt`, String(i));
    const before = picture(box.root);
    expect((await workspace.plan('small')).massDelete).toBe(true);
    expect(await reasonOf(workspace.restore('small'))).toBe('mass-delete');
    expect(picture(box.root)).toEqual(before);
    expect((await workspace.restore('small', { allowMassDelete: true })).deleted).toHaveLength(30);
    await workspace.undo();
    expect(picture(box.root)).toEqual(before);
  });

  it('is undone and redone any number of times, across restarts', async () => {
    const box = sandbox();
    const states: Array<Map<string, string>> = [];
    let workspace = await box.open();
    for (let i = 0; i < 4; i++) {
      box.write('a.txt', `state ${i}`);
      box.write(`only-${i}.txt`, 'x');
      if (i > 0) rmSync(join(box.root, `only-${i - 1}.txt`));
      await workspace.create({ name: `s${i}` });
      states.push(picture(box.root));
    }
    await workspace.restore('s0');
    await workspace.restore('s2');
    const expectState = (i: number): void => expect(picture(box.root)).toEqual(states[i]);
    expectState(2);
    for (const [operation, state] of [
      ['undo', 0],
      ['undo', 3],
      ['redo', 0],
      ['redo', 2],
      ['undo', 0],
      ['redo', 2],
    ] as const) {
      await workspace.close();
      workspace = await box.open();
      await workspace[operation]();
      expectState(state);
    }
    expect(await reasonOf(workspace.redo())).toBe('nothing-to-redo');
    await workspace.restore('s1');
    await workspace.undo();
    expectState(2);
  });

  it('is undone where it was, also when it touched thousands of paths', async () => {
    const box = sandbox();
    box.sh('mkdir big && cd big && seq 5002 | xargs touch');
    box.write('other', 'a');
    const workspace = await box.open();
    await workspace.create({ name: 'one' });
    box.sh('rm -r big');
    await workspace.create({ name: 'two' });
    const { undo } = await workspace.restore('one', { paths: ['big'] });
    box.write('other', 'my edit');
    box.write('made-since', 'mine');
    await workspace.prune();
    const { restored, deleted } = await workspace.undo();
    expect([restored, deleted.length]).toEqual([[], 5002]);
    expect(readFileSync(join(box.root, 'other'), 'utf8')).toBe('my edit');
    expect(existsSync(join(box.root, 'made-since'))).toBe(true);
    const held = (): string => box.git(`--git-dir=${workspace.folder}/snapshots.git`, 'for-each-ref', 'refs/restored');
    expect(held()).toContain(undo);
    await workspace.remove([undo!]);
    expect(held()).not.toContain(undo);
  });

  it('is undone without the empty folders that were made or removed since', async () => {
    const box = sandbox();
    box.write('a', 'a');
    box.sh('mkdir then && mkdir -p stays/in');
    const workspace = await box.open();
    await workspace.create({ name: 'one' });
    box.write('a', 'b');
    box.sh('rmdir then && mkdir later');
    await workspace.restore('one');
    expect(['then', 'later'].map((path) => existsSync(join(box.root, path)))).toEqual([true, false]);
    box.sh('mkdir mine && rmdir stays/in stays');
    await workspace.undo();
    const there = ['then', 'later', 'mine', 'stays'].map((path) => existsSync(join(box.root, path)));
    expect(there).toEqual([false, true, true, false]);
  });

  it('plans an undo and a redo of what they touch, and of nothing else', async () => {
    const box = sandbox();
    for (const path of ['a.txt', 'b.txt', 'other.txt']) box.write(path, 'old');
    const workspace = await box.open();
    await workspace.create({ name: 'then' });
    for (const path of ['a.txt', 'b.txt']) box.write(path, 'new');
    await workspace.restore('then', { paths: ['a.txt'] });
    for (const path of ['b.txt', 'other.txt']) box.write(path, 'since');
    const now = picture(box.root);
    expect((await workspace.planUndo()).entries.map(({ path }) => path)).toEqual(['a.txt']);
    expect(picture(box.root)).toEqual(now);
    expect(await reasonOf(workspace.planRedo())).toBe('nothing-to-redo');
    expect((await workspace.undo()).restored).toEqual(['a.txt']);
    expect((await workspace.planRedo()).entries.map(({ path }) => path)).toEqual(['a.txt']);
    expect((await workspace.redo()).restored).toEqual(['a.txt']);
  });

  it("keeps the user's edits when asked, and tells them from the agent's", async () => {
    const box = sandbox();
    for (const name of ['agent', 'user', 'both']) box.write(`${name}.txt`, 'old');
    const workspace = await box.open();
    const common = { session: session('ses_1'), turn: turn(1), automatic: true as const };
    await workspace.create({ ...common, trigger: 'turn' });
    for (const name of ['agent', 'both']) {
      await workspace.create({
        ...common,
        trigger: 'tool',
        paths: [`${name}.txt`],
        cause: { tool: 'write', callId: name, paths: [`${name}.txt`] },
      });
      box.write(`${name}.txt`, 'by the agent');
    }
    await workspace.create({ ...common, trigger: 'idle' });
    box.write('user.txt', 'by the user');
    box.write('both.txt', 'by the agent, then by the user');
    const { entries } = await workspace.plan('latest');
    expect(entries.map(({ path, yours }) => [path, yours === true])).toEqual([
      ['agent.txt', false],
      ['both.txt', true],
      ['user.txt', true],
    ]);
    const result = await workspace.restore('latest', { keepUserEdits: true });
    expect(result.restored).toEqual(['agent.txt']);
    expect(result.kept).toEqual([
      { path: 'both.txt', reason: 'yours' },
      { path: 'user.txt', reason: 'yours' },
    ]);
    // Agreed to by name: kept whoever changed it.
    await workspace.undo();
    const named = await workspace.restore('latest', { keep: ['agent.txt'] });
    expect(named.kept).toEqual([{ path: 'agent.txt', reason: 'yours' }]);
    expect(named.restored).toEqual(['both.txt', 'user.txt']);
  });

  it('refuses what it does not know, and changes nothing', async () => {
    const box = sandbox();
    box.write('a.txt', 'a');
    const workspace = await box.open();
    await workspace.create({ name: 'then' });
    box.write('a.txt', 'b');
    const before = picture(box.root);
    expect(await reasonOf(workspace.restore('no such name'))).toBe('unknown-reference');
    expect(await reasonOf(workspace.restore('then', { scope: ['task'] }))).toBe('no-task');
    expect(await reasonOf(workspace.restore('then', { scope: [] }))).toBe('invalid-argument');
    expect(await reasonOf(workspace.remove(['then', 'nope']))).toBe('unknown-reference');
    expect(picture(box.root)).toEqual(before);
    expect(await workspace.list()).toHaveLength(1);
  });

  it('can be cancelled before anything is touched', async () => {
    const box = sandbox();
    box.write('a.txt', 'a');
    const workspace = await box.open();
    await workspace.create({ name: 'then' });
    box.write('a.txt', 'b');
    const abort = new AbortController();
    abort.abort();
    expect(await reasonOf(workspace.restore('then', { signal: abort.signal }))).toBe('cancelled');
    expect(readFileSync(join(box.root, 'a.txt'), 'utf8')).toBe('b');
    expect(existsSync(join(workspace.folder, 'journal.json'))).toBe(false);
  });
});

describe('a large change', () => {
  it("is taken into the scanner's index, and the next scans still see every edit and deletion", async () => {
    const box = sandbox();
    const names = Array.from({ length: 150 }, (_, i) => `many/${i % 7}/${i}.txt`);
    for (const name of names) box.write(name, 'old');
    const workspace = await box.open();
    await workspace.create({ name: 'old' });
    const old = picture(box.root);
    for (const name of names.slice(0, 100)) box.write(name, 'new');
    for (let i = 0; i < 20; i++) box.write(`made/${i}.txt`, 'made');
    await workspace.create({ name: 'new' });
    const fresh = picture(box.root);
    await workspace.restore('old');
    expect(picture(box.root)).toEqual(old);
    for (const name of names.slice(20, 120)) rmSync(join(box.root, name));
    const { files } = await workspace.create({ name: 'less' });
    // Since the safety checkpoint, which has the made ones as well.
    expect(files.deleted).toBe(120);
    await workspace.restore('new', { allowMassDelete: true });
    expect(picture(box.root)).toEqual(fresh);
    await workspace.restore('old');
    expect(picture(box.root)).toEqual(old);
  });
});

describe('revert-turn', () => {
  /** A turn that wrote two files and made one; a person changed another since. */
  const afterTurn = async () => {
    const box = sandbox();
    for (const path of ['a.txt', 'b.txt', 'other.txt']) box.write(path, 'old');
    const workspace = await box.open();
    const one = { session: session('ses_1'), turn: turn(1) };
    await workspace.create({ ...one, trigger: 'turn' });
    box.write('a.txt', 'turn');
    const inside = await workspace.create({ ...one, trigger: 'tool' });
    box.write('b.txt', 'turn');
    box.write('made.txt', 'turn');
    await workspace.create({ ...one, trigger: 'idle' });
    box.write('other.txt', 'mine');
    return { box, workspace, inside };
  };

  it('leaves out what it is told to keep, and what lies in no path it is given', async () => {
    const { box, workspace, inside } = await afterTurn();
    const kept = await workspace.revertTurn(inside.id, { keep: ['a.txt'] });
    expect([kept.restored, kept.deleted]).toEqual([['b.txt'], ['made.txt']]);
    expect(kept.kept).toEqual([{ path: 'a.txt', reason: 'yours' }]);
    await workspace.undo();
    box.write('b.txt', 'a conflict');
    const result = await workspace.revertTurn(inside.id, { paths: ['a.txt'] });
    expect([result.restored, result.deleted, result.conflicts]).toEqual([['a.txt'], [], []]);
    expect(readFileSync(join(box.root, 'made.txt'), 'utf8')).toBe('turn');
  });

  it('is planned as it is done, from any point of the turn', async () => {
    const { box, workspace, inside } = await afterTurn();
    const before = picture(box.root);
    const plan = await workspace.planRevertTurn(inside.id);
    expect(plan.entries.map(({ path, action }) => [path, action])).toEqual([
      ['a.txt', 'write'],
      ['b.txt', 'write'],
      ['made.txt', 'delete'],
    ]);
    expect(picture(box.root)).toEqual(before);
    const { restored, deleted } = await workspace.revertTurn(inside.id);
    expect([restored, deleted]).toEqual([['a.txt', 'b.txt'], ['made.txt']]);
  });

  it("takes the turn's executable bit back, though the content is merged", async () => {
    const box = sandbox();
    box.write('f', '1\n2\n3\n4\n5\n6\n7\n8\n9\n');
    const workspace = await box.open();
    const { id } = await workspace.create({ trigger: 'turn', session: session('ses_1'), turn: turn(1) });
    box.sh('sed -i s/2/TWO/ f && chmod +x f');
    await workspace.create({ trigger: 'idle', session: session('ses_1'), turn: turn(1) });
    box.sh('sed -i s/8/EIGHT/ f');
    await workspace.revertTurn(id);
    expect(picture(box.root).get('f')).toBe('file 1\n2\n3\n4\n5\n6\n7\nEIGHT\n9\n');
  });

  it('takes back a file that became a folder, and a folder that became a file or a link', async () => {
    const box = sandbox();
    box.write('file', 'file');
    box.write('folder/in.txt', 'in');
    box.write('other/in.txt', 'other');
    const workspace = await box.open();
    const before = picture(box.root);
    const { id } = await workspace.create({ trigger: 'turn', session: session('ses_1'), turn: turn(1) });
    box.sh('rm -r file folder other && mkdir file && echo x > file/x && echo y > folder && ln -s file other');
    await workspace.create({ trigger: 'idle', session: session('ses_1'), turn: turn(1) });
    const swapped = picture(box.root);
    box.write('mine.txt', 'made since');
    const { conflicts, skipped } = await workspace.revertTurn(id);
    expect([conflicts, skipped]).toEqual([[], []]);
    const after = picture(box.root);
    expect(after.get('mine.txt')).toBe('file made since');
    after.delete('mine.txt');
    expect(after).toEqual(before);
    await workspace.undo();
    box.sh('rm mine.txt');
    expect(picture(box.root)).toEqual(swapped);
    // What somebody put into the folder since is not lost to the file.
    box.write('file/since.txt', 'since');
    const again = await workspace.revertTurn(id);
    expect(again.skipped).toEqual([{ path: 'file', reason: 'folder in the way' }]);
    expect(box.read('file/since.txt')).toBe('since');
  });

  it('of a turn that died takes back what its calls named, and everything after a command', async () => {
    for (const paths of [['f'], []]) {
      const box = sandbox();
      for (const path of ['f', 'g', 'u']) box.write(path, '1');
      const workspace = await box.open();
      const own = { session: session('ses_1'), turn: turn(1) };
      const { id } = await workspace.create({ trigger: 'turn', ...own });
      box.write('g', '2');
      const cause = { tool: paths.length > 0 ? 'edit' : 'bash', callId: '1', paths };
      await workspace.create({ trigger: 'tool', ...own, cause, ...(paths.length > 0 ? { paths: ['f', 'g'] } : {}) });
      box.write('f', '2');
      box.write('u', 'of the user, after the crash');
      await workspace.create({ name: 'mine' });
      const { restored } = await workspace.revertTurn(id);
      expect(restored.sort()).toEqual(paths.length > 0 ? ['f', 'g'] : ['f', 'g', 'u']);
    }
  });

  it('leaves alone what another session did at the same time', async () => {
    const box = sandbox();
    const lines = Array.from({ length: 12 }, (_, i) => `line ${i}`);
    const text = (changes: Record<number, string>): string => lines.map((line, i) => changes[i] ?? line).join('\n');
    box.write('both.txt', text({}));
    const workspace = await box.open();
    const one = { session: session('ses_1'), turn: turn(1) };
    const two = { session: session('ses_2'), turn: turn(1) };
    const before = async (whose: typeof one, tool: string, ...paths: string[]): Promise<void> => {
      const options = { ...whose, trigger: 'tool' as const, cause: { tool, callId: null, paths } };
      await workspace.create({ ...options, automatic: true, ...(paths.length > 0 ? { paths } : {}) });
    };
    const first = await workspace.create({ ...one, trigger: 'turn' });
    const second = await workspace.create({ ...two, trigger: 'turn' });
    // The first call of a turn leaves no point: nothing has changed.
    await before(two, 'write', 'second.txt');
    box.write('second.txt', 'two');
    await before(one, 'edit', 'both.txt');
    box.write('both.txt', text({ 1: 'ONE' }));
    await before(two, 'edit', 'both.txt');
    box.write('both.txt', text({ 1: 'ONE', 6: 'TWO' }));
    await before(one, 'edit', 'both.txt');
    box.write('both.txt', text({ 1: 'ONE', 6: 'TWO', 11: 'ONE' }));
    await before(two, 'bash');
    await before(one, 'write', 'first.txt');
    box.write('first.txt', 'one');
    box.write('built.txt', 'two');
    await workspace.create({ ...two, trigger: 'idle', automatic: true });
    await workspace.create({ ...one, trigger: 'idle', automatic: true });

    const { restored, deleted, conflicts } = await workspace.revertTurn(first.id);
    expect({ restored, deleted, conflicts }).toEqual({ restored: ['both.txt'], deleted: ['first.txt'], conflicts: [] });
    expect(readFileSync(join(box.root, 'both.txt'), 'utf8')).toBe(text({ 6: 'TWO' }));
    await workspace.undo();
    const other = await workspace.revertTurn(second.id);
    expect([other.restored, other.deleted, other.conflicts]).toEqual([['both.txt'], ['built.txt', 'second.txt'], []]);
    expect(readFileSync(join(box.root, 'both.txt'), 'utf8')).toBe(text({ 1: 'ONE', 11: 'ONE' }));
  });

  it('names what a command of either of two sessions may have changed, and leaves it', async () => {
    const box = sandbox();
    box.write('a.txt', 'old');
    const workspace = await box.open();
    const at = (id: string) => ({ session: session(id), turn: turn(1), automatic: true as const });
    const cause = { tool: 'bash', callId: null, paths: [] };
    const { id } = await workspace.create({ ...at('ses_1'), automatic: undefined, trigger: 'turn' });
    await workspace.create({ ...at('ses_2'), trigger: 'turn' });
    await workspace.create({ ...at('ses_2'), trigger: 'tool', cause });
    await workspace.create({ ...at('ses_1'), trigger: 'tool', cause });
    box.write('a.txt', 'by one of them');
    await workspace.create({ ...at('ses_1'), trigger: 'idle' });
    await workspace.create({ ...at('ses_2'), trigger: 'idle' });
    const { restored, conflicts } = await workspace.revertTurn(id);
    expect(restored).toEqual([]);
    expect(conflicts).toEqual([{ path: 'a.txt', reason: 'a command of another session may have changed it' }]);
    expect(readFileSync(join(box.root, 'a.txt'), 'utf8')).toBe('by one of them');
  });

  it('undoes one turn, keeps what came after it, and reports conflicts', async () => {
    const box = sandbox();
    const lines = Array.from({ length: 12 }, (_, i) => `line ${i}`);
    const text = (changes: Record<number, string>): string => lines.map((line, i) => changes[i] ?? line).join('\n');
    box.write('merge.txt', text({}));
    box.write('clash.txt', text({}));
    box.write('deleted.txt', 'was here');
    const workspace = await box.open();
    const one = { session: session('ses_1'), turn: turn(1), automatic: true as const };
    await workspace.create({ ...one, trigger: 'turn' });
    box.write('merge.txt', text({ 1: 'TURN ONE' }));
    box.write('clash.txt', text({ 1: 'TURN ONE' }));
    box.write('made.txt', 'made in turn one');
    rmSync(join(box.root, 'deleted.txt'));
    await workspace.create({ ...one, trigger: 'idle' });
    await workspace.create({ ...one, turn: turn(2), trigger: 'turn' });
    box.write('merge.txt', text({ 1: 'TURN ONE', 10: 'TURN TWO' }));
    box.write('clash.txt', text({ 1: 'TURN TWO' }));
    box.write('second.txt', 'made in turn two');
    await workspace.create({ ...one, turn: turn(2), trigger: 'idle' });
    const result = await workspace.revertTurn('latest~1');
    expect(readFileSync(join(box.root, 'merge.txt'), 'utf8')).toBe(text({ 10: 'TURN TWO' }));
    expect(readFileSync(join(box.root, 'clash.txt'), 'utf8')).toBe(text({ 1: 'TURN TWO' }));
    expect(readFileSync(join(box.root, 'deleted.txt'), 'utf8')).toBe('was here');
    expect(existsSync(join(box.root, 'made.txt'))).toBe(false);
    expect(existsSync(join(box.root, 'second.txt'))).toBe(true);
    expect(result.conflicts).toEqual([{ path: 'clash.txt', reason: 'changed at the same place since' }]);
    await workspace.undo();
    expect(readFileSync(join(box.root, 'merge.txt'), 'utf8')).toBe(text({ 1: 'TURN ONE', 10: 'TURN TWO' }));
    expect(existsSync(join(box.root, 'made.txt'))).toBe(true);
  });
});

describe('the fast lane', () => {
  it('has the result of the first edit before the second, and equals a scan for what was named', async () => {
    const box = sandbox();
    box.write('a.txt', '0');
    box.write('b.txt', '0');
    box.write('big/other.txt', 'other');
    const workspace = await box.open();
    await workspace.create();
    const tool = (path: string) =>
      workspace.create({ trigger: 'tool', paths: [path], cause: { tool: 'write', callId: null, paths: [path] } });
    await tool('a.txt');
    box.write('a.txt', '1');
    const second = await tool(join(box.root, 'b.txt'));
    expect(second.files.lane).toBe('paths');
    expect(second.files.paths).toEqual(['a.txt']);
    box.write('b.txt', '1');
    box.write('new/deep.txt', 'new');
    const third = await tool('new/deep.txt');
    const oracle = await workspace.create();
    expect(third.files.tree).toBe(oracle.files.tree);
  });

  it('with parallel calls serialised, and after a restore', async () => {
    const box = sandbox();
    for (let i = 0; i < 8; i++) box.write(`${i}.txt`, 'old');
    const workspace = await box.open();
    await workspace.create({ name: 'start' });
    const points = await Promise.all(
      Array.from({ length: 8 }, (_, i) => workspace.create({ trigger: 'tool', paths: [`${i}.txt`] })),
    );
    expect(new Set(points.map((point) => point.id)).size).toBe(8);
    for (let i = 0; i < 8; i++) box.write(`${i}.txt`, 'new');
    const after = await workspace.create({ trigger: 'tool', paths: ['0.txt'] });
    expect(after.files.tree).toBe((await workspace.create()).files.tree);
    await workspace.restore('start');
    const point = await workspace.create({ trigger: 'tool', paths: ['0.txt'] });
    expect(point.files.tree).toBe((await workspace.resolve('start')).files.tree);
  });

  it('what nobody named is uncertain at the points between, and kept unless chosen', async () => {
    const box = sandbox();
    for (const name of ['named', 'quiet']) box.write(`${name}.txt`, '0');
    const workspace = await box.open();
    await workspace.create();
    const between = await workspace.create({
      trigger: 'tool',
      paths: ['named.txt'],
      cause: { tool: 'write', callId: null, paths: ['named.txt'] },
    });
    box.write('named.txt', '1');
    box.write('quiet.txt', '1');
    await workspace.create();
    const { entries } = await workspace.plan(between.id);
    expect(entries.map(({ path, action, reason }) => [path, action, reason])).toEqual([
      ['named.txt', 'write', undefined],
      ['quiet.txt', 'keep', 'uncertain'],
    ]);
    await workspace.restore(between.id, { paths: ['quiet.txt'] });
    expect(readFileSync(join(box.root, 'quiet.txt'), 'utf8')).toBe('0');
  });

  it.each([
    ['the scan before', ['first']],
    ['the scan after', ['second']],
    ['both', ['first', 'second']],
    ['all scans', ['first', 'second', 'third']],
  ])('is as uncertain when %s was deleted, and as sure of what came later', async (_, leaving) => {
    const box = sandbox();
    for (const name of ['named', 'quiet', 'later']) box.write(`${name}.txt`, '0');
    const workspace = await box.open();
    await workspace.create({ name: 'first' });
    const point = (path: string) =>
      workspace.create({ trigger: 'tool', paths: [path], cause: { tool: 'write', callId: null, paths: [path] } });
    const between = await point('named.txt');
    box.write('named.txt', '1');
    box.write('quiet.txt', '1');
    await workspace.create({ name: 'second' });
    const after = await point('named.txt');
    box.write('later.txt', '1');
    await workspace.create({ name: 'third' });
    const planned = async (id: string) =>
      (await workspace.plan(id)).entries.map(({ path, action, reason }) => [path, action, reason]);
    const expected = [
      ['later.txt', 'write', undefined],
      ['named.txt', 'write', undefined],
      ['quiet.txt', 'keep', 'uncertain'],
    ];
    expect(await planned(between.id)).toEqual(expected);
    expect(await planned(after.id)).toEqual([['later.txt', 'keep', 'uncertain']]);
    await workspace.remove(leaving);
    expect(await planned(between.id)).toEqual(expected);
    expect(await planned(after.id)).toEqual([['later.txt', 'keep', 'uncertain']]);
    await workspace.prune();
    expect(await planned(between.id)).toEqual(expected);
  });

  it('still spares what was left out when the scan that left it out was deleted', async () => {
    const box = sandbox();
    box.write('large.bin', 'x'.repeat(3000));
    box.write('a.txt', '0');
    const env = { ...process.env };
    const workspace = await box.open({ env });
    env.OPENCODE_CHECKPOINTS_MAX_FILE_SIZE = '2000';
    expect((await workspace.create({ name: 'scan' })).files.skipped.map(({ path }) => path)).toEqual(['large.bin']);
    const point = await workspace.create({ trigger: 'tool', paths: ['a.txt'] });
    await workspace.remove(['scan']);
    delete env.OPENCODE_CHECKPOINTS_MAX_FILE_SIZE;
    box.write('a.txt', '1');
    const { restored, deleted, skipped } = await workspace.restore(point.id);
    expect([restored, deleted, skipped.map(({ path }) => path)]).toEqual([['a.txt'], [], ['large.bin']]);
  });

  it('names paths outside the workspace and inside .git, and captures neither', async () => {
    const box = sandbox();
    box.write('a.txt', 'a');
    const workspace = await box.open();
    await workspace.create();
    const { files } = await workspace.create({
      trigger: 'tool',
      paths: ['/etc/hostname', '../up.txt', '.git/config', 'a.txt'],
    });
    expect(files.skipped.map(({ path }) => path)).toEqual(['/etc/hostname', '../up.txt', '.git/config']);
  });

  it('makes no second automatic point when nothing changed in the turn', async () => {
    const box = sandbox();
    box.write('a.txt', 'a');
    const workspace = await box.open();
    const common = { session: session('ses_1'), turn: turn(1), automatic: true as const };
    expect(await workspace.create({ ...common, trigger: 'turn' })).not.toBeNull();
    expect(await workspace.create({ ...common, trigger: 'tool', paths: ['a.txt'] })).toBeNull();
    // But what it named is remembered all the same.
    box.write('a.txt', 'changed');
    const next = await workspace.create({ ...common, trigger: 'tool', paths: ['b.txt'] });
    expect(next?.files.paths).toEqual(['a.txt']);
    expect(await workspace.create({ ...common, trigger: 'idle' })).toBeNull();
    expect(await workspace.create({ ...common, turn: turn(2), trigger: 'turn' })).not.toBeNull();
  });
});

describe('a workspace that moves', () => {
  it('is found from any folder inside it, and refused where it would be dangerous', async () => {
    const box = sandbox();
    box.write('deep/er/a.txt', 'a');
    const workspace = await box.open();
    await workspace.create({ name: 'one' });
    const inner = await box.open({ directory: join(box.root, 'deep', 'er') });
    expect(inner.root).toBe(workspace.root);
    expect(await reasonOf(box.open({ directory: '/' }))).toBe('refused-root');
    expect(await reasonOf(box.open({ directory: '/tmp' }))).toBe('refused-root');
    expect(await reasonOf(box.open({ directory: box.home }))).toBe('refused-root');
    expect(await reasonOf(box.open({ directory: join(box.root, 'nowhere') }))).toBe('invalid-argument');
    renameSync(box.root, `${box.root}-moved`);
    expect(existsSync(box.root)).toBe(false);
    renameSync(`${box.root}-moved`, box.root);
  });
});
