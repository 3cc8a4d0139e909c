import { describe, expect, it } from 'vitest';
import type { BackedUpSession, BackupReport, BackupStatus } from '../../../src/backup/api';
import {
  isTrouble,
  problemText,
  reportText,
  restoreReportText,
  sessionDescription,
  statusLine,
  waysOut,
} from '../../../src/host/backup-text';
import { importPage, importText, offerText } from '../../../src/host/import-text';
import { exportText, fetchText, pushText } from '../../../src/host/sync-text';

const ago = (iso: string): string => `at ${iso}`;

const status = (change: Partial<BackupStatus> = {}): BackupStatus => ({
  path: '/drive/sessions',
  source: 'setting',
  state: 'idle',
  running: null,
  problem: null,
  sessions: 12,
  ownSessions: 12,
  deletedSessions: 0,
  bytes: 1000,
  machines: 1,
  lastRunAt: 'T',
  lastSuccessAt: 'T',
  runs: 1,
  suggestions: [],
  ...change,
});

const problem = (trouble: keyof typeof waysOut) => ({ trouble, message: 'It is so.', at: 'T' });

describe('the backup in the status bar', () => {
  it.each([
    [{ state: 'off' as const, path: null }, null],
    [{}, 'Backup: 12 sessions, last saved at T'],
    [{ sessions: 1, state: 'pending' as const }, 'Backup: 1 session, last saved at T, changes are waiting'],
    [{ sessions: 0, lastSuccessAt: null }, 'Backup: 0 sessions, nothing saved yet'],
    [
      { state: 'running' as const, running: { operation: 'backup' as const, done: 3, total: 12 } },
      'Backup: saving 3 of 12 sessions',
    ],
    [
      { state: 'problem' as const, problem: problem('destination-full') },
      'Backup: It is so. Free some space there, or choose another folder.',
    ],
  ])('%j', (change, line) => {
    expect(statusLine(status(change), ago)).toBe(line);
  });

  it('warns of what does not pass by itself, and only of that', () => {
    const troubled = Object.keys(waysOut).filter((trouble) =>
      isTrouble(status({ state: 'problem', problem: problem(trouble as keyof typeof waysOut) })),
    );
    expect(troubled.sort()).toEqual([
      'destination-full',
      'destination-locked',
      'destination-missing',
      'destination-read-only',
      'failed',
      'incomplete',
      'off',
    ]);
    // A problem that is over is history.
    expect(isTrouble(status({ problem: problem('failed') }))).toBe(false);
  });

  it('has a way out of every trouble', () => {
    for (const trouble of Object.keys(waysOut) as Array<keyof typeof waysOut>)
      expect(problemText(problem(trouble))).toMatch(/^It is so\. \S.*\.$/);
  });
});

describe('what a backup did', () => {
  const report = (change: Partial<BackupReport>): BackupReport => ({
    path: '/drive/sessions',
    sessions: 3,
    written: 1,
    unchanged: 2,
    deleted: 0,
    kept: 0,
    failed: [],
    bytes: 10,
    durationMs: 1,
    problem: null,
    ...change,
  });

  it('is counted in sessions', () => {
    expect(reportText(report({}))).toBe('Backed up 3 sessions: 1 saved, 2 unchanged.');
    const failed = [{ id: 'ses_1', message: 'no' }];
    expect(reportText(report({ sessions: 1, unchanged: 0, deleted: 2, failed }))).toBe(
      'Backed up 1 session: 1 saved, 2 moved to “deleted”, 1 failed.',
    );
  });

  it('and a restore', () => {
    const session = { from: 'a', id: 'a', title: null, messages: 2, file: 'f', olderVersion: false, todos: null };
    const base = { path: 'p', restored: [session], skipped: [], failed: [], durationMs: 1 };
    expect(restoreReportText(base)).toBe('1 session restored.');
    expect(
      restoreReportText({
        ...base,
        restored: [session, { ...session, olderVersion: true, todos: 'not-restored' }],
        skipped: [{ id: 'b', state: 'same', reason: 'there' }],
        failed: [{ id: 'c', message: 'It is damaged.' }],
      }),
    ).toBe(
      '2 sessions restored, 1 from an older version because the newest is damaged, 1 without their todos, 1 left out, 1 failed: It is damaged.',
    );
  });

  it('tells how a session in the backup stands to the one in OpenCode', () => {
    const version = { file: 'f', savedAt: 'T', updatedAt: 0, messages: 4, bytes: 1, machine: 'desk' };
    const session: BackedUpSession = {
      id: 'ses_1',
      title: 'One',
      projectId: 'p',
      directory: '/project',
      parentId: null,
      generation: 'v1',
      deleted: false,
      legacy: false,
      state: 'newer',
      versions: [version],
    };
    expect(sessionDescription(session, ago)).toBe(
      'the backup has more · at 1970-01-01T00:00:00.000Z · 4 messages · desk',
    );
    const bare = { ...session, deleted: true, versions: [{ ...version, messages: null, machine: null }] };
    expect(sessionDescription(bare, () => 'now')).toBe('deleted · now');
  });
});

describe('what went to and came from other machines', () => {
  const sessions = { sent: ['ses_1'], unchanged: [], skipped: [] };
  const origin = { user: 'ann', machine: 'desk' };

  it('push', () => {
    const result = {
      remote: 'origin',
      origin: 'o',
      added: ['cp_1', 'cp_2'],
      updated: [],
      deleted: ['cp_0'],
      unchanged: 4,
      damaged: [],
    };
    expect(pushText({ ...result, sessions, filtered: 1 })).toBe(
      'Pushed to origin: 2 new checkpoints, 1 deleted there, 1 session, 1 excluded file kept here.',
    );
    const none = { sent: [], unchanged: [], skipped: [] };
    expect(pushText({ ...result, added: [], deleted: [], sessions: none, filtered: 0 })).toBe(
      'Everything is in origin already.',
    );
    expect(pushText({ ...result, deleted: [], damaged: ['cp_3'], sessions: none, filtered: 0 })).toBe(
      'Pushed to origin: 2 new checkpoints, 1 damaged one kept here.',
    );
  });

  it('fetch', () => {
    const none = { remote: 'r', added: [], updated: [], unchanged: 3, refused: [], deletedHere: 0, sessions: [] };
    expect(fetchText(none)).toBe('Nothing new there.');
    const added = [{ id: 'cp_1', title: 't', origin }];
    const refused = [{ id: 'cp_2', origin: 'o', reason: 'inside a git folder' }];
    expect(fetchText({ ...none, added, refused, sessions: ['ses_1'], deletedHere: 1 })).toBe(
      'Fetched: 1 new checkpoint from ann@desk, 1 session, 1 refused: inside a git folder, 1 that you deleted stay away.',
    );
    // A stranger names the machine.
    const strange = { ...origin, machine: '[Show](command:x)' };
    expect(fetchText({ ...none, added: [{ id: 'cp_1', title: 't', origin: strange }] })).not.toContain('](command:');
  });

  it('export', () => {
    const skipped = [{ session: 'ses_2', reason: 'it is gone' }];
    const result = {
      file: '/f.bundle',
      bytes: 1,
      checkpoints: ['cp_1'],
      sessions: { ...sessions, skipped },
      filtered: 0,
    };
    expect(exportText(result)).toBe(
      '1 checkpoint in /f.bundle, 1 session, 1 session without the conversation (it is gone).',
    );
  });
});

describe('what older programs left', () => {
  it('is offered in one sentence', () => {
    const s1 = { from: 's1' as const, path: '/db', count: 1 };
    const s4 = { from: 's4' as const, path: '/old', count: 2 };
    expect(offerText([s1])).toBe('Found 1 checkpoint of opencode-checkpoint-plugin for this folder.');
    expect(offerText([s1, s4, { from: 's5', path: '/o', count: 3 }])).toBe(
      'Found 1 checkpoint of opencode-checkpoint-plugin, 2 sessions of opencode-session-backup and 3 checkpoints of OpenOrca for this folder.',
    );
  });

  it('is reported with what was left out, and why', () => {
    const report = {
      from: 's2' as const,
      path: '/state',
      dryRun: false,
      imported: [{ id: 'cp_1', title: 'Task: one', createdAt: '2025-10-09T08:53:20.000Z' }],
      skipped: [{ item: 'start', reason: 'is here already' }],
      problems: [{ item: 'checkpoint.json', message: 'It cannot\nbe read.' }],
    };
    expect(importText(report)).toBe('Imported 1 task state of checkpoint-orchestrator, 1 left out, 1 problem.');
    expect(importText({ ...report, imported: [], skipped: [], problems: [] })).toBe(
      'Nothing new of checkpoint-orchestrator.',
    );
    expect(importText({ ...report, imported: [], skipped: [] })).toBe(
      'Nothing of checkpoint-orchestrator could be imported, 1 problem.',
    );
    expect(importText({ ...report, from: 's4', skipped: [], problems: [] })).toBe(
      'Imported 1 session of opencode-session-backup. OpenCode lists what came among its sessions.',
    );
    expect(importPage([report])).toBe(
      [
        '# What was imported',
        '',
        '## checkpoint-orchestrator',
        '',
        '/state',
        ...['', '### Imported', '', '- Task: one (2025-10-09)'],
        ...['', '### Left out', '', '- start: is here already'],
        ...['', '### Problems', '', '- checkpoint.json: It cannot be read.'],
        '',
      ].join('\n'),
    );
  });
});
