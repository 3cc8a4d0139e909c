import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { until } from '../rig/opencode';
import type { Permissions } from '../rig/opencode-config';
import { call, write } from '../rig/script';
import { generations } from './gateway-fixture';
import { PluginRig } from './plugin-fixture';

const allowedAgent = {
  v1: { agent: { build: { permission: { '*': 'allow' } } } },
  v2: { agents: { build: { permissions: [{ action: '*', resource: '*', effect: 'allow' }] } } },
};

describe.each(generations)("the user's own rules on OpenCode %s", (generation) => {
  const rules: Array<[string, Permissions, Record<string, unknown>, boolean]> = [
    ['ask where an agent may do everything', { '*': 'allow' }, allowedAgent[generation], true],
    ['keep a restore from the agent', { '*': 'allow', 'checkpoint_*': 'deny' }, {}, false],
  ];
  it.each(rules)('%s', async (_, permissions, config, asks) => {
    const rig = await PluginRig.start({ generation, files: { 'a.txt': 'one\n' }, permissions, config });
    try {
      const { server } = rig;
      const session = await server.createSession('Rules');
      await server.turn(session, 'change it', [{ tools: [write('a.txt', 'two\n')] }, { text: 'Changed.' }]);
      const [first] = await rig.list(session);
      const back = call('checkpoint_restore', { checkpoint: first?.id, scope: 'files' });
      await server.prompt(session, 'take it back', [{ tools: [back] }, { text: 'Stopped.' }]);
      const seen = await until(
        async () => {
          const [question] = await server.permissions(session);
          if (question) return question;
          return (await server.messages(session)).some(({ text }) => text === 'Stopped.') && 'never asked';
        },
        60_000,
        () => 'neither asked nor answered',
      );
      expect(seen).toEqual(asks ? expect.objectContaining({ action: 'checkpoint_restore' }) : 'never asked');
      if (typeof seen !== 'string') await server.answer(session, seen.id, 'reject');
      await server.idle(session);
      expect(await readFile(join(server.workspace, 'a.txt'), 'utf8')).toBe('two\n');
    } finally {
      await rig.dispose();
    }
  });
});
