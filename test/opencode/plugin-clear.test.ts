import { join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until, type Permission } from '../rig/opencode';
import { call, write } from '../rig/script';
import { generations } from './gateway-fixture';
import { PluginRig } from './plugin-fixture';

describe.each(generations)('/checkpoint clear on OpenCode %s', (generation) => {
  let rig: PluginRig;
  beforeAll(async () => {
    rig = await PluginRig.start({ generation, files: { 'a.txt': 'one\n' } });
  });
  afterAll(() => rig.dispose());

  /** Types the command; the scripted agent does what its text tells. Returns when the user is asked, or the turn is over. */
  async function clear(session: string): Promise<Permission | null> {
    const { server } = rig;
    server.model.on('/checkpoint clear', [
      { tools: [call('checkpoint_delete', { all: true })] },
      { text: 'Cleared or not.' },
    ]);
    const before = (await server.messages(session)).length;
    if (generation === 'v1')
      // Answered when the turn is over, which waits for the user; a failure shows in there being no turn.
      server
        .call('POST', `/session/${session}/command`, { command: 'checkpoint', arguments: 'clear' })
        .catch(() => undefined);
    else await server.call('POST', `/api/session/${session}/command`, { name: 'checkpoint', text: 'clear' });
    const seen = await until(
      async () => {
        const [question] = await server.permissions(session);
        if (question) return question;
        const since = (await server.messages(session)).slice(before);
        return since.some(({ text }) => text === 'Cleared or not.') && 'not asked';
      },
      60_000,
      () => 'neither asked nor answered',
    );
    return typeof seen === 'string' ? null : seen;
  }

  it('asks, and deletes what was made by itself in earlier turns of this session', async () => {
    const { server } = rig;
    const other = await server.createSession('Other');
    await server.turn(other, 'other work', [{ tools: [write('o.txt', 'o\n')] }, { text: 'Done.' }]);
    const session = await server.createSession('Cleared');
    await server.turn(session, 'first work', [
      { tools: [write('a.txt', 'two\n')] },
      { tools: [write('a.txt', 'three\n')] },
      { tools: [call('checkpoint_create', { name: 'kept by name' })] },
      { text: 'Done.' },
    ]);
    await server.turn(session, 'delete the last', [
      { tools: [call('checkpoint_create', { name: 'for a moment' })] },
      { tools: [call('checkpoint_delete', { checkpoint: 'for a moment' })] },
      { text: 'Done.' },
    ]);
    // One of its own is the agent's to delete: nobody is asked.
    expect(rig.answers().at(-1)).toMatch(/^Checkpoint cp_[0-9a-z]{26} deleted$/);
    const offered = server.model.requests.at(-1)?.tools ?? [];
    expect(offered).toContain('checkpoint_delete');

    const before = await rig.list(session);
    const refused = await clear(session);
    expect(refused).toMatchObject({ action: 'checkpoint_delete' });
    await server.answer(session, refused?.id ?? '', 'reject');
    await server.idle(session);
    const ids = (await rig.list(session)).map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(before.map(({ id }) => id)));

    const others = await rig.list(other);
    const question = await clear(session);
    await server.answer(session, question?.id ?? '', 'once');
    await server.idle(session);
    const answer = rig.answers().at(-1) ?? '';
    expect(answer).toMatch(/^All checkpoints cleared for this session\.\n {2}Deleted: \d+\n/);
    expect(answer).toContain('kept by name');
    const left = await rig.list(session);
    expect(left.map(({ trigger, name }) => name ?? trigger)).toEqual(['kept by name', 'turn', 'idle']);
    expect(left[1]?.title).toBe('/checkpoint clear');
    expect(await rig.list(other)).toEqual(others);
    expect(await readFile(join(server.workspace, 'a.txt'), 'utf8')).toBe('three\n');

    // From here on first versions are counted anew, and work has its points as ever.
    await server.turn(session, 'what is first', [
      { tools: [call('checkpoint_list', { originals: true })] },
      { tools: [write('a.txt', 'four\n')] },
      { tools: [call('checkpoint_list', { originals: true })] },
      { text: 'Done.' },
    ]);
    const [none, , one] = rig.answers();
    expect(none).toBe('This session has changed no file yet.');
    expect(one).toMatch(/^First versions \(1\):[^]*\| a\.txt \| 6 bytes \|/);
    const after = await rig.eventually(session, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
    expect(await rig.at(after.at(-2), 'a.txt')).toBe('three\n');
  });

  it('refuses what is both or neither', async () => {
    const { server } = rig;
    const session = await server.createSession('Nothing to clear');
    await server.turn(session, 'wrong ways', [
      { tools: [call('checkpoint_delete', { all: true, checkpoint: 'latest' })] },
      { tools: [call('checkpoint_delete', {})] },
      { tools: [call('checkpoint_delete', { all: true })] },
      { text: 'Done.' },
    ]);
    const [both, neither, nothing] = rig.answers();
    expect(both).toContain('Name a checkpoint or say "all", not both.');
    expect(neither).toContain('"checkpoint" is missing.');
    expect(nothing).toBe('There is no automatic checkpoint of earlier turns in this session.');
  });
});
