import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { serviceFile } from '../opencode/discovery';
import { endpoint, Http, type Endpoint } from '../opencode/http';

/**
 * OpenCode 2 gives plugins no client, and part of what we need (all messages, forks, questions to the user) only its server has: so we look for the
 * address of the server whose process we are in. Whether it is ours is told by the process id it answers with.
 */
export async function findSelf(env: NodeJS.ProcessEnv = process.env): Promise<Endpoint | null> {
  const own = env['OPENCODE_PASSWORD'] || env['OPENCODE_SERVER_PASSWORD'] || null;
  const service = readService(env);
  const candidates: Endpoint[] = service?.pid === process.pid ? [endpoint(service.url, service.password)] : [];
  for (const port of new Set([...namedPorts(), ...listeningPorts()]))
    for (const password of new Set([own, service?.password ?? null]))
      candidates.push(endpoint(`http://127.0.0.1:${port}`, password));
  for (const candidate of candidates) if (await isSelf(candidate)) return candidate;
  return null;
}

async function isSelf(candidate: Endpoint): Promise<boolean> {
  try {
    const { status, json, body } = await new Http(candidate).answer('GET', '/api/info', { timeoutMs: 2000 });
    return status === 200 && json && (body as { pid?: unknown }).pid === process.pid;
  } catch {
    // Nobody there, or nobody of OpenCode's: the next candidate.
    return false;
  }
}

function readService(env: NodeJS.ProcessEnv): { url: string; password: string | null; pid: number } | null {
  try {
    const { url, password, pid } = JSON.parse(readFileSync(serviceFile(env), 'utf8')) as Record<string, unknown>;
    if (typeof url !== 'string' || typeof pid !== 'number') return null;
    return { url, password: typeof password === 'string' ? password : null, pid };
  } catch {
    // The usual case: there is no service.
    return null;
  }
}

function namedPorts(): number[] {
  const at = process.argv.indexOf('--port');
  const port = at < 0 ? NaN : Number(process.argv[at + 1]);
  return Number.isInteger(port) && port > 0 ? [port] : [];
}

/** Linux tells which of the listening sockets are this process's; elsewhere the other ways must do. */
function listeningPorts(): number[] {
  if (process.platform !== 'linux') return [];
  try {
    const sockets = new Set<string>();
    for (const fd of readdirSync('/proc/self/fd')) {
      const inode = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/self/fd/${fd}`))?.[1];
      if (inode !== undefined) sockets.add(inode);
    }
    return readFileSync('/proc/self/net/tcp', 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter((columns) => columns[3] === '0A' && sockets.has(columns[9] ?? ''))
      .map((columns) => Number.parseInt(columns[1]?.split(':')[1] ?? '', 16))
      .filter((port) => port > 0);
  } catch {
    // A system without /proc: the address has to come from elsewhere.
    return [];
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    // Closed in the meantime.
    return '';
  }
}
