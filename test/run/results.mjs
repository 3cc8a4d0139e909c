// What a suite's result file says, as a list of tests. Nothing that did not clearly pass counts as passed.
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

const failure = (title, error) => ({ title, passed: false, error });

function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError || error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Vitest's JSON report. A skipped test is a failure: it proves nothing, and nobody would notice. */
export function fromVitest(file, root) {
  const report = readJson(file);
  if (!report || !Array.isArray(report.testResults)) return [];
  const tests = report.testResults.flatMap((suite) => {
    const name = relative(root, suite.name);
    const tests = suite.assertionResults.map((test) => {
      const title = `${name} > ${test.fullName.trim()}`;
      if (test.status === 'passed') return { title, passed: true };
      // Vitest's report loses the message of a time-out and keeps the name of its stack.
      const error = test.failureMessages?.join('\n').replaceAll('STACK_TRACE_ERROR', 'the test timed out');
      return failure(title, error || `not run (${test.status})`);
    });
    // A file that could not be loaded, or whose hooks failed, has no failed test of its own.
    if (suite.status === 'failed' && tests.every((test) => test.passed)) tests.push(failure(name, suite.message));
    return tests;
  });
  if (report.success === false && tests.length > 0 && tests.every((test) => test.passed))
    tests.push(failure('vitest', 'the run failed outside its tests (unhandled error?), see the log'));
  return tests;
}

/** What passed only at a later try: no failure, but nobody should have to find out from a log. */
export const fromRetries = (file) => readJson(file) ?? [];

/** The result file of the tests that run inside VS Code: {tests:[{title,state,error?,duration}]}. */
export function fromHost(file) {
  const report = readJson(file);
  if (!report || !Array.isArray(report.tests)) return [];
  return report.tests.map(({ title, state, error }) =>
    state === 'passed' ? { title, passed: true } : failure(title, error ?? `not run (${state})`),
  );
}

/** One command is one test: types, lint. */
export function fromExit(name, { code }, log) {
  if (code === 0) return [{ title: name, passed: true }];
  return [failure(name, existsSync(log) ? readFileSync(log, 'utf8') : '')];
}

const ending = (log) =>
  log && existsSync(log) ? `\n${readFileSync(log, 'utf8').trimEnd().split('\n').slice(-20).join('\n')}` : '';

/** The verdict on a suite: how its process ended and what it left must agree with what its tests say. */
export function judge(name, tests, { code, error, timedOut, timeoutMs, log, left = [] }) {
  const verdict = [...tests];
  if (error) verdict.push(failure(`${name} could not start`, error.message));
  else if (timedOut)
    verdict.push(failure(`${name} timed out`, `ended after ${Math.round(timeoutMs / 60_000)} minutes`));
  else if (tests.length === 0) verdict.push(failure(`${name} ran no tests`, `exit code ${code}${ending(log)}`));
  else if (code !== 0 && tests.every((test) => test.passed))
    verdict.push(failure(`${name} failed`, `every test passed, but the exit code is ${code}`));
  if (left.length > 0)
    verdict.push(
      failure(`${name} left processes running`, left.map(({ pid, command }) => `${pid} ${command}`).join('\n')),
    );
  return verdict;
}

export const count = (tests) => ({
  passed: tests.filter((test) => test.passed).length,
  failed: tests.filter((test) => !test.passed).length,
});

/** One row per suite. */
export function table(rows) {
  const cells = rows.map(({ name, tests, seconds }) => {
    const { passed, failed } = count(tests);
    return [name, String(passed), String(failed), `${seconds.toFixed(1)} s`];
  });
  const all = [['suite', 'passed', 'failed', 'time'], ...cells];
  const widths = all[0].map((_, column) => Math.max(...all.map((row) => row[column].length)));
  return all
    .map((row) => row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  '))
    .join('\n');
}

export function summary(rows) {
  const { passed, failed } = count(rows.flatMap((row) => row.tests));
  return `${passed} passed, ${failed} failed`;
}
