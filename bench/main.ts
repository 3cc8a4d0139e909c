import { rmSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { messageOf } from './context';
import { runCourse } from './course';
import { peers } from './kinds';
import { Ledger } from './ledger';
import { describeMachine, load } from './machine';
import { type Options, parseOptions, usage } from './options';
import { hasRipgrep } from './peers/roo';
import { makeReport, printable } from './report';
import { makeTemplate } from './repository';
import { oursKind } from './ours';
import { ours } from './names';
import { judge } from './targets';

const log = (line: string): void => void process.stderr.write(line + '\n');

/** A home of its own: no setting of the user's alters what is measured, and nothing is written there. */
async function isolate(scratch: string): Promise<void> {
  const home = join(scratch, 'home');
  await mkdir(home, { recursive: true });
  await writeFile(
    join(home, '.gitconfig'),
    '[user]\n\tname = Bench\n\temail = bench@example.invalid\n[init]\n\tdefaultBranch = main\n',
  );
  for (const name of Object.keys(process.env))
    if (name.startsWith('GIT_') || name.startsWith('XDG_') || name.startsWith('OPENCODE')) delete process.env[name];
  Object.assign(process.env, { HOME: home, USERPROFILE: home, GIT_CONFIG_NOSYSTEM: '1', LC_ALL: 'C' });
}

async function bench(options: Options, scratch: string): Promise<boolean> {
  await isolate(scratch);
  const machine = await describeMachine();
  log(`load average ${machine.loadBefore.join(' ')}; git ${machine.git}; Node ${machine.node}; in ${scratch}`);
  log(`generating ${options.files} files`);
  const template = await makeTemplate(join(scratch, 'template.git'), options.files, options.seed);
  log(`${(template.bytes / 1e6).toFixed(0)} MB in ${template.files} files, head ${template.head}`);
  const ledger = new Ledger(log);
  const engines = options.peers ? [...peers, oursKind] : [oursKind];
  const bundles = dirname(process.argv[1] ?? '');
  await runCourse({ options, scratch, template, engines, ledger, log, bundles });
  ledger.gate('our engine never fails', !ledger.failures.some((failure) => failure.engine === ours));

  machine.loadAfter = load();
  const names = engines.map((kind) => kind.name);
  const ratios = judge({
    ledger,
    peers: peers.map((kind) => kind.name),
    scanning: peers.filter((kind) => kind.scans).map((kind) => kind.name),
    fsmonitor: machine.fsmonitor,
  });
  const notes = await notesOn(options);
  const report = makeReport({ options, machine, ledger, ratios, notes });
  process.stdout.write(options.json ? JSON.stringify(report, null, 2) + '\n' : printable(report, names));
  return report.gates.every((gate) => gate.ok);
}

/** What a reader of the tables must know about this run. */
async function notesOn(options: Options): Promise<string[]> {
  const notes: string[] = [];
  if (options.peers && !(await hasRipgrep()))
    notes.push('ripgrep is not installed: the search for nested repositories of roo is left out, in its favour.');
  const less = [
    [options.many, 5000, 'files'],
    [options.stored, 500, 'checkpoints'],
    [options.indexed, 10_000, 'checkpoints'],
  ] as const;
  for (const [used, named, what] of less)
    if (used !== named) notes.push(`Where a name says ${named.toLocaleString('en')}, this run had ${used} ${what}.`);
  if (options.files !== 60_000) notes.push('The targets are for 60,000 files.');
  return notes;
}

async function main(): Promise<void> {
  let options: Options;
  try {
    options = parseOptions(process.argv.slice(2));
  } catch (error) {
    log(`${messageOf(error)}\n${usage}`);
    process.exitCode = 2;
    return;
  }
  const scratch = await realpath(await mkdtemp(join(tmpdir(), 'checkpoints-bench-')));
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      rmSync(scratch, { recursive: true, force: true });
      process.exit(130);
    });
  try {
    if (!(await bench(options, scratch))) process.exitCode = 1;
  } finally {
    await rm(scratch, { recursive: true, force: true, maxRetries: 3 });
  }
}

void main();
