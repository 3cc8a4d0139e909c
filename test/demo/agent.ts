import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isolatedEnv, scriptedConfig, type Generation } from '../rig/opencode-config';
import { freePort, startGuarded, until } from '../rig/opencode-process';
import { startScriptedModel } from '../rig/scripted-model';
import { tellStory } from './story';

const run = promisify(execFile);

export interface AgentOptions {
  /** Temporary folder of the demo. */
  home: string;
  workspace: string;
  /** The demo's own workspace, or a folder of the user's. */
  kind: 'demo' | 'own';
  binary: string;
  /** The user's own installation keeps its data; one from the cache must not touch (and migrate) it. */
  installed: boolean;
  /** Where checkpoints are kept, for the plugin. */
  store: string;
  scripted: boolean;
}

export interface Agent {
  url: string;
  password: string;
  generation: Generation;
  version: string;
  /** Where it keeps its data: commands of OpenCode that shall meet its sessions need the same. */
  places: Record<string, string>;
  stop(): Promise<void>;
}

const providerKey =
  /^(ANTHROPIC|OPENAI|OPENROUTER|OPENCODE|GEMINI|GOOGLE_GENERATIVE_AI|GROQ|MISTRAL|DEEPSEEK|XAI|TOGETHER|CEREBRAS|FIREWORKS|MOONSHOT|ZAI)_API_KEY$/;

async function text(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return '';
    throw error;
  }
}

const xdg = (env: NodeJS.ProcessEnv, name: string, fallback: string): string =>
  join(env[name] || join(env['HOME'] || homedir(), fallback), 'opencode');

const authFile = (env: NodeJS.ProcessEnv): string => join(xdg(env, 'XDG_DATA_HOME', '.local/share'), 'auth.json');

/** Why the user's OpenCode would have a model to talk to; undefined when there is nothing that says so. */
export async function configuredModel(workspace: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const key = Object.keys(env).find((name) => providerKey.test(name) && env[name]);
  if (key) return key;
  if (/"\w/.test(await text(authFile(env)))) return 'a login of OpenCode';
  const global = xdg(env, 'XDG_CONFIG_HOME', '.config');
  const names = ['opencode.json', 'opencode.jsonc', 'config.json'];
  const files = [
    ...(env['OPENCODE_CONFIG'] ? [env['OPENCODE_CONFIG']] : []),
    ...[global, workspace, join(workspace, '.opencode')].flatMap((folder) => names.map((name) => join(folder, name))),
  ];
  for (const file of files) if (/"(model|providers?)"\s*:/.test(await text(file))) return file;
  return /"(model|providers?)"\s*:/.test(env['OPENCODE_CONFIG_CONTENT'] ?? '') ? 'OPENCODE_CONFIG_CONTENT' : undefined;
}

/** OpenCode 1 prints `1.18.33`, OpenCode 2 `opencode v2.0.15`. */
async function versionOf(binary: string, env: NodeJS.ProcessEnv): Promise<string> {
  const { stdout } = await run(binary, ['--version'], { env });
  const version = /\d+\.\d+\.\d+/.exec(stdout)?.[0];
  if (!version) throw new Error(`${binary} --version answered "${stdout.trim()}"`);
  return version;
}

async function environment(options: AgentOptions): Promise<NodeJS.ProcessEnv> {
  if (options.scripted) return isolatedEnv(options.home);
  if (options.installed) return { ...process.env };
  const data = join(options.home, 'data');
  await mkdir(join(data, 'opencode'), { recursive: true });
  const login = authFile(process.env);
  if ((await text(login)) !== '') await copyFile(login, join(data, 'opencode', 'auth.json'));
  return { ...process.env, XDG_DATA_HOME: data, XDG_STATE_HOME: join(options.home, 'state') };
}

function placesOf(env: NodeJS.ProcessEnv): Record<string, string> {
  const names = ['HOME', 'XDG_DATA_HOME', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'XDG_CACHE_HOME'];
  return Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
}

/** Starts `opencode serve` on loopback with a password of its own, and the scripted model where it is wanted. */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  const { home, workspace, binary } = options;
  await mkdir(join(home, 'tmp'), { recursive: true });
  const base = await environment(options);
  const version = await versionOf(binary, base);
  const generation: Generation = version.startsWith('1.') ? 'v1' : 'v2';
  const model = options.scripted ? await startScriptedModel() : undefined;
  if (model) tellStory(model, options.kind);
  const password = randomBytes(16).toString('hex');
  const port = await freePort();
  const server = await startGuarded(binary, ['serve', '--hostname', '127.0.0.1', '--port', String(port)], {
    cwd: workspace,
    env: {
      ...base,
      OPENCODE_CHECKPOINTS_HOME: options.store,
      OPENCODE_SERVER_PASSWORD: password,
      OPENCODE_PASSWORD: password,
      ...(model ? { OPENCODE_CONFIG_CONTENT: JSON.stringify(scriptedConfig(generation, model.url)) } : {}),
    },
    logFile: join(home, 'opencode.log'),
  });
  const stop = async (): Promise<void> => {
    await server.stop();
    await model?.close();
  };
  let ended = false;
  void server.exited.then(() => (ended = true));
  try {
    const problem = (): string => `OpenCode did not start:\n${server.output()}`;
    await until(() => /listening on http/.test(server.output()) || ended, 90_000, problem);
    if (ended) throw new Error(problem());
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `http://127.0.0.1:${port}`, password, generation, version, places: placesOf(base), stop };
}
