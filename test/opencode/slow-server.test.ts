import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anchorNow } from '../../src/core/anchors';
import type { WorkspaceApi } from '../../src/core/api';
import { GatewayConversation } from '../../src/core/conversation';
import type { Checkpoint } from '../../src/core/model';
import type { SessionGateway } from '../../src/core/sessions';
import { openWorkspace } from '../../src/git/open';
import { gatewayFor } from '../../src/opencode/connect';
import { endpoint } from '../../src/opencode/http';
import { startOpenCode, type OpenCode } from '../rig/opencode';
import { gatewayTo, generations } from './gateway-fixture';
import { standBefore, type Proxy } from './proxy';

/** A server that takes its time, for somebody who does not want to wait for it any more. */
describe.each(generations)('a restore that waits for a slow %s', (generation) => {
  let server: OpenCode;
  let proxy: Proxy;
  let direct: SessionGateway;
  let workspace: WorkspaceApi;
  let point: Checkpoint;
  let asked: () => Promise<SessionGateway>;
  /** Requests that were given up before they were answered. */
  let abandoned = 0;
  /** What happens when such a request arrives; the answer waits for it. */
  let arrives: (request: string) => Promise<void> | void = () => undefined;
  const file = (): string => join(server.workspace, 'a.txt');

  beforeAll(async () => {
    server = await startOpenCode({ generation, files: { 'a.txt': 'one\n' } });
    proxy = await standBefore(server.url, async ({ method, url }, outgoing) => {
      outgoing.once('close', () => (abandoned += outgoing.writableEnded ? 0 : 1));
      await arrives(`${method} ${url}`);
      return true;
    });
    direct = await gatewayTo(server);
    const target = { endpoint: endpoint(proxy.url, server.password), generation, version: direct.version };
    const gateway = gatewayFor(target, { opencodePath: server.binary, env: server.env });
    asked = () => Promise.resolve(gateway);
    workspace = await openWorkspace({
      directory: server.workspace,
      home: join(server.home, 'data', 'opencode-checkpoints'),
      conversation: (_folder, root) => new GatewayConversation(root, asked, null, async () => [await asked()]),
    });
    const session = await server.createSession('Slow');
    await server.turn(session, 'say something');
    point = await workspace.create({ session: anchorNow(await direct.get(session), await direct.messages(session)) });
  });
  afterAll(async () => {
    await workspace.close();
    proxy.server.closeAllConnections();
    proxy.server.close();
    await server.dispose();
  });

  const cancelledAt = async (request: RegExp, hold: (controller: AbortController) => Promise<void> | void) => {
    await writeFile(file(), 'mine\n');
    const before = (await direct.list(server.workspace)).map(({ id }) => id);
    const controller = new AbortController();
    arrives = (asked) => (request.test(asked) ? hold(controller) : undefined);
    const options = { scope: ['files', 'conversation'] as const, signal: controller.signal };
    try {
      await workspace.restore(point.id, { ...options, scope: [...options.scope] });
      return 'done';
    } catch (error) {
      return (error as { reason: string }).reason;
    } finally {
      arrives = () => undefined;
      expect(await readFile(file(), 'utf8')).toBe('mine\n');
      expect((await direct.list(server.workspace)).map(({ id }) => id)).toEqual(before);
    }
  };

  it('restores files without waiting for a server that hangs', async () => {
    await writeFile(file(), 'mine\n');
    const held: boolean[] = [];
    let open = (): void => undefined;
    const opened = new Promise<void>((next) => (open = next));
    arrives = () => {
      held.push(true);
      return opened;
    };
    try {
      const impatient = await openWorkspace({
        directory: server.workspace,
        home: join(server.home, 'data', 'opencode-checkpoints'),
        conversation: (_folder, root) => new GatewayConversation(root, asked, null, async () => [await asked()], 500),
      });
      try {
        const { restored, session, serverSilent } = await impatient.restore(point.id);
        expect({ restored, session, serverSilent }).toEqual({ restored: ['a.txt'], session: null, serverSilent: true });
        expect(await readFile(file(), 'utf8')).toBe('one\n');
      } finally {
        await impatient.close();
      }
      // It was asked, and is still being waited for by nobody.
      expect(held.length).toBeGreaterThan(0);
      expect(abandoned).toBe(0);
    } finally {
      arrives = () => undefined;
      open();
    }
  });

  it('ends at once while nothing but reading was begun, though the server never answers', async () => {
    const never = (controller: AbortController): Promise<void> => {
      controller.abort();
      return new Promise(() => undefined);
    };
    expect(await cancelledAt(/\/message/, never)).toBe('cancelled');
  });

  it('takes files and fork back when it is cancelled while the fork is made', async () => {
    expect(await cancelledAt(/POST .*\/fork/, (controller) => controller.abort())).toBe('cancelled');
  });
});
