// `npm test [-- SUITE...] [--desktop] [--verbose]`: installs what is missing, builds, runs the suites, counts.
// The last line is `N passed, N failed`; exit 0 only when nothing failed. No dependencies: it runs before `npm ci` did.
import { rm } from 'node:fs/promises';
import { availableParallelism, constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { cacheRoot, ensure } from '../rig/install.mjs';
import { checkout as root } from '../rig/install-parts.mjs';
import { makeRunFolder, suiteEnvironment } from './environment.mjs';
import { endAll, leftovers, onInterrupt, runLogged } from './processes.mjs';
import { count, fromRetries, judge, summary, table } from './results.mjs';
import { choose, inStages, usage } from './suites.mjs';

const print = (text = '') => process.stdout.write(`${text}\n`);

function parse(args) {
  const flags = args.filter((arg) => arg.startsWith('--'));
  const unknown = flags.filter((flag) => !['--desktop', '--verbose'].includes(flag));
  if (unknown.length > 0) throw new Error(`Unknown option: ${unknown.join(', ')}. ${usage()}`);
  return {
    chosen: choose(args.filter((arg) => !arg.startsWith('--'))),
    desktop: flags.includes('--desktop'),
    verbose: flags.includes('--verbose'),
  };
}

/** The process groups that run now, by their leaders; an interrupt ends them before the runner goes. */
const running = new Map();

/** Each part is looked for once per run, one after the other: an install that failed is not tried again for the next suite. */
function installer() {
  const parts = new Map();
  let last = Promise.resolve();
  const afterTheLast = (name) => {
    const part = last.then(() => ensure([name]));
    last = part.catch(() => undefined); // told to whoever asked for it
    return part;
  };
  return async (names) => {
    const found = {};
    for (const name of names) {
      if (!parts.has(name)) parts.set(name, afterTheLast(name));
      Object.assign(found, await parts.get(name));
    }
    return found;
  };
}

/** One build for all: the package, where one of the suites needs it, has all that the others need. */
function builder(runRoot, suites) {
  const script = suites.some(({ build }) => build === 'package') ? 'test/run/package.mjs' : 'esbuild.mjs';
  const log = join(runRoot, 'logs', 'build.log');
  const build = async () => {
    const options = { cwd: root, env: process.env, log, timeoutMs: 600_000 };
    const result = await runTracked(process.execPath, [script], options, runRoot);
    result.ended();
    if (result.code !== 0) throw new Error(`the build failed (node ${script}), see ${log}`);
  };
  let built;
  return (kind) => (kind === undefined ? undefined : (built ??= build()));
}

/** `ended` is called when nothing of it is left to end. */
async function runTracked(command, args, { yields, ...options }, marker) {
  let leader;
  const onStart = (id) => {
    running.set((leader = id), marker);
    // What it starts has the same priority.
    if (yields) setPriority(id, constants.priority.PRIORITY_BELOW_NORMAL);
  };
  const result = await runLogged(command, args, { ...options, onStart });
  return { ...result, ended: () => running.delete(leader) };
}

/** Runs the suite's commands in turn, each in the same temporary environment; stops at the first that fails. */
async function runCommands(suite, { runRoot, tools, desktop, verbose }) {
  const { env, marker, work, artifacts } = await suiteEnvironment(runRoot, suite.name, { cache: cacheRoot(), tools });
  const context = {
    ...{ root, desktop },
    report: join(artifacts, 'result.json'),
    retries: join(artifacts, 'retries.json'),
    log: join(artifacts, 'output.log'),
  };
  let result;
  let left = [];
  for (const [script, ...args] of suite.commands(context)) {
    const options = {
      ...{ cwd: root, log: context.log, echo: verbose, timeoutMs: suite.timeoutMs, yields: suite.yields },
      env: { ...env, ...suite.env?.(context) },
    };
    result = await runTracked(process.execPath, [script, ...args], options, marker);
    left = left.concat(await leftovers(result.leader, marker, result.timedOut ? 0 : undefined));
    await endAll(result.leader, marker);
    result.ended();
    if (result.code !== 0) break;
  }
  const tests = suite.read({ ...context, result });
  await rm(work, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  const verdict = judge(suite.name, tests, { ...result, timeoutMs: suite.timeoutMs, log: context.log, left });
  return { tests: verdict, retried: fromRetries(context.retries) };
}

async function runSuite(suite, context) {
  const started = Date.now();
  let outcome;
  try {
    const tools = await context.install((context.desktop && suite.needsOnDesktop) || suite.needs);
    await context.build(suite.build);
    outcome = await runCommands(suite, { ...context, tools });
  } catch (error) {
    outcome = { tests: judge(suite.name, [], { error }), retried: [] };
  }
  return { name: suite.name, ...outcome, seconds: (Date.now() - started) / 1000 };
}

const indent = (text, lines) =>
  text
    .trimEnd()
    .split('\n')
    .slice(0, lines)
    .map((line) => `      ${line}`)
    .join('\n');

function report({ name, tests, retried, seconds }) {
  const { passed, failed } = count(tests);
  print(`${name.padEnd(10)}${passed} passed, ${failed} failed (${seconds.toFixed(1)} s)`);
  for (const test of tests) if (!test.passed) print(`  FAILED  ${test.title}\n${indent(test.error ?? '', 30)}`);
  for (const { title, tries, errors } of retried)
    print(`  RETRIED ${title} (${tries} more)\n${indent(errors[0] ?? '', 8)}`);
}

async function main() {
  let options;
  try {
    options = parse(process.argv.slice(2));
  } catch (error) {
    print(`${error.message}\n0 passed, 1 failed`);
    return 2;
  }
  const runRoot = await makeRunFolder();
  let interrupted = false;
  onInterrupt(async (reason) => {
    interrupted = true;
    await Promise.all([...running].map(([leader, marker]) => endAll(leader, marker)));
    await rm(runRoot, { recursive: true, force: true });
    print(`\nInterrupted (${reason})\n0 passed, 1 failed`);
    process.exit(1);
  });
  const context = { ...options, runRoot, install: installer(), build: builder(runRoot, options.chosen) };
  const rows = [];
  const runRow = async (row) => {
    for (const suite of row) {
      const result = await runSuite(suite, context);
      // Its processes were ended under it; the handler above has the last word.
      if (interrupted) await new Promise(() => {});
      rows.push(result);
      report(result);
    }
  };
  for (const stage of inStages(options.chosen, availableParallelism())) await Promise.all(stage.map(runRow));
  const place = ({ name }) => options.chosen.findIndex((suite) => suite.name === name);
  rows.sort((a, b) => place(a) - place(b));
  const failed = rows.some((row) => count(row.tests).failed > 0);
  if (failed) print(`\nLogs and screenshots: ${join(runRoot, 'logs')}`);
  else await rm(runRoot, { recursive: true, force: true });
  print(`\n${table(rows)}\n\n${summary(rows)}`);
  return failed ? 1 : 0;
}

process.exitCode = await main();
