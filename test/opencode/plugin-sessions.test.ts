import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../rig/opencode';
import { shell, subagent, write } from '../rig/script';
import { generations } from './gateway-fixture';
import { PluginRig } from './plugin-fixture';

describe.each(generations)('several at work on OpenCode %s', (generation) => {
  let rig: PluginRig;
  beforeAll(async () => {
    rig = await PluginRig.start({ generation, files: { 'a.txt': 'one\n' } });
  });
  afterAll(() => rig.dispose());

  const waitFor = (file: string): string => `while [ ! -e ${file} ]; do sleep 0.1; done`;
  const appears = (file: string): Promise<unknown> =>
    until(
      () => existsSync(join(rig.server.workspace, file)),
      60_000,
      () => `${file} never came`,
    );

  it('looks for what a running command writes, whatever other sessions do', async () => {
    const { server } = rig;
    const first = await server.createSession('With a command');
    const second = await server.createSession('Quick');
    await server.prompt(first, 'a slow command', [
      { tools: [shell(`touch started; ${waitFor('go')}; echo v1 > late.txt`), write('w.txt', '0\n')] },
      { tools: [write('w.txt', '1\n')] },
      { tools: [write('w.txt', '2\n')] },
      { text: 'Done.' },
    ]);
    await appears('started');
    await server.turn(second, 'a quick question', [{ text: 'Answered.' }]);
    await server.turn(second, 'a quick change', [{ tools: [write('quick.txt', 'q\n')] }, { text: 'Done.' }]);
    await rig.eventually(second, (all) => all.at(-1)?.trigger === 'idle', 'the other idle point');
    await writeFile(join(server.workspace, 'go'), '');
    await server.idle(first);
    const points = await rig.eventually(first, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
    const last = points.findLast(({ cause }) => cause?.paths.includes('w.txt'));
    expect(await rig.at(last, 'w.txt')).toBe('1\n');
    expect(await rig.at(last, 'late.txt')).toBe('v1\n');
  });

  it('looks for what a running command writes after a sub-agent beside it has ended', async () => {
    const { server } = rig;
    const session = await server.createSession('Side by side');
    server.model.on('short errand', [{ tools: [write('e1.txt', '1\n')] }, { text: 'Errand done.' }]);
    server.model.on('long errand', [
      { text: 'Slowly.', hangMs: 4000, tools: [write('e2.txt', '1\n')] },
      { text: 'Slowly.', hangMs: 2000, tools: [write('e3.txt', '1\n')] },
      { tools: [write('e4.txt', '1\n')] },
      { text: 'Errand done.' },
    ]);
    const command = shell(`${waitFor('e2.txt')}; echo s > shelled.txt; ${waitFor('e4.txt')}`);
    await server.turn(session, 'three things at once', [
      { tools: [subagent('short errand'), subagent('long errand'), command] },
      { text: 'Done.' },
    ]);
    const points = await rig.eventually(session, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
    const before = points.find(({ cause }) => cause?.paths.includes('e4.txt'));
    expect(await rig.at(before, 'e3.txt')).toBe('1\n');
    expect(await rig.at(before, 'shelled.txt')).toBe('s\n');
  });
});
