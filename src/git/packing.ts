import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isMissing } from './refs';
import { runGit, safeFlags, storeEnv } from './run';
import type { GitStore } from './store';

/** Every capture is a pack of its own; git looks through them one by one, so beyond this many they become one. */
const manyPacks = 40;
/** Larger ones are left as they are: copying them would cost more than it brings. */
const largePack = 64 << 20;

function smallPacks(store: Pick<GitStore, 'layout'>): string[] {
  const folder = join(store.layout.objects, 'pack');
  const names = readdirSync(folder);
  return names.filter((name) => {
    if (!name.endsWith('.pack') || !names.includes(`${name.slice(0, -5)}.idx`)) return false;
    try {
      return statSync(join(folder, name)).size < largePack;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  });
}

export function hasManyPacks(store: Pick<GitStore, 'layout'>): boolean {
  return smallPacks(store).length > manyPacks;
}

/**
 * Makes one pack of the small ones. Everything in them is kept, needed or not, so captures go on meanwhile: only clean-up,
 * which frees, wants to be alone. The caller holds a shared lease.
 */
export async function consolidate(store: GitStore, signal?: AbortSignal): Promise<number> {
  const folder = join(store.layout.objects, 'pack');
  const small = smallPacks(store);
  if (small.length < 2) return 0;
  const result = await runGit(
    [
      ...safeFlags,
      `--git-dir=${store.layout.gitDir}`,
      'pack-objects',
      '--stdin-packs',
      '--non-empty',
      '--delta-base-offset',
      '-q',
      join(folder, 'pack'),
    ],
    {
      cwd: store.layout.gitDir,
      env: storeEnv(),
      input: small.map((name) => `${name}\n`).join(''),
      timeoutMs: 10 * 60_000,
      signal,
      group: true,
    },
  );
  const made = result.stdout
    .toString('latin1')
    .split('\n')
    .filter(Boolean)
    .map((hash) => `pack-${hash}.pack`);
  // Only when the new one is there for everybody may the old ones go.
  if (made.length === 0 || !made.every((name) => existsSync(join(folder, name.replace(/pack$/, 'idx'))))) return 0;
  for (const name of small) if (!made.includes(name)) forget(folder, name.slice(0, -5));
  return small.length;
}

/** The index first: without it nobody opens the pack any more. */
export function forget(folder: string, stem: string): void {
  for (const ending of ['.idx', '.rev', '.pack'])
    try {
      rmSync(join(folder, stem + ending), { force: true });
    } catch (error) {
      // Windows refuses while somebody reads it; the next time takes it.
      const code = (error as NodeJS.ErrnoException).code;
      if (code !== 'EPERM' && code !== 'EBUSY' && code !== 'EACCES') throw error;
      return;
    }
}
