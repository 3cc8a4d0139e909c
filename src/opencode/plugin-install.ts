import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, rmdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { writeAtomic } from '../core/atomic-file';
import { CheckpointsError } from '../core/errors';
import { seedFolder, unseedFolder, unseedIfShared, usersOf } from './plugin-seed';

export const pluginFileName = 'opencode-checkpoints.js';
export type PluginPlace = 'project' | 'global';

export interface InstallOptions {
  /** The plugin as it was built: `dist/opencode-plugin.js`. */
  bundle: string;
  version: string;
  /** The workspace's root. */
  root: string;
  /** The roots of all workspaces that are known: what a copy for all projects spared there goes with it. */
  known?: readonly string[];
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
  return join(env['XDG_CONFIG_HOME'] || join(homeOf(env), '.config'), 'opencode');
}

const homeOf = (env: NodeJS.ProcessEnv): string => env['HOME'] || homedir();

/**
 * Where OpenCode 1 looks for plugins, and so waits for their package, of the folders that are there: those of the project up to the top of its repository,
 * the user's, and the one in the home folder, in which OpenCode's own installer puts the program.
 */
function searchedFolders(options: Pick<InstallOptions, 'root' | 'env'>): string[] {
  const { root, env = process.env } = options;
  const folders = [configFolder('global', options), join(homeOf(env), '.opencode')];
  if (env['OPENCODE_CONFIG_DIR']) folders.push(env['OPENCODE_CONFIG_DIR']);
  for (let at = root; ; at = dirname(at)) {
    folders.push(join(at, '.opencode'));
    if (existsSync(join(at, '.git')) || dirname(at) === at) break;
  }
  return [...new Set(folders)].filter((folder) => existsSync(folder));
}

/**
 * For the plugin itself, as OpenCode loads it and as it works: folders come, and other plugins, after the installation. What another plugin
 * needs is given back before anything is waited for. A folder that cannot be changed stays as it is: checkpoints do not depend on it.
 * `loadedFrom`: its own file. OpenCode 1 goes on with a plugin that was uninstalled: what that took away must not come back, for nobody would
 * give it to another plugin then.
 */
export async function keepSpared(root: string, env: NodeJS.ProcessEnv, loadedFrom: string): Promise<void> {
  const folders = searchedFolders({ root, env });
  const seeding = folders.filter((folder) => {
    try {
      return !unseedIfShared(folder);
    } catch {
      return false;
    }
  });
  if (!existsSync(loadedFrom) && !folders.some(hasCopy)) return;
  const users = projectCopies(folders, { root, env });
  await Promise.allSettled(seeding.map((folder) => seedFolder(folder, users)));
}

/** The same before OpenCode is started, where a plugin of ours will be loaded: OpenCode 1 waits before it loads any. */
export async function spareStart(root: string, env: NodeJS.ProcessEnv = process.env): Promise<void> {
  const [copy] = searchedFolders({ root, env }).flatMap(copiesIn);
  if (copy !== undefined) await keepSpared(root, env, copy);
}

/** Those of a project: the user's own copies are looked for whenever it matters. */
function projectCopies(folders: readonly string[], options: Pick<InstallOptions, 'root' | 'env'>): string[] {
  return folders.filter((folder) => folder !== configFolder('global', options) && hasCopy(folder));
}

const copiesIn = (folder: string): string[] =>
  ['plugins', 'plugin'].map((name) => join(folder, name, pluginFileName)).filter((path) => existsSync(path));

const hasCopy = (folder: string): boolean => copiesIn(folder).length > 0;

/** A configuration folder that was made for something else: where the plugin is there for all projects, OpenCode 1 would wait there, too. */
export async function spareNewFolder(folder: string, env: NodeJS.ProcessEnv = process.env): Promise<void> {
  try {
    if ((await findCopy(configFolder('global', { root: folder, env }))) !== null) await seedFolder(folder);
  } catch {
    // Nor does what it was made for.
  }
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
    throw new CheckpointsError('conflict', `${path} is not a file of ours. Move it away first.`, {
      details: { notOurs: true },
    });
  await inFolder(folder, async () => {
    if (before !== content) {
      await mkdir(join(folder, 'plugins'), { recursive: true });
      await writeAtomic(path, content, 0o644);
    }
    // The other name of the folder is searched as well: a copy there would be loaded a second time.
    await removeOwn(join(folder, 'plugin', pluginFileName));
  });
  const seeded: string[] = [];
  const users = projectCopies([folder], options);
  for (const one of new Set([folder, configFolder('global', options), ...searchedFolders(options)]))
    if (await inFolder(one, () => seedFolder(one, users)).catch(leftAlone)) seeded.push(one);
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

/** What the file system does not allow there is nobody's fault, and has a way out. */
async function inFolder<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, errno, message } = error as NodeJS.ErrnoException;
    if (code === undefined || errno === undefined) throw error;
    throw new CheckpointsError('workspace-readonly', `${folder} cannot be changed: ${message}.`, {
      cause: error,
      details: { plugin: true },
    });
  }
}

/** Where another folder cannot be changed OpenCode 1 waits there, as it did before, and the plugin works all the same. */
function leftAlone(error: unknown): false {
  if (!CheckpointsError.is(error, 'workspace-readonly')) throw error;
  return false;
}

/** Returns the files that went. */
export async function uninstallPlugin(place: PluginPlace, options: InstallOptions): Promise<string[]> {
  const folder = configFolder(place, options);
  return inFolder(folder, () => takeAway(place, folder, options));
}

async function takeAway(place: PluginPlace, folder: string, options: InstallOptions): Promise<string[]> {
  const removed: string[] = [];
  for (const name of ['plugins', 'plugin']) {
    const path = join(folder, name, pluginFileName);
    if (!(await removeOwn(path))) continue;
    removed.push(path);
    await removeIfEmpty(join(folder, name));
  }
  // Without us nobody would notice there that another plugin needs the package; a copy that stays goes on looking.
  const stays = (await findCopy(configFolder('project', options))) ?? (await findCopy(configFolder('global', options)));
  if (stays === null) for (const one of searchedFolders(options)) await unseedUnused(one);
  if (place === 'global') for (const root of options.known ?? []) await unseedUnused(join(root, '.opencode'));
  if (place === 'project' && !(await isNeeded(folder))) {
    unseedFolder(folder);
    if (removed.length > 0) await removeIfEmpty(folder);
    if (stays !== null && existsSync(folder)) await seedFolder(folder);
  }
  return removed;
}

async function unseedUnused(folder: string): Promise<void> {
  if ((await findCopy(folder)) === null && !(await isNeeded(folder)) && unseedFolder(folder))
    await removeIfEmpty(folder);
}

/** By the copy of another project: without it the next OpenCode 1 there would wait. */
async function isNeeded(folder: string): Promise<boolean> {
  for (const user of usersOf(folder)) if ((await findCopy(user)) !== null) return true;
  return false;
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
