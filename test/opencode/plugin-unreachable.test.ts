import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, write } from '../rig/script';
import { PluginRig } from './plugin-fixture';

describe('an OpenCode 2 server that its plugin cannot reach', () => {
  let rig: PluginRig;
  let session: string;
  beforeAll(async () => {
    rig = await PluginRig.start({ generation: 'v2', unknownPassword: true, files: { 'a.txt': 'one\n' } });
    session = await rig.server.createSession('Unreachable');
  });
  afterAll(() => rig.dispose());

  const counted = async (): Promise<string[]> =>
    (await rig.server.messages(session))
      .filter(({ type }) => type === 'user' || type === 'assistant')
      .map(({ id }) => id);

  it('has the task saved at a compaction, and the points after it in their place', async () => {
    const { server } = rig;
    await server.turn(session, 'before it', [{ tools: [write('a.txt', 'two\n')] }, { text: 'Done.' }]);
    await server.compact(session);
    const compacted = await rig.eventually(session, (all) => all.at(-1)?.trigger === 'compaction', 'the compaction');
    const before = await counted();
    expect(compacted.at(-1)?.session).toMatchObject({ messageCount: before.length, messageId: before.at(-1) });
    expect(compacted.at(-1)?.task).not.toBeNull();
    expect(existsSync(join(server.workspace, '.opencode', 'state', 'checkpoint.json'))).toBe(true);
    await server.turn(session, 'after it', [
      { tools: [write('a.txt', 'three\n')] },
      { tools: [write('a.txt', 'four\n')] },
      { tools: [call('checkpoint_list')] },
      { text: 'Done.' },
    ]);
    const listed = rig.answers().at(-1);
    const points = await rig.eventually(session, (all) => all.at(-1)?.trigger === 'idle', 'the idle point');
    const after = points.slice(compacted.length);
    expect(after.map(({ trigger, turn }) => [trigger, turn?.number, turn?.prompt])).toEqual([
      ['turn', 2, 'after it'],
      ['tool', 2, 'after it'],
      ['idle', 2, 'after it'],
    ]);
    const all = await counted();
    const counts = [before.length, before.length + 2, all.length];
    expect(after.map((point) => point.session?.messageCount)).toEqual(counts);
    expect(after.map((point) => point.session?.messageId)).toEqual(counts.map((count) => all[count - 1]));
    expect(listed).toContain(after[0]?.id);
  });

  it('says the prompt, and guesses nothing, where what came before is not known', async () => {
    const { server } = rig;
    await server.stop();
    await server.start();
    const known = (await rig.list()).length;
    const prompt = await server.turn(session, 'much later', [{ tools: [write('a.txt', 'five\n')] }, { text: 'Done.' }]);
    const unplaced = async (): Promise<typeof points> => (await rig.list()).slice(known);
    let points = await rig.list();
    await expect.poll(async () => (points = await unplaced()).length, { timeout: 30_000 }).toBe(2);
    expect(points.map(({ trigger, title, session: place }) => [trigger, title, place])).toEqual([
      ['turn', 'much later', null],
      ['idle', 'Turn ended: much later', null],
    ]);
    for (const point of points) {
      expect(point.turn).toMatchObject({ number: 0, messageId: prompt, prompt: 'much later' });
      expect(point.metadata['session']).toBe(session);
    }
    await server.compact(session);
    await expect.poll(async () => (await unplaced()).at(-1)?.trigger, { timeout: 30_000 }).toBe('compaction');
  });
});
