import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, rmdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { writeAtomic } from '../core/atomic-file';
import { CheckpointsError } from '../core/errors';
import { seedFolder, unseedFolder } from './plugin-seed';

export const pluginFileName = 'opencode-checkpoints.js';
export type PluginPlace = 'project' | 'global';

export interface InstallOptions {
  /** The plugin as it was built: `dist/opencode-plugin.js`. */
  bundle: string;
  version: string;
  /** The workspace's root. */
  root: string;
  env?: NodeJS.ProcessEnv;
}

export interface InstalledPlugin {
  path: string;
  version: string;
  /** Not the plugin that this version would install. */
  outdated: boolean;
}

/** OpenCode's configuration folder of a project, or of the user. */
export function configFolder(
  place: PluginPlace,
  { root, env = process.env }: Pick<InstallOptions, 'root' | 'env'>,
): string {
  if (place === 'project') return join(root, '.opencode');
  return join(env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config'), 'opencode');
}

/** Puts the plugin where OpenCode of both generations finds it by itself, over an older copy of ours. */
export async function installPlugin(
  place: PluginPlace,
  options: InstallOptions,
): Promise<InstalledPlugin & { changed: boolean; seeded: string[] }> {
  const folder = configFolder(place, options);
  const path = join(folder, 'plugins', pluginFileName);
  const content = await stamped(options);
  const before = await readText(path);
  if (before !== null && stampOf(before) === null)
    throw new CheckpointsError('conflict', `${path} is not a file of ours. Move it away first.`);
  if (before !== content) {
    await mkdir(join(folder, 'plugins'), { recursive: true });
    await writeAtomic(path, content, 0o644);
  }
  // The other name of the folder is searched as well: a copy there would be loaded a second time.
  await removeOwn(join(folder, 'plugin', pluginFileName));
  const seeded: string[] = [];
  for (const one of new Set([folder, configFolder('global', options)])) if (await seedFolder(one)) seeded.push(one);
  return { path, version: options.version, outdated: false, changed: before !== content, seeded };
}

/** null: it is not there, or is not ours. */
export async function installedPlugin(place: PluginPlace, options: InstallOptions): Promise<InstalledPlugin | null> {
  const wanted = await stamped(options);
  const found = await findCopy(configFolder(place, options));
  return found && { path: found.path, version: found.version, outdated: found.content !== wanted };
}

async function findCopy(folder: string): Promise<{ path: string; version: string; content: string } | null> {
  for (const name of ['plugins', 'plugin']) {
    const path = join(folder, name, pluginFileName);
    const content = await readText(path);
    const version = content === null ? null : stampOf(content);
    if (content !== null && version !== null) return { path, version, content };
  }
  return null;
}

/** Returns the files that went. */
export async function uninstallPlugin(place: PluginPlace, options: InstallOptions): Promise<string[]> {
  const folder = configFolder(place, options);
  const removed: string[] = [];
  for (const name of ['plugins', 'plugin']) {
    const path = join(folder, name, pluginFileName);
    if (!(await removeOwn(path))) continue;
    removed.push(path);
    await removeIfEmpty(join(folder, name));
  }
  // Without us nobody would notice there that another plugin needs the package; a copy for all projects goes on looking.
  for (const one of new Set([folder, configFolder('global', options)]))
    if ((await findCopy(one)) === null) await unseedFolder(one);
  if (removed.length > 0 && place === 'project') await removeIfEmpty(folder);
  return removed;
}

/** The first line tells what it is, so that an older copy can be found and replaced. */
async function stamped({ bundle, version }: InstallOptions): Promise<string> {
  const built = await readText(bundle);
  if (built === null)
    throw new CheckpointsError('not-supported', `The plugin is not part of this build (${bundle} is missing).`);
  const code = built.replace(/\n\/\/# sourceMappingURL=.*\n?$/, '\n');
  const hash = createHash('sha256').update(code).digest('hex').slice(0, 12);
  return `// opencode-checkpoints ${version} ${hash}\n${code}`;
}

function stampOf(content: string): string | null {
  return /^\/\/ opencode-checkpoints (\S+) [0-9a-f]{12}\n/.exec(content)?.[1] ?? null;
}

async function removeOwn(path: string): Promise<boolean> {
  const content = await readText(path);
  if (content === null || stampOf(content) === null) return false;
  await rm(path);
  return true;
}

async function removeIfEmpty(folder: string): Promise<void> {
  try {
    await rmdir(folder);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST' && code !== 'ENOENT') throw error;
  }
}

async function readText(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw error;
  }
}
