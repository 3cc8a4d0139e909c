import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { CheckpointsError } from '../core/errors';
import type { Generation } from '../core/sessions';
import { endpoint, type Endpoint } from './http';
import { probe, requireOpenCode, type ProbeOptions } from './probe';

export type ServerSource = 'setting' | 'environment' | 'terminal' | 'service' | 'own';

export interface FoundServer {
  source: ServerSource;
  endpoint: Endpoint;
  generation: Generation;
  version: string;
}

export interface DiscoveryOptions {
  /** Setting `opencode.serverUrl`, or `--server`. */
  serverUrl?: string;
  /** The port of a terminal that another OpenCode extension opened. */
  terminalPort?: number;
  env?: NodeJS.ProcessEnv;
  probing?: ProbeOptions;
  log?: (line: string) => void;
}

/** The first of them; null when there is none. */
export async function findServer(options: DiscoveryOptions): Promise<FoundServer | null> {
  for await (const server of runningServers(options)) return server;
  return null;
}

/**
 * Servers that somebody else runs, the one to take first. One that was named must answer, and is the only one: to go on with another
 * would look for sessions in the wrong place. `known` is not asked whether it is there.
 */
export async function* runningServers(options: DiscoveryOptions, known?: string): AsyncGenerator<FoundServer> {
  const { env = process.env, log } = options;
  const password = env['OPENCODE_SERVER_PASSWORD'] || env['OPENCODE_PASSWORD'] || null;
  const named = options.serverUrl || env['OPENCODE_SERVER_URL'];
  if (named) {
    const target = endpoint(named, password);
    if (target.url === known) return;
    const source = options.serverUrl ? 'setting' : 'environment';
    yield { source, endpoint: target, ...requireOpenCode(await probe(target, options.probing), target.url) };
    return;
  }
  const candidates: Array<{ source: ServerSource; endpoint: Endpoint }> = [];
  if (options.terminalPort !== undefined)
    candidates.push({ source: 'terminal', endpoint: endpoint(`http://127.0.0.1:${options.terminalPort}`, password) });
  const service = await serviceEndpoint(env);
  if (service) candidates.push({ source: 'service', endpoint: service });
  for (const candidate of candidates) {
    if (candidate.endpoint.url === known) continue;
    const result = await probe(candidate.endpoint, options.probing);
    if (result.kind === 'opencode') yield { ...candidate, generation: result.generation, version: result.version };
    else log?.(`the ${candidate.source} server at ${candidate.endpoint.url} cannot be used: ${result.kind}`);
  }
}

/** OpenCode 2's background service writes down where it is while it runs. */
export function serviceFile(env: NodeJS.ProcessEnv = process.env): string {
  const state = env['XDG_STATE_HOME'] || join(env['HOME'] || homedir(), '.local', 'state');
  return join(state, 'opencode', 'service.json');
}

async function serviceEndpoint(env: NodeJS.ProcessEnv): Promise<Endpoint | null> {
  let content: string;
  try {
    content = await readFile(serviceFile(env), 'utf8');
  } catch {
    // The usual case: there is no service. One that cannot be read is not ours to use either.
    return null;
  }
  try {
    const { url, password } = JSON.parse(content) as { url?: unknown; password?: unknown };
    if (typeof url === 'string') return endpoint(url, typeof password === 'string' ? password : null);
  } catch (error) {
    if (!(error instanceof SyntaxError) && !CheckpointsError.is(error)) throw error;
  }
  return null;
}
