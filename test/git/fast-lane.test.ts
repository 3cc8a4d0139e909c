import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Checkpoint, SessionAnchor } from '../../src/core/model';
import type { Workspace } from '../../src/core/workspace';
import { sandbox } from './rig';
import { worker } from './worker';

const processes = worker();

const session: SessionAnchor = { id: 'ses', messageId: null, messageCount: 0, title: 'ses', parent: null };

const tool = (workspace: Workspace, path: string): Promise<Checkpoint> =>
  workspace.create({ trigger: 'tool', session, paths: [path], cause: { tool: 'write', callId: path, paths: [path] } });

const text = async (workspace: Workspace, id: string, path: string): Promise<string> =>
  Buffer.from(await workspace.cat(id, path)).toString();

const planned = async (workspace: Workspace, id: string): Promise<unknown> =>
  (await workspace.plan(id)).entries.map(({ path, action, reason }) => [path, action, reason]);

describe('a point of the fast lane', () => {
  it('has what a call wrote long after it was announced, whoever looked at all files in between', async () => {
    const box = sandbox();
    for (const name of ['asked', 'second', 'third']) box.write(`${name}.txt`, '0');
    const workspace = await box.open();
    await workspace.create({ trigger: 'turn', session });
    await tool(workspace, 'asked.txt');
    // The agent waits for the user's permission; the user makes sure, twice.
    await workspace.create({ name: 'one' });
    await workspace.create({ name: 'two' });
    box.write('asked.txt', '1');
    const point = await tool(workspace, 'second.txt');
    expect([point.files.lane, await text(workspace, point.id, 'asked.txt')]).toEqual(['paths', '1']);
    // What is over is not read again.
    await workspace.create({ trigger: 'idle', session });
    box.write('asked.txt', 'by hand');
    const next = await tool(workspace, 'third.txt');
    expect([next.files.lane, await text(workspace, next.id, 'asked.txt')]).toEqual(['paths', '1']);
  });

  it('knows files whose names every object has', async () => {
    const box = sandbox();
    for (const name of ['constructor', '__proto__', 'named.txt']) box.write(name, '0');
    const workspace = await box.open();
    await workspace.create();
    const between = await tool(workspace, 'named.txt');
    box.write('constructor', '1');
    await workspace.create();
    expect(await planned(workspace, between.id)).toEqual([['constructor', 'keep', 'uncertain']]);
    await tool(workspace, '__proto__');
    box.write('__proto__', '1');
    const point = await tool(workspace, 'named.txt');
    expect(await text(workspace, point.id, '__proto__')).toBe('1');
  });
});

it('that named nothing of the workspace is as uncertain as any other', async () => {
  const box = sandbox();
  box.write('quiet.txt', '0');
  const workspace = await box.open();
  await workspace.create();
  const outside = await tool(workspace, join(box.home, 'elsewhere.txt'));
  box.write('quiet.txt', '1');
  await workspace.create();
  expect(await planned(workspace, outside.id)).toEqual([['quiet.txt', 'keep', 'uncertain']]);
});

it('is the only one for whose sake a scan calls anything uncertain', async () => {
  const box = sandbox();
  for (const name of ['named.txt', 'quiet.txt']) box.write(name, '0');
  const workspace = await box.open();
  await workspace.create();
  await tool(workspace, 'named.txt');
  box.write('named.txt', '1');
  await workspace.create();
  box.write('quiet.txt', '1');
  expect((await workspace.create()).files).toMatchObject({ paths: ['quiet.txt'] });
  expect((await workspace.list())[0]!.files.uncertain).toBeUndefined();
});

describe('what nobody named stays uncertain at the points between', () => {
  const expected = [
    ['named.txt', 'write', undefined],
    ['quiet.txt', 'keep', 'uncertain'],
  ];

  it('when a restore has to look at the files twice', async () => {
    const box = sandbox();
    for (const name of ['quiet.txt', 'named.txt', 'out.log']) box.write(name, '0');
    const workspace = await box.open();
    await workspace.create({ name: 'with the log' });
    box.sh('rm out.log');
    await workspace.create();
    await workspace.prune();
    box.write('.gitignore', '*.log\n');
    box.write('out.log', 'ignored');
    await workspace.create();
    const between = await tool(workspace, 'named.txt');
    box.write('named.txt', '1');
    box.write('quiet.txt', '1');
    const { undo } = await workspace.restore('with the log', { paths: ['out.log'] });
    expect((await workspace.resolve(undo!)).files.uncertain).toContain('quiet.txt');
    await workspace.undo();
    expect(await planned(workspace, between.id)).toEqual(expect.arrayContaining(expected));
  });

  it('however many these are', async () => {
    const box = sandbox();
    const names = Array.from({ length: 2100 }, (_, i) => `quiet/${i}.txt`);
    for (const name of ['named.txt', 'also.txt', ...names]) box.write(name, '0');
    const workspace = await box.open();
    await workspace.create();
    const between = await tool(workspace, 'named.txt');
    await tool(workspace, 'also.txt');
    for (const name of ['named.txt', 'also.txt', ...names]) box.write(name, '1');
    await workspace.create();
    const { entries } = await workspace.plan(between.id);
    const written = entries.filter(({ action }) => action === 'write').map(({ path }) => path);
    expect([written, entries.length]).toEqual([['also.txt', 'named.txt'], 2102]);
  });

  it('when the process dies that found out', async () => {
    let killed = 0;
    for (let at = 1; ; at++) {
      const box = sandbox();
      for (const name of ['quiet.txt', 'named.txt']) box.write(name, '0');
      const workspace = await box.open();
      await workspace.create();
      const between = await tool(workspace, 'named.txt');
      box.write('named.txt', '1');
      box.write('quiet.txt', '1');
      const refs = { FAULT_UNDER: join(workspace.folder, 'snapshots.git', 'refs'), FAULT_CALLS: 'renameSync' };
      const { signal } = await processes.run(box, ['create', 'scan'], { ...refs, FAULT_AT: String(at) });
      await workspace.create();
      expect([at, await planned(workspace, between.id)]).toEqual([at, expected]);
      if (signal === null) break;
      killed += 1;
    }
    expect(killed).toBe(2);
  });
});
