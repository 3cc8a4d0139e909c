import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { shell, write } from '../rig/script';
import { PluginRig } from './plugin-fixture';

/** OpenCode 2 leaves its background service running; OpenCode 1 ends with the turn, and the plugin with it. */
describe('a turn of `opencode run`', () => {
  it('has ended for its checkpoints, too, when the program ends', async () => {
    const rig = await PluginRig.start({ generation: 'v1', files: { 'a.txt': 'one\n' }, stopped: true });
    try {
      const { server } = rig;
      server.model.on('write it', [
        { tools: [write('a.txt', 'two\n')] },
        { tools: [shell('echo done > b.txt')] },
        { text: 'Done.' },
      ]);
      // The second time nothing changes behind the command: the turn's last point has to say that it was over then.
      await server.cli('run', 'write it once');
      await writeFile(join(server.workspace, 'a.txt'), 'by hand\n');
      await server.cli('run', 'write it twice');
      const points = await rig.list();
      expect(points.map(({ trigger, turn }) => [trigger, turn?.prompt])).toEqual([
        ['turn', '"write it once"'],
        ['tool', '"write it once"'],
        ['idle', '"write it once"'],
        ['turn', '"write it twice"'],
        ['tool', '"write it twice"'],
      ]);
      expect(points.at(-1)?.metadata).toEqual({ turnEnd: points.at(-1)?.id });
    } finally {
      await rig.dispose();
    }
  });
});
