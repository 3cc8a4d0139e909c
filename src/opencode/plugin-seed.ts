import { existsSync, readdirSync, readFileSync, rmSync, rmdirSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * As soon as there is any plugin, OpenCode 1 waits at its start for `npm install @opencode-ai/plugin` in every configuration folder: 16 seconds with
 * a registry, over a minute without. Our plugin imports nothing. A lock file that says it is installed makes OpenCode 1 pass over it; so one is put
 * where nobody else could need the package, and taken away as soon as somebody might.
 */

const dependency = '@opencode-ai/plugin';
const mark = 'opencode-checkpoints';
const ownPlugin = 'opencode-checkpoints.js';
const code = /\.[cm]?[jt]sx?$/;

/** What OpenCode's own installation leaves out of the user's repository, too. */
const ignored = ['node_modules', 'package.json', 'package-lock.json', 'bun.lock', '.gitignore'];

export async function seedFolder(folder: string): Promise<boolean> {
  if (isSeeded(folder)) return false;
  const taken = ['node_modules', 'package.json', 'package-lock.json', 'bun.lock'];
  if (taken.some((name) => existsSync(join(folder, name))) || isShared(folder)) return false;
  const dependencies = { [dependency]: '*' };
  const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
  const lock = { name: mark, lockfileVersion: 3, requires: true, packages: { '': { name: mark, dependencies } } };
  await mkdir(join(folder, 'node_modules'), { recursive: true });
  await writeFile(join(folder, 'package-lock.json'), json(lock));
  await writeFile(join(folder, 'package.json'), json({ name: mark, private: true, dependencies }));
  const ignore = join(folder, '.gitignore');
  if (!existsSync(ignore)) await writeFile(ignore, `${ignored.join('\n')}\n`);
  return true;
}

/** Synchronous and quick, for the plugin itself calls it while OpenCode starts. */
export function unseedIfShared(folder: string): boolean {
  if (!isSeeded(folder) || !isShared(folder)) return false;
  unseed(folder);
  return true;
}

export function unseedFolder(folder: string): Promise<void> {
  if (isSeeded(folder)) unseed(folder);
  return Promise.resolve();
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
  try {
    const { name } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name?: unknown };
    return name === mark && list(join(folder, 'node_modules')).length === 0;
  } catch {
    // Not there, or not JSON: not ours in either case.
    return false;
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
