import { relative, resolve, sep } from 'node:path';
import type { WorkspaceApi } from '../core/api';
import { CheckpointsError } from '../core/errors';
import { findOriginals, type Original } from '../core/originals';
import { refused } from './arguments';
import type { Toolbox } from './tool-spec';

/** The first version of each file that the session of a call changed, sub-agents included. */
export async function firstVersions(box: Toolbox, session: string): Promise<Original[]> {
  const { workspace } = await box.companion.open();
  const root = await box.sessions.rootOf(session);
  // A session that has no checkpoint yet has changed nothing that is known.
  if ((await workspace.list({ session: root, limit: 1 })).length === 0) return [];
  return (await findOriginals(workspace, root)).originals;
}

export async function firstVersion(box: Toolbox, session: string, path: string): Promise<Original> {
  const found = (await firstVersions(box, session)).find((original) => original.path === path);
  if (found) return found;
  throw new CheckpointsError(
    'not-in-checkpoint',
    `${path} is not among the files that this session changed. Call checkpoint_list with {"originals": true} to see them, or name a checkpoint.`,
  );
}

/** A path as the model knows it: from the session's folder, from the root, or whole. */
export function belowRoot(workspace: WorkspaceApi, box: Toolbox, path: string): string {
  const below = relative(workspace.root, resolve(box.companion.directory, path));
  if (below === '..' || below.startsWith(`..${sep}`))
    throw refused(`${path} is not in the workspace ${workspace.root}.`);
  return below.split(sep).join('/');
}
