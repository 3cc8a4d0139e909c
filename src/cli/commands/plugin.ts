import path from 'node:path';
import type { Command } from 'commander';
import { version } from '../../../package.json';
import { loadConfig, storeHome } from '../../core/config';
import { CheckpointsError } from '../../core/errors';
import type { InstalledPlugin, InstallOptions, PluginPlace } from '../../opencode/plugin-install';
import { define, type Invocation, type Select } from '../command';
import { addGlobals } from '../globals';
import type { Output } from '../output';
import { visible } from '../visible';

interface PlaceFlag {
  global?: boolean;
}

const placeOption = (command: Command): Command =>
  command.option('--global', 'for all projects of this user, not for this one');
const placeOf = ({ global }: PlaceFlag): PluginPlace => (global ? 'global' : 'project');

export function registerPluginCommands(program: Command, select: Select): void {
  const group = addGlobals(program.command('plugin'))
    .summary('the part that runs inside OpenCode: install, status, uninstall')
    .description('The part that runs inside OpenCode: checkpoints before every change, and tools for the agent.')
    .enablePositionalOptions();

  define<[], PlaceFlag>(group, select, {
    usage: 'install',
    summary: 'install or update the plugin',
    details:
      'As .opencode/plugins/opencode-checkpoints.js. OpenCode 2 loads it at once, OpenCode 1 when it is started the next time.',
    examples: ['opencode-checkpoints plugin install', 'opencode-checkpoints plugin install --global'],
    options: placeOption,
    run: async (invocation, _args, flags) => {
      const { installPlugin } = await import('../../opencode/plugin-install');
      const plugin = await installPlugin(placeOf(flags), await installOptions(invocation, placeOf(flags)));
      const what = plugin.changed ? 'Installed' : 'Already there:';
      const next = plugin.changed
        ? 'OpenCode 2 loads it at once, OpenCode 1 when it is started the next time; `opencode-checkpoints plugin status` tells.\n'
        : '';
      return { json: { plugin }, text: () => `${what} ${visible(plugin.path)} (${plugin.version})\n${next}` };
    },
  });

  define(group, select, {
    usage: 'status',
    summary: 'is it installed, is it up to date, and has a running server loaded it',
    examples: [
      'opencode-checkpoints plugin status',
      'opencode-checkpoints plugin status --server http://127.0.0.1:4096',
    ],
    run: async (invocation) => {
      const status = await readStatus(invocation);
      return { json: { plugin: status }, text: (output) => statusView(status, output) };
    },
  });

  define<[], PlaceFlag>(group, select, {
    usage: 'uninstall',
    summary: 'remove the plugin; checkpoints stay',
    examples: ['opencode-checkpoints plugin uninstall'],
    options: placeOption,
    run: async (invocation, _args, flags) => {
      const { uninstallPlugin } = await import('../../opencode/plugin-install');
      const { knownRoots } = await import('../../git/layout');
      const known = knownRoots(storeHome()).map(({ root }) => root);
      const options = { ...(await installOptions(invocation, placeOf(flags))), known };
      const removed = await uninstallPlugin(placeOf(flags), options);
      const lines = removed.map((file) => `removed  ${visible(file)}\n`).join('');
      const next = 'OpenCode 2 lets go of it at once, OpenCode 1 when it is started the next time. Checkpoints stay.\n';
      return { json: { removed }, text: () => (lines ? lines + next : 'It was not installed there.\n') };
    },
  });
}

interface Status {
  version: string;
  project: InstalledPlugin | null;
  global: InstalledPlugin | null;
  /** null: no server is running. */
  server: { url: string; generation: string; version: string; loaded: boolean; error: string | null } | null;
}

/** For all projects it is installed from anywhere, a home folder for instance, which is no project. */
async function installOptions({ globals }: Invocation, place: PluginPlace): Promise<InstallOptions> {
  const { resolveRoot } = await import('../../git/roots');
  const root = place === 'global' ? globals.cwd : await resolveRoot(globals.cwd, storeHome());
  return { bundle: path.join(__dirname, 'opencode-plugin.js'), version, root };
}

/** In a folder that is no project only the copy for all of them counts. */
async function statusOptions(invocation: Invocation): Promise<InstallOptions> {
  try {
    return await installOptions(invocation, 'project');
  } catch (error) {
    if (!CheckpointsError.is(error, 'refused-root')) throw error;
    return installOptions(invocation, 'global');
  }
}

async function readStatus(invocation: Invocation): Promise<Status> {
  const options = await statusOptions(invocation);
  const { installedPlugin } = await import('../../opencode/plugin-install');
  const [project, global] = await Promise.all([
    installedPlugin('project', options),
    installedPlugin('global', options),
  ]);
  return { version, project, global, server: await askServer(invocation, options.root) };
}

/** A server is asked, none is started: it would say nothing about the one the user works with. */
async function askServer({ globals, output }: Invocation, root: string): Promise<Status['server']> {
  const { findServer } = await import('../../opencode/discovery');
  const { workspaceFolder } = await import('../../git/roots');
  const { config } = loadConfig(root, workspaceFolder(storeHome(), root));
  const named = globals.server ?? (process.env['OPENCODE_SERVER_URL'] ? undefined : config['opencode.serverUrl']);
  const server = await findServer(named ? { serverUrl: named } : {});
  if (!server) return null;
  output.progress('Asking OpenCode…');
  const { pluginLoaded } = await import('../../opencode/plugin-loaded');
  const state = await pluginLoaded(server, root);
  return { url: server.endpoint.url, generation: server.generation, version: server.version, ...state };
}

function statusView(status: Status, { style }: Output): string {
  const place = (name: string, plugin: InstalledPlugin | null): string => {
    const state = !plugin
      ? style.dim('not installed')
      : plugin.outdated
        ? style.yellow(`${plugin.version}, outdated: run \`plugin install${name === 'global' ? ' --global' : ''}\``)
        : style.green(plugin.version);
    return `${name.padEnd(9)}${state}${plugin ? `  ${visible(plugin.path)}` : ''}\n`;
  };
  const { server } = status;
  const loaded = !server
    ? style.dim('none is running: start OpenCode, or name one with --server')
    : server.loaded
      ? `${style.green('loaded')} by OpenCode ${visible(server.version)} at ${visible(server.url)}`
      : `${style.red('not loaded')} by OpenCode ${visible(server.version)} at ${visible(server.url)}${server.error ? `: ${visible(server.error)}` : ''}`;
  return `${place('project', status.project)}${place('global', status.global)}${'server'.padEnd(9)}${loaded}\n`;
}
