import { access } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { storeHome } from '../core/config';

/**
 * Whether a folder (a real path) has checkpoints already: a few looks at the file system, no git and no store opened.
 * Activation after the start costs no more than this in every other window.
 */
export const hasStore = async (folder: string): Promise<boolean> => {
  const { workspaceFolder } = await import('../git/roots');
  const home = storeHome();
  for (let at = folder; ; at = dirname(at)) {
    if (await exists(join(workspaceFolder(home, at), 'workspace.json'))) return true;
    if (dirname(at) === at) return false;
  }
};

/** Ends the servers that a window started which was killed. */
export const endedServers = async (): Promise<number[]> => {
  const folder = join(storeHome(), 'servers');
  if (!(await exists(folder))) return [];
  const { endLeftovers } = await import('../opencode/leftovers');
  return endLeftovers(folder);
};

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
