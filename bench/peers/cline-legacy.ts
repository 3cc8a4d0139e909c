import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { EngineKind } from '../engine';
import { shadowExcludes } from './excludes';
import { ShadowEngine } from './shadow';

/**
 * Cline until June 2026: as Roo, with a walk over all folders before and after every `add`, to rename nested `.git`
 * folders away and back, and a restore that is `reset --hard` alone.
 */
export const clineLegacy: EngineKind = {
  name: 'cline-legacy',
  plainFolders: true,
  scans: true,
  slowFirst: true,
  open: (place) =>
    new ShadowEngine(place, {
      name: 'cline-legacy',
      init: [],
      commit: ['--allow-empty', '--no-verify'],
      exclude: shadowExcludes,
      clean: false,
      prepare: () => Promise.resolve(),
      aroundAdd: async ({ tree }, add) => {
        await findFolders(tree, '.git');
        await add();
        await findFolders(tree, '.git_disabled');
      },
    }),
};

/** All folders of that name below the root's own one. The generated trees have none, so nothing is renamed. */
async function findFolders(root: string, name: string): Promise<string[]> {
  const found: string[] = [];
  const walk = async (folder: string, isRoot: boolean): Promise<void> => {
    const entries = await readdir(folder, { withFileTypes: true });
    const inner = entries.filter((entry) => entry.isDirectory() && !(isRoot && entry.name === '.git'));
    for (const entry of inner) if (entry.name === name) found.push(join(folder, name));
    await Promise.all(inner.map((entry) => walk(join(folder, entry.name), false)));
  };
  await walk(root, true);
  return found;
}
