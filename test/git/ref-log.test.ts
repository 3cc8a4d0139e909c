import { execFile } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Workspace } from '../../src/core/workspace';
import { checkpointRefs } from '../../src/git/lost-refs';
import { RefLog } from '../../src/git/ref-log';
import { Refs } from '../../src/git/refs';
import { sandbox, type Sandbox } from './rig';
import { worker } from './worker';

const processes = worker();
const oid = (n: number): string => n.toString(16).padStart(40, '0');
const idOf = (n: number): string => `cp_${n.toString(36).padStart(26, '0')}`;

function newLog(box: Sandbox): { log: RefLog; path: string; told: string[] } {
  const told: string[] = [];
  const path = join(box.home, '..', 'refs.log');
  return { log: new RefLog(path, checkpointRefs, (message) => told.push(message)), path, told };
}

const none = (): Map<string, string> => new Map();
const add = (log: RefLog, n: number, to = oid(n)): void => log.added([{ ref: checkpointRefs + idOf(n), to }], none);
const remove = (log: RefLog, n: number): void => log.removed([checkpointRefs + idOf(n)], none);
const living = (log: RefLog): string[] => [...log.read().living.keys()];

describe('the log of refs', () => {
  it('knows what each was last, and that what was deleted stays so, whoever was about to rename it', () => {
    const { log } = newLog(sandbox());
    for (const n of [1, 2, 3]) add(log, n);
    add(log, 2, oid(22));
    remove(log, 3);
    add(log, 3, oid(33));
    expect([...log.read().living]).toEqual([
      [idOf(1), oid(1)],
      [idOf(2), oid(22)],
    ]);
    expect([...log.read().removed]).toEqual([idOf(3)]);
  });

  it('is right after a line that was cut off, with CRLF, and with rubbish in it', () => {
    const { log, path } = newLog(sandbox());
    for (const n of [1, 2]) add(log, n);
    const whole = readFileSync(path, 'latin1');
    for (let cut = 1; cut < whole.length; cut++) {
      writeFileSync(path, whole.slice(0, cut));
      remove(log, 1);
      add(log, 3);
      expect([cut, living(log).includes(idOf(1)), living(log).at(-1)]).toEqual([cut, false, idOf(3)]);
    }
    writeFileSync(path, whole.replaceAll('\n', '\r\n'));
    appendFileSync(path, Buffer.alloc(50));
    remove(log, 2);
    expect(living(log)).toEqual([idOf(1)]);
  });

  it('that cannot be written keeps nobody from a checkpoint, and is begun anew where nothing else is lost', async () => {
    const box = sandbox();
    const workspace = await box.open();
    box.write('a.txt', 'one');
    await workspace.create({ name: 'one' });
    await workspace.close();
    const path = join(workspace.folder, 'refs.log');
    const full = (args: string[]): Promise<{ output: unknown }> =>
      processes.run(box, args, { FAULT_AT: '1', FAULT_KIND: 'ENOSPC', FAULT_UNDER: path });
    box.write('a.txt', 'two');
    await full(['create', 'two']);
    const again = await box.open();
    expect((await again.list()).map(({ name }) => name)).toEqual(['two', 'one']);
    // It lacks `two`, which is not lost by that.
    expect([existsSync(path), again.lost().refs]).toEqual([true, []]);
    await full(['delete', 'one']);
    expect([(await again.list()).map(({ name }) => name), existsSync(path)]).toEqual([['two'], false]);
    box.write('a.txt', 'three');
    await again.create({ name: 'three' });
    expect(readFileSync(path, 'latin1').match(/^\+/gm)).toHaveLength(3); // all that are there, and the new one once more
  });

  it('that cannot be written lets nothing be deleted while it alone tells what is lost', async () => {
    const box = sandbox();
    const workspace = await box.open();
    const ids: string[] = [];
    for (const name of ['one', 'two']) {
      box.write('a.txt', name);
      ids.push((await workspace.create({ name })).id);
    }
    await workspace.close();
    rmSync(join(workspace.folder, 'snapshots.git', checkpointRefs, ids[0]!));
    const path = join(workspace.folder, 'refs.log');
    // It fails as often as room is made for it.
    rmSync(join(workspace.folder, 'index.db'), { force: true });
    rmSync(join(workspace.folder, 'scan'), { recursive: true, force: true });
    const fault = { FAULT_AT: '1', FAULT_KIND: 'ENOSPC', FAULT_UNDER: path };
    const { output } = await processes.run(box, ['delete', 'two'], fault);
    expect(output).toMatchObject({ error: { reason: 'disk-full' } });
    const again = await box.open();
    await again.doctor({ repair: true });
    expect((await again.list()).map(({ name }) => name)).toEqual(['two', 'one']);
  });

  it('takes what several processes add and delete at once', async () => {
    const box = sandbox();
    const first = await box.open();
    box.write('a.txt', 'one');
    await first.create({ name: 'one' });
    await first.close();
    await Promise.all(['x', 'y', 'z'].map((who) => processes.run(box, ['many', who, '8'])));
    const workspace = await box.open();
    const made = await workspace.list();
    await Promise.all(
      [0, 1, 2].map((n) => processes.run(box, ['delete', ...made.slice(n * 4, n * 4 + 4).map(({ id }) => id)])),
    );
    const logged = new RefLog(join(workspace.folder, 'refs.log'), checkpointRefs, (message) => {
      throw new Error(message);
    }).read();
    const left = (await workspace.list()).map(({ id, files }) => [id, files.commit]);
    expect([made.length, left.length]).toEqual([25, 13]);
    expect([...logged.living].sort()).toEqual(left.sort());
  });

  it('may be lost once what it tells is held', async () => {
    const { box, workspace, ids } = await threeOf();
    for (const id of ids) rmSync(join(workspace.folder, 'snapshots.git', checkpointRefs, id));
    await workspace.prune();
    rmSync(join(workspace.folder, 'refs.log'));
    await workspace.prune();
    await workspace.doctor({ repair: true });
    expect((await workspace.list()).map(({ name }) => name)).toEqual(['three', 'two', 'one']);
    expect(box.sh(`git --git-dir='${workspace.folder}/snapshots.git' for-each-ref refs/lost`)).toBe('');
  });

  it('grows by a line for each change, and a clean-up makes it as long as there are checkpoints', async () => {
    const { workspace, ids } = await threeOf();
    const path = join(workspace.folder, 'refs.log');
    for (let n = 0; n < 20; n++) await workspace.rename(ids[0]!, `name ${n}`);
    expect(readFileSync(path, 'latin1').match(/^\+/gm)).toHaveLength(24); // the very first is written twice
    await workspace.prune();
    expect(readFileSync(path, 'latin1').match(/^\+/gm)).toHaveLength(3);
    expect(statSync(path).size).toBeLessThan(400);
  });

  it('written anew keeps what was lost a moment ago, and forgets what was deleted', async () => {
    const { workspace, ids } = await threeOf();
    const gitDir = join(workspace.folder, 'snapshots.git');
    await workspace.remove([ids[2]!]);
    rmSync(join(gitDir, checkpointRefs, ids[0]!));
    const told: string[] = [];
    const log = new RefLog(join(workspace.folder, 'refs.log'), checkpointRefs, (message) => told.push(message));
    new Refs(gitDir, log).compactLog(new Map());
    expect([living(log).sort(), log.read().removed.size, told]).toEqual([[ids[0], ids[1]], 0, []]);
  });

  it('of a hundred thousand changes is read', () => {
    const { log, path } = newLog(sandbox());
    const lines: string[] = [];
    for (let n = 0; n < 110_000; n++) lines.push(`+${checkpointRefs}${idOf(n % 10_000)} ${oid(n)}\n`);
    writeFileSync(path, lines.join(''));
    expect(log.read().living.size).toBe(10_000);
    remove(log, 5);
    expect(log.read().living.size).toBe(9_999);
  });
});

async function threeOf(): Promise<{ box: Sandbox; workspace: Workspace; ids: string[] }> {
  const box = sandbox();
  const workspace = await box.open();
  const ids: string[] = [];
  for (const name of ['one', 'two', 'three']) {
    box.write('a.txt', name);
    ids.push((await workspace.create({ name })).id);
  }
  return { box, workspace, ids };
}

describe('refs', () => {
  it('are all listed while another process packs them', async () => {
    const { workspace, ids } = await threeOf();
    const gitDir = join(workspace.folder, 'snapshots.git');
    const [first] = await workspace.list();
    // Loose, packed, loose again, many times.
    const script = `for i in $(seq 60); do git pack-refs --all --prune; for id in ${ids.join(' ')}; do echo ${first!.files.commit} > refs/checkpoints/$id.lock; mkdir -p refs/checkpoints; mv refs/checkpoints/$id.lock refs/checkpoints/$id; done; done`;
    let isRunning = true;
    const packing = promisify(execFile)('bash', ['-ec', script], { cwd: gitDir }).finally(() => (isRunning = false));
    const refs = new Refs(gitDir);
    const seen = new Set<string>();
    while (isRunning) {
      for (let n = 0; n < 200; n++) seen.add(`${refs.list(checkpointRefs).size} ${refs.names(checkpointRefs).size}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await packing;
    expect([...seen]).toEqual(['3 3']);
  });
});
