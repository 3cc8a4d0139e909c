import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { shell } from '../rig/script';
import { Desk, generations, Machine, view } from './story-desk';

const packages = 30;
const perPackage = 100;
/** Repositories inside the repository: one with a commit, one without. */
const nested = ['vendor/parser', 'vendor/lexer'];
const inNested = 50;
const all = packages * perPackage + nested.length * inNested;

const paths = [
  ...Array.from({ length: packages }, (_, p) =>
    Array.from({ length: perPackage }, (_, f) => `packages/p${p}/src/f${f}.js`),
  ).flat(),
];
const nestedPaths = nested.flatMap((folder) => Array.from({ length: inNested }, (_, f) => `${folder}/f${f}.js`));

/** Thousands of files on a machine that is busy with other tests. */
const patience = 100_000;

/** Every byte of a folder, in one word. */
const digest = (folder: string): string => {
  const hash = createHash('sha256');
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort())
    if (lstatSync(join(folder, name)).isFile()) hash.update(name).update(readFileSync(join(folder, name)));
  return hash.digest('hex');
};

/** A large repository with others inside it, and a power cut in the middle of a restore. */
describe.each(generations)(`${all.toLocaleString('en')} files, on OpenCode %s`, (generation) => {
  let desk: Desk;

  const contents = (): Set<string> =>
    new Set([...paths, ...nestedPaths].map((path) => readFileSync(join(desk.machine.folder, path), 'utf8')));
  const journal = (): string => {
    const stores = join(desk.machine.env['XDG_DATA_HOME'] ?? '', 'opencode-checkpoints', 'workspaces');
    const [only] = readdirSync(stores);
    return join(stores, only ?? '', 'journal.json');
  };

  /** As the agent left them, whatever an attempt before this one did. */
  const swept = (): void => {
    for (const path of [...paths, ...nestedPaths])
      writeFileSync(join(desk.machine.folder, path), 'export const value = "two";\n');
  };
  /** Until the first files may have been written. Looked at often: it takes a second or two. */
  const begun = async (): Promise<void> => {
    for (const end = Date.now() + 120_000; Date.now() < end; await new Promise((next) => setTimeout(next, 5)))
      if (existsSync(journal()) && readFileSync(journal(), 'utf8').slice(0, 1000).includes('"phase":"applying"'))
        return;
    throw new Error('the restore never began');
  };

  beforeAll(async () => {
    const files = Object.fromEntries(paths.map((path) => [path, 'export const value = "one";\n']));
    const machine = await Machine.start({ generation, files });
    const config = join(machine.env['XDG_CONFIG_HOME'] ?? '', 'opencode-checkpoints', 'config.json');
    await mkdir(dirname(config), { recursive: true });
    // So many files on a busy machine: an agent may wait longer than usual.
    await writeFile(config, JSON.stringify({ captureBudget: '60 s' }));
    for (const path of nestedPaths) {
      await mkdir(dirname(join(machine.folder, path)), { recursive: true });
      await writeFile(join(machine.folder, path), 'export const value = "one";\n');
    }
    const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.invalid'];
    const git = (folder: string, ...args: string[]): void =>
      void execFileSync('git', [...identity, ...args], { cwd: join(machine.folder, folder) });
    for (const folder of nested) git(folder, 'init', '-q', '-b', 'main');
    git(nested[0] ?? '', 'add', '-A');
    git(nested[0] ?? '', 'commit', '-qm', 'Parser');
    desk = await Desk.start('crash', machine, { settings: { 'git.enabled': false } });
    await desk.workbench.openContainer(view);
  });
  afterAll(async () => {
    await desk?.stop();
  });
  afterEach(({ task }) => desk.shotOfFailure(task));

  it('are all changed by one command of the agent, in all repositories', async () => {
    const { workbench, opencode } = desk;
    await workbench.command('Checkpoints: Create Named Checkpoint…');
    await workbench.answer('Before the sweep');
    await workbench.row(view, 'Before the sweep').waitFor();
    const conversation = await opencode.createSession('The sweep');
    const prompt = 'Replace one by two everywhere';
    await opencode.turn(conversation, prompt, [
      {
        text: 'In one go.',
        tools: [shell(`find packages vendor -name '*.js' -print0 | xargs -0 sed -i 's/"one"/"two"/'`)],
      },
      { text: 'Done.' },
    ]);
    const point = await desk.point(
      ({ trigger, turn }) => trigger === 'idle' && turn?.prompt === prompt,
      'the end of the turn',
    );
    expect(point.files).toMatchObject({ added: 0, modified: all, deleted: 0, skipped: [], partial: [] });
    expect(contents()).toEqual(new Set(['export const value = "two";\n']));
    await workbench.expand(view, /^The sweep/);
    await workbench.row(view, new RegExp(`^Replace one by two…\\s*${all.toLocaleString('en')} files`)).waitFor();
    await desk.shot('1-turn');
  });

  it('are restored although everything dies in the middle, and it is said', async () => {
    const { workbench, opencode, machine } = desk;
    swept();
    const repositories = nested.map((folder) => digest(join(machine.folder, folder, '.git')));
    await workbench.command('Checkpoints: Restore Checkpoint…');
    await workbench.pick(/Before the sweep/);
    expect(await workbench.modalText()).toContain(`${all.toLocaleString('en')} files will be written.`);
    await desk.shot('2-restore');
    const hosts = desk.extensionHosts();
    await workbench.modalClick('Restore');
    // The battery is empty as soon as the first files are being written.
    await begun();
    for (const pid of hosts) process.kill(pid, 'SIGKILL');
    expect(existsSync(journal())).toBe(true);
    await opencode.kill();
    // VS Code starts its extensions anew by itself: that is the next start.
    await workbench
      .notification(/A restore had been interrupted, and is finished now: [\d,]+ files? written/)
      .waitFor({ timeout: patience });
    await desk.shot('3-said');
    await opencode.start();
    expect(existsSync(journal())).toBe(false);
    expect(contents()).toEqual(new Set(['export const value = "one";\n']));
    expect(nested.map((folder) => digest(join(machine.folder, folder, '.git')))).toEqual(repositories);
    // It can be undone like any other.
    await workbench.notificationClick('A restore had been interrupted', 'Undo');
    await workbench.notification(`Undone: ${all.toLocaleString('en')} files written.`).waitFor({ timeout: patience });
    expect(contents()).toEqual(new Set(['export const value = "two";\n']));
  });

  it('are restored although the command line is killed', async () => {
    const { machine } = desk;
    swept();
    const trap = join(machine.opencode.home, 'trap.cjs');
    await writeFile(
      trap,
      `const fs = require('node:fs');
       const real = fs.renameSync;
       let left = 1000;
       fs.renameSync = (...args) => {
         if (String(args[1]).startsWith(${JSON.stringify(`${machine.folder}/`)}) && --left === 0) process.kill(process.pid, 'SIGKILL');
         return real(...args);
       };`,
    );
    const died = await machine.run(['restore', 'Before the sweep', '--yes'], { NODE_OPTIONS: `--require ${trap}` });
    expect(died.code).toBe(null);
    expect(existsSync(journal())).toBe(true);
    const next = await machine.run(['list', '--limit', '1']);
    expect(next.stderr).toMatch(
      new RegExp(`^A restore that had been interrupted was finished: ${all} files written, 0 deleted\\.\n`),
    );
    expect(contents()).toEqual(new Set(['export const value = "one";\n']));
    expect((await machine.run(['doctor', '--json'])).stdout).toContain('"problems":[]');
  });
});
