import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { write } from '../rig/script';
import { generations } from './gateway-fixture';
import { PluginRig } from './plugin-fixture';

describe('folders of one OpenCode v2 server', () => {
  let rig: PluginRig;
  beforeAll(async () => {
    rig = await PluginRig.start({ generation: 'v2', files: { 'a.txt': 'one\n', 'sub/c.txt': 'sea\n' } });
  });
  afterAll(() => rig.dispose());

  const sessionIn = async (directory: string): Promise<string> => {
    const body = { location: { directory }, title: directory };
    return (await rig.server.call<{ data: { id: string } }>('POST', '/api/session', body)).data.id;
  };
  const settled = (): Promise<void> => new Promise((next) => setTimeout(next, 2500));

  it('makes no points and no task for the sessions of another folder', async () => {
    const { server } = rig;
    const other = join(server.home, 'other');
    await mkdir(other);
    execFileSync('git', ['init', '-q'], { cwd: other });
    await server.turn(await server.createSession('Here'), 'hello', [{ text: 'Hello.' }]);
    await settled();
    const before = (await rig.list()).length;
    await writeFile(join(server.workspace, 'by-hand.txt'), 'by hand\n');
    const session = await sessionIn(other);
    await server.turn(session, 'work elsewhere', [{ tools: [write('o.txt', 'o\n')] }, { text: 'Done.' }]);
    await server.compact(session);
    await settled();
    expect(existsSync(join(other, 'o.txt'))).toBe(true);
    expect((await rig.list()).slice(before)).toEqual([]);
    expect(existsSync(join(server.workspace, '.opencode', 'state'))).toBe(false);
  });

  it('acts once where two folders have the same root', async () => {
    const { server } = rig;
    const session = await sessionIn(join(server.workspace, 'sub'));
    await server.turn(session, 'work below', [{ tools: [write('c.txt', 'ocean\n')] }, { text: 'Done.' }]);
    await server.compact(session);
    const compacted = await rig.eventually(session, (all) => all.at(-1)?.trigger === 'compaction', 'the compaction');
    await settled();
    expect(compacted.map(({ trigger }) => trigger)).toEqual(['turn', 'idle', 'compaction']);
    expect((await rig.list(session)).length).toBe(3);
  });
});

describe.each(generations)('links in the workspace on OpenCode %s', (generation) => {
  it('has every result of writing through them, and knows whose it is', async () => {
    const files = { 'real.txt': 'r0\n', 'sub/c.txt': 'sea\n' };
    const rig = await PluginRig.start({ generation, files });
    try {
      const { server } = rig;
      await symlink('real.txt', join(server.workspace, 'alias.txt'));
      await symlink('sub', join(server.workspace, 'linked'));
      const session = await server.createSession('Links');
      await server.turn(session, 'write through links', [
        { tools: [write('alias.txt', 'r1\n')] },
        { tools: [write('alias.txt', 'r2\n')] },
        { tools: [write('linked/c.txt', 'ocean\n')] },
        { tools: [write('linked/c.txt', 'lake\n')] },
        { text: 'Done.' },
      ]);
      const points = await rig.eventually(session, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
      const [second, third, fourth] = points.filter(({ trigger }) => trigger === 'tool');
      expect(second?.cause?.paths).toEqual(['alias.txt', 'real.txt']);
      expect(await rig.at(second, 'real.txt')).toBe('r1\n');
      expect(third?.cause?.paths).toEqual(['sub/c.txt']);
      expect(await rig.at(third, 'real.txt')).toBe('r2\n');
      expect(await rig.at(fourth, 'sub/c.txt')).toBe('ocean\n');
      const { entries } = await rig.open((workspace) => workspace.plan(points[0]?.id ?? ''));
      expect(entries).toEqual([
        { path: 'real.txt', action: 'write' },
        { path: 'sub/c.txt', action: 'write' },
      ]);
    } finally {
      await rig.dispose();
    }
  });
});
