import { existsSync } from 'node:fs';
import { mkdir, readFile, realpath, rm } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import * as vscode from 'vscode';
import { writeAtomic } from '../core/atomic-file';
import { globalConfigPath, storeHome } from '../core/config';
import { section, settings, type SettingKey } from './ids';
import type { Root } from './root';
import { writeStoreLocation, type Written } from './store-location';

/**
 * VS Code's settings as one layer of the configuration, for plugin and command line too. Only what the user has set:
 * a default written down would hide the files below it.
 */
const ownSettings = (folder: vscode.Uri): Partial<Record<SettingKey, unknown>> => {
  const configuration = vscode.workspace.getConfiguration(section, folder);
  const own: Partial<Record<SettingKey, unknown>> = {};
  for (const key of Object.values(settings)) {
    const known = configuration.inspect(key);
    if (known === undefined) continue;
    const set = [known.globalValue, known.workspaceValue, known.workspaceFolderValue].some(
      (value) => value !== undefined,
    );
    // `get` leaves out what an untrusted folder may not set.
    if (set && key !== settings.storeLocation) own[key] = configuration.get(key);
  }
  return own;
};

const readJson = async (path: string): Promise<string | undefined> => {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};

const writeWhole = async (path: string, text: string): Promise<void> => {
  await mkdir(dirname(path), { recursive: true });
  await writeAtomic(path, text);
};

/** Writes `config.json` of a root's store folder, and only when it says something new. */
export const writeSettings = (root: Root): Promise<void> =>
  writeLayer(join(root.api.folder, 'config.json'), ownSettings(root.folder.uri));

/**
 * A folder without a store is opened when somebody looks at it. The plugin may make its first checkpoint before: what the user has set counts for
 * that one, too. No store is made for it.
 */
export const writeSettingsAhead = async ({ uri }: vscode.WorkspaceFolder): Promise<void> => {
  const { resolveRoot, workspaceFolder } = await import('../git/roots');
  const [home, real, own] = [storeHome(), await realpath(uri.fsPath), ownSettings(uri)];
  // Where nothing is set, and nothing was, it costs no more than this look.
  if (Object.keys(own).length === 0 && !existsSync(join(workspaceFolder(home, real), 'config.json'))) return;
  await mkdir(home, { recursive: true, mode: 0o700 });
  await writeLayer(join(workspaceFolder(home, await resolveRoot(real, home)), 'config.json'), own);
};

const writeLayer = async (path: string, own: Partial<Record<SettingKey, unknown>>): Promise<void> => {
  const before = await readJson(path);
  if (Object.keys(own).length === 0) {
    if (before !== undefined) await rm(path, { force: true });
    return;
  }
  const text = `${JSON.stringify(own, null, 2)}\n`;
  if (before !== text) await writeWhole(path, text);
};

const memoryKey = 'storeLocationWritten';

/** Keeps the global file in step with the setting. A file that cannot be changed is told of once, with the way to it. */
export class StoreLocation {
  private told = false;

  constructor(
    private readonly state: Pick<vscode.Memento, 'get' | 'update'>,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  /** Answers whether the file says what it shall. */
  async write(): Promise<boolean> {
    const path = globalConfigPath();
    const wanted = vscode.workspace.getConfiguration(section).inspect<string>(settings.storeLocation)?.globalValue;
    // Passed on, it would stop the plugin and the command line as well.
    if (wanted && !isAbsolute(wanted)) {
      if (!this.told) void this.tellRelative(wanted);
      this.told = true;
      return false;
    }
    try {
      await writeStoreLocation(path, wanted ?? '', {
        get: () => this.state.get<Written>(memoryKey),
        set: (written) => this.state.update(memoryKey, written),
      });
      this.told = false;
      return true;
    } catch (error) {
      this.log.error(error instanceof Error ? error : String(error));
      // Not awaited: the message stays until somebody reads it.
      if (!this.told) void this.tell(path, error instanceof Error ? error.message : String(error));
      this.told = true;
      return false;
    }
  }

  private async tellRelative(wanted: string): Promise<void> {
    const open = 'Open Settings';
    const answer = await vscode.window.showErrorMessage(
      `The setting “${section}.${settings.storeLocation}” takes an absolute path, and “${wanted}” is none. Checkpoints are kept where they were.`,
      open,
    );
    if (answer === open)
      await vscode.commands.executeCommand('workbench.action.openSettings', `${section}.${settings.storeLocation}`);
  }

  private async tell(path: string, why: string): Promise<void> {
    const open = 'Open File';
    const answer = await vscode.window.showErrorMessage(
      `The setting “${section}.${settings.storeLocation}” could not be passed on: ${why.replace(/\.?$/, '.')} Correct the file or delete it, and reload the window.`,
      open,
    );
    if (answer === open) await vscode.commands.executeCommand('vscode.open', vscode.Uri.file(path));
  }
}
