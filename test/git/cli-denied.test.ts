import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Checkpoint, RestoreResult, TaskState } from '../../src/core/model';
import { Desk, useBuilt } from './cli-rig';

const program = useBuilt('cli');
const nobody = 65534;

/** Root may write everywhere: the desk is given to another user, and the program runs as that one. */
function asNobody(desk: Desk, args: string[]): { code: number | null; stdout: string } {
  for (const name of [program(), path.join(path.dirname(program()), 'sql-wasm.wasm')])
    copyFileSync(name, path.join(desk.top, path.basename(name)));
  const own = process.geteuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
  if ('uid' in own) execFileSync('chown', ['-R', `${nobody}:${nobody}`, desk.top]);
  const ran = spawnSync(process.execPath, [path.join(desk.top, path.basename(program())), ...args], {
    ...own,
    cwd: desk.root,
    env: desk.env,
    encoding: 'utf8',
  });
  return { code: ran.status, stdout: ran.stdout };
}

describe('restore where not everything may be written', () => {
  const asked = ['restore', 'then', '--yes'];

  it.each([
    ['some files', 'closed', ['open/f'], 1],
    ['no file at all', '.', [], 2],
  ])('says so, and exits with 1: %s', (_what, closed, restored, failed) => {
    const desk = new Desk(program());
    try {
      desk.write({ 'open/f': 'then', 'closed/f': 'then' });
      expect(asNobody(desk, ['create', 'then']).code).toBe(0);
      desk.write({ 'open/f': 'now', 'closed/f': 'now' });
      for (const folder of closed === '.' ? ['open', 'closed'] : [closed])
        chmodSync(path.join(desk.root, folder), 0o555);
      const { code, stdout } = asNobody(desk, [...asked, '--json']);
      const { result } = JSON.parse(stdout) as { result: RestoreResult };
      expect([code, result.restored, result.failed]).toEqual([1, restored, failed]);
      expect(result.skipped).toContainEqual({ path: 'closed/f', reason: 'may not be written' });
      expect(readFileSync(path.join(desk.root, 'closed/f'), 'utf8')).toBe('now');
      const again = asNobody(desk, asked);
      expect([again.code, again.stdout]).toEqual([1, expect.stringContaining(`${failed} could not be restored.`)]);
    } finally {
      for (const folder of ['open', 'closed']) chmodSync(path.join(desk.root, folder), 0o755);
      desk.dispose();
    }
  });

  it('exits with 0 once all is as it was', () => {
    const desk = new Desk(program());
    try {
      desk.write({ f: 'then' });
      asNobody(desk, ['create', 'then']);
      desk.write({ f: 'now' });
      const { code, stdout } = asNobody(desk, [...asked, '--json']);
      const { result } = JSON.parse(stdout) as { result: RestoreResult };
      expect([code, result.restored, 'failed' in result]).toEqual([0, ['f'], false]);
    } finally {
      desk.dispose();
    }
  });
});

it("a task is saved, as a checkpoint, where its copy for other tools may not be written, and another's is not read as none", () => {
  const desk = new Desk(program());
  const state = path.join(desk.root, '.opencode/state');
  try {
    desk.write({ f: 'then' });
    expect(asNobody(desk, ['task', 'set', '--title', 'first']).code).toBe(0);
    for (const [rights, title] of [
      [0o555, 'second'],
      [0o000, 'third'],
    ] as const) {
      chmodSync(state, rights);
      const { code, stdout } = asNobody(desk, ['task', 'set', '--title', title, '--name', title, '--json']);
      const answer = JSON.parse(stdout) as { task: TaskState; checkpoint: Checkpoint; warnings: string[] };
      expect([code, answer.task.title, answer.checkpoint.name]).toEqual([0, title, title]);
      expect(answer.warnings).toContainEqual(expect.stringContaining('could not be brought up to date'));
      expect(JSON.parse(asNobody(desk, ['task', 'show', '--json']).stdout)).toMatchObject({ task: { title } });
    }
    chmodSync(state, 0o755);
    expect(asNobody(desk, ['task', 'set', '--summary', 's']).code).toBe(0);
    expect(readFileSync(path.join(state, 'checkpoint.json'), 'utf8')).toContain('third');
  } finally {
    chmodSync(state, 0o755);
    desk.dispose();
  }
});

it.each(['', 'scan', 'snapshots.git/refs/checkpoints'])(
  'a store whose folder %j may not be entered is told as that, whatever is asked of it, and nothing is changed',
  (below) => {
    const desk = new Desk(program());
    const stores = path.join(desk.home, 'data/opencode-checkpoints/workspaces');
    let closed = desk.root;
    try {
      desk.write({ f: 'then' });
      expect(asNobody(desk, ['create', 'then']).code).toBe(0);
      desk.write({ f: 'now' });
      closed = path.join(stores, readdirSync(stores)[0] ?? '', below);
      chmodSync(closed, 0);
      const asked = [
        'create x',
        'restore then --yes',
        'task set --title T',
        ...(below === 'scan' ? [] : ['list', 'stats']),
      ];
      for (const line of asked) {
        const { code, stdout } = asNobody(desk, [...line.split(' '), '--json']);
        expect([line, code, JSON.parse(stdout)]).toEqual([
          line,
          1,
          { error: { reason: 'store-readonly', message: expect.stringContaining('The store ') as string } },
        ]);
      }
      if (below === 'scan') expect(asNobody(desk, ['list']).code).toBe(0);
      expect(readFileSync(path.join(desk.root, 'f'), 'utf8')).toBe('now');
    } finally {
      chmodSync(closed, 0o755);
      desk.dispose();
    }
  },
);
