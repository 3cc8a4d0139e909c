import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { edit, shell, write } from '../rig/script';
import { generations } from './gateway-fixture';
import { PluginRig } from './plugin-fixture';

/** A git that is in trouble, when it is asked for checkpoints, as long as the file `trouble` is there. */
async function troubledGit(words: string, what: string): Promise<{ folder: string; trouble: string; PATH: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'troubled-git-'));
  const trouble = join(folder, 'trouble');
  const real = (await promisify(execFile)('sh', ['-c', 'command -v git'])).stdout.trim();
  const bin = join(folder, 'bin');
  await mkdir(bin);
  const wait = `case "$*" in *"${words}"*) while [ -e ${trouble} ]; do ${what}; done ;; esac`;
  await writeFile(join(bin, 'git'), `#!/bin/sh\n${wait}\nexec ${real} "$@"\n`);
  await chmod(join(bin, 'git'), 0o755);
  return { folder, trouble, PATH: bin + delimiter + (process.env['PATH'] ?? '') };
}

describe.each(generations)('what cannot be done in time on OpenCode %s', (generation) => {
  it('holds up neither a turn nor a compaction when git hangs', async () => {
    // As on a drive that is gone.
    const { folder, trouble, PATH } = await troubledGit('safe.directory=*', 'sleep 0.2');
    await writeFile(trouble, '');
    const rig = await PluginRig.start({ generation, files: { 'a.txt': 'one\n' }, env: { PATH } });
    try {
      const { server } = rig;
      const session = await server.createSession('Hanging');
      await server.turn(session, 'work all the same', [{ tools: [write('a.txt', 'two\n')] }, { text: 'Done.' }]);
      expect(await readFile(join(server.workspace, 'a.txt'), 'utf8')).toBe('two\n');
      await server.compact(session);
      await rm(trouble);
      await server.turn(session, 'work on', [{ tools: [write('a.txt', 'three\n')] }, { text: 'Done.' }]);
      const points = await rig.eventually(session, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
      const turn = points.findLast(({ trigger }) => trigger === 'turn');
      expect(turn?.title).toBe('work on');
      expect(await rig.at(turn, 'a.txt')).toBe('two\n');
      // What was begun while git hung was finished afterwards, and says so.
      expect(points[0]).toMatchObject({ trigger: 'turn', title: 'work all the same', metadata: { late: true } });
    } finally {
      await rm(trouble, { force: true });
      await rig.dispose();
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('looks for what a command did, also when the point before it could not be made', async () => {
    const { folder, trouble, PATH } = await troubledGit('hooksPath', 'exit 128');
    const rig = await PluginRig.start({ generation, files: { 'a.txt': 'one\n', 'b.txt': 'bee\n' }, env: { PATH } });
    try {
      const { server } = rig;
      const session = await server.createSession('Broken for a moment');
      await server.turn(session, 'a command while git is broken', [
        { tools: [write('a.txt', 'two\n')] },
        { tools: [write(trouble, '')] },
        { tools: [shell(`rm ${trouble}; echo shelled > b.txt`)] },
        { tools: [edit('a.txt', 'two', 'three')] },
        { text: 'Done.' },
      ]);
      const points = await rig.eventually(session, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
      const before = points.findLast(({ cause }) => cause?.paths.includes('a.txt') === true);
      expect(await rig.at(before, 'a.txt')).toBe('two\n');
      expect(await rig.at(before, 'b.txt')).toBe('shelled\n');
    } finally {
      await rig.dispose();
      await rm(folder, { recursive: true, force: true });
    }
  });
});
