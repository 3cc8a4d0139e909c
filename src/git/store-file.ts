import { renameSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from '../core/api';
import { storeHome } from '../core/config';
import { CheckpointsError } from '../core/errors';
import { ensureStore, layoutOf, readWorkspaceFile } from './layout';
import { resolveRoot } from './roots';
import { findUserRepo } from './user-repo';

/**
 * A store cannot be opened while its workspace.json is damaged, so that one is looked at before, and mended: the store's folder is found by the
 * root, and all else is in the repository itself. What was there is set aside.
 */
export async function examineStoreFile(
  directory: string,
  { repair = false, home = storeHome(process.env) }: { repair?: boolean; home?: string } = {},
): Promise<Problem | null> {
  const root = await resolveRoot(directory, home);
  const layout = layoutOf(home, root);
  const path = join(layout.folder, 'workspace.json');
  try {
    readWorkspaceFile(path);
    return null;
  } catch (error) {
    if (!CheckpointsError.is(error, 'store-broken')) throw error;
  }
  const message = `${path} is damaged: the store cannot be opened.`;
  if (!repair) return { reason: 'store-broken', message, repaired: false };
  const aside = `${path}.damaged-${Date.now()}`;
  renameSync(path, aside);
  const repo = await findUserRepo(root);
  ensureStore(layout, root, () => repo?.objectFormat ?? 'sha1');
  return { reason: 'store-broken', message: `${message} It was made anew; the old one is ${aside}.`, repaired: true };
}
