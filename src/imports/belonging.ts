import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';

/**
 * Old data is kept for a whole machine, a workspace is one folder: what belongs elsewhere is imported there. Answers why something stays out, or null.
 * Where the folder does not exist on this machine (another machine's data, a project that was moved), it belongs to whoever names the file.
 */
export function belongsElsewhere(directory: string | null, root: string, named: boolean): string | null {
  if (directory === null) return null;
  if (isInside(directory, root)) return null;
  if (!path.isAbsolute(directory) || !existsSync(directory))
    return named ? null : `belongs to ${directory}, which is not there any more; name the file to import it here`;
  return `belongs to ${directory}`;
}

/** `root` is a real path; the other may come by a link. */
export function isInside(directory: string, root: string): boolean {
  const below = path.relative(root, realOf(directory));
  return below === '' || (below !== '..' && !below.startsWith(`..${path.sep}`) && !path.isAbsolute(below));
}

/** As far as it exists: the folders on the way may be links, the rest may be gone. */
export function realOf(file: string): string {
  const missing: string[] = [];
  for (let at = path.resolve(file); ; at = path.dirname(at)) {
    try {
      return path.join(realpathSync.native(at), ...missing);
    } catch {
      // Not there: the folder above decides.
      if (path.dirname(at) === at) return path.resolve(file);
      missing.unshift(path.basename(at));
    }
  }
}
