// `npm start [-- FOLDER] [--browser] [--scripted] [--no-build]`: the whole product on a demo workspace or on a folder of yours.
// No dependencies: it runs before `npm ci` did.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensure } from '../rig/install.mjs';
import { checkout } from '../rig/install-parts.mjs';
import { MissingError, onPath } from '../rig/install-system.mjs';
import { onInterrupt } from '../run/processes.mjs';
import { ownOpenCode } from './own-opencode.mjs';
import { stateFileOf } from './state.mjs';

const usage = `Usage: npm start [-- FOLDER] [--browser] [--scripted] [--no-build]
  FOLDER      open this folder instead of a demo workspace
  --browser   serve VS Code to the browser although a desktop VS Code is there
  --scripted  use the scripted model although another one is configured
  --no-build  take what was built before (npm run package)`;

/** Wrong usage: said without a stack. */
class UsageError extends Error {}

function parse(args) {
  const flags = args.filter((arg) => arg.startsWith('--'));
  const [folder, ...more] = args.filter((arg) => !arg.startsWith('--'));
  const known = ['--browser', '--scripted', '--no-build'];
  if (flags.some((flag) => !known.includes(flag)) || more.length > 0) throw new UsageError(usage);
  const given = folder === undefined ? undefined : resolve(process.env.INIT_CWD ?? '.', folder);
  if (given !== undefined && !(existsSync(given) && statSync(given).isDirectory()))
    throw new UsageError(`${given} is not a folder`);
  return {
    folder: given && realpathSync(given),
    browser: flags.includes('--browser'),
    scripted: flags.includes('--scripted'),
    build: !flags.includes('--no-build'),
  };
}

/** A desktop VS Code that can open a window here; inside a remote VS Code `code` is another program. */
function desktopCode() {
  if (process.env.VSCODE_IPC_HOOK_CLI) return undefined;
  if (process.platform === 'linux' && !process.env.DISPLAY && !process.env.WAYLAND_DISPLAY) return undefined;
  return onPath('code');
}

function run(...args) {
  const { status, error } = spawnSync(process.execPath, args, {
    cwd: checkout,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`node ${args.join(' ')} failed (exit ${status})`);
}

/** The demo is TypeScript like the rigs it uses; bundled beside node_modules, so that its packages resolve. */
async function loadDemo() {
  const { build } = await import('esbuild');
  const cache = join(checkout, 'node_modules', '.cache');
  mkdirSync(cache, { recursive: true });
  const outfile = join(cache, `checkpoints-demo-${process.pid}.mjs`);
  await build({
    entryPoints: [join(checkout, 'test', 'demo', 'main.ts')],
    ...{ outfile, bundle: true, packages: 'external', platform: 'node', format: 'esm', logLevel: 'warning' },
  });
  try {
    return await import(pathToFileURL(outfile).href);
  } finally {
    rmSync(outfile, { force: true });
  }
}

const interrupted = new Promise((done) => onInterrupt(() => done()));

async function main() {
  const options = parse(process.argv.slice(2));
  const installed = ownOpenCode();
  const code = options.browser ? undefined : desktopCode();
  const tools = await ensure(['modules', 'git', ...(code ? [] : ['vscode']), ...(installed ? [] : ['opencodeV2'])]);
  if (options.build) {
    process.stdout.write('Building\n');
    run(...(code ? ['esbuild.mjs'] : ['test/run/package.mjs']));
  }
  const { runDemo } = await loadDemo();
  const opencode = { binary: installed ?? tools.opencodeV2, installed: installed !== undefined };
  const stateFile = stateFileOf(process.pid);
  await runDemo({ checkout, stateFile, ...options, code, tools: code ? undefined : tools, opencode }, interrupted);
}

try {
  await main();
} catch (error) {
  const plain = error instanceof MissingError || error instanceof UsageError;
  process.stderr.write(`${plain ? error.message : error.stack}\n`);
  process.exitCode = 1;
}
