import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Change, Checkpoint } from '../../src/core/model';
import { useBuilt, Desk } from './cli-rig';

interface Created {
  checkpoint: Checkpoint;
}
interface Listed {
  checkpoints: Checkpoint[];
}

const program = useBuilt('cli');
let desk: Desk;
beforeEach(() => {
  desk = new Desk(program());
  desk.write({ 'a.txt': 'one\n', 'src/b.txt': 'two\n' });
});
afterEach(() => desk.dispose());

const create = async (...args: string[]): Promise<Checkpoint> =>
  (await desk.answer<Created>(['create', ...args])).checkpoint;
const list = async (...args: string[]): Promise<Checkpoint[]> =>
  (await desk.answer<Listed>(['list', ...args])).checkpoints;

describe('create', () => {
  it('answers with the whole record', async () => {
    const made = await create('first', '--description', 'a text', '--meta', 'ticket=42', '--meta', 'q=a=b', '--pin');
    expect(made).toMatchObject({
      name: 'first',
      title: 'first',
      description: 'a text',
      trigger: 'manual',
      pinned: true,
      session: null,
      turn: null,
      task: null,
      cause: null,
      restore: null,
      origin: null,
      metadata: { ticket: '42', q: 'a=b' },
      files: { lane: 'scan', added: 2, modified: 0, deleted: 0, skipped: [], partial: [], emptyDirs: [] },
      git: { branch: 'main' },
    });
    expect(made.id).toMatch(/^cp_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(made.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect([...made.files.paths].sort()).toEqual(['a.txt', 'src/b.txt']);
    expect(made.files.tree).toMatch(/^[0-9a-f]{40}$/);
    expect(made.files.commit).toMatch(/^[0-9a-f]{40}$/);
  });

  it('needs no name, no change and no commit', async () => {
    const one = await create();
    const two = await create();
    expect(one.name).toBeNull();
    expect(one.title).not.toBe('');
    expect(two.id > one.id).toBe(true);
    expect(two.files.paths).toEqual([]);
    expect(await list()).toHaveLength(2);
  });

  it.each(['3 fixes', 'a|b', `"it's" \\ $HOME`, '🎉 日本', 'cp_short', 'latest-1'])(
    'takes the name %j and finds it again',
    async (name) => {
      const made = await create(name);
      expect(made.name).toBe(name);
      const shown = await desk.answer<Created>(['show', name]);
      expect(shown.checkpoint.id).toBe(made.id);
    },
  );

  it('takes names that begin with a dash after --', async () => {
    const made = await create('--', '-O2 works');
    expect((await desk.answer<Created>(['show', '--', '-O2 works'])).checkpoint.id).toBe(made.id);
    expect((await create('--', '--json')).name).toBe('--json');
  });

  it.each([['line\nline'], ['x'.repeat(201)], ['']])('refuses the name %j', async (name) => {
    expect((await desk.refusal(['create', name])).reason).toBe('invalid-argument');
    expect(await list()).toEqual([]);
  });

  it.each(['create', 'list', 'clear', 'originals'])(
    'refuses an empty session, folder and server, which a script may hand over: %s',
    async (command) => {
      for (const option of ['--session', '--cwd', '--server'])
        expect(await desk.refusal([command, option, ''])).toMatchObject({
          reason: 'invalid-argument',
          message: expect.stringContaining(`${option} takes a`) as string,
        });
      expect(await list()).toEqual([]);
    },
  );

  it('says where the store cannot be made', async () => {
    for (const line of ['create', 'task set --title T'])
      expect(await desk.refusal(line.split(' '), 1, { env: { OPENCODE_CHECKPOINTS_HOME: '/dev/null' } })).toMatchObject(
        {
          reason: 'store-readonly',
          message: expect.stringContaining('/dev/null/workspaces') as string,
        },
      );
  });

  it('refuses bad metadata before anything is made', async () => {
    expect((await desk.refusal(['create', '--meta', 'novalue'])).reason).toBe('invalid-argument');
    expect((await desk.refusal(['create', '--meta', '__proto__=x'])).reason).toBe('invalid-argument');
    // What tells who did what is not the caller's to set.
    for (const mark of ['turnEnd', 'midTurn', 'originals', 'subagent', 'late'])
      expect(await desk.refusal(['create', '--meta', 'ticket=42', '--meta', `${mark}=x`])).toMatchObject({
        reason: 'invalid-argument',
        message: expect.stringContaining(`"${mark}"`) as string,
      });
    expect(await list()).toEqual([]);
  });

  it('says what it made, one line, without --json', async () => {
    const ran = await desk.run(['create', 'plain']);
    expect(ran.stdout).toMatch(/^cp_\w{26} {2}plain\n$/);
    expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('works on the same workspace from any folder in it', async () => {
    const made = await create('here');
    const from = path.join(desk.root, 'src');
    expect((await desk.answer<Listed>(['list'], { cwd: from })).checkpoints.map((one) => one.id)).toEqual([made.id]);
    expect((await desk.answer<Listed>(['list', '--cwd', from], { cwd: desk.home })).checkpoints).toHaveLength(1);
    expect((await desk.answer<Listed>(['--cwd', '../project', 'list'], { cwd: desk.home })).checkpoints).toHaveLength(
      1,
    );
  });

  it('works in a folder without git', async () => {
    const bare = new Desk(program(), { git: false });
    try {
      bare.write({ 'x.txt': 'x' });
      const made = await bare.answer<Created>(['create', 'no git']);
      expect(made.checkpoint.git).toBeNull();
      expect(made.checkpoint.files.paths).toEqual(['x.txt']);
    } finally {
      bare.dispose();
    }
  });
});

describe('list', () => {
  it('is empty before the first, and in a table says so', async () => {
    expect(await list()).toEqual([]);
    expect((await desk.run(['list'])).stdout).toBe('No checkpoints.\n');
  });

  it('is newest first, and filters', async () => {
    const one = await create('one', '--description', 'needle');
    desk.write({ 'haystack/special.txt': 'x' });
    const two = await create('two');
    const three = await create();
    const ids = async (...args: string[]): Promise<string[]> =>
      (await list(...args)).map((checkpoint) => checkpoint.id);
    expect(await ids()).toEqual([three.id, two.id, one.id]);
    expect(await ids('--limit', '2')).toEqual([three.id, two.id]);
    expect(await ids('--trigger', 'manual')).toHaveLength(3);
    expect(await ids('--trigger', 'turn')).toEqual([]);
    expect(await ids('--session', 'ses_none')).toEqual([]);
    expect(await ids('--search', 'needle')).toEqual([one.id]);
    expect(await ids('--search', 'special')).toEqual([two.id]);
    expect(await ids('--search', 'nothing-has-this')).toEqual([]);
  });

  it('gives the records that create and show give', async () => {
    const made = await create('same');
    expect(await list()).toEqual([made]);
    expect((await desk.answer<Created>(['show', made.id])).checkpoint).toEqual(made);
  });

  it.each([
    ['--limit', '0'],
    ['--limit', 'many'],
    ['--trigger', 'bogus'],
  ])('refuses %s %s', async (flag, value) => {
    expect((await desk.refusal(['list', flag, value])).reason).toBe('invalid-argument');
  });

  it('makes a table that no name can break', async () => {
    await create('a | b "c" 🎉');
    await create('second');
    const lines = (await desk.run(['list'])).stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/^ID +CREATED +TRIGGER +FILES +MSGS +PIN +TITLE$/);
    expect(lines[2]).toMatch(/^cp_\w{26} {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}manual .*a \| b "c" 🎉$/);
  });
});

describe('show', () => {
  it('has the changes since the checkpoint before', async () => {
    await create('one');
    desk.write({ 'a.txt': 'one\nmore\n', 'c.txt': 'new\n' });
    desk.remove('src/b.txt');
    await create('two');
    const { checkpoint, changes } = await desk.answer<{ checkpoint: Checkpoint; changes: Change[] }>(['show', 'two']);
    expect(checkpoint.files).toMatchObject({ added: 1, modified: 1, deleted: 1 });
    expect(changes).toEqual([
      { path: 'a.txt', status: 'modified', additions: 1, deletions: 0, binary: false },
      { path: 'c.txt', status: 'added', additions: 1, deletions: 0, binary: false },
      { path: 'src/b.txt', status: 'deleted', additions: 0, deletions: 1, binary: false },
    ]);
    const text = (await desk.run(['show', 'two'])).stdout;
    expect(text).toContain('two');
    expect(text).toMatch(/^M +\+1 -0 +a\.txt$/m);
  });

  it('names what was left out, and why', async () => {
    desk.write({ 'big.bin': Buffer.alloc(21_000_000), '.env': 'SECRET=1\n' });
    mkdirSync(path.join(desk.root, 'empty/inner'), { recursive: true });
    const made = await create('odd');
    expect(made.files.skipped.map((one) => one.path)).toContain('big.bin');
    expect(made.files.paths).not.toContain('.env');
    expect(made.files.emptyDirs).toEqual(['empty/inner']);
    expect((await desk.run(['create'])).stdout).toContain('left out');
  });
});

describe('references', () => {
  it('are ids, prefixes, names, latest and latest~N', async () => {
    const one = await create('same');
    const two = await create('same');
    const three = await create();
    const id = async (reference: string): Promise<string> =>
      (await desk.answer<Created>(['show', reference])).checkpoint.id;
    expect(await id(one.id)).toBe(one.id);
    expect(await id('same')).toBe(two.id);
    expect(await id('latest')).toBe(three.id);
    expect(await id('latest~0')).toBe(three.id);
    expect(await id('latest~2')).toBe(one.id);
    expect((await desk.refusal(['show', 'latest~3'])).reason).toBe('unknown-reference');
    expect((await desk.refusal(['show', 'Same'])).reason).toBe('unknown-reference');
    expect((await desk.refusal(['show', three.title])).reason).toBe('unknown-reference');
    expect((await desk.refusal(['show', ''])).reason).toBe('unknown-reference');
    expect((await desk.refusal(['show', one.id.slice(0, 8)])).reason).toBe('unknown-reference');
  });

  it('that are ambiguous are refused, and the candidates listed', async () => {
    const one = await create();
    const two = await create();
    let common = 0;
    while (one.id[common] === two.id[common]) common++;
    expect(common).toBeGreaterThanOrEqual(9);
    const error = await desk.refusal(['show', one.id.slice(0, 9)]);
    expect(error.reason).toBe('ambiguous-reference');
    expect(error.message).toContain(one.id);
    expect(error.message).toContain(two.id);
    expect((await desk.answer<Created>(['show', one.id.slice(0, common + 1)])).checkpoint.id).toBe(one.id);
  });

  it('do not count safety checkpoints as latest', async () => {
    const one = await create('one');
    desk.write({ 'a.txt': 'changed\n' });
    await desk.answer(['restore', 'one']);
    expect((await desk.answer<Created>(['show', 'latest'])).checkpoint.id).toBe(one.id);
    expect(await list('--trigger', 'restore')).toHaveLength(1);
  });
});

describe('roots', () => {
  it.each(['home', 'Desktop', 'Documents', 'Downloads'])('refuses %s', async (place) => {
    const folder = place === 'home' ? desk.home : path.join(desk.home, place);
    mkdirSync(folder, { recursive: true });
    expect((await desk.refusal(['create', '--cwd', folder])).reason).toBe('refused-root');
    expect((await desk.refusal(['list'], 1, { cwd: folder })).reason).toBe('refused-root');
  });

  it.each(['/', '/etc', '/usr'])('refuses %s', async (folder) => {
    expect((await desk.refusal(['create', '--cwd', folder])).reason).toBe('refused-root');
  });

  it('refuses the store itself', async () => {
    await create();
    const store = path.join(desk.home, 'data/opencode-checkpoints');
    expect((await desk.refusal(['create', '--cwd', store])).reason).toBe('refused-root');
  });

  it.each([
    ['nowhere', 'no such folder'],
    ['a.txt', 'not a folder'],
  ])('refuses --cwd %s', async (name, text) => {
    const error = await desk.refusal(['list', '--cwd', path.join(desk.root, name)]);
    expect(error.reason).toBe('invalid-argument');
    expect(error.message).toContain(text);
  });

  it('keeps the store to its owner, where the environment says', async () => {
    const store = path.join(desk.top, 'elsewhere');
    await desk.answer(['create'], { env: { OPENCODE_CHECKPOINTS_HOME: store } });
    const { statSync, readdirSync } = await import('node:fs');
    expect(statSync(store).mode & 0o777).toBe(0o700);
    expect(readdirSync(path.join(store, 'workspaces'))).toHaveLength(1);
    expect(await list()).toEqual([]);
  });

  it('says git is missing when it is', async () => {
    const bin = path.join(desk.top, 'bin');
    mkdirSync(bin);
    chmodSync(bin, 0o755);
    expect((await desk.refusal(['create'], 1, { env: { PATH: bin } })).reason).toBe('git-missing');
  });

  it.each([
    ['2.20.1', 'git-missing', 'git was not found in version 2.31 or newer, only 2.20.1.'],
    ['2.31.0', 'git-failed', 'unknown option'],
  ])(
    'says of git %s, when it does not know what it is asked, whether it is too old',
    async (version, reason, words) => {
      const bin = path.join(desk.top, 'old');
      mkdirSync(bin, { recursive: true });
      const answer = `[ "$1" = version ] && echo "git version ${version}" && exit 0`;
      writeFileSync(path.join(bin, 'git'), `#!/bin/sh\n${answer}\necho "error: unknown option" >&2; exit 129\n`);
      chmodSync(path.join(bin, 'git'), 0o755);
      const error = await desk.refusal(['create'], 1, { env: { PATH: `${bin}:${process.env['PATH'] ?? ''}` } });
      expect(error.reason).toBe(reason);
      expect(error.message).toContain(words);
    },
  );
});
