import type { Change, Checkpoint, TaskState, Trigger, TurnInfo } from '../../../src/core/model';

/** An afternoon with an agent, as records: three sessions and a fork over four days, with everything a record can hold. */
export const now = Date.UTC(2025, 10, 14, 16, 42, 10);

const crockford = '0123456789abcdefghjkmnpqrstvwxyz';

/** Like a ULID: the time in front, so that ids sort as times do. */
export function fixtureId(t: number, salt: number): string {
  let head = '';
  for (let rest = t, i = 0; i < 10; i++, rest = Math.floor(rest / 32)) head = crockford.charAt(rest % 32) + head;
  let tail = '';
  for (let rest = salt * 7919 + 104729, i = 0; i < 16; i++, rest = (rest * 31 + 17) % 1048573)
    tail += crockford.charAt(rest % 32);
  return `cp_${head}${tail}`;
}

let salt = 0;

export function record(t: number, trigger: Trigger, title: string, fields: Partial<Checkpoint> = {}): Checkpoint {
  salt++;
  return {
    id: fixtureId(t, salt),
    name: null,
    title,
    description: null,
    createdAt: new Date(t).toISOString(),
    trigger,
    pinned: false,
    session: null,
    turn: null,
    files: {
      tree: 'a'.repeat(40),
      commit: salt.toString(16).padStart(8, '0').padEnd(40, 'c'),
      lane: 'scan',
      added: 0,
      modified: 0,
      deleted: 0,
      paths: [],
      skipped: [],
      partial: [],
      emptyDirs: [],
    },
    git: { commit: '9f3c2ab41d0e77c5b8aa1f6f0c2d9e8b7a6f5e4d', branch: 'feature/login', dirty: true },
    task: null,
    cause: null,
    restore: null,
    origin: null,
    metadata: {},
    ...fields,
  };
}

const day = 86_400_000;
const at = (daysAgo: number, clock: string): number => {
  const [hours, minutes] = clock.split(':').map(Number);
  return Date.UTC(2025, 10, 14) - daysAgo * day + (hours ?? 0) * 3_600_000 + (minutes ?? 0) * 60_000;
};

interface SessionFixture {
  id: string;
  title: string;
  parent: string | null;
}

const login: SessionFixture = { id: 'ses_login', title: 'Fix the login flow', parent: null };
const tests: SessionFixture = { id: 'ses_tests', title: 'Speed up the test suite', parent: null };
const dark: SessionFixture = { id: 'ses_dark', title: 'Dark mode for the settings page', parent: null };
const fork: SessionFixture = { id: 'ses_fork', title: 'Login with cookies instead of tokens', parent: 'ses_login' };

const plan: TaskState = {
  title: 'Refresh tokens without logging people out',
  objective:
    'Sessions must survive an expired access token. The refresh happens once, however many requests wait for it.',
  status: 'in_progress',
  currentPlan: ['Queue requests while a refresh runs', 'Rotate the refresh token', 'Cover the race in a test'],
  completedSteps: ['Read the auth middleware'],
  nextSteps: ['Write the queue'],
  blockers: [],
};
const blocked: TaskState = {
  ...plan,
  status: 'blocked',
  completedSteps: ['Read the auth middleware', 'Write the queue'],
  nextSteps: ['Rotate the refresh token'],
  blockers: ['The staging server rejects rotated tokens (clock skew of 90 s)'],
};
const done: TaskState = {
  ...plan,
  status: 'done',
  summary: 'One refresh at a time; waiting requests are replayed; the race is covered.',
  completedSteps: [
    'Read the auth middleware',
    'Write the queue',
    'Rotate the refresh token',
    'Cover the race in a test',
  ],
  nextSteps: [],
  blockers: [],
};

export interface Afternoon {
  checkpoints: Checkpoint[];
  changes: ReadonlyMap<string, Change[]>;
  /** Some that tests and pictures look for. */
  named: Checkpoint;
  forkedAt: Checkpoint;
  big: Checkpoint;
  unblocked: Checkpoint;
}

export function afternoon(): Afternoon {
  salt = 0;
  const checkpoints: Checkpoint[] = [];
  const changes = new Map<string, Change[]>();
  const add = (checkpoint: Checkpoint, list: Change[] = []): Checkpoint => {
    const of = (status: Change['status']): number => list.filter((change) => change.status === status).length;
    checkpoint.files.added = of('added');
    checkpoint.files.deleted = of('deleted');
    checkpoint.files.modified = list.length - checkpoint.files.added - checkpoint.files.deleted;
    checkpoint.files.paths = list.map(({ path }) => path).slice(0, 500);
    checkpoints.push(checkpoint);
    changes.set(checkpoint.id, list);
    return checkpoint;
  };
  let messages = 0;
  const anchor = (session: SessionFixture): Checkpoint['session'] => ({
    ...session,
    messageId: `msg_${(messages += 2)}`,
    messageCount: messages,
  });
  /** A prompt, its tool calls, and the end of the turn. */
  const turn = (
    session: SessionFixture,
    number: number,
    start: number,
    prompt: string,
    calls: Array<[tool: string, path: string, additions: number, deletions: number]>,
    task: TaskState | null,
    cost: number,
  ): { first: Checkpoint; last: Checkpoint } => {
    const info: TurnInfo = {
      number,
      prompt,
      model: 'claude-sonnet-4-5',
      agent: 'build',
      cost,
      tokens: Math.round(cost * 61_000),
    };
    const shared = { session: anchor(session), turn: info, task };
    const first = add(record(start, 'turn', prompt.split('\n')[0] ?? prompt, shared));
    let last = first;
    calls.forEach(([tool, path], index) => {
      const previous = calls[index - 1];
      last = add(
        record(start + (index + 1) * 41_000, 'tool', tool === 'bash' ? `bash: ${path}` : `${tool} ${path}`, {
          ...shared,
          cause: { tool, callId: `call_${number}_${index}`, paths: tool === 'bash' ? [] : [path] },
        }),
        previous && previous[0] !== 'bash' ? [change(previous[1], previous[2], previous[3])] : [],
      );
      last.files.lane = 'paths';
    });
    const edits = calls.filter(([tool]) => tool !== 'bash').map(([, path, a, d]) => change(path, a, d));
    if (calls.length > 0)
      last = add(record(start + (calls.length + 1) * 41_000, 'idle', `After turn ${number}`, shared), edits.slice(-2));
    return { first, last };
  };

  // Three days ago: another session, with a task of its own.
  add(
    record(at(3, '09:12'), 'manual', 'Before touching anything', { name: 'Before touching anything', pinned: true }),
    [change('README.md', 12, 2)],
  );
  turn(
    tests,
    1,
    at(3, '10:02'),
    'Why does the test suite take nine minutes? Profile it and tell me where the time goes.',
    [
      ['bash', 'npx vitest run --reporter=verbose', 0, 0],
      ['write', 'scripts/profile-tests.mjs', 84, 0],
      ['bash', 'node scripts/profile-tests.mjs', 0, 0],
    ],
    null,
    0.31,
  );
  turn(
    tests,
    2,
    at(3, '10:31'),
    'Run the database fixtures once per worker instead of once per file.',
    [
      ['edit', 'test/setup/database.ts', 41, 63],
      ['edit', 'test/setup/global.ts', 18, 4],
      ['edit', 'vitest.config.ts', 6, 2],
      ['bash', 'npx vitest run', 0, 0],
    ],
    null,
    0.84,
  );
  add(
    record(at(3, '11:05'), 'agent', 'fixtures-once-per-worker', {
      name: 'fixtures-once-per-worker',
      session: anchor(tests),
      description: 'Suite down from 9:04 to 2:41. All green.',
    }),
  );

  // Yesterday: the login session begins, a task is planned, the settings page goes on in parallel.
  turn(
    login,
    1,
    at(1, '13:40'),
    'Users are logged out whenever their access token expires. Find out why and propose a fix.',
    [['bash', "rg -n 'refreshToken' src", 0, 0]],
    null,
    0.22,
  );
  add(
    record(at(1, '13:52'), 'task', 'Refresh tokens without logging people out', { session: anchor(login), task: plan }),
  );
  turn(
    dark,
    1,
    at(1, '14:05'),
    '🌙 Dark mode for the settings page. Follow the tokens in design/colors.json, no hard-coded colours, and keep the contrast of every text above 4.5:1 please',
    [
      ['edit', 'src/settings/Settings.css', 122, 87],
      ['edit', 'src/settings/ThemeSwitch.tsx', 38, 0],
    ],
    plan,
    0.47,
  );
  const base = turn(
    login,
    2,
    at(1, '14:20'),
    'Write the request queue: one refresh at a time, the others wait and are replayed.',
    [
      ['write', 'src/auth/refresh-queue.ts', 96, 0],
      ['edit', 'src/auth/client.ts', 34, 51],
      ['edit', 'src/auth/client.ts', 9, 3],
      ['write', 'test/auth/refresh-queue.test.ts', 140, 0],
      ['bash', 'npx vitest run test/auth', 0, 0],
      ['edit', 'src/auth/refresh-queue.ts', 12, 7],
    ],
    plan,
    1.12,
  );
  turn(
    dark,
    2,
    at(1, '15:10'),
    'The switch flickers on load 😵‍💫',
    [['edit', 'src/settings/ThemeSwitch.tsx', 11, 6]],
    plan,
    0.09,
  );
  const big = add(
    record(at(1, '15:48'), 'manual', 'Queue works, before the big rename', {
      name: 'Queue works, before the big rename',
      pinned: true,
      session: anchor(login),
      task: plan,
      description: 'All 214 tests pass. The next step moves every file of src/auth.',
      metadata: { ticket: 'AUTH-218', reviewed: true },
    }),
    manyFiles(),
  );
  big.files.skipped = [{ path: 'assets/recording.mp4', reason: 'larger than 20 MB', size: 48_000_000 }];

  // Today: blocked, a restore, a fork from yesterday's state, and done.
  turn(
    login,
    3,
    at(0, '09:15'),
    'Rotate the refresh token on every use and revoke the old one.',
    [
      ['edit', 'src/auth/rotate.ts', 58, 12],
      ['edit', 'server/tokens.ts', 44, 9],
      ['bash', 'npm run staging:check', 0, 0],
    ],
    plan,
    0.66,
  );
  add(
    record(at(0, '09:31'), 'task', 'Blocked: staging rejects rotated tokens', {
      session: anchor(login),
      task: blocked,
    }),
  );
  add(
    record(at(0, '10:02'), 'compaction', 'Before the conversation was summarised', {
      session: anchor(login),
      task: blocked,
    }),
  );
  const safety = add(
    record(at(0, '11:20'), 'restore', 'Before restoring “Queue works, before the big rename”', {
      task: blocked,
      restore: {
        operation: 'restore',
        target: base.last.id,
        scope: ['files', 'conversation'],
        session: fork.id,
        restored: 14,
        deleted: 3,
        kept: 1,
        skipped: 0,
        touched: null,
      },
    }),
    [change('src/auth/rotate.ts', 58, 12), change('server/tokens.ts', 44, 9)],
  );
  safety.files.partial = [{ path: 'data/locked.sqlite', reason: 'permission denied' }];
  turn(
    fork,
    3,
    at(0, '11:24'),
    'Forget the rotation. Use an httpOnly cookie for the refresh token instead.\n\nKeep the queue as it is, and write down why in docs/decisions.md.',
    [
      ['edit', 'src/auth/client.ts', 22, 40],
      ['edit', 'server/cookies.ts', 61, 0],
      ['write', 'docs/decisions.md', 19, 0],
    ],
    blocked,
    0.58,
  );
  turn(
    login,
    4,
    at(0, '13:30'),
    'Try again with the clock skew taken into account.',
    [
      ['edit', 'src/auth/rotate.ts', 9, 4],
      ['bash', 'npm run staging:check', 0, 0],
    ],
    blocked,
    0.19,
  );
  add(
    record(at(0, '14:10'), 'import', 'Auth spike of Maria', {
      name: 'Auth spike of Maria',
      origin: { machine: 'thinkpad', user: 'maria' },
    }),
  );
  turn(
    fork,
    4,
    at(0, '15:02'),
    'Cover the race between two tabs with a test, then clean up.',
    [
      ['write', 'test/auth/two-tabs.test.ts', 118, 0],
      ['bash', 'npx vitest run test/auth', 0, 0],
      ['edit', 'src/auth/client.ts', 4, 17],
      ['edit', 'server/cookies.ts', 3, 3],
    ],
    blocked,
    0.73,
  );
  const unblocked = add(
    record(at(0, '15:31'), 'task', 'Done: refresh by cookie', { session: anchor(fork), task: done }),
    [change('src/auth/client.ts', 4, 17)],
  );
  add(
    record(at(0, '16:05'), 'manual', 'Ready for review', {
      name: 'Ready for review',
      session: anchor(fork),
      task: done,
    }),
    [change('CHANGELOG.md', 6, 0)],
  );
  turn(fork, 5, at(0, '16:38'), 'Write the pull request description.', [], done, 0.04);
  return { checkpoints, changes, named: big, forkedAt: base.last, big, unblocked };
}

function change(path: string, additions: number, deletions: number): Change {
  const status = deletions === 0 && additions > 50 ? 'added' : 'modified';
  return { path, status, additions, deletions, binary: false };
}

function manyFiles(): Change[] {
  const list: Change[] = [
    change('src/auth/refresh-queue.ts', 108, 7),
    change('src/auth/client.ts', 43, 54),
    { path: 'src/auth/legacy/session-storage.ts', status: 'deleted', additions: 0, deletions: 212, binary: false },
    {
      path: 'src/auth/token.ts',
      from: 'src/auth/legacy/token.ts',
      status: 'renamed',
      additions: 3,
      deletions: 3,
      binary: false,
    },
    { path: 'assets/login-hero.png', status: 'modified', additions: 0, deletions: 0, binary: true },
    change('test/auth/refresh-queue.test.ts', 140, 0),
    change('src/features/account/components/SessionExpiredDialogWithAVeryLongFileName.tsx', 61, 18),
    change('package-lock.json', 1890, 1204),
  ];
  for (let i = 1; i <= 130; i++)
    list.push(change(`locales/${i % 2 ? 'en' : 'de'}/messages-${i}.json`, (i * 7) % 40, (i * 5) % 23));
  return list;
}

/** So many that nothing but a virtualised list would do. */
export function many(total: number): Checkpoint[] {
  salt = 0;
  const records: Checkpoint[] = [];
  for (let i = 0; i < total; i++) {
    const session = Math.floor(i / 250);
    const turn = Math.floor((i % 250) / 10) + 1;
    const first = i % 10 === 0;
    records.push(
      record(
        now - (total - i) * 97_000,
        first ? 'turn' : i % 10 === 9 ? 'idle' : 'tool',
        first ? `Prompt ${i}: change module ${i % 37}` : `edit src/module-${i % 37}.ts`,
        {
          session: {
            id: `ses_${session}`,
            title: `Session ${session}`,
            parent: session % 5 === 4 ? `ses_${session - 1}` : null,
            messageId: null,
            messageCount: i,
          },
          turn: { number: turn, prompt: 'p', model: null, agent: null, cost: null, tokens: null },
        },
      ),
    );
  }
  return records;
}
