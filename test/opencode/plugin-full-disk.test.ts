import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { cp, mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openWorkspace } from '../../src/git/open';
import { until, type OpenCode } from '../rig/opencode';
import { call, edit, shell, write } from '../rig/script';
import { generations } from './gateway-fixture';
import { News } from './news';
import { PluginRig } from './plugin-fixture';

/**
 * The server gets a small disk of its own for its store: a mount that only it and its children see, and that goes with it. Whoever may not mount may
 * do so in a user namespace.
 */
const smallDisk = [
  ...['unshare', '--mount', ...(process.getuid?.() === 0 ? [] : ['--map-root-user']), 'sh', '-c'],
  'disk=$XDG_DATA_HOME/opencode-checkpoints; mkdir -p "$disk" && mount -t tmpfs -o size=16m tmpfs "$disk" && exec "$@"',
  'sh',
];

/** The same disk, seen from here. */
const storeOf = (server: OpenCode): string => `/proc/${server.pid}/root${server.home}/data/opencode-checkpoints`;

/** A file that leaves no byte to anybody else. */
function fill(file: string): void {
  const chunk = Buffer.alloc(1 << 16, 7);
  const fd = openSync(file, 'w');
  try {
    for (let size = chunk.length; size > 0;) {
      try {
        writeSync(fd, chunk, 0, size);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        size >>= 1;
      }
    }
  } finally {
    closeSync(fd);
  }
}

/** Oldest first: what each point precedes, and what a.txt was then. Looked at in a copy: git leaves the way over /proc. */
async function points(server: OpenCode): Promise<Array<[string, string]>> {
  const home = await mkdtemp(join(server.home, 'seen-'));
  await cp(join(storeOf(server), 'workspaces'), join(home, 'workspaces'), { recursive: true });
  const workspace = await openWorkspace({ directory: server.workspace, home });
  try {
    const all = (await workspace.list()).reverse();
    const content = async (id: string): Promise<string> => Buffer.from(await workspace.cat(id, 'a.txt')).toString();
    return await Promise.all(
      all.map(async ({ id, trigger }) => [trigger, (await content(id)).trim()] as [string, string]),
    );
  } finally {
    await workspace.close();
  }
}

describe.each(generations)('a full disk on OpenCode %s', (generation) => {
  it('lets the agent go on, is told once, and is over when there is room again', async () => {
    const rig = await PluginRig.start({ generation, files: { 'a.txt': 'one\n' }, launcher: smallDisk });
    const { server } = rig;
    const news = new News(server);
    const file = (path: string): Promise<string> => readFile(join(server.workspace, path), 'utf8');
    try {
      await news.listen();
      const session = await server.createSession('Full');
      await server.turn(session, 'while there is room', [{ tools: [write('a.txt', 'two\n')] }, { text: 'Done.' }]);
      await until(
        async () => (await points(server)).at(-1)?.[0] === 'idle',
        30_000,
        () => 'the idle point never came',
      );
      const before = await points(server);
      expect(before).toEqual([
        ['turn', 'one'],
        ['idle', 'two'],
      ]);
      expect(await news.said()).toEqual([]);

      const filler = join(storeOf(server), 'filler');
      fill(filler);
      await server.turn(session, 'no room is left', [
        { tools: [write('a.txt', 'three\n')] },
        { tools: [edit('a.txt', 'three', 'four'), shell('echo b > b.txt')] },
        { tools: [call('checkpoint_create', { name: 'impossible' }), call('checkpoint_stats')] },
        { text: 'Done.' },
      ]);
      expect(await file('a.txt')).toBe('four\n');
      expect(await file('b.txt')).toBe('b\n');
      const [create, stats] = rig.answers().slice(-2);
      expect(create).toMatch(/disk of the store is full/);
      expect(stats).toMatch(/Problem: .*disk of the store is full/);
      await server.turn(session, 'still no room', [{ tools: [write('a.txt', 'five\n')] }, { text: 'Done.' }]);
      expect(await file('a.txt')).toBe('five\n');
      expect(await points(server)).toEqual(before);
      const told = await until(
        async () => (await news.said()).length > 0 && news.said(),
        20_000,
        () => 'nobody was told',
      );
      expect(told).toEqual([expect.stringMatching(/disk of the store is full/)]);

      rmSync(filler);
      await server.turn(session, 'there is room again', [
        { tools: [write('a.txt', 'six\n')] },
        { tools: [write('a.txt', 'seven\n')] },
        { tools: [call('checkpoint_stats')] },
        { text: 'Done.' },
      ]);
      expect(rig.answers().at(-1)).not.toContain('Problem');
      await until(
        async () => (await points(server)).at(-1)?.[0] === 'idle',
        30_000,
        () => 'the idle point never came',
      );
      expect((await points(server)).slice(before.length)).toEqual([
        ['turn', 'five'],
        ['tool', 'six'],
        ['idle', 'seven'],
      ]);
      expect(await news.said()).toHaveLength(1);
    } finally {
      news.close();
      await rig.dispose();
    }
  });
});
