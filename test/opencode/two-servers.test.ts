import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anchorNow } from '../../src/core/anchors';
import { GatewayConversation } from '../../src/core/conversation';
import { currentSession } from '../../src/core/current-session';
import { Connector } from '../../src/opencode/connect';
import { serviceFile } from '../../src/opencode/discovery';
import { openWorkspace } from '../../src/git/open';
import { startOpenCode, type Generation, type OpenCode } from '../rig/opencode';
import { gatewayTo } from './gateway-fixture';

/** OpenCode 1 in a terminal of the window, OpenCode 2 in the background, nothing named: each has the sessions that it has. */
describe('a server of each generation for one folder', () => {
  const servers = {} as Record<Generation, OpenCode>;
  let connector: Connector;
  const lines: string[] = [];

  beforeAll(async () => {
    // On the same data: OpenCode 2 takes over what OpenCode 1 has, while that goes on.
    servers.v1 = await startOpenCode({ generation: 'v1', files: { 'a.txt': 'one\n' } });
    servers.v2 = await startOpenCode({ generation: 'v2', sharing: servers.v1 });
    // As the background service writes itself down.
    const file = serviceFile(servers.v2.env);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, JSON.stringify({ url: servers.v2.url, password: servers.v2.password }));
    connector = new Connector({
      root: servers.v2.workspace,
      terminalPort: Number(new URL(servers.v1.url).port),
      opencodePath: servers.v1.binary,
      env: { ...servers.v2.env, OPENCODE_PASSWORD: '', OPENCODE_SERVER_PASSWORD: servers.v1.password },
      stateFolder: join(servers.v2.home, 'servers'),
      log: (line) => lines.push(line),
    });
  });
  afterAll(async () => {
    await connector?.close();
    await servers.v2?.dispose();
    await servers.v1?.dispose();
  });

  it('takes the one of the terminal, says so, and knows of both', async () => {
    expect((await connector.gateway()).generation).toBe('v1');
    expect(lines.join('\n')).toMatch(/OpenCode 1\.\S+ at \S+ is used: a terminal of this window runs it/);
    expect((await connector.allRunning()).map(({ generation }) => generation)).toEqual(['v1', 'v2']);
  });

  it.each(['v1', 'v2'] as const)('goes back to a conversation of %s on the server that has it', async (generation) => {
    const server = servers[generation];
    const direct = await gatewayTo(server);
    const session = await server.createSession('Here');
    await server.turn(session, `say ${generation}`);
    const talk = new GatewayConversation(
      server.workspace,
      () => connector.gateway(),
      null,
      () => connector.allRunning(),
    );
    const workspace = await openWorkspace({
      directory: server.workspace,
      home: join(servers.v2.home, 'data', 'opencode-checkpoints'),
      conversation: () => talk,
    });
    try {
      const anchor = anchorNow(await direct.get(session), await direct.messages(session));
      const point = await workspace.create({ session: anchor });
      expect((await connector.gatewayOf(session)).generation).toBe(generation);
      // The conversation that is going on is the one that somebody last wrote in, wherever that is.
      expect(await currentSession(() => connector.allRunning(), server.workspace)).toEqual(anchor);
      expect(await talk.exportSession(session, null)).toMatchObject({
        generation,
        document: { info: { id: session } },
      });
      expect((await workspace.plan(point.id, { scope: ['conversation'] })).conversation).toEqual({
        session,
        messageCount: 2,
        currentCount: 2,
      });
      const { session: made } = await workspace.restore(point.id, { scope: ['conversation'] });
      expect((await direct.list(server.workspace)).map(({ id }) => id)).toContain(made?.id);
      const terminal = connector.terminal(made?.id ?? '', server.workspace);
      // The program that is named here is OpenCode 1.
      if (generation === 'v1') expect((await terminal).args).toContain(servers.v1.url);
      else await expect(terminal).rejects.toMatchObject({ reason: 'not-supported', details: { session: made?.id } });
      const gone = { ...anchor, id: 'ses_0000000000000000000000000' };
      const lost = await workspace.create({ session: gone });
      await expect(connector.gatewayOf(gone.id)).rejects.toMatchObject({ reason: 'session-missing' });
      await expect(workspace.plan(lost.id, { scope: ['conversation'] })).rejects.toMatchObject({
        reason: 'session-missing',
        message: expect.stringMatching(/Asked: OpenCode 1\S* at \S+ and OpenCode 2\S* at \S+\.$/) as string,
      });
      // An agent at work in either of them is at work in this folder.
      await server.prompt(session, `work in ${generation}`, [{ text: 'Working.', hangMs: 120_000 }]);
      await expect(workspace.restore(point.id)).rejects.toMatchObject({ reason: 'session-busy' });
      // And is stopped there.
      await connector.interrupt(session);
      expect(await direct.busy(session)).toBe('idle');
    } finally {
      await workspace.close();
    }
  });
});
