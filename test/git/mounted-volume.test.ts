import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { picture, sandbox, type Sandbox } from './rig';
import { worker } from './worker';

const processes = worker();
const isRoot = process.getuid?.() === 0;

/** A volume of its own at a folder, which only one process and who enters its namespace sees, and which goes with it. */
async function mounted(box: Sandbox, folder: string): Promise<{ inside: string[]; root: string }> {
  mkdirSync(folder, { recursive: true });
  const mount = `mount -t tmpfs tmpfs "${folder}" && echo ready && exec cat`;
  const user = isRoot ? [] : ['--map-root-user'];
  const holder: ChildProcess = spawn('unshare', [...user, '--mount', 'sh', '-c', mount], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void holder.kill());
  await Promise.race([
    once(holder.stdout!, 'data'),
    once(holder, 'exit').then(() => {
      throw new Error('Nothing could be mounted.');
    }),
  ]);
  const pid = String(holder.pid);
  const enter = isRoot ? [] : ['--user', '--preserve-credentials'];
  return {
    inside: ['nsenter', '--target', pid, ...enter, '--mount', '--'],
    root: `/proc/${pid}/root${box.root}`,
  };
}

const long = 'n'.repeat(250);

it('restores a volume mounted in the workspace, and dies there without leaving anything', async () => {
  const box = sandbox();
  const { inside, root } = await mounted(box, join(box.root, 'volume'));
  expect(lstatSync(join(root, 'volume')).dev).not.toBe(lstatSync(root).dev);
  const run = (args: string[], env?: NodeJS.ProcessEnv): ReturnType<typeof processes.run> =>
    processes.run(box, args, env, inside);
  const put = (path: string, content: string): void => writeFileSync(join(root, 'volume', path), content);
  const isOld = (): void => {
    put('edited.txt', 'old');
    put(long, 'old');
    put('gone.txt', 'gone');
  };
  const isNew = (): void => {
    put('edited.txt', 'new');
    put(long, 'new');
  };
  isOld();
  symlinkSync('edited.txt', join(root, 'volume', 'link'));
  await run(['create', 'old']);
  const old = picture(root);
  isNew();
  for (const path of ['gone.txt', 'link']) rmSync(join(root, 'volume', path));
  await run(['create', 'new']);
  const fresh = picture(root);
  const under = { FAULT_UNDER: join(box.root, 'volume') };
  const log = join(box.home, '..', 'calls');
  expect((await run(['restore', 'old'], { ...under, FAULT_AT: '999999', FAULT_LOG: log })).code).toBe(0);
  expect(picture(root)).toEqual(old);
  const calls = Number(readFileSync(log, 'utf8').trim().split('\n').at(-1));
  expect(calls).toBeGreaterThan(4);
  const begun = new Set<string>();
  for (let at = 1; at <= calls; at++) {
    await run(['restore', 'new']);
    expect([at, picture(root)]).toEqual([at, fresh]);
    const died = await run(['restore', 'old'], { ...under, FAULT_AT: String(at) });
    expect([at, died.signal]).toEqual([at, 'SIGKILL']);
    for (const path of picture(root).keys()) if (!fresh.has(path) && !old.has(path)) begun.add(path);
    const next = await run(['create', 'after']);
    expect([at, next.code]).toEqual([at, 0]);
    expect([[...old], [...fresh]].map((one) => JSON.stringify(one))).toContain(JSON.stringify([...picture(root)]));
  }
  // The test has met what it is about.
  expect([...begun].map((path) => path.replace(/[0-9a-f]+$/, ''))).toContain('volume/.opencode-checkpoints-stage-');
});

it('dies in a restore with the store on another volume, and names nothing that was not left alone', async () => {
  const box = sandbox();
  const { inside } = await mounted(box, box.home);
  const run = (args: string[], env?: NodeJS.ProcessEnv): ReturnType<typeof processes.run> =>
    processes.run(box, args, env, inside);
  box.write('a.txt', 'old');
  box.write('d/b.txt', 'old');
  await run(['create', 'old']);
  const old = picture(box.root);
  const outcomes = new Set<string>();
  for (let at = 1; ; at++) {
    for (const path of ['a.txt', 'd/b.txt']) box.write(path, 'new');
    const died = await run(['restore', 'old'], { FAULT_UNDER: box.root, FAULT_AT: String(at) });
    const { output } = await run(['open']);
    const [recovered] = output as [{ outcome: string; kept: unknown[] } | null];
    expect([at, recovered?.kept ?? []]).toEqual([at, []]);
    if (recovered?.outcome === 'finished') expect([at, picture(box.root)]).toEqual([at, old]);
    if (died.signal !== 'SIGKILL') break;
    outcomes.add(recovered?.outcome ?? 'nothing to do');
  }
  expect(picture(box.root)).toEqual(old);
  expect([...outcomes]).toEqual(expect.arrayContaining(['rolled-back', 'finished']));
});
