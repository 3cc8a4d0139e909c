import { writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer, type AddressInfo, type Server } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Desk, useBuilt } from './cli-rig';

const program = useBuilt('cli');

/** What stands at the address of a server and is none: the real thing cannot be had for that. */
describe('the command line at a wrong address', () => {
  let desk: Desk;
  const servers: Server[] = [];
  beforeEach(() => {
    desk = new Desk(program());
    desk.write({ 'a.txt': 'one\n' });
  });
  afterEach(async () => {
    for (const server of servers.splice(0)) await new Promise((done) => server.close(done));
    desk.dispose();
  });

  async function listen(server: Server): Promise<string> {
    servers.push(server);
    await new Promise<void>((up) => server.listen(0, '127.0.0.1', up));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  const answering = (handler: RequestListener): Promise<string> => listen(createHttpServer(handler));
  const refusal = (url: string): Promise<{ reason: string; message: string }> =>
    desk.refusal(['create', 'x', '--session', 'ses_abc', '--server', url]);

  it('fails when every connection is closed at once', async () => {
    const url = await listen(createServer((socket) => socket.destroy()));
    expect((await refusal(url)).reason).toBe('server-unreachable');
  });

  it('says that it is not OpenCode, and where its address comes from', async () => {
    for (const [type, body] of [
      ['text/html', '<html></html>'],
      ['application/json', '{broken'],
      ['application/json', '[]'],
    ] as const) {
      const url = await answering((_, response) => response.writeHead(200, { 'content-type': type }).end(body));
      const { reason, message } = await refusal(url);
      expect(reason).toBe('server-failed');
      expect(message).toMatch(/is not OpenCode\. .*OPENCODE_SERVER_URL/);
    }
  });

  it('says how to give the password that is wanted', async () => {
    const url = await answering((_, response) => response.writeHead(401).end());
    const { reason, message } = await refusal(url);
    expect(reason).toBe('server-failed');
    expect(message).toMatch(/wants a password, or another one\. Set OPENCODE_SERVER_PASSWORD/);
  });

  it('takes an address with blanks around it', async () => {
    const url = await answering((_, response) => response.writeHead(401).end());
    expect((await refusal(` ${url}/ `)).message).toContain(`The server at ${url} wants a password`);
  });

  it('never calls it a success when it could not go on', async () => {
    const never = path.join(desk.home, 'never.cjs');
    writeFileSync(never, 'globalThis.fetch = () => new Promise(() => undefined);');
    const env = { NODE_OPTIONS: `--require ${never}` };
    const args = ['create', 'x', '--session', 'ses_abc', '--server', 'http://127.0.0.1:9'];
    const { reason, message } = await desk.refusal(args, 1, { env });
    expect(reason).toBe('internal');
    expect(message).toContain('stopped half way');
  });
});
