import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { installPlugin, pluginFileName } from '../../src/opencode/plugin-install';
import { isolatedEnv } from '../rig/opencode-config';
import { endAll } from '../run/processes.mjs';
import { configuredModel, startAgent, type Agent } from './agent';
import { openDesktop, serveEditor, type Editor } from './editor';
import { makeDemoProject } from './project';
import { notePrompt, prompts } from './story';

export interface DemoOptions {
  checkout: string;
  /** Where `npm run demo:prompt` finds this demo. */
  stateFile: string;
  /** A folder of the user's; without it a demo workspace is made. */
  folder?: string;
  /** `code` of a desktop VS Code, or the parts of the server. */
  code?: string;
  tools?: { codeServerEntry: string; node24: string };
  opencode: { binary: string; installed: boolean };
  /** Use the scripted model although another one is configured. */
  scripted: boolean;
}

const ourStore = (env: NodeJS.ProcessEnv): string =>
  env['OPENCODE_CHECKPOINTS_HOME'] ||
  join(env['XDG_DATA_HOME'] || join(env['HOME'] || homedir(), '.local', 'share'), 'opencode-checkpoints');

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** `ask` for the terminals of the demo: the same command that the tasks run. */
async function writeAsk(bin: string, ask: string[]): Promise<void> {
  await mkdir(bin, { recursive: true });
  await writeFile(join(bin, 'ask'), `#!/bin/sh\nexec ${ask.map(quoted).join(' ')} "$@"\n`, { mode: 0o755 });
}

/** `opencode` for the editor, which has a home of its own: with the sessions of the server that runs beside it. */
async function writeOpenCode(bin: string, binary: string, { places }: Agent): Promise<string> {
  const file = join(bin, 'opencode');
  const env = Object.entries(places).map(([name, value]) => `export ${name}=${quoted(value)}\n`);
  await writeFile(file, `#!/bin/sh\n${env.join('')}exec ${quoted(binary)} "$@"\n`, { mode: 0o755 });
  return file;
}

/** Cleans up after us when we are killed; ended with the rest when we are not. */
function watch(checkout: string, home: string, stateFile: string): void {
  const script = join(checkout, 'test', 'demo', 'watchdog.mjs');
  spawn(process.execPath, [script, home, stateFile], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
}

/** As a user does it: VS Code then knows the plugin, and offers no other. Of the user's own configuration nothing is touched. */
async function putPlugin(bundle: string, { checkout }: DemoOptions, root: string, home: string): Promise<void> {
  const { version } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8')) as { version: string };
  await installPlugin('project', { bundle, version, root, env: isolatedEnv(home) });
}

const hasPlugin = (folder: string | undefined): boolean =>
  folder !== undefined && existsSync(join(folder, '.opencode', 'plugins', pluginFileName));

function describeModel(scripted: boolean, configured: string | undefined): string {
  if (!scripted) return `your own model (${configured})`;
  return configured
    ? 'a scripted model on this machine, as asked for'
    : 'a scripted model on this machine, because no model is configured';
}

function announce(options: DemoOptions, editor: Editor, agent: Agent, model: string, plugin: boolean): void {
  const own = options.folder !== undefined;
  const example = own ? notePrompt : prompts.refactor;
  const lines = [
    '',
    editor.url ? `  Open    ${editor.url}` : '  Open    VS Code is starting in a window of its own',
    `  Agent   OpenCode ${agent.version} with ${model}`,
    ...(own ? [] : [`  Play    Terminal > Run Task… > "Ask the agent: ${prompts.refactor}"`]),
    `  ${own ? 'Play' : 'or  '}    npm run demo:prompt -- "${example}"     (in another terminal)`,
    ...(plugin || hasPlugin(options.folder)
      ? []
      : [
          '  Note    OpenCode has no plugin here: checkpoints come from its events, and may be late. Run "Checkpoints: Install OpenCode Plugin" (F1); with OpenCode 1 stop and start again',
        ]),
    `  Stop    Ctrl+C${own ? '' : ' (the demo workspace is removed)'}`,
    '',
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** Runs the demo until `stopped` resolves or the window is closed, then leaves nothing behind. */
export async function runDemo(options: DemoOptions, stopped: Promise<void>): Promise<void> {
  // Short: sockets of the editor lie below it, and their paths must not exceed 107 bytes.
  const home = await realpath(await mkdtemp(join(tmpdir(), 'checkpoints-demo-')));
  const { stateFile } = options;
  const ask = [process.execPath, join(options.checkout, 'test', 'demo', 'prompt.mjs'), '--state', stateFile];
  const own = options.folder !== undefined;
  const workspace = options.folder ?? join(home, 'greeter');
  const store = own ? ourStore(process.env) : join(home, 'store');
  const stops: Array<() => Promise<void>> = [];
  watch(options.checkout, home, stateFile);
  try {
    const built = join(options.checkout, 'dist', 'opencode-plugin.js');
    const plugin = !own && existsSync(built);
    if (!own) await makeDemoProject(workspace, ask, plugin);
    if (plugin) await putPlugin(built, options, workspace, home);
    await writeAsk(join(home, 'bin'), ask);
    const configured = await configuredModel(workspace, process.env);
    const scripted = options.scripted || configured === undefined;
    const kind = own ? 'own' : 'demo';
    const agent = await startAgent({ home, workspace, kind, store, scripted, ...options.opencode });
    stops.push(() => agent.stop());
    await mkdir(dirname(stateFile), { recursive: true });
    const { url, password, generation } = agent;
    await writeFile(stateFile, JSON.stringify({ pid: process.pid, url, password, generation, workspace }), {
      mode: 0o600,
    });
    stops.push(() => rm(stateFile, { force: true }));
    const binary = await writeOpenCode(join(home, 'bin'), options.opencode.binary, agent);
    const editor = await startEditor(options, { home, workspace, store, agent, binary });
    stops.push(() => editor.stop());
    announce(options, editor, agent, describeModel(scripted, configured), plugin);
    const closed = editor.closed.then(() => 'VS Code has ended: ');
    const why = await Promise.race([stopped.then(() => ''), closed]);
    process.stdout.write(`${why}${why ? 'stopping' : 'Stopping'}\n`);
  } finally {
    for (const stop of stops.reverse()) await stop();
    // What the editor started (shells of its terminals, windows) carries the folder in arguments or environment.
    await endAll(-1, home);
    await rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
}

interface EditorContext {
  home: string;
  workspace: string;
  store: string;
  agent: Agent;
  /** OpenCode's program. */
  binary: string;
}

async function startEditor(options: DemoOptions, context: EditorContext): Promise<Editor> {
  const { home, workspace, store, agent, binary } = context;
  const gitConfig = join(process.env['HOME'] || homedir(), '.gitconfig');
  const path = [
    join(home, 'bin'),
    ...(options.tools ? [dirname(options.tools.node24)] : []),
    process.env['PATH'] ?? '',
  ];
  const common = {
    home,
    workspace,
    env: {
      PATH: path.join(delimiter),
      // What the editor and an OpenCode in its terminals leave there goes with the demo. A desktop's sockets lie there, too: their paths would get too long.
      ...(options.tools ? { TMPDIR: join(home, 'tmp') } : {}),
      CHECKPOINTS_DEMO: home,
      OPENCODE_CHECKPOINTS_HOME: store,
      OPENCODE_BIN: binary,
      OPENCODE_SERVER_URL: agent.url,
      OPENCODE_SERVER_PASSWORD: agent.password,
      OPENCODE_PASSWORD: agent.password,
      ...(existsSync(gitConfig) ? { GIT_CONFIG_GLOBAL: gitConfig } : {}),
    },
    settings: {
      'opencodeCheckpoints.opencode.serverUrl': agent.url,
      'workbench.startupEditor': 'readme',
      'remote.autoForwardPorts': false,
      'telemetry.telemetryLevel': 'off',
      'extensions.ignoreRecommendations': true,
    },
  };
  if (options.code) return openDesktop({ ...common, code: options.code, checkout: options.checkout });
  if (!options.tools) throw new Error('neither a desktop VS Code nor the VS Code server was found');
  const vsix = join(options.checkout, 'dist', 'opencode-checkpoints.vsix');
  return serveEditor({ ...common, tools: options.tools, vsix });
}
