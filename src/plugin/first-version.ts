import { realpath } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { CheckpointsError } from '../core/errors';
import { inside, onDisk, realParent } from '../git/inner-path';
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

export async function firstVersion(box: Toolbox, session: string, given: string): Promise<Original> {
  const originals = await firstVersions(box, session);
  const original = (path: string): Original | undefined => originals.find((one) => one.path === path);
  const path = await belowRoot(box, given, (one) => Promise.resolve(original(one) !== undefined));
  const found = path === null ? undefined : original(path);
  if (found) return found;
  throw new CheckpointsError(
    'not-in-checkpoint',
    `${given} is not among the files that this session changed. Call checkpoint_list with {"originals": true} to see them, or name a checkpoint.`,
  );
}

/** A file or folder that is in one of the checkpoints, or on disk. */
export async function pathIn(box: Toolbox, checkpoints: readonly string[], given: string): Promise<string> {
  const { workspace } = await box.companion.open();
  const found = await belowRoot(box, given, async (path) => {
    for (const checkpoint of checkpoints) if ((await workspace.stat(checkpoint, path)) !== null) return true;
    return onDisk(workspace.root, path);
  });
  if (found !== null) return found;
  throw new CheckpointsError('not-in-checkpoint', `${given} is neither in the checkpoint nor in the workspace.`);
}

/**
 * A path as the model knows it: whole, from the root as our answers have it, or from the session's folder. Which of them it is shows in what is
 * there; null when nothing is.
 */
async function belowRoot(
  box: Toolbox,
  given: string,
  exists: (path: string) => Promise<boolean>,
): Promise<string | null> {
  const { root } = (await box.companion.open()).workspace;
  const here = await realpath(box.companion.directory);
  // "./a" and "../a" can only be meant from where the session is.
  const folders = isAbsolute(given) || /^\.\.?([\\/]|$)/.test(given) ? [here] : [root, here];
  const readings = new Set<string>();
  for (const folder of folders) {
    const whole = resolve(folder, given);
    // The project's folder, or one on the way, may be a link.
    const below = inside(root, await realParent(whole)) ?? inside(root, whole);
    if (below !== null) readings.add(below);
  }
  if (readings.size === 0) throw refused(`${given} is not in the workspace ${root}.`);
  const found: string[] = [];
  for (const path of readings) if (path === '' || (await exists(path))) found.push(path);
  if (found.length > 1)
    throw refused(
      `${given} can be ${found.map((path) => resolve(root, path)).join(' or ')}: name the one you mean by its whole path.`,
    );
  return found[0] ?? null;
}
