import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Proxy {
  url: string;
  server: Server;
}

/** Stands before a real server and passes everything on that it is not told to answer, or to drop, itself. */
export async function standBefore(
  target: string,
  passes: (incoming: IncomingMessage, outgoing: ServerResponse) => boolean | Promise<boolean>,
): Promise<Proxy> {
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      if (!(await passes(incoming, outgoing))) return;
      const { hostname, port } = new URL(target);
      const onwards = httpRequest(
        { hostname, port, path: incoming.url, method: incoming.method, headers: incoming.headers },
        (answer) => {
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(outgoing);
        },
      );
      onwards.on('error', () => outgoing.destroy());
      incoming.pipe(onwards);
    })();
  });
  await new Promise<void>((up) => server.listen(0, '127.0.0.1', up));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

/** Its answers to these requests ("GET /session") are other documents. */
export const answering = (target: string, documents: Record<string, unknown>): Promise<Proxy> =>
  standBefore(target, ({ method, url = '' }, outgoing) => {
    const asked = `${method} ${url.split('?')[0]}`;
    if (!(asked in documents)) return true;
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(documents[asked]));
    return false;
  });
