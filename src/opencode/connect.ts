import { CheckpointsError } from '../core/errors';
import { sessionExists } from '../core/session-exists';
import type { SessionGateway } from '../core/sessions';
import { findBinary } from './binary';
import { findServer, runningServers, type DiscoveryOptions, type FoundServer, type ServerSource } from './discovery';
import { probe } from './probe';
import { OwnServer } from './server';
import { terminalFor, type TerminalCommand } from './terminal';
import { V1Gateway } from './v1';
import type { CommandLine } from './v1-cli';
import { V2Gateway } from './v2';

export interface ConnectOptions extends DiscoveryOptions {
  /** The workspace. */
  root: string;
  /** Setting `opencode.path`. */
  opencodePath?: string;
  /** Where servers of ours are written down: `servers` in the store's home. */
  stateFolder: string;
  /** Whether a server may be started when none is found. */
  start?: boolean;
}

/** How long a server that answered is taken to be there still. */
const trustMs = 5000;

/**
 * The one way to a gateway: a server that runs, else one of our own, started at the first use. Each use takes the
 * server that is there now: one that went away is looked for again.
 */
export class Connector {
  private readonly own: OwnServer;
  private current: { gateway: SessionGateway; server: FoundServer; seenAt: number } | null = null;
  private connecting: Promise<SessionGateway> | null = null;

  constructor(private readonly options: ConnectOptions) {
    this.own = new OwnServer({
      binary: options.opencodePath,
      env: options.env,
      cwd: options.root,
      stateFolder: options.stateFolder,
      log: options.log,
    });
  }

  /** Where the gateway leads; null before the first use. */
  get source(): ServerSource | null {
    return this.current?.server.source ?? null;
  }

  gateway(): Promise<SessionGateway> {
    this.connecting ??= this.connect().finally(() => (this.connecting = null));
    return this.connecting;
  }

  /** The gateway in use while its server answers. Looks for nothing, starts nothing. */
  async inUse(): Promise<SessionGateway | null> {
    return this.current && (await this.isThere(this.current)) ? this.current.gateway : null;
  }

  /** A server that runs already, ours or another's; null when there is none. Starts nothing; throws when a named one is silent. */
  async running(): Promise<SessionGateway | null> {
    const inUse = await this.inUse();
    if (inUse) return inUse;
    const server = await findServer(this.options);
    return server && gatewayFor(server, this.options);
  }

  /** Every server that runs already, the one in use first. Where none was named there may be one of each generation. */
  async allRunning(): Promise<SessionGateway[]> {
    return (await this.everyServer()).map(({ gateway }) => gateway);
  }

  /** The server that has a session: the one in use, else another one that runs. Throws `session-missing`. */
  async gatewayOf(session: string): Promise<SessionGateway> {
    const first = await this.gateway();
    if (await sessionExists(first, session)) return first;
    for (const other of await this.allRunning())
      if (other.url !== first.url && (await sessionExists(other, session))) return other;
    throw nobodyHas(session);
  }

  /** Stops the agent of a session, in whichever server it is at work. Starts nothing. */
  async interrupt(session: string): Promise<void> {
    for (const gateway of await this.allRunning())
      if ((await sessionExists(gateway, session)) && (await gateway.busy(session)) === 'busy')
        await gateway.interrupt(session);
  }

  /** The command that shows a session in a terminal, of whichever server has it. */
  async terminal(session: string, directory: string): Promise<TerminalCommand> {
    await this.gateway();
    const servers = await this.everyServer();
    const { opencodePath: path, env } = this.options;
    for (const { gateway, server } of servers)
      if (servers.length === 1 || (await sessionExists(gateway, session)))
        return terminalFor(server, session, directory, { path, env });
    throw nobodyHas(session);
  }

  private async everyServer(): Promise<Array<{ gateway: SessionGateway; server: FoundServer }>> {
    const inUse = await this.inUse();
    const found = inUse && this.current ? [{ gateway: inUse, server: this.current.server }] : [];
    for await (const server of runningServers(this.options, inUse?.url))
      found.push({ gateway: gatewayFor(server, this.options), server });
    return found;
  }

  /** Stops the server if it is ours. */
  async close(): Promise<void> {
    this.current = null;
    await this.own.stop();
  }

  private async connect(): Promise<SessionGateway> {
    if (this.current && (await this.isThere(this.current))) return this.current.gateway;
    this.current = null;
    const server = (await findServer(this.options)) ?? (await this.ownServer());
    const gateway = gatewayFor(server, this.options);
    this.current = { gateway, server, seenAt: Date.now() };
    this.options.log?.(`OpenCode ${server.version} at ${server.endpoint.url} is used: ${sourceNames[server.source]}`);
    return gateway;
  }

  private async isThere(current: NonNullable<Connector['current']>): Promise<boolean> {
    if (current.server.source === 'own' && !this.own.running) return false;
    if (Date.now() - current.seenAt < trustMs) return true;
    const result = await probe(current.server.endpoint, this.options.probing);
    current.seenAt = Date.now();
    return result.kind === 'opencode' && result.generation === current.server.generation;
  }

  private async ownServer(): Promise<FoundServer> {
    if (this.options.start === false) throw new CheckpointsError('server-unreachable', 'No OpenCode server is running');
    return { source: 'own', ...(await this.own.ensure()) };
  }
}

const sourceNames: Record<ServerSource, string> = {
  setting: 'the settings name it',
  environment: 'the environment names it',
  terminal: 'a terminal of this window runs it',
  service: "it is OpenCode 2's background service",
  own: 'it was started for this',
};

function nobodyHas(session: string): CheckpointsError {
  const text = `No server that runs here has the session ${session}`;
  return new CheckpointsError('session-missing', text, { details: { session } });
}

/** The gateway to a server whose generation is known. */
export function gatewayFor(
  server: Pick<FoundServer, 'endpoint' | 'generation' | 'version'>,
  options: { opencodePath?: string; env?: NodeJS.ProcessEnv },
): SessionGateway {
  const { endpoint, version } = server;
  if (server.generation === 'v2') return new V2Gateway({ endpoint, version });
  return new V1Gateway({ endpoint, version, commandLine: () => commandLine(options) });
}

/** Only OpenCode 1's own command line reads what its server wrote. */
async function commandLine(options: { opencodePath?: string; env?: NodeJS.ProcessEnv }): Promise<CommandLine | null> {
  const { env = process.env } = options;
  try {
    const binary = await findBinary({ path: options.opencodePath, env });
    return binary.generation === 'v1' ? { binary: binary.path, env } : null;
  } catch (error) {
    if (CheckpointsError.is(error, 'opencode-missing') || CheckpointsError.is(error, 'opencode-too-old')) return null;
    throw error;
  }
}
