import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { until } from '../rig/opencode';
import { call, edit, shell, write } from '../rig/script';
import { generations } from './gateway-fixture';
import { News } from './news';
import { PluginRig } from './plugin-fixture';

describe.each(generations)('a broken store under a running OpenCode %s', (generation) => {
  it.each([
    ['objects', false],
    ['refs', true],
  ])(
    'whose %s are gone (a file in their place: %s) is told once, with the way out, which works',
    async (part, file) => {
      const rig = await PluginRig.start({ generation, files: { 'a.txt': 'one\n' } });
      const { server } = rig;
      const news = new News(server);
      const content = (path: string): Promise<string> => readFile(join(server.workspace, path), 'utf8');
      try {
        await news.listen();
        const session = await server.createSession('Broken');
        await server.turn(session, 'while it is whole', [{ tools: [write('a.txt', 'two\n')] }, { text: 'Done.' }]);
        await rig.eventually(session, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
        const folder = join(await rig.open((workspace) => Promise.resolve(workspace.folder)), 'snapshots.git', part);
        await rm(folder, { recursive: true, maxRetries: 5 });
        if (file) await writeFile(folder, 'something else');

        await server.turn(session, 'on a broken store', [
          { tools: [write('a.txt', 'three\n')] },
          { tools: [edit('a.txt', 'three', 'four'), shell('echo b > b.txt')] },
          { tools: [call('checkpoint_create', { name: 'impossible' })] },
          { text: 'Done.' },
        ]);
        expect(rig.answers().at(-1)).toContain('doctor --repair, or Run Doctor in VS Code');
        await server.turn(session, 'still broken', [{ tools: [write('a.txt', 'five\n')] }, { text: 'Done.' }]);
        expect([await content('a.txt'), await content('b.txt')]).toEqual(['five\n', 'b\n']);
        const told = await until(
          async () => (await news.said()).length > 0 && news.said(),
          20_000,
          () => 'nobody was told',
        );
        expect(told).toEqual([expect.stringContaining('doctor --repair')]);

        await rig.open((workspace) => workspace.doctor({ repair: true }));
        // After a failure to open the next attempt is made some seconds later.
        await until(
          async () => {
            await server.turn(session, 'try again', [
              { tools: [call('checkpoint_create', { name: 'possible again' })] },
              { text: 'Done.' },
            ]);
            return rig.answers().at(-1)?.includes('Checkpoint created') === true;
          },
          60_000,
          () => `it never worked again: ${rig.answers().at(-1)}`,
        );
        await server.turn(session, 'mended', [
          { tools: [write('a.txt', 'six\n')] },
          { tools: [write('a.txt', 'seven\n')] },
          { tools: [call('checkpoint_stats')] },
          { text: 'Done.' },
        ]);
        expect(rig.answers().at(-1)).not.toContain('Problem');
        const points = await rig.eventually(session, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
        const last = points.slice(-2);
        expect(await Promise.all(last.map((point) => rig.at(point, 'a.txt')))).toEqual(['six\n', 'seven\n']);
        expect(await news.said()).toHaveLength(1);
      } finally {
        news.close();
        await rig.dispose();
      }
    },
  );
});
