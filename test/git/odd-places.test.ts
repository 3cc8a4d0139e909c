import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Desk, useBuilt } from './cli-rig';
import { gitBytes, picture, sandbox, type Sandbox } from './rig';
import { worker } from './worker';

const program = useBuilt('cli');
const processes = worker();

describe('a workspace with odd things in it', () => {
  it('pipes and sockets are never opened, captured or touched, also where a file was', async () => {
    const box = sandbox();
    box.write('a.txt', 'a');
    box.write('b.txt', 'b');
    box.sh('mkfifo pipe');
    const server = createServer().listen(join(box.root, 'sock'));
    onTestFinished(() => void server.close());
    await new Promise((ready) => server.once('listening', ready));
    const workspace = await box.open();
    const { files } = await workspace.create({ name: 'one' });
    expect([files.paths, files.partial]).toEqual([['a.txt', 'b.txt'], []]);
    box.sh('rm a.txt && mkfifo a.txt');
    box.write('b.txt', 'changed');
    await workspace.create({ name: 'two' });
    const { restored, skipped } = await workspace.restore('one');
    expect([restored, skipped.map(({ path }) => path)]).toEqual([['b.txt'], ['a.txt']]);
    expect(['a.txt', 'pipe'].map((name) => lstatSync(join(box.root, name)).isFIFO())).toEqual([true, true]);
    expect(lstatSync(join(box.root, 'sock')).isSocket()).toBe(true);
  });

  it('times of the future, of 1970 and before hide no edit', async () => {
    const box = sandbox();
    const times = { future: 4_070_908_800, epoch: 0, before: -300_000_000 };
    const write = (text: string): void => {
      for (const [name, time] of Object.entries(times)) {
        box.write(name, text);
        utimesSync(join(box.root, name), time, time);
      }
    };
    const workspace = await box.open();
    write('one');
    await workspace.create({ name: 'one' });
    // git knows the time of the last change by the second alone.
    await new Promise((later) => setTimeout(later, 1100));
    write('two');
    expect((await workspace.create({ name: 'two' })).files.paths).toEqual(['before', 'epoch', 'future']);
    await workspace.restore('one');
    expect(Object.keys(times).map((name) => box.read(name))).toEqual(['one', 'one', 'one']);
    await workspace.undo();
    expect(Object.keys(times).map((name) => box.read(name))).toEqual(['two', 'two', 'two']);
  });

  it('is the same one when it is reached through a link', async () => {
    const box = sandbox();
    box.write('a.txt', 'a');
    const link = join(box.root, '..', 'link');
    symlinkSync(box.root, link);
    const through = await box.open({ directory: link });
    await through.create({ name: 'one' });
    box.write('a.txt', 'b');
    const direct = await box.open();
    expect([through.root, through.folder]).toEqual([direct.root, direct.folder]);
    await direct.restore('one');
    expect([box.read('a.txt'), (await through.list()).length]).toEqual(['a', 2]);
  });
});

/** Where a store's volume is another than the workspace's. */
function storeElsewhere(): Sandbox {
  const home = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'checkpoints-'));
  const box = { ...sandbox(), home };
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return box;
}

describe('a store on another volume', () => {
  it('has on its disk what brings the files back before the first of them is touched', async () => {
    const box = storeElsewhere();
    box.write('a.txt', 'old');
    const workspace = await box.open({ home: box.home });
    await workspace.create({ name: 'old' });
    box.write('a.txt', 'new');
    const trace = join(box.root, '..', 'trace');
    const preload = `--require ${join(import.meta.dirname, 'fixtures', 'trace.cjs')}`;
    const { code } = await processes.run(box, ['restore', 'old'], { TRACE: trace, NODE_OPTIONS: preload });
    expect([code, box.read('a.txt')]).toEqual([0, 'old']);
    const happened = readFileSync(trace, 'utf8').trim().split('\n');
    const [undo] = await workspace.list({ limit: 1 });
    const kept = [`snapshots.git/refs/checkpoints/${undo!.id}`, 'snapshots.git/refs/base', 'journal.json'];
    const touched = happened.indexOf(`rename ${join(box.root, 'a.txt')}`);
    for (const name of kept) {
      const path = join(workspace.folder, name);
      const [made, synced] = [
        happened.lastIndexOf(`rename ${path}`, touched),
        happened.lastIndexOf(`sync ${dirname(path)}`, touched),
      ];
      expect([name, made >= 0, made < synced, synced < touched]).toEqual([name, true, true, true]);
    }
  });

  it('is restored from by renames within the workspace, and nothing is left there, however it ends', async () => {
    const box = storeElsewhere();
    const open = () => box.open({ home: box.home });
    for (let i = 0; i < 8; i++) box.write(`in/f${i}.txt`, 'old');
    const workspace = await open();
    await workspace.create({ name: 'old' });
    const old = picture(box.root);
    for (let i = 0; i < 8; i++) box.write(`in/f${i}.txt`, 'new');
    box.write('made.txt', 'made');
    const fresh = picture(box.root);
    await workspace.restore('old');
    expect(picture(box.root)).toEqual(old);
    await workspace.undo();
    expect(picture(box.root)).toEqual(fresh);
    await workspace.close();
    const log = join(box.root, '..', 'calls');
    await processes.run(box, ['restore', 'old'], { FAULT_AT: '999999', FAULT_UNDER: box.root, FAULT_LOG: log });
    const calls = Number(readFileSync(log, 'utf8').trim().split('\n').at(-1));
    expect(calls).toBeGreaterThan(20);
    for (let at = 2; at <= calls; at += 4) {
      const before = await open();
      if (picture(box.root).has('in/f0.txt') && box.read('in/f0.txt') === 'old') await before.undo();
      expect(picture(box.root)).toEqual(fresh);
      await before.close();
      await processes.run(box, ['restore', 'old'], { FAULT_AT: String(at), FAULT_UNDER: box.root });
      const after = await open();
      const { undo } = await after.undoState();
      expect([at, picture(box.root)]).toEqual([at, undo?.restore?.operation === 'restore' ? old : fresh]);
      await after.close();
    }
  });
});

describe('settings of git that would change bytes or run programs', () => {
  it('have no say, and the ignore file that they name has', async () => {
    const desk = new Desk(program());
    onTestFinished(() => desk.dispose());
    const hook = join(desk.top, 'hook.sh');
    const fired = join(desk.top, 'fired');
    writeFileSync(hook, `#!/bin/sh\ntouch '${fired}'\ncat\n`);
    chmodSync(hook, 0o755);
    const [hooks, template] = [join(desk.top, 'hooks'), join(desk.top, 'template')];
    for (const folder of [hooks, template]) mkdirSync(folder);
    for (const name of ['post-index-change', 'reference-transaction', 'post-checkout'])
      execFileSync('cp', [hook, join(hooks, name)]);
    writeFileSync(join(template, 'evil'), '');
    writeFileSync(
      join(desk.top, 'attributes'),
      '* text=auto eol=crlf ident filter=x diff=x working-tree-encoding=UTF-16\n',
    );
    writeFileSync(join(desk.top, 'ignored'), 'private.txt\n');
    writeFileSync(join(desk.top, 'included'), `[core]\n\texcludesFile = ${join(desk.top, 'ignored')}\n`);
    const lines = {
      core: `fsmonitor=${hook};hooksPath=${hooks};autocrlf=true;attributesFile=${join(desk.top, 'attributes')};fileMode=false;symlinks=false;untrackedCache=true;preloadIndex=false;bigFileThreshold=1;logAllRefUpdates=always;ignoreCase=true`,
      init: `templateDir=${template};defaultObjectFormat=sha256`,
      protocol: 'allow=never',
      feature: 'manyFiles=true;experimental=true',
      index: 'version=4;sparse=true',
      diff: `external=${hook};noprefix=true;renames=copies;orderFile=/nowhere`,
      'filter "x"': `clean=${hook};smudge=${hook};required=true`,
      'diff "x"': `textconv=${hook}`,
      alias: `status=!${hook};diff-tree=!${hook};update-ref=!${hook}`,
      commit: 'gpgSign=true',
      user: 'useConfigOnly=true',
      safe: 'directory=;bareRepository=explicit',
      status: 'showUntrackedFiles=no',
      color: 'ui=always',
      pack: 'packSizeLimit=1',
      [`includeIf "gitdir:${desk.root}/"`]: `path=${join(desk.top, 'included')}`,
    };
    const sections = Object.entries(lines).map(
      ([name, values]) =>
        `[${name}]\n${values
          .split(';')
          .map((line) => `\t${line}\n`)
          .join('')}`,
    );
    writeFileSync(join(desk.home, '.gitconfig'), sections.join(''));
    desk.write({ 'crlf.txt': 'a\r\nb\n$Id$\n', 'run.sh': '#!/bin/sh\n', 'private.txt': 'p' });
    chmodSync(join(desk.root, 'run.sh'), 0o755);
    symlinkSync('crlf.txt', join(desk.root, 'link'));
    const before = picture(desk.root);
    const untouched = gitBytes(desk.root);
    await desk.answer(['create', 'one']);
    desk.write({ 'crlf.txt': 'other\n' });
    chmodSync(join(desk.root, 'run.sh'), 0o644);
    desk.remove('link');
    const { changes } = await desk.answer<{ changes: Array<{ path: string }> }>(['diff', 'one', '--patch']);
    expect(changes.map(({ path }) => path)).toEqual(['crlf.txt', 'link', 'run.sh']);
    await desk.answer(['restore', 'one']);
    expect(picture(desk.root)).toEqual(before);
    for (const args of [['undo'], ['redo'], ['prune'], ['stats']]) await desk.answer(args);
    expect(await desk.answer(['doctor'])).toEqual({ problems: [] });
    expect([picture(desk.root), gitBytes(desk.root), existsSync(fired)]).toEqual([before, untouched, false]);
    expect((await desk.run(['cat', 'one', 'private.txt'])).code).toBe(1);
    const [store] = readdirSync(join(desk.home, 'data/opencode-checkpoints/workspaces'));
    const gitDir = join(desk.home, 'data/opencode-checkpoints/workspaces', store!, 'snapshots.git');
    expect(existsSync(join(gitDir, 'evil'))).toBe(false);
  });
});
