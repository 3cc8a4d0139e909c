import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../rig/opencode';
import { called, shell, subagent, write } from '../rig/script';
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

  it('looks for what a running command writes though a call of another session has the same id', async () => {
    const { server } = rig;
    const id = `functions.${generation === 'v1' ? 'bash' : 'shell'}:0`;
    const first = await server.createSession('Numbered calls');
    const second = await server.createSession('Numbered calls, too');
    await server.prompt(first, 'a slow numbered command', [
      {
        tools: [called(id, shell(`touch n-started; ${waitFor('n-go')}; echo v1 > n-late.txt`)), write('n.txt', '0\n')],
      },
      { tools: [write('n.txt', '1\n')] },
      { tools: [write('n.txt', '2\n')] },
      { text: 'Done.' },
    ]);
    await appears('n-started');
    await server.turn(second, 'a quick numbered command', [
      { tools: [called(id, shell('echo q > n-quick.txt'))] },
      { text: 'Done.' },
    ]);
    await rig.eventually(second, (all) => all.at(-1)?.trigger === 'idle', 'the other idle point');
    await writeFile(join(server.workspace, 'n-go'), '');
    await server.idle(first);
    const points = await rig.eventually(first, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
    const before = points.filter(({ cause }) => cause?.paths.includes('n.txt'));
    expect(await rig.at(before.at(-1), 'n.txt')).toBe('1\n');
    expect(await rig.at(before.at(-1), 'n-late.txt')).toBe('v1\n');
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

  it("counts a sub-agent's calls to the step that delegated them, also when the next prompt is waiting", async () => {
    const { server } = rig;
    const session = await server.createSession('Waiting');
    server.model.on('slow errand', [
      { text: 'Slowly.', hangMs: 3000, tools: [write('i.txt', '1\n')] },
      { tools: [write('i.txt', '2\n')] },
      { text: 'Errand done.' },
    ]);
    await server.prompt(session, 'the outer first', [
      { tools: [write('o.txt', '1\n')] },
      { tools: [subagent('slow errand')] },
      { text: 'First done.' },
    ]);
    await until(
      () => server.model.requests.some(({ prompt }) => prompt.includes('slow errand')),
      60_000,
      () => 'the sub-agent never began',
    );
    server.model.on('the outer second', [{ text: 'Second done.' }]);
    if (generation === 'v1') {
      const parts = [{ type: 'text', text: 'the outer second' }];
      await server.call('POST', `/session/${session}/prompt_async`, { parts });
    } else await server.call('POST', `/api/session/${session}/prompt`, { text: 'the outer second' });
    await until(
      async () => (await server.messages(session)).some(({ text }) => text === 'Second done.'),
      60_000,
      () => 'the second prompt never ran',
    );
    // What it finds at its end would else be the next test's.
    await server.idle(session);
    const points = await rig.list(session);
    const inner = points.filter(({ metadata }) => metadata['subagent'] !== undefined);
    // The prompt and the write came before the step that delegates.
    expect(inner.map((point) => point.session?.messageCount)).toEqual(inner.map(() => 2));
    expect(new Set(inner.map(({ turn }) => turn?.prompt))).toEqual(new Set(['the outer first']));
    expect(new Set(inner.map(({ turn }) => turn?.number))).toEqual(new Set([1]));
    expect(await rig.at(inner.at(-1), 'i.txt')).toBe('1\n');
  });

  it("keeps a turn apart from the one that OpenCode's own undo took back", async () => {
    const { server } = rig;
    const session = await server.createSession('Taken back');
    // Of this try alone: what is there already would be no change.
    const file = (name: string): string => `${session}/${name}.txt`;
    await server.turn(session, 'turn one', [{ tools: [write(file('one'), '1\n')] }, { text: 'One.' }]);
    await rig.eventually(session, (all) => all.at(-1)?.trigger === 'idle', 'the first idle point');
    const second = await server.turn(session, 'turn two', [{ tools: [write(file('two'), '2\n')] }, { text: 'Two.' }]);
    await rig.eventually(session, (all) => all.length === 4, 'the second idle point');
    if (generation === 'v1') await server.call('POST', `/session/${session}/revert`, { messageID: second });
    else await server.call('POST', `/api/session/${session}/revert/stage`, { messageID: second, files: true });
    const third = await server.turn(session, 'turn three', [
      { tools: [write(file('three'), '3\n')] },
      { tools: [write(file('three'), '4\n')] },
      { text: 'Three.' },
    ]);
    const points = await rig.eventually(session, (all) => all.length === 7, 'the third idle point');
    expect(points.map(({ trigger, turn }) => [trigger, turn?.number, turn?.prompt])).toEqual([
      ['turn', 1, 'turn one'],
      ['idle', 1, 'turn one'],
      ['turn', 2, 'turn two'],
      ['idle', 2, 'turn two'],
      ['turn', 2, 'turn three'],
      ['tool', 2, 'turn three'],
      ['idle', 2, 'turn three'],
    ]);
    expect(points.slice(2).map(({ turn }) => turn?.messageId)).toEqual([second, second, third, third, third]);
    const { deleted, restored } = await rig.open((workspace) => workspace.revertTurn(points.at(-1)?.id ?? ''));
    expect([deleted, restored]).toEqual([[file('three')], []]);
  });
});
