import { join } from 'node:path';
import * as vscode from 'vscode';
import { loadConfig } from '../core/config';
import type { InstalledPlugin, InstallOptions, PluginPlace } from '../opencode/plugin-install';
import { contextKeys } from './ids';
import { pickRoot } from './picker';
import type { Root } from './root';
import type { Workspaces } from './workspaces';

export type PluginState = 'absent' | 'outdated' | 'current';

/** The part that runs inside OpenCode: whether it is installed for this window's folders, and how it gets there. */
export class Plugin implements vscode.Disposable {
  private readonly installedAnew = new vscode.EventEmitter<void>();
  /** The file was put somewhere; a running OpenCode need not have loaded it. */
  readonly onDidInstall = this.installedAnew.event;

  constructor(
    private readonly context: Pick<
      vscode.ExtensionContext,
      'extensionUri' | 'extension' | 'globalState' | 'workspaceState'
    >,
    private readonly workspaces: Workspaces,
  ) {}

  dispose(): void {
    this.installedAnew.dispose();
  }

  /** Of one folder. Looks at files only. */
  async stateOf(root: Root): Promise<PluginState> {
    const found = await this.installed(root);
    if (found.length === 0) return 'absent';
    return found.some(({ plugin }) => plugin.outdated) ? 'outdated' : 'current';
  }

  /** Of the window: what there is to do in any of its folders. */
  async state(): Promise<PluginState> {
    const states = await Promise.all(this.workspaces.current.map((root) => this.stateOf(root)));
    if (states.includes('outdated')) return 'outdated';
    return states.length === 0 || states.includes('absent') ? 'absent' : 'current';
  }

  async updateContext(): Promise<PluginState> {
    const state = await this.state();
    await vscode.commands.executeCommand('setContext', contextKeys.plugin, state);
    await vscode.commands.executeCommand('setContext', contextKeys.opencode, await this.opencode());
    return state;
  }

  /** Looks at files and settings only: whether there is an OpenCode that a plugin would be for. */
  private async opencode(): Promise<'present' | 'missing'> {
    const { hasBinary } = await import('../opencode/binary');
    const found = this.workspaces.current.some(({ api }) => {
      const { config } = loadConfig(api.root, api.folder);
      return config['opencode.serverUrl'] !== '' || hasBinary({ path: config['opencode.path'] });
    });
    return found || process.env['OPENCODE_SERVER_URL'] ? 'present' : 'missing';
  }

  /** The command: for this project or for all of them. */
  async install(given?: Root): Promise<boolean> {
    const root = given ?? (await pickRoot(this.workspaces, 'Install OpenCode Plugin'));
    if (root === undefined) return false;
    const known = await this.installed(root);
    const note = (place: PluginPlace): string => {
      const plugin = known.find((entry) => entry.place === place)?.plugin;
      return plugin === undefined ? '' : plugin.outdated ? `installed: ${plugin.version}, can be updated` : 'installed';
    };
    const chosen = await vscode.window.showQuickPick(
      [
        {
          label: '$(root-folder) This Project',
          description: note('project'),
          detail: `${root.name}/.opencode/plugins: whoever works on this project can have it`,
          place: 'project' as const,
        },
        {
          label: '$(home) All My Projects',
          description: note('global'),
          detail: 'In the configuration folder of OpenCode: for you alone',
          place: 'global' as const,
        },
      ],
      { title: 'Install OpenCode Plugin', placeHolder: 'It makes a checkpoint before every prompt and every change' },
    );
    if (chosen === undefined) return false;
    await this.put(chosen.place, root);
    return true;
  }

  /** OpenCode 1 would wait for npm in a configuration folder that came after the installation. */
  async spare(): Promise<void> {
    if (!vscode.workspace.isTrusted) return;
    const { spareStart } = await import('../opencode/plugin-install');
    for (const { api } of this.workspaces.current) await spareStart(api.root);
  }

  /** An older copy of ours is offered an update, once for each version: whoever says no has said it. Every project has a copy of its own. */
  async offerUpdate(): Promise<void> {
    if (!vscode.workspace.isTrusted) return;
    for (const root of this.workspaces.current)
      for (const { place, plugin } of await this.installed(root)) {
        const memory = place === 'project' ? this.context.workspaceState : this.context.globalState;
        const key = `pluginUpdateOffered:${this.version}:${plugin.path}`;
        if (!plugin.outdated || memory.get<boolean>(key) === true) continue;
        await memory.update(key, true);
        const where = place === 'project' ? root.name : 'all your projects';
        const answer = await vscode.window.showInformationMessage(
          plugin.version === this.version
            ? `The OpenCode plugin of ${where} is not the one that this extension brings.`
            : `The OpenCode plugin of ${where} is version ${plugin.version}; this extension brings ${this.version}.`,
          'Update Plugin',
        );
        if (answer === 'Update Plugin') await this.put(place, root);
      }
  }

  private get version(): string {
    return String((this.context.extension.packageJSON as { version?: unknown }).version ?? '0.0.0');
  }

  private options(root: Root): InstallOptions {
    const bundle = join(this.context.extensionUri.fsPath, 'dist', 'opencode-plugin.js');
    return { bundle, version: this.version, root: root.api.root };
  }

  private async installed(root: Root): Promise<Array<{ place: PluginPlace; plugin: InstalledPlugin }>> {
    const { installedPlugin } = await import('../opencode/plugin-install');
    const places: PluginPlace[] = ['project', 'global'];
    const found = await Promise.all(
      places.map(async (place) => ({ place, plugin: await installedPlugin(place, this.options(root)) })),
    );
    return found.flatMap(({ place, plugin }) => (plugin === null ? [] : [{ place, plugin }]));
  }

  private async put(place: PluginPlace, root: Root): Promise<void> {
    const { installPlugin } = await import('../opencode/plugin-install');
    const { path, changed } = await installPlugin(place, this.options(root));
    await this.updateContext();
    this.installedAnew.fire();
    vscode.window.showInformationMessage(
      changed
        ? `Installed as ${path}. OpenCode loads it: OpenCode 2 at once, OpenCode 1 when it is started the next time.`
        : 'The plugin is installed already, and up to date.',
    );
  }
}
