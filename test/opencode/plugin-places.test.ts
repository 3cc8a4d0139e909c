import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { write } from '../rig/script';
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
