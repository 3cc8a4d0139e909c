import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkspaceApi } from '../../src/core/api';
import { git, gitText } from '../exec';

export const storeGit = (api: WorkspaceApi): string => join(api.folder, 'snapshots.git');

/** Objects that some checkpoint needs and the store cannot find. */
export async function missingObjects(api: WorkspaceApi): Promise<string[]> {
  const { stdout } = await git(['--git-dir', storeGit(api), 'rev-list', '--objects', '--missing=print', '--all']);
  return stdout
    .toString('latin1')
    .split('\n')
    .filter((line) => line.startsWith('?'));
}

/** How many of these objects are still there. */
export async function presentObjects(api: WorkspaceApi, ids: readonly string[]): Promise<number> {
  const answer = await gitText(['--git-dir', storeGit(api), 'cat-file', '--batch-check'], {
    input: ids.join('\n') + '\n',
  });
  return answer.split('\n').filter((line) => !line.endsWith(' missing')).length;
}

/** What a folder takes on disk; files that are also linked from elsewhere belong to somebody else. */
export function diskUse(folder: string): number {
  let bytes = 0;
  const walk = (path: string): void => {
    for (const item of readdirSync(path, { withFileTypes: true })) {
      const child = join(path, item.name);
      if (item.isDirectory()) walk(child);
      else {
        const stats = lstatSync(child);
        if (stats.nlink === 1) bytes += stats.blocks * 512;
      }
    }
  };
  walk(folder);
  return bytes;
}
