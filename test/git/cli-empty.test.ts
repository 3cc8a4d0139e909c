import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Problem, Stats } from '../../src/core/api';
import type { Checkpoint } from '../../src/core/model';
import { useBuilt, Desk } from './cli-rig';

const program = useBuilt('cli');
let desk: Desk;
beforeEach(() => {
  desk = new Desk(program(), { git: false });
  desk.write({ 'a.txt': 'a\n' });
});
afterEach(() => desk.dispose());

const stores = (): string => path.join(desk.home, 'data/opencode-checkpoints/workspaces');
const roots = (): string[] =>
  (existsSync(stores()) ? readdirSync(stores()) : []).map(
    (id) => (JSON.parse(readFileSync(path.join(stores(), id, 'workspace.json'), 'utf8')) as { root: string }).root,
  );

describe('a command that only reads', () => {
  it('answers as for an empty store, and makes none', async () => {
    expect(await desk.answer(['list'])).toEqual({ checkpoints: [] });
    expect(await desk.answer(['list', '--search', 'a'])).toEqual({ checkpoints: [] });
    const stats = await desk.answer<Stats>(['stats']);
    expect(stats).toMatchObject({ checkpoints: 0, sessions: 0, bytes: 0, borrowedBytes: 0, perSession: [] });
    expect(stats.store.startsWith(stores())).toBe(true);
    for (const line of [['show', 'latest'], ['diff'], ['cat', 'latest', 'a.txt']])
      expect((await desk.refusal(line)).reason).toBe('unknown-reference');
    expect(await desk.answer(['task', 'show'])).toEqual({ task: null });
    expect(await desk.answer(['task', 'history'])).toEqual({ task: null, history: [] });
    expect(await desk.answer(['task', 'handoff'])).toMatchObject({ task: null });
    expect(await desk.answer(['originals'])).toMatchObject({ originals: [] });
    expect((await desk.refusal(['originals', 'diff', 'a.txt'])).reason).toBe('not-in-checkpoint');
    expect(await desk.answer(['doctor'])).toEqual({ problems: [] });
    expect(await desk.answer(['doctor', '--repair'])).toEqual({ problems: [] });
    await desk.answer(['backup', 'status']);
    expect(existsSync(stores())).toBe(false);
  });

  it('tells the way out of where one is, not out of another place', async () => {
    const said = async (...line: string[]): Promise<string> => (await desk.run(line)).stderr;
    expect(await said('diff')).toContain('`opencode-checkpoints create` makes one');
    const old = path.join(desk.home, 'Drive', 'old');
    expect(await said('import', '--from', 's4', old)).toContain(`No backup is at ${old}`);
    expect(await said('import', '--from', 's4', old)).not.toContain('OPENCODE_BACKUP_PATH');
    // Nothing inside it could be one.
    expect(await said('create', '--cwd', '/usr/lib')).not.toContain('inside it');
    await desk.answer(['create', 'one']);
    expect(await said('revert-turn', 'one')).toContain('list --trigger turn');
  });

  it('works on what is there, where nothing is, and makes no store either', async () => {
    const nothing = ['undo', 'redo', 'restore x', 'revert-turn x', 'rename x y', 'describe x y', 'pin x', 'delete x'];
    for (const line of [...nothing, 'task restore x', 'originals restore a.txt', 'export x --out x.bundle'])
      expect([line, (await desk.refusal(line.split(' '))).reason]).toEqual([
        line,
        expect.stringMatching(/^(unknown-reference|nothing-to-(undo|redo)|not-in-checkpoint)$/),
      ]);
    for (const line of [['prune'], ['prune', '--dry-run']])
      expect(await desk.answer(line)).toEqual({ deleted: [], freedBytes: 0 });
    expect(await desk.answer(['clear'])).toEqual({ deleted: [] });
    expect(await desk.answer(['originals', 'clear'])).toEqual({ session: null, cleared: [] });
    expect(await desk.answer(['task', 'clear'])).toEqual({ task: null });
    expect(existsSync(stores())).toBe(false);
  });

  it('makes none either where it is refused, or finds nothing to bring in', async () => {
    const bare = path.join(desk.top, 'bare.git');
    execFileSync('git', ['init', '-q', '--bare', bare], { env: desk.env });
    desk.write({ 'x.bundle': 'no bundle' });
    const refused: Array<[line: string[], reason: string]> = [
      [['create', 'x'.repeat(201)], 'invalid-argument'],
      [['create', '--session', 'ses_1'], 'opencode-missing'],
      [['task', 'set', '--status', 'perhaps'], 'invalid-argument'],
      [['task', 'set', '--title', 't', '--name', 'a\nb'], 'invalid-argument'],
      [['sync', 'push', 'nowhere'], 'remote-failed'],
      [['sync', 'push', bare, 'latest'], 'unknown-reference'],
      [['sync', 'fetch', 'nowhere'], 'remote-failed'],
      [['sync', 'fetch', 'http://127.0.0.1:9/x.git'], 'remote-failed'],
      [['import', 'nothing.bundle'], 'invalid-argument'],
      [['import', 'x.bundle'], 'invalid-argument'],
      [['import', '--from', 's1'], 'invalid-argument'],
    ];
    for (const [line, reason] of refused) {
      expect([line, (await desk.refusal(line)).reason]).toEqual([line, reason]);
      expect([line, existsSync(stores())]).toEqual([line, false]);
    }
    expect(await desk.answer(['sync', 'push', bare])).toMatchObject({ push: { origin: null, added: [] } });
    expect(await desk.answer(['sync', 'fetch', bare])).toMatchObject({ fetch: { added: [] } });
    expect(existsSync(path.dirname(stores()))).toBe(false);
    // And one that is not refused makes a whole one.
    await desk.answer(['task', 'set', '--title', 'Port the parser']);
    expect(roots()).toEqual([desk.root]);
    expect(statSync(path.dirname(stores())).mode & 0o777).toBe(0o700);
    expect(await desk.answer(['doctor'])).toEqual({ problems: [] });
  });

  it('above a project does not take the project over', async () => {
    const project = path.join(desk.root, 'project');
    mkdirSync(project);
    await desk.answer(['list']);
    await desk.answer(['create', 'one'], { cwd: project });
    expect(roots()).toEqual([project]);
  });

  it('finds the store of a folder that was moved, and adopts it when asked', async () => {
    await desk.answer(['create', 'one']);
    const moved = `${desk.root}-moved`;
    renameSync(desk.root, moved);
    const at = { cwd: moved };
    const reasons = async (...args: string[]): Promise<Array<[string, boolean]>> =>
      (await desk.answer<{ problems: Problem[] }>(['doctor', ...args], at)).problems.map((one) => [
        one.reason,
        one.repaired,
      ]);
    expect(await reasons()).toEqual([['moved', false]]);
    expect(roots()).toEqual([desk.root]);
    expect(await reasons('--repair')).toEqual([['moved', true]]);
    expect(roots()).toEqual([moved]);
    const { checkpoints } = await desk.answer<{ checkpoints: Checkpoint[] }>(['list'], at);
    expect(checkpoints.map(({ name }) => name)).toEqual(['one']);
  });

  it('says how to have them back after the move where others were made since, and does not offer its own task for import', async () => {
    await desk.answer(['create', 'one']);
    await desk.answer(['task', 'set', '--title', 'T']);
    const cwd = `${desk.root}-moved`;
    renameSync(desk.root, cwd);
    expect(await desk.run(['doctor'], { cwd })).toMatchObject({ code: 0, stderr: '' });
    await desk.answer(['create', 'since'], { cwd });
    const { problems } = await desk.answer<{ problems: Problem[] }>(['doctor', '--repair'], { cwd });
    expect(problems).toEqual([
      { reason: 'moved', message: expect.stringContaining('`clear`') as string, repaired: false },
    ]);
    const kept = path.join(desk.top, 'since.bundle');
    await desk.answer(['export', 'since', '--out', kept], { cwd });
    await desk.answer(['clear'], { cwd });
    await desk.answer(['doctor', '--repair'], { cwd });
    await desk.answer(['import', kept], { cwd });
    const { checkpoints } = await desk.answer<{ checkpoints: Checkpoint[] }>(['list'], { cwd });
    expect(checkpoints.map(({ name }) => name ?? 'the task').sort()).toEqual(['one', 'since', 'the task']);
    expect(roots()).toEqual([cwd]);
  });
});
