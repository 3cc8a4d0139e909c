// What the operating system has, and how to get what it has not: programs on PATH and Debian packages.
import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Something is missing that cannot be installed from here; the message says what, and how to get it. */
export class MissingError extends Error {
  constructor(what, how) {
    super(`Missing: ${what}\n  ${how}`);
    this.name = 'MissingError';
  }
}

export function onPath(...names) {
  const extensions = process.platform === 'win32' ? ['.exe', '.cmd', '.bat'] : [''];
  for (const name of names)
    for (const folder of (process.env.PATH ?? '').split(delimiter).filter(Boolean))
      for (const extension of extensions) {
        const file = join(folder, name + extension);
        if (isExecutable(file)) return file;
      }
  return undefined;
}

export function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(error.code)) return false;
    throw error;
  }
}

const isDebian = () =>
  existsSync('/etc/os-release') && /^ID=debian$/m.test(readFileSync('/etc/os-release', 'utf8')) && !!onPath('apt-get');

/** Debian packages of `packages` that are not installed. */
export function missingDebianPackages(packages) {
  return packages.filter((name) => {
    const { stdout } = spawnSync('dpkg-query', ['-W', '-f=${Status}', name], { encoding: 'utf8' });
    return !/ok installed/.test(stdout ?? '');
  });
}

/** Installs Debian packages as root; anywhere else it throws with `how`. */
export async function aptInstall(what, packages, how) {
  if (!isDebian()) throw new MissingError(what, how);
  const missing = missingDebianPackages(packages);
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0)
    throw new MissingError(what, `Run as root: apt-get install -y --no-install-recommends ${missing.join(' ')}`);
  say(`Installing ${missing.join(', ')} (apt-get)`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const lock = ['-o', 'DPkg::Lock::Timeout=600'];
  await run('apt-get', [...lock, 'update', '-qq'], { env });
  await run('apt-get', [...lock, 'install', '-y', '-qq', '--no-install-recommends', ...missing], { env });
}

/** What is missing may be there under another name. Where it was not, the way out stands last, below what a build said. */
export async function tryWithout(missing, build) {
  try {
    await build();
  } catch (error) {
    if (missing === undefined) throw error;
    say(error.message);
    throw missing;
  }
}

export function say(line) {
  process.stderr.write(`${line}\n`);
}

/** npm hands its own configuration to its children; a nested npm must not take the outer project for its own. */
export function cleanNpmEnv(extra = {}) {
  const env = { ...process.env };
  for (const name of Object.keys(env))
    if (/^(npm_(package|lifecycle)_|npm_(command|execpath|node_execpath)$|INIT_CWD$)/.test(name)) delete env[name];
  // The user agent names the Node of the npm that runs us: install scripts would take it for the one they run on.
  for (const name of ['prefix', 'local_prefix', 'global_prefix', 'loglevel', 'user_agent'])
    delete env[`npm_config_${name}`];
  return { ...env, ...extra };
}

/** The two ends of an output: npm tells the reason first, a compiler last. */
const bothEnds = (lines) =>
  lines.length <= 45 ? lines : [...lines.slice(0, 15), `… ${lines.length - 40} lines left out …`, ...lines.slice(-25)];

/** Runs to the end without stdin; a failure carries what matters of the output. */
export function run(command, args, { cwd, env } = {}) {
  return new Promise((resolve, reject) => {
    const shell = process.platform === 'win32';
    const child = spawn(command, args, { cwd, env, shell, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0) return resolve(output);
      const lines = bothEnds(output.trimEnd().split('\n')).join('\n');
      reject(new Error(`${command} ${args.join(' ')} failed (${signal ?? `exit ${code}`}):\n${lines}`));
    });
  });
}
