import { join } from 'node:path';
import * as vscode from 'vscode';
import { loadConfig, storeHome } from '../core/config';
import { CheckpointsError } from '../core/errors';
import type { SessionGateway } from '../core/sessions';
import type { ConnectOptions, Connector } from '../opencode/connect';

/** OpenCode as one workspace reaches it. Nothing is looked for or started before somebody needs a session. */
export class Sessions {
  private made: { settings: string; connector: Promise<Connector> } | undefined;
  /** Of settings that were changed since: an agent may be at work in a server that one of them started. */
  private readonly former: Array<Promise<Connector>> = [];
  /** By what runs in them. */
  private readonly terminals = new Map<string, vscode.Terminal>();
  private readonly connected = new vscode.EventEmitter<void>();
  /** A session was asked for: a server runs now, found or started. */
  readonly onDidConnect = this.connected.event;

  constructor(
    private readonly root: string,
    private readonly folder: string,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  async gateway(): Promise<SessionGateway> {
    // What an untrusted folder configures could start programs.
    if (!vscode.workspace.isTrusted)
      throw new CheckpointsError('untrusted-folder', 'This folder is not trusted: OpenCode is not started for it.');
    const gateway = await (await this.connect()).gateway();
    this.connected.fire();
    return gateway;
  }

  /** A server that runs already, ours or another's; null when there is none. Starts nothing; throws when a named one is silent. */
  async running(): Promise<SessionGateway | null> {
    return vscode.workspace.isTrusted ? (await this.looker()).running() : null;
  }

  /** All of them, the one in use first: where none is named there may be one of each generation. */
  async allRunning(): Promise<SessionGateway[]> {
    return vscode.workspace.isTrusted ? (await this.looker()).allRunning() : [];
  }

  /** The server that has a session; throws `session-missing`. */
  async gatewayOf(session: string): Promise<SessionGateway> {
    await this.gateway();
    return (await this.connect()).gatewayOf(session);
  }

  /** Stops its agent, in whichever server that is at work. */
  async interrupt(session: string): Promise<void> {
    await (await this.looker()).interrupt(session);
  }

  /** One that was not needed before is not kept. */
  private looker(): Promise<Connector> {
    return this.fitting() ?? this.load(this.options());
  }

  /** A server that somebody else runs, and that has not loaded the plugin, which may be `installed`; null when there is none. Starts nothing. */
  async runningWithoutPlugin(installed: boolean): Promise<SessionGateway | null> {
    const [{ findServer }, { gatewayFor }, { pluginLoaded }] = await Promise.all([
      import('../opencode/discovery'),
      import('../opencode/connect'),
      import('../opencode/plugin-loaded'),
    ]);
    const options = this.options();
    const server = await findServer(options);
    if (server === null || (await pluginLoaded(server, this.root, installed ? undefined : unlikelyMs)).loaded)
      return null;
    return gatewayFor(server, options);
  }

  /** What a person wants to know about the server; null before the first use. */
  async description(): Promise<string | null> {
    const connector = await this.fitting();
    if (connector === undefined || connector.source === null) return null;
    const { generation, version, url } = await connector.gateway();
    const own = connector.source === 'own' ? 'started by this window' : 'found running';
    return `OpenCode ${version} (${generation === 'v1' ? 'generation 1' : 'generation 2'}) at ${url}, ${own}`;
  }

  /** Shows a session in a terminal of the window: in the one that has it, where there is one. */
  async open(session: string, title: string): Promise<vscode.Terminal> {
    const { path, args, env } = await (await this.connect()).terminal(session, this.root);
    const key = JSON.stringify([path, args, env]);
    const open = this.terminals.get(key);
    // One that ended or was closed is not among them.
    if (open !== undefined && vscode.window.terminals.includes(open)) {
      open.show(true);
      return open;
    }
    const terminal = vscode.window.createTerminal({
      name: `OpenCode: ${title}`,
      shellPath: path,
      shellArgs: args,
      cwd: this.root,
      env,
      iconPath: new vscode.ThemeIcon('comment-discussion'),
      // The address and the password of the server are of this run only.
      isTransient: true,
    });
    this.terminals.set(key, terminal);
    terminal.show(true);
    return terminal;
  }

  /** Stops the servers that are ours; answers whether there was one. */
  async close(): Promise<boolean> {
    const last = this.made === undefined ? [] : [this.made.connector];
    const connectors = await Promise.all([...this.former.splice(0), ...last]);
    this.made = undefined;
    const own = connectors.some(({ source }) => source === 'own');
    await Promise.all(connectors.map((connector) => connector.close()));
    return own;
  }

  private connect(): Promise<Connector> {
    const fitting = this.fitting();
    if (fitting !== undefined) return fitting;
    const options = this.options();
    const connector = this.load(options);
    this.made = { settings: settingsIn(options), connector };
    return connector;
  }

  /** The one that was made for the settings as they are now. */
  private fitting(): Promise<Connector> | undefined {
    if (this.made !== undefined && this.made.settings !== settingsIn(this.options())) {
      this.former.push(this.made.connector);
      this.made = undefined;
    }
    return this.made?.connector;
  }

  private async load(options: ConnectOptions): Promise<Connector> {
    const { Connector } = await import('../opencode/connect');
    return new Connector(options);
  }

  private options(): ConnectOptions {
    const { config } = loadConfig(this.root, this.folder);
    return {
      root: this.root,
      stateFolder: join(storeHome(), 'servers'),
      serverUrl: process.env['OPENCODE_SERVER_URL'] ? undefined : config['opencode.serverUrl'],
      opencodePath: config['opencode.path'] || undefined,
      // Looked at anew with each connection: the terminal may be opened later.
      get terminalPort() {
        return terminalPort();
      },
      log: (line) => this.log.info(line),
    };
  }
}

/** A plugin that is not where we install it may be named in OpenCode's configuration; what the agent does while that is waited for has no points. */
const unlikelyMs = 2000;

const settingsIn = ({ serverUrl, opencodePath }: ConnectOptions): string => JSON.stringify([serverUrl, opencodePath]);

/** The official OpenCode extension tells the port of its terminal in the terminal's environment. */
const terminalPort = (): number | undefined => {
  for (const { creationOptions } of vscode.window.terminals) {
    const port = 'env' in creationOptions ? Number(creationOptions.env?.['_EXTENSION_OPENCODE_PORT']) : NaN;
    if (Number.isInteger(port) && port > 0) return port;
  }
  return undefined;
};
