// The suites of `npm test`: what each needs, how it is started, how its result is read, and which run beside each other.
import { join } from 'node:path';
import { fromExit, fromHost, fromVitest } from './results.mjs';

/** A net under a suite that hangs, wide enough for a slow and busy machine. */
const minutes = (n) => n * 60_000;
const bin = (name, file) => join('node_modules', name, file);

/** Several commands as one test, the first failure ends it. */
const commands = (name, ...all) => ({
  name,
  needs: ['modules'],
  timeoutMs: minutes(15),
  commands: () => all,
  read: ({ result, log }) => fromExit(name, result, log),
});

const vitest = (name, options) => ({
  name,
  timeoutMs: minutes(40),
  ...options,
  needs: ['modules', 'git', ...(options.needs ?? [])],
  commands: ({ report }) => [
    [
      bin('vitest', 'vitest.mjs'),
      'run',
      '--project',
      name,
      '--reporter=default',
      '--reporter=json',
      '--reporter=./test/run/retries.mjs',
      `--outputFile.json=${report}`,
    ],
  ],
  env: ({ retries }) => ({ RETRIES_FILE: retries }),
  read: ({ report, root }) => fromVitest(report, root),
});

export const suites = [
  commands('types', [bin('typescript', 'bin/tsc'), '--noEmit', '-p', 'tsconfig.json']),
  commands('lint', [bin('eslint', 'bin/eslint.js'), '.'], [bin('prettier', 'bin/prettier.cjs'), '--check', '.']),
  vitest('unit', { build: 'development', needs: ['sqlite'] }),
  vitest('git', { build: 'development' }),
  vitest('opencode', { build: 'development', needs: ['opencodeV1', 'opencodeV2'], timeoutMs: minutes(60) }),
  {
    name: 'host',
    needs: ['modules', 'git', 'chromium', 'vscode', 'opencodeV1', 'opencodeV2'],
    // A desktop VS Code is downloaded by @vscode/test-electron, and needs neither the server nor the browser.
    needsOnDesktop: ['modules', 'git'],
    build: 'development',
    timeoutMs: minutes(40),
    commands: ({ desktop }) => [['test/rig/run-host.mjs', ...(desktop ? ['--desktop'] : [])]],
    env: ({ report, retries }) => ({ HOST_RESULT: report, RETRIES_FILE: retries }),
    read: ({ report }) => fromHost(report),
  },
  vitest('e2e', {
    build: 'package',
    needs: ['chromium', 'vscode', 'opencodeV1', 'opencodeV2'],
    timeoutMs: minutes(60),
  }),
];

/**
 * The stories wait for VS Code most of the time, and what engine and command line are tested with uses that time, at a low priority. What drives the extension's host or OpenCode has the
 * machine to itself: they answer late beside a browser. Stages one after the other, each of rows side by side.
 */
const stages = [[['types', 'lint', 'unit', 'git'], ['e2e']], [['host', 'opencode']]];

export function inStages(chosen, processors) {
  if (processors < 2) return [[chosen]];
  const row = (names, yields) =>
    chosen.filter(({ name }) => names.includes(name)).map((suite) => ({ ...suite, yields }));
  return stages.map((rows) => rows.map((names) => row(names, rows.length > 1 && !names.includes('e2e'))));
}

export const usage = () =>
  `Usage: npm test [-- SUITE...] [--desktop] [--verbose]. Suites: ${suites.map((suite) => suite.name).join(', ')}`;

/** Suites by name, in the order of the table; an unknown name is an error that lists the known ones. */
export function choose(names) {
  const unknown = names.filter((name) => !suites.some((suite) => suite.name === name));
  if (unknown.length > 0) throw new Error(`Unknown suite: ${unknown.join(', ')}. ${usage()}`);
  return names.length === 0 ? suites : suites.filter((suite) => names.includes(suite.name));
}
