import { spawn, execFile, type ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The part of the installer's answer that a VS Code server needs. */
export interface VsCodeTools {
  codeServerEntry: string;
  node24: string;
}

export interface ServerOptions {
  tools: VsCodeTools;
  /** Installed before the start, as a user would. */
  vsix?: string;
  /** User settings on top of those that keep the screen clean. */
  settings?: Record<string, unknown>;
  /** Keeps VS Code's question whether the folder's authors are trusted; off by default. */
  workspaceTrust?: boolean;
  /** Lets a page run tests inside the extension host (see run-host.mjs). */
  testDriver?: boolean;
  env?: Record<string, string>;
}

export interface VsCodeServer {
  readonly port: number;
  /** Temporary folder of everything the server and its extensions write: HOME and XDG_* are in it. */
  readonly home: string;
  /** The extension host's environment: where the store is, for tests that look into it. */
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  folderUrl(folder: string): string;
  workspaceUrl(file: string): string;
  writeSettings(settings: Record<string, unknown>): Promise<void>;
  /** Resolves when the server has ended, by `stop` or by itself. */
  readonly exited: Promise<void>;
  /** Ends the server's whole process group and removes its folder. */
  stop(): Promise<void>;
}

const cleanScreen: Record<string, unknown> = {
  'workbench.startupEditor': 'none',
  'chat.disableAIFeatures': true,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.tips.enabled': false,
  'workbench.welcomePage.walkthroughs.openOnInstall': false,
  'telemetry.telemetryLevel': 'off',
  'extensions.autoUpdate': false,
  'extensions.autoCheckUpdates': false,
  'extensions.ignoreRecommendations': true,
  'update.mode': 'none',
  'git.openRepositoryInParentFolders': 'never',
  // Other servers of the machine are none of the tests' business.
  'remote.autoForwardPorts': false,
  // Text that can be read from the page instead of pixels.
  'terminal.integrated.gpuAcceleration': 'off',
  'security.workspace.trust.untrustedFiles': 'open',
  // The web default saves after a second; a desktop does not, and tests of unsaved editors need the desktop's way.
  'files.autoSave': 'off',
};

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() =>
        address !== null && typeof address === 'object' ? resolve(address.port) : reject(new Error('no free port')),
      );
    });
  });

const childEnv = (home: string, node: string, extra: Record<string, string>): NodeJS.ProcessEnv => {
  const env: NodeJS.ProcessEnv = {};
  for (const [key, value] of Object.entries(process.env))
    // The caller's own editor, git and store must not leak into the tests. The server would listen at PORT, and elsewhere by CODE_SERVER_….
    if (!/^(VSCODE_|CODE_SERVER_|PORT$|GIT_|XDG_|OPENCODE|ELECTRON_|NODE_OPTIONS|VITEST|npm_)/.test(key))
      env[key] = value;
  return {
    ...env,
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_DATA_HOME: join(home, '.local', 'share'),
    XDG_CACHE_HOME: join(home, '.cache'),
    XDG_STATE_HOME: join(home, '.local', 'state'),
    XDG_RUNTIME_DIR: join(home, 'run'),
    PATH: `${dirname(node)}:${process.env['PATH'] ?? ''}`,
    GIT_CONFIG_NOSYSTEM: '1',
    // A gallery that refuses at once instead of one on the internet.
    EXTENSIONS_GALLERY: JSON.stringify({
      serviceUrl: 'http://127.0.0.1:9/none',
      itemUrl: '',
      resourceUrlTemplate: '',
    }),
    ...extra,
  };
};

const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
};

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const endGroup = async (child: ChildProcess): Promise<void> => {
  const { pid } = child;
  if (pid === undefined) return;
  for (const [signal, patience] of [
    ['SIGTERM', 5000],
    ['SIGKILL', 5000],
  ] as const) {
    try {
      process.kill(-pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return;
      throw error;
    }
    for (const until = Date.now() + patience; Date.now() < until; await sleep(50)) if (!alive(-pid)) return;
  }
};

const ready = async (port: number, child: ChildProcess, logFile: string): Promise<void> => {
  for (const until = Date.now() + 60_000; Date.now() < until; await sleep(100)) {
    if (child.exitCode !== null) break;
    try {
      if ((await fetch(`http://127.0.0.1:${port}/healthz`)).ok) return;
    } catch (error) {
      // Refused until it listens; anything that lasts ends in the message below.
      if (!(error instanceof TypeError)) throw error;
    }
  }
  throw new Error(`the VS Code server did not start:\n${await readFile(logFile, 'utf8')}`);
};

/** Starts a real VS Code server that shares nothing with the user's own. */
export const startVsCodeServer = async (options: ServerOptions): Promise<VsCodeServer> => {
  const { codeServerEntry, node24 } = options.tools;
  const home = await realpath(await mkdtemp(join(tmpdir(), 'checkpoints-vscode-')));
  const userData = join(home, 'user');
  const extensions = join(home, 'extensions');
  const logFile = join(home, 'server.log');
  const settingsFile = join(userData, 'User', 'settings.json');
  const env = childEnv(home, node24, options.env ?? {});
  const writeSettings = async (settings: Record<string, unknown>): Promise<void> => {
    await mkdir(dirname(settingsFile), { recursive: true });
    await writeFile(settingsFile, JSON.stringify({ ...cleanScreen, ...options.settings, ...settings }, null, 2));
  };
  await writeSettings({});
  await mkdir(join(home, 'run'), { mode: 0o700 });
  await mkdir(extensions);
  await writeFile(join(home, '.gitconfig'), '[user]\n\tname = Test\n\temail = test@example.invalid\n');

  const dirs = ['--user-data-dir', userData, '--extensions-dir', extensions];
  if (options.vsix !== undefined)
    await run(node24, [codeServerEntry, ...dirs, '--install-extension', options.vsix], { env, cwd: home });

  const port = await freePort();
  const child = spawn(
    node24,
    [
      codeServerEntry,
      ...dirs,
      ...['--auth', 'none', '--bind-addr', `127.0.0.1:${port}`],
      ...['--disable-telemetry', '--disable-update-check', '--disable-getting-started-override'],
      ...(options.workspaceTrust === true ? [] : ['--disable-workspace-trust']),
      ...(options.testDriver === true ? ['--vscode-option', 'enable-smoke-test-driver'] : []),
    ],
    { env, cwd: home, detached: true, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const log = createWriteStream(logFile);
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  const stop = async (): Promise<void> => {
    await endGroup(child);
    log.end();
    await rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  try {
    await ready(port, child, logFile);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    port,
    home,
    env,
    logFile,
    folderUrl: (folder) => `http://127.0.0.1:${port}/?folder=${encodeURIComponent(folder)}`,
    workspaceUrl: (file) => `http://127.0.0.1:${port}/?workspace=${encodeURIComponent(file)}`,
    writeSettings,
    exited,
    stop,
  };
};
