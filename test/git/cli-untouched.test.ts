import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Desk, useBuilt } from './cli-rig';
import { gitBytes } from './rig';

const program = useBuilt('cli');
let desk: Desk;
beforeEach(() => void (desk = new Desk(program())));
afterEach(() => desk.dispose());

/** Committed, staged, changed and new files, and a repository in the repository. */
function atWork(): void {
  desk.write({ 'a.txt': 'one\n', 'b/c.txt': 'c\n', 'inner/d.txt': 'd\n' });
  execFileSync('git', ['init', '-q', path.join(desk.root, 'inner')], { env: desk.env });
  desk.git('add', 'a.txt', 'b');
  desk.git('commit', '-qm', 'one');
  desk.write({ 'a.txt': 'two\n', 'staged.txt': 's\n', 'new.txt': 'n\n' });
  desk.git('add', 'staged.txt');
  desk.git('tag', 'v1');
}

it('leaves every .git as it is, byte for byte, whatever the command and however it ends', async () => {
  atWork();
  const remote = path.join(desk.top, 'remote.git');
  execFileSync('git', ['init', '-q', '--bare', remote], { env: desk.env });
  mkdirSync(path.join(desk.top, 'saved'));
  const env = { OPENCODE_BACKUP_PATH: path.join(desk.top, 'saved') };
  const untouched = gitBytes(desk.root);
  const bundle = path.join(desk.top, 'one.bundle');
  const lines: Array<string[] | (() => void)> = [
    ['create', 'one'],
    () => desk.write({ 'a.txt': 'three\n', 'inner/d.txt': 'changed\n', 'b/new.txt': 'new\n' }),
    () => desk.remove('staged.txt'),
    ['create', 'two', '--pin'],
    ['list', '--search', 'two'],
    ['show', 'two'],
    ['diff', 'one', '--patch'],
    ['diff', 'one', 'two'],
    ['cat', 'one', 'a.txt'],
    ['restore', 'one', '--dry-run'],
    ['restore', 'one'],
    ['undo'],
    ['redo'],
    ['restore', 'two', '--path', 'inner'],
    ['revert-turn', 'one'],
    ['rename', 'two', 'second'],
    ['describe', 'second', 'text'],
    ['unpin', 'second'],
    ['pin', 'second'],
    ['originals'],
    ['stats'],
    ['task', 'set', '--title', 'T', '--name', 'snap'],
    ['task', 'handoff'],
    ['task', 'restore', 'snap'],
    ['task', 'clear'],
    ['backup', 'status'],
    ['backup', 'run'],
    ['backup', 'verify'],
    ['sync', 'push', remote],
    ['sync', 'fetch', remote],
    ['export', 'one', '--out', bundle],
    ['import', bundle],
    ['import', '--from', 's2'],
    ['plugin', 'install'],
    ['plugin', 'status'],
    ['plugin', 'uninstall'],
    ['doctor', '--repair'],
    ['delete', 'one'],
    ['prune', '--dry-run'],
    ['prune'],
    ['clear'],
    ['restore', 'nothing'],
    ['nonsense'],
  ];
  const ended: Record<string, number | null> = {};
  for (const line of lines) {
    if (!Array.isArray(line)) {
      line();
      continue;
    }
    const ran = await desk.run([...line, '--yes', '--json'], { env });
    ended[line.join(' ')] = ran.code;
    expect([line, gitBytes(desk.root)]).toEqual([line, untouched]);
  }
  const failed = Object.keys(ended).filter((line) => ended[line] !== 0);
  // There is no turn, no OpenCode, nothing old, and perhaps no plugin beside the program.
  const known = [
    'plugin install',
    'revert-turn one',
    'backup run',
    'backup verify',
    'import --from s2',
    'plugin status',
  ];
  expect(failed.filter((line) => !known.includes(line))).toEqual(['restore nothing', 'nonsense']);
  expect(desk.git('status', '--short', '--', 'staged.txt').trim()).not.toBe('');
}, 120_000);
