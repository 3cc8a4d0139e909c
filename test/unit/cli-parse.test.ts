import { describe, expect, it } from 'vitest';
import type { Invocation } from '../../src/cli/command';
import { wantsJson } from '../../src/cli/globals';
import { parse } from '../../src/cli/parse';
import { UsageError } from '../../src/cli/usage';

const globals = (...argv: string[]) => {
  const parsed = parse(argv);
  if (parsed.kind !== 'run') throw new Error('not a command');
  return parsed.selection.globals;
};

const usage = (...argv: string[]): UsageError => {
  try {
    parse(argv);
  } catch (error) {
    if (error instanceof UsageError) return error;
    throw error;
  }
  throw new Error(`${argv.join(' ')} was taken`);
};

/** What reaches the workspace: every command opens it, so a workspace that only takes notes sees the arguments. */
async function calls(...argv: string[]): Promise<unknown[]> {
  const parsed = parse(argv);
  if (parsed.kind !== 'run') throw new Error('not a command');
  const seen: unknown[] = [];
  const stop = new Error('enough');
  const workspace = new Proxy(
    {},
    {
      get: (_target, method) => {
        if (method === 'then') return undefined;
        return (...args: unknown[]) => {
          seen.push([method, ...args]);
          throw stop;
        };
      },
    },
  );
  const invocation = {
    globals: parsed.selection.globals,
    output: { progress: () => undefined },
    open: () => Promise.resolve(workspace),
  } as unknown as Invocation;
  await expect(parsed.selection.run(invocation)).rejects.toBe(stop);
  return seen;
}

describe('reading the command line', () => {
  it('takes the common options before and after the command, the nearer one counts', () => {
    const wanted = { cwd: '/x', json: true, yes: true, force: true, server: 'http://127.0.0.1:1' };
    const flags = ['--cwd', '/x', '--json', '--yes', '--force', '--server', 'http://127.0.0.1:1'];
    expect(globals(...flags, 'list')).toEqual(wanted);
    expect(globals('list', ...flags)).toEqual(wanted);
    expect(globals('--cwd', '/y', 'list', ...flags)).toEqual(wanted);
    expect(globals('originals', '--json', 'diff', 'x', '--cwd=/x')).toMatchObject({ cwd: '/x', json: true });
  });

  it('takes the common options between a group and its subcommand, and `--json` with help', () => {
    expect(globals('task', '--json', '--cwd', '/x', 'show')).toMatchObject({ cwd: '/x', json: true });
    expect(parse(['help', '--json'])).toEqual(parse(['help']));
    expect(parse(['help', 'list', '--json'])).toEqual(parse(['help', 'list']));
  });

  it('takes an option for a forgotten value, unless it says that it is one', async () => {
    for (const argv of [
      ['list', '--limit', '--json'],
      ['--cwd', '--json', 'list'],
      ['create', '--description', '-y'],
    ])
      expect(usage(...argv).message).toContain('argument missing');
    expect(globals('create', '--description=--json')).toMatchObject({ json: false });
    expect(await calls('create', '--description=--yes')).toMatchObject([['create', { description: '--yes' }]]);
    expect(await calls('create', '--description', '-dash')).toMatchObject([['create', { description: '-dash' }]]);
    expect(await calls('create', '--description', '--', '--', '--json')).toMatchObject([
      ['create', { description: '--', name: '--json' }],
    ]);
  });

  it('takes everything after -- as it is', async () => {
    expect(await calls('create', '--', '--json')).toMatchObject([['create', { name: '--json' }]]);
    expect(await calls('rename', '--', '-a', '-b')).toEqual([['rename', '-a', '-b']]);
    expect(await calls('show', '--', '--')).toEqual([['resolve', '--']]);
    expect(wantsJson(['create', '--', '--json'])).toBe(false);
    expect(wantsJson(['create', '--json', '--', 'x'])).toBe(true);
  });

  it('keeps odd values whole', async () => {
    for (const name of ['3 fixes', 'a|b', 'line\nline', `"it's"`, '🎉', ' ', ''])
      expect(await calls('create', name)).toMatchObject([['create', { name }]]);
  });

  it('passes a group’s option on to its subcommand', async () => {
    expect(await calls('clear', '--session', 's')).toEqual([['list', { session: 's' }]]);
    expect(await calls('originals', '--session', 's')).toEqual([['list']]);
  });

  it.each([
    [[], 'No command'],
    [['bogus'], "unknown command 'bogus'"],
    [['lst'], 'Did you mean list?'],
    [['list', '--bogus'], "unknown option '--bogus'"],
    [['list', '--serch', 'x'], 'Did you mean --search?'],
    [['--bogus', 'list'], "unknown option '--bogus'"],
    [['restore'], "missing required argument 'ref'"],
    [['rename', 'a'], "missing required argument 'name'"],
    [['delete'], "missing required argument 'ref'"],
    [['show', 'a', 'b'], 'too many arguments'],
    [['list', '--limit'], 'argument missing'],
    [['import', '--from', '--json'], "option '--from <tool>' argument missing"],
    [['backup', 'restore', '--from', '--json'], "option '--from <dir>' argument missing"],
    [['create', '--name', '--json'], "unknown option '--name'"],
    [['originals', 'bogus'], 'too many arguments'],
    [['help', 'bogus'], "unknown command 'bogus'"],
    [['create', '-x'], "unknown option '-x'"],
    ...['task', 'backup', 'sync', 'plugin'].map((group): [string[], string] => [
      [group, '--json'],
      `'${group}' needs a subcommand`,
    ]),
    [['help', 'bogus', '--json'], "unknown command 'bogus'"],
    [['help', 'task', 'bogus'], "unknown command 'bogus'"],
    [['originals', 'help', 'bogus'], "unknown command 'bogus'"],
  ])('refuses %j', (argv, message) => {
    const error = usage(...argv);
    expect(error.message).toContain(message);
    expect(error.wayOut).toMatch(/^See `opencode-checkpoints .*--help`\.$/);
  });

  it.each([
    'create',
    'list',
    'show',
    'diff',
    'cat',
    'restore',
    'undo',
    'redo',
    'revert-turn',
    'rename',
    'describe',
    'pin',
    'unpin',
  ])('has help with an example for %s', (command) => {
    for (const argv of [
      [command, '--help'],
      ['help', command],
    ]) {
      const help = parse(argv);
      expect(help.kind === 'answer' && help.text).toMatch(new RegExp(`\\$ opencode-checkpoints ${command}`));
    }
  });

  it('takes help for what it is asked about, however it is asked', async () => {
    const help = (...argv: string[]): string => {
      const answer = parse(argv);
      return answer.kind === 'answer' ? answer.text : '';
    };
    expect(help('help', '--help')).toBe(help('--help'));
    for (const argv of [
      ['help', 'task', 'set'],
      ['task', 'help', 'set'],
      ['task', 'help', 'set', '--json'],
    ])
      expect(help(...argv)).toBe(help('task', 'set', '--help'));
    for (const group of ['originals', 'task', 'sync', 'backup', 'plugin'])
      expect(help(group, 'help')).toBe(help(group, '--help'));
    expect(help('originals', 'help', 'diff')).toBe(help('originals', 'diff', '--help'));
    // What is no group may be given the word.
    expect(await calls('create', 'help')).toMatchObject([['create', { name: 'help' }]]);
    expect(await calls('show', 'help')).toEqual([['resolve', 'help']]);
  });

  it('lists an option of the command itself before what is taken everywhere, and none without effect', () => {
    for (const command of ['restore', 'show', 'undo', 'redo', 'pin']) {
      const answer = parse([command, '--help']);
      const text = answer.kind === 'answer' ? answer.text : '';
      expect(text).toContain('Everywhere:');
      expect(text.split('Everywhere:')[1]).not.toContain('Options:');
      expect(text.includes('--allow-mass-delete')).toBe(command === 'restore');
    }
    expect(globals('undo', '--allow-mass-delete')).toMatchObject({ json: false });
  });

  it('lists the commands in the order in which everything else tells them', () => {
    const help = parse(['--help']);
    const listed =
      help.kind === 'answer' ? [...help.text.matchAll(/^ {2}([a-z][a-z-]*)(?= |$)/gm)].map(([, name]) => name) : [];
    expect(listed).toEqual([
      ...['create', 'list', 'show', 'diff', 'cat', 'restore', 'undo', 'redo', 'revert-turn'],
      ...['rename', 'describe', 'pin', 'unpin', 'delete', 'clear', 'originals', 'stats', 'prune', 'doctor'],
      ...['task', 'backup', 'sync', 'export', 'import', 'plugin', 'help'],
    ]);
  });

  it.each(['run', 'status', 'restore', 'verify'])('has help with an example for backup %s', (command) => {
    const help = parse(['backup', command, '--help']);
    expect(help.kind === 'answer' && help.text).toContain(`opencode-checkpoints backup ${command}`);
  });
});
