import path from 'node:path';
import { anchorNow, anchorThrough } from '../core/anchors';
import { loadConfig, storeHome } from '../core/config';
import type { SessionAnchor } from '../core/model';
import type { SessionGateway } from '../core/sessions';
import type { Globals } from './globals';

/** OpenCode's server as the command line finds it: closed when the command is done. */
export interface Sessions {
  gateway(): Promise<SessionGateway>;
  /** Those that run already; starts nothing. */
  allRunning(): Promise<SessionGateway[]>;
  close(): Promise<void>;
}

/**
 * `--server` or the environment, else OpenCode 2's service, else one started for this call. Loaded only by commands that speak to
 * OpenCode.
 */
export async function openSessions(globals: Pick<Globals, 'server'>, root: string, folder: string): Promise<Sessions> {
  const { Connector } = await import('../opencode/connect');
  const { config } = loadConfig(root, folder);
  return new Connector({
    root,
    stateFolder: path.join(storeHome(), 'servers'),
    serverUrl: globals.server ?? (process.env['OPENCODE_SERVER_URL'] ? undefined : config['opencode.serverUrl']),
    opencodePath: config['opencode.path'] || undefined,
  });
}

/** At the session's last message, or through the one that was named. Throws `session-missing` or `message-missing`. */
export async function anchorOf(
  gateway: SessionGateway,
  session: string,
  message: string | undefined,
): Promise<SessionAnchor> {
  const info = await gateway.get(session);
  const messages = await gateway.messages(session);
  return message === undefined ? anchorNow(info, messages) : anchorThrough(info, messages, message);
}
