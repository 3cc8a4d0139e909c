import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { count, fromExit, fromHost, fromVitest, judge, summary, table } from '../../run/results.mjs';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'checkpoints-results-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const file = (content: unknown): string => {
  const path = join(folder, 'result.json');
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
};

const assertion = (status: string) => ({ fullName: `a ${status} test`, status, failureMessages: [] });

const vitest = (assertions: string[], more: object = {}, suite: object = {}) =>
  fromVitest(
    file({
      success: true,
      testResults: [
        {
          name: join(folder, 'x.test.ts'),
          status: 'passed',
          message: '',
          assertionResults: assertions.map(assertion),
          ...suite,
        },
      ],
      ...more,
    }),
    folder,
  );

describe('reading the results of a suite', () => {
  it('counts skipped and pending tests as failed', () => {
    expect(count(vitest(['passed', 'skipped', 'pending', 'todo', 'failed']))).toEqual({ passed: 1, failed: 4 });
  });

  it('counts a file that could not be loaded', () => {
    const tests = vitest([], { success: false }, { status: 'failed', message: 'Cannot find module' });
    expect(tests).toEqual([{ title: 'x.test.ts', passed: false, error: 'Cannot find module' }]);
  });

  it('counts an error outside of all tests', () => {
    expect(count(vitest(['passed'], { success: false }))).toEqual({ passed: 1, failed: 1 });
  });

  it('takes a missing or broken report for no tests at all', () => {
    expect(fromVitest(join(folder, 'absent.json'), folder)).toEqual([]);
    expect(fromVitest(file('{"testResults": ['), folder)).toEqual([]);
    expect(fromHost(file('{}'))).toEqual([]);
  });

  it('reads the tests of the extension host', () => {
    const tests = [
      { title: 'a', state: 'passed', duration: 1 },
      { title: 'b', state: 'failed', error: 'no', duration: 1 },
      { title: 'c', state: 'pending', duration: 0 },
    ];
    expect(count(fromHost(file({ tests })))).toEqual({ passed: 1, failed: 2 });
  });

  it('takes a command as one test', () => {
    expect(count(fromExit('types', { code: 0 }, ''))).toEqual({ passed: 1, failed: 0 });
    expect(count(fromExit('types', { code: 2 }, ''))).toEqual({ passed: 0, failed: 1 });
    expect(count(fromExit('types', { code: null }, ''))).toEqual({ passed: 0, failed: 1 });
  });
});

describe('the verdict on a suite', () => {
  const passed = [{ title: 'a', passed: true }];

  it.each([
    ['passes', passed, { code: 0 }, 0],
    ['fails without tests, whatever the exit code', [], { code: 0 }, 1],
    ['fails when it could not start', [], { code: null, error: new Error('ENOENT') }, 1],
    ['fails when it timed out', passed, { code: null, timedOut: true, timeoutMs: 60_000 }, 1],
    ['fails when all tests passed but the process did not', passed, { code: 1 }, 1],
    ['fails when a process was left', passed, { code: 0, left: [{ pid: 1, command: 'x' }] }, 1],
  ])('%s', (_, tests, end, failed) => {
    expect(count(judge('suite', tests, end)).failed).toBe(failed);
  });

  it('adds up to the last line', () => {
    const rows = [
      { name: 'unit', tests: passed, seconds: 1 },
      { name: 'git', tests: judge('git', [], { code: 1 }), seconds: 12.34 },
    ];
    expect(summary(rows)).toBe('1 passed, 1 failed');
    expect(table(rows).split('\n')).toEqual([
      'suite  passed  failed    time',
      'unit        1       0   1.0 s',
      'git         0       1  12.3 s',
    ]);
  });
});
