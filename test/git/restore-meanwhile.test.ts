import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../src/core/model';
import type { Workspace } from '../../src/core/workspace';
import { picture, sandbox, type Sandbox } from './rig';
import { worker } from './worker';

const processes = worker();

/** A window has been open all the time; a restore of another process died half-way. */
async function halfRestored(): Promise<{ box: Sandbox; open: Workspace; safety: string }> {
  const box = sandbox();
  for (let i = 0; i < 8; i++) box.write(`f${i}.txt`, 'old');
  box.write('other.txt', 'one');
  const open = await box.open();
  await open.create({ name: 'old' });
  for (let i = 0; i < 8; i++) box.write(`f${i}.txt`, 'new');
  await open.create({ name: 'new' });
  const log = join(box.home, '..', 'calls');
  const faults = { FAULT_UNDER: join(open.folder, 'stage-'), FAULT_LOG: log };
  await processes.run(box, ['restore', 'old'], { ...faults, FAULT_AT: '999999' });
  const calls = Number(readFileSync(log, 'utf8').trim().split('\n').at(-1));
  await open.undo();
  const died = await processes.run(box, ['restore', 'old'], { ...faults, FAULT_AT: String(calls - 3) });
  expect(died.signal).toBe('SIGKILL');
  expect(contents(box)).toEqual(new Set(['old', 'new']));
  const [newest] = await open.list({ limit: 1 });
  expect(newest).toMatchObject({ trigger: 'restore', restore: null });
  return { box, open, safety: newest!.id };
}

/** Of so many files each is moved aside before the new one comes: one is on its way when the restore dies. */
async function halfMoved(): Promise<{ box: Sandbox; open: Workspace; missing: string }> {
  const box = sandbox();
  const names = Array.from({ length: 70 }, (_, i) => `f${i}.txt`);
  for (const name of names) box.write(name, 'old');
  const open = await box.open();
  await open.create({ name: 'old' });
  for (const name of names) box.write(name, 'new');
  const renames = { FAULT_UNDER: join(open.folder, 'stage-'), FAULT_CALLS: 'renameSync' };
  const died = await processes.run(box, ['restore', 'old'], { ...renames, FAULT_AT: '30' });
  expect(died.signal).toBe('SIGKILL');
  const [missing, ...others] = names.filter((name) => !existsSync(join(box.root, name)));
  expect(others).toEqual([]);
  return { box, open, missing: missing! };
}

const contents = (box: Sandbox): Set<string> => new Set(Array.from({ length: 8 }, (_, i) => box.read(`f${i}.txt`)));

const tool = (workspace: Workspace, path: string): Promise<Checkpoint> =>
  workspace.create({ trigger: 'tool', paths: [path], cause: { tool: 'write', callId: null, paths: [path] } });

const text = async (workspace: Workspace, id: string, path: string): Promise<string> =>
  Buffer.from(await workspace.cat(id, path)).toString();

describe('a restore that died while other windows are open', () => {
  it('is finished without forgetting what they captured before', async () => {
    const { box, open } = await halfRestored();
    await tool(open, 'made.txt');
    box.write('made.txt', 'made');
    box.write('other.txt', 'two');
    await open.create({ name: 'seen by a scan' });
    await tool(open, 'named.txt');
    box.write('named.txt', 'named');
    const next = await box.open();
    expect(next.recovered).toMatchObject({ outcome: 'finished', kept: [] });
    expect(contents(box)).toEqual(new Set(['old']));
    const point = await tool(open, 'last.txt');
    const then = Promise.all(['made.txt', 'other.txt', 'named.txt', 'f0.txt'].map((p) => text(open, point.id, p)));
    expect(await then).toEqual(['made', 'two', 'named', 'old']);
    expect((await open.create()).files).toMatchObject({ added: 0, modified: 0, deleted: 0, paths: [] });
  });

  it('is no secret to the point before a tool call', async () => {
    const { box, open } = await halfRestored();
    const { id } = await tool(open, 'other.txt');
    for (let i = 0; i < 8; i++) expect([i, await text(open, id, `f${i}.txt`)]).toEqual([i, box.read(`f${i}.txt`)]);
  });

  it('names what was edited since for the fast lane, too', async () => {
    const { box, open } = await halfRestored();
    await open.create({ name: 'half' });
    box.write('f3.txt', 'typed');
    expect((await box.open()).recovered?.kept.map(({ path }) => path)).toEqual(['f3.txt']);
    const point = await tool(open, 'last.txt');
    expect([await text(open, point.id, 'f3.txt'), await text(open, point.id, 'f0.txt')]).toEqual(['typed', 'old']);
  });

  it('is finished before one of them cleans up, and until then nothing is freed that it needs', async () => {
    const { box, open, missing } = await halfMoved();
    // By itself a window leaves everything as it is. It looks after the store once an hour.
    writeFileSync(join(open.folder, 'tidied.json'), JSON.stringify({ at: 0, garbage: true }));
    expect(await open.tidy()).toMatchObject({ freedBytes: 0, packed: false });
    expect(existsSync(join(box.root, missing))).toBe(false);
    await open.prune();
    expect(open.recovered).toMatchObject({ outcome: 'finished', kept: [] });
    expect(box.read(missing)).toBe('old');
    await open.undo();
    expect(box.read(missing)).toBe('new');
  });

  it('is finished before one of them restores, and can be undone like any other', async () => {
    const { box, open, safety } = await halfRestored();
    box.write('other.txt', 'two');
    const { restored } = await open.restore('old', { paths: ['other.txt'] });
    expect([restored, contents(box)]).toEqual([['other.txt'], new Set(['old'])]);
    expect(open.recovered).toMatchObject({ outcome: 'finished', safety, kept: [] });
    await open.undo();
    await open.undo();
    expect([box.read('other.txt'), contents(box)]).toEqual(['two', new Set(['new'])]);
    expect((await box.open()).recovered).toBeNull();
    expect(await open.doctor()).toEqual([]);
    expect(picture(open.folder).has('journal.json')).toBe(false);
  });
});
