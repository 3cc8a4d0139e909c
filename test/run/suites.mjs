// The suites of `npm test`, in the order they run: what each needs, how it is started, how its result is read.
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
    env: ({ report }) => ({ HOST_RESULT: report }),
    read: ({ report }) => fromHost(report),
  },
  vitest('e2e', {
    build: 'package',
    needs: ['chromium', 'vscode', 'opencodeV1', 'opencodeV2'],
    timeoutMs: minutes(60),
  }),
];

/** Suites by name, in running order; an unknown name is an error that lists the known ones. */
export function choose(names) {
  const unknown = names.filter((name) => !suites.some((suite) => suite.name === name));
  if (unknown.length > 0)
    throw new Error(`Unknown suite: ${unknown.join(', ')}. Suites: ${suites.map((suite) => suite.name).join(', ')}`);
  return names.length === 0 ? suites : suites.filter((suite) => names.includes(suite.name));
}
