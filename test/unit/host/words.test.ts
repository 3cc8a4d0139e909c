import { describe, expect, it } from 'vitest';
import type { RestorePlan, RestoreResult } from '../../../src/core/model';
import {
  behind,
  besideWorking,
  counts,
  countsInWords,
  fetchedStay,
  headAndRest,
  withoutIcons,
  withoutLinks,
  lineCounts,
  money,
  shortTitle,
  triggerIcons,
} from '../../../src/host/labels';
import { relativeTime, shortAge } from '../../../src/host/relative-time';
import {
  countPlan,
  deletesAny,
  isEmptyPlan,
  nothingText,
  planText,
  resultPage,
  resultText,
  stillWorking,
  tickedText,
} from '../../../src/host/restore-text';
import { triggers } from '../../../src/core/model';
import { money as inTimeline } from '../../../webview/timeline/model/texts';
import { triggerLabel } from '../../../src/protocol/trigger-names';
import { record } from './record';

const at = Date.parse('2026-03-10T12:00:00.000Z');
const before = (seconds: number): string => new Date(at - seconds * 1000).toISOString();

describe('the title of a diff with the working file', () => {
  it.each([
    ['cart.ts (First ↔ Second)', 'cart.ts (First ↔ Working File)'],
    ['Before “Rename it” ↔ Turn ended: Rename it (2 files)', 'Before “Rename it” ↔ Working File)'],
    ['Changes of “Rename it” (2 files)', 'Before “Rename it” ↔ Working File)'],
  ])('for %s', (title, expected) => {
    expect(besideWorking(title)).toBe(expected);
  });
});

describe('times', () => {
  it.each([
    [-5, 'now', 'now'],
    [20, 'now', 'now'],
    [60, '1 min. ago', '1m'],
    [59 * 60, '59 min. ago', '59m'],
    [3 * 3600 + 1700, '3 hr. ago', '3h'],
    [86_400, 'yesterday', '1d'],
    [5 * 86_400, '5 days ago', '5d'],
    [40 * 86_400, 'Jan 29, 2026', '40d'],
  ])('%d seconds ago', (seconds, long, short) => {
    expect(relativeTime(before(seconds), at, 'en')).toBe(long);
    expect(shortAge(before(seconds), at)).toBe(short);
  });

  it('speak the language of the user', () => {
    expect(relativeTime(before(300), at, 'en', 'narrow')).toBe('5m ago');
    expect(relativeTime(before(120), at, 'de')).toContain('vor 2');
  });
});

describe('words for checkpoints', () => {
  it('has an icon and a name for every trigger', () => {
    for (const trigger of triggers) {
      expect(triggerIcons[trigger]).toMatch(/^[a-z-]+$/);
      expect(triggerLabel(trigger)).toMatch(/^[A-Z][a-z ]+$/);
    }
  });

  it('says what stays of a session that is cleared', () => {
    expect(fetchedStay(0)).toBe('');
    expect(fetchedStay(1)).toBe('One that was fetched from elsewhere stays.');
    expect(fetchedStay(1200)).toBe('1,200 that were fetched from elsewhere stay.');
  });

  it('counts only what there is', () => {
    expect(counts({ added: 2, modified: 0, deleted: 1 })).toBe('+2 −1');
    expect(counts({ added: 0, modified: 0, deleted: 0 })).toBe('');
    expect(countsInWords({ added: 0, modified: 3, deleted: 0 })).toBe('3 modified');
    expect(countsInWords({ added: 0, modified: 0, deleted: 0 })).toBe('no changes');
    expect(lineCounts({ path: 'a', status: 'modified', additions: 4, deletions: 0, binary: false })).toBe('+4');
    expect(lineCounts({ path: 'a', status: 'modified', additions: 0, deletions: 0, binary: true })).toBe('binary');
  });

  it('has one way to write a price', () => {
    for (const [value, text] of [
      [0.03, '$0.03'],
      [0.0021, '$0.0021'],
      [0, '$0.00'],
      [12.345, '$12.35'],
    ] as const)
      expect([money(value), inTimeline(value)]).toEqual([text, text]);
  });

  it('shortens titles to one line', () => {
    expect(shortTitle(record('x', { title: 'one\ntwo' }))).toBe('one');
    expect(shortTitle(record('x', { title: 'a'.repeat(50) }), 10)).toBe(`${'a'.repeat(9)}…`);
    // Never half of a sign.
    expect(shortTitle(record('x', { title: `a${'😀'.repeat(50)}` }), 10)).toBe(`a${'😀'.repeat(8)}…`);
  });
});

const plan = (more: Partial<RestorePlan>): RestorePlan => ({
  target: 'x',
  scope: ['files'],
  entries: [],
  massDelete: false,
  fileCount: 10,
  ...more,
});

describe('somebody’s text in a label', () => {
  it.each([
    ['fix $(pwd) in $(sync~spin)', 'fix \\$(pwd) in \\$(sync~spin)'],
    ['costs $5 (net)', 'costs $5 (net)'],
  ])('%s has no icons', (text, label) => {
    expect(withoutIcons(text)).toBe(label);
  });
});

describe('what stands behind a label', () => {
  it('keeps its number, whatever way the label is written', () => {
    expect(behind('latest', '1m ago')).toBe('1m ago');
    expect(behind('مرحبا', '1m ago')).toBe('\u200e1m ago');
    expect(behind('שלום', '')).toBe('');
  });
});

describe('somebody’s text in a message', () => {
  // As VS Code looks for links there.
  const link = /\[([^\]]+)\]\(((?:https?:\/\/|command:|file:)[^)\s]+)/;

  it.each(['[Undo](command:workbench.action.quit)', 'a [b](c) [d](https://example.invalid)'])(
    '%s is no link',
    (text) => {
      expect(withoutLinks(text)).not.toMatch(link);
      expect(withoutLinks(text).replaceAll('\u200b', '')).toBe(text);
    },
  );

  it('is none among the paths that were not touched', () => {
    const entries = [{ path: '[x](command:y)', action: 'skip' as const, reason: 'too-large' }];
    expect(nothingText(plan({ entries }))).not.toMatch(link);
  });
});

describe('a prompt in a row', () => {
  it.each<[prompt: string, head: string, rest: string]>([
    ['Fix the login', 'Fix the login', ''],
    ['Make the greeting louder', 'Make the greeting louder', ''],
    ['Now rename describe() to label everywhere', 'Now rename describe()…', '…to label everywhere'],
    ['Replace one by two everywhere', 'Replace one by two…', '…everywhere'],
    [`a${'b'.repeat(50)}`, `a${'b'.repeat(21)}…`, `…${'b'.repeat(29)}`],
    [`I ${'b'.repeat(50)}`, `I ${'b'.repeat(20)}…`, `…${'b'.repeat(30)}`],
    ['测'.repeat(20), `${'测'.repeat(11)}…`, `…${'测'.repeat(9)}`],
    ['😀'.repeat(20), `${'😀'.repeat(11)}…`, `…${'😀'.repeat(9)}`],
    ['', '', ''],
  ])('%s', (prompt, head, rest) => {
    expect(headAndRest(prompt)).toEqual([head, rest]);
  });
});

describe('the restore dialog', () => {
  it('says that nothing differs', () => {
    expect(isEmptyPlan(plan({}))).toBe(true);
    expect(planText(plan({}))).toContain('already are as they were');
    expect(nothingText(plan({}))).toContain('already are as they were');
  });

  it('has something to do where only empty folders differ', () => {
    const folders = plan({ folders: { make: ['hollow'], remove: ['a', 'b'] } });
    expect(isEmptyPlan(folders)).toBe(false);
    expect(planText(folders)).toContain('1 empty folder will be made, 2 empty folders will be removed.');
    expect(planText(folders)).toContain('you can undo this');
  });

  it('names what differs and is left all the same, and why', () => {
    const skipped = plan({ entries: [{ path: 'big.bin', action: 'skip', reason: 'too-large' }] });
    expect(planText(skipped).split('\n').slice(0, 2)).toEqual([
      'No file will be changed. Not touched:',
      'big.bin (too large)',
    ]);
    expect(planText(skipped)).not.toContain('already are');
    expect(nothingText(skipped)).toBe('Nothing was restored. Not touched: big.bin (too large).');
    const names = ['a', 'b', 'c', 'd'];
    const kept = plan({ entries: names.map((path) => ({ path, action: 'keep', reason: 'uncertain' })) });
    expect(nothingText(kept)).toMatch(/: a \(not known as it was then\), b .*, c .*, and 1 more\.$/);
    expect(planText(kept)).toContain('“Choose…” restores what you tick all the same.');
  });

  it('names what is written, deleted, yours, kept and skipped', () => {
    const full = plan({
      entries: [
        { path: 'a', action: 'write' },
        { path: 'b', action: 'write', yours: true },
        { path: 'c', action: 'delete' },
        { path: 'd', action: 'keep', reason: 'uncertain' },
        { path: 'e', action: 'skip', reason: 'too large' },
      ],
    });
    expect(countPlan(full)).toEqual({ write: 2, delete: 1, keep: 1, skip: 1, yours: 1, unsure: 0 });
    expect(isEmptyPlan(full)).toBe(false);
    expect(planText(full).split('\n')).toEqual([
      '2 files will be written.',
      '1 file made since then will be deleted.',
      '1 of them holds changes that you made yourself.',
      '1 file will be left as it is now.',
      '1 path cannot be restored and will be skipped.',
      '',
      'A safety checkpoint is made first: you can undo this.',
    ]);
  });

  it('does not say of a file that another machine never saw that it was made later', () => {
    const entries: RestorePlan['entries'] = [{ path: 'own.txt', action: 'delete' }];
    expect(planText(plan({ entries }), true)).toContain('1 file that is not in it will be deleted.\n');
    const two: RestorePlan['entries'] = [...entries, { path: 'too.txt', action: 'delete' }];
    expect(planText(plan({ entries: two }), true)).toContain('2 files that are not in it will be deleted.\n');
  });

  it('says above the ticks what else was chosen', () => {
    expect(tickedText(1, 2, ['files'])).toBe('1 of 2 files will be restored. ✓ above restores them, ✕ cancels.');
    expect(tickedText(1, 1, ['files', 'conversation', 'task'])).toBe(
      '1 of 1 file will be restored, a new session made, the task brought back. ✓ above does it, ✕ cancels.',
    );
  });

  it('knows when a file would go', () => {
    const write = { path: 'src/old.ts', action: 'write' } as const;
    expect(deletesAny(plan({ entries: [write, { path: 'src/new.ts', action: 'delete' }] }))).toBe(true);
    expect(deletesAny(plan({ entries: [write, { path: 'src/new.ts', action: 'keep' }] }))).toBe(false);
  });

  it('says how many messages a fork keeps', () => {
    const conversation = plan({
      scope: ['conversation'],
      conversation: { session: 's', messageCount: 4, currentCount: 9 },
    });
    expect(isEmptyPlan(conversation)).toBe(false);
    expect(planText(conversation)).toContain('with 4 of 9 messages;');
    const alone = plan({
      scope: ['conversation'],
      conversation: { session: 's', messageCount: 1, currentCount: null },
    });
    expect(planText(alone)).toContain('with 1 message;');
    expect(planText(conversation)).toContain('Your files are left as they are.');
  });
});

describe('the result of a restore', () => {
  const result = (more: Partial<RestoreResult>): RestoreResult => ({
    restored: [],
    deleted: [],
    kept: [],
    skipped: [],
    session: null,
    undo: 'x',
    ...more,
  });

  it('tells on its page why a path was left as it was, in words', () => {
    const page = resultPage({
      ...result({}),
      kept: [
        { path: 'a', reason: 'uncertain' },
        { path: 'b', reason: 'yours' },
        { path: 'c', reason: 'maybe yours' },
      ],
      skipped: [
        { path: 'd', reason: 'left out when the checkpoint was made (too-large)' },
        { path: 'e', reason: 'excluded' },
      ],
    });
    expect(page.split('\n').filter((line) => line.startsWith('- '))).toEqual([
      '- d: left out when the checkpoint was made (too large)',
      '- e: excluded',
      '- a: not known as it was then',
      '- b: with your changes',
      '- c: maybe with your changes',
    ]);
  });

  it('is never a bare success', () => {
    expect(resultText('Restored', result({ deleted: ['b'] }))).toBe('Restored: 1 file deleted.');
    const many = Array.from({ length: 1200 }, (_, index) => `f${index}`);
    expect(resultText('Restored', result({ restored: many, deleted: many }))).toBe(
      'Restored: 1,200 files written, 1,200 deleted.',
    );
    expect(resultText('Restored', result({ task: true }))).toBe('Restored: task state brought back.');
    expect(resultText('Undone', result({ restored: ['a'], task: true }))).toBe(
      'Undone: 1 file written, task state brought back.',
    );
    expect(resultText('Restored', result({}))).toBe('Restored: nothing had to be changed.');
    expect(resultText('Undone', result({ restored: ['a'], fork: { id: 'ses_1' } }))).toBe(
      'Undone: 1 file written, its session stays.',
    );
    expect(
      resultText('Restored', result({ restored: ['a'], deleted: ['b', 'c'], kept: [{ path: 'd', reason: 'yours' }] })),
    ).toBe('Restored: 1 file written, 2 deleted, 1 kept.');
    expect(resultText('Reverted', result({ conflicts: [{ path: 'a', reason: 'both changed' }] }))).toBe(
      'Reverted: 1 conflict.',
    );
    expect(resultText('Restored', result({ restored: ['a'], serverSilent: true }))).toMatch(
      /^Restored: 1 file written\. OpenCode runs, but did not answer/,
    );
  });
});

describe('who is at work where files shall go back', () => {
  it.each([
    [true, 1, ['“A”'], 'The agent is still working in this session.'],
    [false, 1, ['“A”'], 'An agent is still working in this folder: “A”.'],
    [false, 1, [], 'An agent is still working in this folder.'],
    [true, 2, ['“A”', '“B”'], '2 agents are still working in this folder: “A”, “B”.'],
    [false, 3, ['“A”'], '3 agents are still working in this folder: “A”.'],
  ])('%s, %d, %j', (here, count, titles, expected) => {
    expect(stillWorking(here, count, titles)).toBe(expected);
  });
});
