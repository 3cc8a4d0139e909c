import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../rig/opencode';
import { call, shell, write, type Script } from '../rig/script';
import { generations } from './gateway-fixture';
import { PluginRig } from './plugin-fixture';

describe.each(generations)('going back by the agent on OpenCode %s', (generation) => {
  let rig: PluginRig;
  beforeAll(async () => {
    rig = await PluginRig.start({ generation, files: { 'a.txt': 'one\n' } });
  });
  afterAll(() => rig.dispose());

  const file = (path: string): Promise<string> => readFile(join(rig.server.workspace, path), 'utf8');
  const restore = (args: Record<string, unknown>): Script => [
    { tools: [call('checkpoint_restore', args)] },
    { text: 'Stopped.' },
  ];
  /** The question the user is asked, or null when the turn ended without one. */
  const asked = async (session: string): Promise<{ id: string; title: string } | null> => {
    const seen = await until(
      async () => {
        const [question] = await rig.server.permissions(session);
        if (question) return question;
        const spoken = (await rig.server.messages(session)).filter(
          ({ type }) => type === 'user' || type === 'assistant',
        );
        return spoken.at(-1)?.text === 'Stopped.' && 'none';
      },
      60_000,
      () => 'neither asked nor answered',
    );
    if (seen === 'none') return null;
    const { metadata } = seen as { metadata?: { title?: string } };
    return { id: seen.id, title: metadata?.title ?? '' };
  };

  it('leaves alone what another session is at work on', async () => {
    const { server } = rig;
    const mine = await server.createSession('Mine');
    const other = await server.createSession('Other');
    await server.turn(mine, 'my work', [{ tools: [write('a.txt', 'mine\n')] }, { text: 'Done.' }]);
    await server.prompt(other, 'long work', [
      { tools: [write('b.txt', 'theirs\n')] },
      { tools: [shell('sleep 120')] },
      { text: 'Done.' },
    ]);
    await until(
      async () => (await rig.list(other)).some(({ cause }) => cause?.tool === (generation === 'v1' ? 'bash' : 'shell')),
      30_000,
      () => 'the other session never came to its shell',
    );
    const [theirs] = await rig.list(other);
    const [own] = await rig.list(mine);
    for (const [prompt, args] of [
      ['rewind them', { checkpoint: theirs?.id }],
      ['rewind their files', { checkpoint: theirs?.id, scope: 'files' }],
      ['rewind myself', { checkpoint: own?.id }],
    ] as const) {
      await server.prompt(mine, prompt, restore(args));
      expect(await asked(mine)).toBeNull();
      await server.idle(mine);
      expect(rig.answers().at(-1)).toMatch(
        new RegExp(`Restore failed: Session ${other} is at work\\. Wait until that work has ended`),
      );
    }
    expect(await file('b.txt')).toBe('theirs\n');
    await server.interrupt(other);
    await server.prompt(mine, 'rewind when they are done', restore({ checkpoint: own?.id, scope: 'files' }));
    const question = await asked(mine);
    await server.answer(mine, question?.id ?? '', 'once');
    await server.idle(mine);
    expect(await file('a.txt')).toBe('one\n');
    expect(existsSync(join(server.workspace, 'b.txt'))).toBe(false);
  });
});
