import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { CheckpointsError } from '../../src/core/errors';
import { endpoint, Http } from '../../src/opencode/http';
import { probe, requireOpenCode } from '../../src/opencode/probe';
import { startOpenCode, until, type OpenCode } from '../rig/opencode';
import { generations } from './gateway-fixture';

describe.each(generations)('probing %s', (generation) => {
  let server: OpenCode;
  beforeAll(async () => {
    server = await startOpenCode({ generation });
  });
  afterAll(() => server.dispose());

  it('recognises it with the right password', async () => {
    const found = await probe(endpoint(server.url, server.password));
    expect(found).toMatchObject({ kind: 'opencode', generation });
    const inAddress = `http://opencode:${server.password}@${server.url.slice('http://'.length)}/`;
    expect(await probe(endpoint(inAddress))).toEqual(found);
  });

  it('takes a refusal for no answer', async () => {
    for (const password of [null, 'wrong']) {
      const found = await probe(endpoint(server.url, password));
      expect(found).toEqual({ kind: 'unauthorized' });
      expect(() => requireOpenCode(found, server.url)).toThrowError(
        expect.objectContaining({ reason: 'server-failed', details: expect.objectContaining({ unauthorized: true }) }),
      );
    }
  });
});

describe('probing what is not OpenCode', () => {
  const servers: Server[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  async function listen(handler: RequestListener): Promise<string> {
    const server = createServer(handler);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  const json =
    (bodies: Record<string, unknown>): RequestListener =>
    (request, response) => {
      const body = bodies[request.url ?? ''];
      response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body ?? { error: 'not found' }));
    };
  const reasonOf = async (url: string): Promise<unknown> => {
    const result = await probe(endpoint(url), { timeoutsMs: [300, 300] });
    try {
      return requireOpenCode(result, url);
    } catch (error) {
      return (error as { reason: unknown }).reason;
    }
  };

  it('a plain web server that answers everything with a page', async () => {
    const url = await listen((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<html>{"healthy":true,"version":"1.18.33"}</html>');
    });
    expect(await probe(endpoint(url))).toEqual({ kind: 'other' });
    expect(await reasonOf(url)).toBe('server-failed');
  });

  it('other JSON services, and documents that only look alike', async () => {
    const lookalikes = [
      {},
      { '/global/health': { healthy: true } },
      { '/global/health': { healthy: false, version: '1.18.33' } },
      { '/api/info': { version: '2.0.15' } },
      { '/api/info': { version: '1.0.0', pid: 1 } },
      { '/api/info': null },
    ];
    for (const bodies of lookalikes)
      expect(await probe(endpoint(await listen(json(bodies))))).toEqual({ kind: 'other' });
  });

  it('something that breaks off its JSON', async () => {
    const url = await listen((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('{"healthy":true,');
    });
    expect(await probe(endpoint(url))).toEqual({ kind: 'other' });
  });

  it('an OpenCode that is too old', async () => {
    const url = await listen(json({ '/global/health': { healthy: true, version: '1.0.190' } }));
    expect(await probe(endpoint(url))).toEqual({ kind: 'too-old', version: '1.0.190' });
    expect(await reasonOf(url)).toBe('opencode-too-old');
  });

  it('a server that never answers, and one that answers at the second attempt', async () => {
    expect(await reasonOf(await listen(() => undefined))).toBe('server-unreachable');
    let asked = 0;
    const answer = json({ '/global/health': { healthy: true, version: '1.18.33' } });
    const slow = await listen((request, response) => {
      // Both questions of the first attempt stay unanswered.
      if (++asked > 2) answer(request, response);
    });
    const found = await probe(endpoint(slow), { timeoutsMs: [300, 5000] });
    expect(found).toEqual({ kind: 'opencode', generation: 'v1', version: '1.18.33' });
    expect(asked).toBe(4);
  });

  it('a server that takes longer for its first answer than one waits before asking again', async () => {
    let asked = 0;
    const answer = json({ '/global/health': { healthy: true, version: '1.18.33' } });
    const slow = await listen((request, response) => {
      if (++asked <= 2) setTimeout(() => answer(request, response), 600);
    });
    const found = await probe(endpoint(slow), { timeoutsMs: [300, 5000] });
    expect(found).toEqual({ kind: 'opencode', generation: 'v1', version: '1.18.33' });
    expect(asked).toBe(4);
  });

  it('nothing at all', async () => {
    const url = await listen(json({}));
    const server = servers.pop();
    await new Promise((resolve) => server?.close(resolve));
    expect(await reasonOf(url)).toBe('server-unreachable');
  });

  it('a redirection is not followed with the password', async () => {
    const other = await listen(json({ '/api/info': { version: '2.0.15', pid: 1 } }));
    const url = await listen((request, response) => {
      response.writeHead(302, { location: other + (request.url ?? '') });
      response.end();
    });
    expect(await reasonOf(url)).toBe('server-unreachable');
  });

  it('refuses what is not an address', () => {
    for (const bad of ['ftp://localhost', 'http://', 'http://a b']) expect(() => endpoint(bad), bad).toThrow();
    expect(endpoint('localhost:4096', 'pw')).toEqual({
      url: 'http://localhost:4096',
      username: 'opencode',
      password: 'pw',
    });
    expect(endpoint('https://me:s%40fe@host/base/')).toEqual({
      url: 'https://host/base',
      username: 'me',
      password: 's@fe',
    });
  });

  it('asks anew over another connection where one that was kept is cut, but changes nothing twice', async () => {
    const used = new WeakSet<object>();
    const cut: string[] = [];
    // No OpenCode cuts a connection on demand; one that was restarted does it now and then.
    const url = await listen((request, response) => {
      if (used.has(request.socket)) {
        cut.push(request.method ?? '');
        return void request.socket.destroy();
      }
      used.add(request.socket);
      json({ '/x': 'there' })(request, response);
    });
    const http = new Http(endpoint(url));
    await until(
      async () => {
        expect(await http.json('GET', '/x')).toBe('there');
        return cut.length > 0;
      },
      10_000,
      () => 'no connection was kept',
    );
    await until(
      () =>
        http.json('POST', '/x').then(
          () => false,
          (error: unknown) => CheckpointsError.is(error, 'server-unreachable'),
        ),
      10_000,
      () => 'no connection was kept',
    );
    expect(cut.filter((method) => method === 'POST')).toHaveLength(1);
  });
});
