import { execFile } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import { CheckpointsError } from '../core/errors';
import type { Generation } from '../core/sessions';
import { isSupported, oldestSupported, parseVersion } from './versions';

const run = promisify(execFile);

export interface Binary {
  path: string;
  version: string;
  generation: Generation;
}

export interface BinaryOptions {
  /** Setting `opencode.path`; named, so nothing else is tried. */
  path?: string;
  env?: NodeJS.ProcessEnv;
}

const wayOut =
  'Install it with "npm install -g opencode-ai" or "curl -fsSL https://opencode.ai/install | bash", ' +
  'or name its executable in the setting opencode.path or in OPENCODE_BIN.';

/** The `opencode` executable: the setting, `OPENCODE_BIN`, the PATH, and where its installers put it. */
export async function findBinary(options: BinaryOptions = {}): Promise<Binary> {
  const { env = process.env } = options;
  const named = options.path || env['OPENCODE_BIN'];
  const path = named ? (isExecutable(named) ? named : onPath(named, env)) : onPath('opencode', env);
  if (!path)
    throw new CheckpointsError(
      'opencode-missing',
      named ? `${named} is not an executable. ${wayOut}` : `OpenCode was not found. ${wayOut}`,
      { details: { path: named ?? null } },
    );
  const version = await versionOf(path, env);
  if (!isSupported(version))
    throw new CheckpointsError(
      'opencode-too-old',
      `${path} is OpenCode ${version}; ${oldestSupported} or newer is needed. Run "opencode upgrade", or: ${wayOut}`,
      { details: { path, version } },
    );
  return { path, version, generation: Number.parseInt(version, 10) >= 2 ? 'v2' : 'v1' };
}

/** Whether there is one at all, by looking at files only. */
export function hasBinary({ path, env = process.env }: BinaryOptions = {}): boolean {
  const named = path || env['OPENCODE_BIN'];
  return (named ? isExecutable(named) || onPath(named, env) : onPath('opencode', env)) ? true : false;
}

async function versionOf(path: string, env: NodeJS.ProcessEnv): Promise<string> {
  try {
    const { stdout } = await run(path, ['--version'], { env, timeout: 60_000 });
    const version = parseVersion(stdout) ?? stdout.trim();
    if (version !== '') return version;
  } catch (error) {
    throw new CheckpointsError('opencode-missing', `${path} does not run. ${wayOut}`, {
      cause: error,
      details: { path },
    });
  }
  throw new CheckpointsError('opencode-missing', `${path} does not tell its version. ${wayOut}`, { details: { path } });
}

/** An editor started from a desktop often has a shorter PATH than a terminal. */
function onPath(name: string, env: NodeJS.ProcessEnv): string | null {
  if (isAbsolute(name) || name.includes('/')) return null;
  const home = env['HOME'] || homedir();
  const folders = [
    ...(env['PATH'] ?? env['Path'] ?? '').split(delimiter).filter((folder) => folder !== ''),
    join(home, '.opencode', 'bin'),
    join(home, '.local', 'bin'),
    join(home, '.bun', 'bin'),
    ...(process.platform === 'darwin' ? ['/opt/homebrew/bin', '/usr/local/bin'] : []),
  ];
  // npm on Windows puts a script on the PATH, which only a shell can start; the program is beside it.
  const names =
    process.platform === 'win32' ? [`${name}.exe`, join('node_modules', 'opencode-ai', 'bin', 'opencode.exe')] : [name];
  for (const folder of folders)
    for (const file of names) if (isExecutable(join(folder, file))) return join(folder, file);
  return null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    // Not there, or not ours to run: the next place may have it.
    return false;
  }
}
