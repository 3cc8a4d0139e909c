import { existsSync } from 'node:fs';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
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

  it('takes paths as it prints them, as the session knows them, and through links', async () => {
    const { server } = rig;
    const link = join(server.home, 'linked');
    const sub = join(server.workspace, 'sub');
    await mkdir(join(sub, 'sub'), { recursive: true });
    await writeFile(join(sub, 'c.txt'), 'outer\n');
    await symlink(server.workspace, link);
    for (const path of ['sub/d.txt', 'sub/sub/d.txt']) await writeFile(join(server.workspace, path), 'first\n');

    const below = await server.createSession('Below', sub);
    await server.turn(below, 'change all', [
      { tools: [write('c.txt', 'changed\n')] },
      { tools: [write('d.txt', 'changed\n')] },
      { tools: [write('sub/d.txt', 'changed\n')] },
      { text: 'Done.' },
    ]);
    await server.turn(below, 'compare', [
      { tools: [call('checkpoint_diff', { path: 'sub/c.txt' }), call('checkpoint_diff', { path: 'c.txt' })] },
      { tools: [call('checkpoint_diff', { from: 'latest~1', path: 'sub/c.txt' })] },
      { tools: [call('checkpoint_diff', { from: 'latest~1', path: 'nowhere.txt' })] },
      { tools: [call('checkpoint_restore', { path: 'sub/d.txt' })] },
      { tools: [call('checkpoint_diff', { path: './d.txt' })] },
      { text: 'Done.' },
    ]);
    const [printed, near, named, nowhere, both, dotted] = rig.answers();
    for (const answer of [printed, near, named]) expect(answer).toContain('M sub/c.txt +1 -1');
    expect(nowhere).toContain('nowhere.txt is neither in the checkpoint nor in the workspace.');
    expect(both).toContain(
      `sub/d.txt can be ${join(sub, 'd.txt')} or ${join(sub, 'sub/d.txt')}: name the one you mean by its whole path.`,
    );
    expect(dotted).toContain('M sub/d.txt +1 -1');

    const linked = await server.createSession('Linked', link);
    await server.turn(linked, 'change by link', [{ tools: [write('a.txt', 'by link\n')] }, { text: 'Done.' }]);
    await server.turn(linked, 'compare by link', [
      { tools: [call('checkpoint_diff', { path: 'a.txt' })] },
      { tools: [call('checkpoint_diff', { path: join(link, 'a.txt') })] },
      { tools: [call('checkpoint_diff', { path: join(server.workspace, 'a.txt') })] },
      { text: 'Done.' },
    ]);
    for (const answer of rig.answers()) expect(answer).toContain('M a.txt +1 -1');
  });
});
