import { existsSync, readdirSync, readFileSync, rmSync, rmdirSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeAtomic } from '../core/atomic-file';

/**
 * As soon as there is any plugin, OpenCode 1 waits at its start for `npm install @opencode-ai/plugin` in every configuration folder: 16 seconds with
 * a registry, over a minute without. Our plugin imports nothing. A lock file that says it is installed makes OpenCode 1 pass over it; so one is put
 * where nobody else could need the package, and taken away as soon as somebody might.
 */

const dependency = '@opencode-ai/plugin';
const mark = 'opencode-checkpoints';
const ownPlugin = 'opencode-checkpoints.js';
const dependencies = { [dependency]: '*' };
const code = /\.[cm]?[jt]sx?$/;

/** What OpenCode's own installation leaves out of the user's repository, too. */
const ignored = ['node_modules', 'package.json', 'package-lock.json', 'bun.lock', '.gitignore'];

/** `users`: the configuration folders whose copies of the plugin wait here, too. What others need stays when one of them goes. */
export async function seedFolder(folder: string, users: readonly string[] = []): Promise<boolean> {
  if (isSeeded(folder)) {
    const known = usersOf(folder);
    if (!users.every((user) => known.includes(user))) await writePackage(folder, [...new Set([...known, ...users])]);
    return false;
  }
  const taken = ['node_modules', 'package.json', 'package-lock.json', 'bun.lock'];
  if (taken.some((name) => existsSync(join(folder, name))) || isShared(folder)) return false;
  const lock = { name: mark, lockfileVersion: 3, requires: true, packages: { '': { name: mark, dependencies } } };
  await mkdir(join(folder, 'node_modules'), { recursive: true });
  await writeFile(join(folder, 'package-lock.json'), json(lock));
  await writePackage(folder, users);
  const ignore = join(folder, '.gitignore');
  if (!existsSync(ignore)) await writeFile(ignore, `${ignored.join('\n')}\n`);
  return true;
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** As a whole or not at all: OpenCode may be reading it. */
function writePackage(folder: string, users: readonly string[]): Promise<void> {
  const neededBy = users.length > 0 ? { neededBy: users } : {};
  return writeAtomic(
    join(folder, 'package.json'),
    json({ name: mark, private: true, dependencies, ...neededBy }),
    0o644,
  );
}

/** Whose copies of the plugin waited here when it was seeded, or later. */
export function usersOf(folder: string): string[] {
  const { neededBy } = readPackage(folder);
  return Array.isArray(neededBy) ? neededBy.filter((user) => typeof user === 'string') : [];
}

/** Synchronous and quick, for the plugin itself calls it while OpenCode starts. */
export function unseedIfShared(folder: string): boolean {
  if (!isSeeded(folder) || !isShared(folder)) return false;
  unseed(folder);
  return true;
}

/** False: there was nothing of ours. */
export function unseedFolder(folder: string): boolean {
  if (!isSeeded(folder)) return false;
  unseed(folder);
  return true;
}

function unseed(folder: string): void {
  for (const name of ['package.json', 'package-lock.json']) rmSync(join(folder, name), { force: true });
  const ignore = join(folder, '.gitignore');
  if (existsSync(ignore) && readFileSync(ignore, 'utf8') === `${ignored.join('\n')}\n`) rmSync(ignore);
  // Empty as we made it; one that has been filled since is somebody else's.
  if (list(join(folder, 'node_modules')).length === 0 && existsSync(join(folder, 'node_modules')))
    rmdirSync(join(folder, 'node_modules'));
}

/** Ours, and still as we made it. */
function isSeeded(folder: string): boolean {
  return readPackage(folder)['name'] === mark && list(join(folder, 'node_modules')).length === 0;
}

function readPackage(folder: string): Record<string, unknown> {
  try {
    const found = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, unknown> | null;
    return found ?? {};
  } catch {
    // Not there, or not JSON: not ours in either case.
    return {};
  }
}

/** Other plugins or tools may import the package. */
function isShared(folder: string): boolean {
  const others = ['plugin', 'plugins', 'tool', 'tools'].flatMap((name) => list(join(folder, name)));
  return others.some((file) => code.test(file) && file !== ownPlugin);
}

function list(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}
