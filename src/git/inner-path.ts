import { lstat, realpath } from 'node:fs/promises';
import path from 'node:path';
import { fsPath } from './path-bytes';
import { isMissing } from './refs';

/** Paths that people and models write, and what they are below a root. */

export async function onDisk(root: string, relative: string): Promise<boolean> {
  try {
    await lstat(fsPath(root, relative));
    return true;
  } catch (error) {
    if (cannotBe(error)) return false;
    throw error;
  }
}

/** The real path of what may not exist: its nearest existing parent resolved, the rest as given. The last part is not followed. */
export async function realParent(absolute: string): Promise<string> {
  const rest = [path.basename(absolute)];
  for (let folder = path.dirname(absolute); ; folder = path.dirname(folder)) {
    try {
      return path.join(await realpath(folder), ...rest);
    } catch (error) {
      if (!cannotBe(error) || folder === path.dirname(folder)) throw error;
      rest.unshift(path.basename(folder));
    }
  }
}

/** With forward slashes; '' is the root itself, null outside of it. */
export function inside(root: string, absolute: string): string | null {
  const relative = path.relative(root, absolute);
  if (relative === '..' || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative)) return null;
  return relative.split(path.sep).join('/');
}

/** Nothing is there, and below a link to a name longer than names can be nothing can be. */
const cannotBe = (error: unknown): boolean =>
  isMissing(error) || (error as NodeJS.ErrnoException).code === 'ENAMETOOLONG';
