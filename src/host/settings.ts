import { mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as vscode from 'vscode';
import { writeAtomic } from '../core/atomic-file';
import { globalConfigPath } from '../core/config';
import { section, settings, type SettingKey } from './ids';
import type { Root } from './root';

/**
 * VS Code's settings as one layer of the configuration, for plugin and command line too. Only what the user has set:
 * a default written down would hide the files below it.
 */
export const ownSettings = (folder: vscode.Uri): Partial<Record<SettingKey, unknown>> => {
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
export const writeSettings = async (root: Root): Promise<void> => {
  const path = join(root.api.folder, 'config.json');
  const own = ownSettings(root.folder.uri);
  const before = await readJson(path);
  if (Object.keys(own).length === 0) {
    if (before !== undefined) await rm(path, { force: true });
    return;
  }
  const text = `${JSON.stringify(own, null, 2)}\n`;
  if (before !== text) await writeWhole(path, text);
};

/**
 * Where the store lies is known before any workspace is, so that setting goes into the global file, which plugin and
 * command line read. Answers whether the place changed.
 */
export const writeStoreLocation = async (): Promise<boolean> => {
  const known = vscode.workspace.getConfiguration(section).inspect<string>(settings.storeLocation);
  const wanted = known?.globalValue;
  if (wanted === undefined) return false;
  const path = globalConfigPath();
  const before = await readJson(path);
  const parsed: unknown = before === undefined ? {} : JSON.parse(before);
  const content = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? { ...parsed } : {};
  if (Object.entries(content).some(([key, value]) => key === settings.storeLocation && value === wanted)) return false;
  await writeWhole(path, `${JSON.stringify({ ...content, [settings.storeLocation]: wanted }, null, 2)}\n`);
  return true;
};
