import { CheckpointsError } from '../core/errors';
import { findBinary, type BinaryOptions } from './binary';
import type { FoundServer } from './discovery';

/** How to start OpenCode's own interface in a terminal. */
export interface TerminalCommand {
  path: string;
  args: string[];
  /** On top of the terminal's own; the password is here, where the list of processes does not show it. */
  env: Record<string, string>;
}

/** Shows one session of a running server. */
export async function terminalFor(
  server: Pick<FoundServer, 'endpoint' | 'generation' | 'version'>,
  session: string,
  directory: string,
  options: BinaryOptions,
): Promise<TerminalCommand> {
  const { url, username, password } = server.endpoint;
  const { path, version, generation } = await findBinary(options);
  if (generation !== server.generation)
    throw new CheckpointsError(
      'not-supported',
      `It is in OpenCode ${server.version} at ${url}, and ${path} is OpenCode ${version}; its id is ${session}`,
      { details: { session, url, otherProgram: path } },
    );
  const args =
    server.generation === 'v1'
      ? ['attach', url, '--session', session, '--dir', directory]
      : ['--server', url, '--session', session, directory];
  const env: Record<string, string> = { OPENCODE_SERVER_USERNAME: username };
  if (password !== null) Object.assign(env, { OPENCODE_SERVER_PASSWORD: password, OPENCODE_PASSWORD: password });
  return { path, args, env };
}
