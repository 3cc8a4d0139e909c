import type { PathReason } from '../core/model';

/** Characters that some file systems drop from names, so that `.g\u200cit` becomes `.git`. */
const invisible = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;
const reserved = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/** Why a path of a tree must not be written, whatever the tree says; null when it is fine. */
export function unsafePath(path: string, windows = process.platform === 'win32'): string | null {
  for (const part of path.split('/')) {
    if (part === '' || part === '.' || part === '..') return 'not a plain path';
    const plain = part.replace(invisible, '').toLowerCase();
    const bare = plain.replace(/[. ]+$/, '').replace(/:.*$/, '');
    if (plain === '.git' || bare === '.git' || /^git~\d+$/.test(bare)) return 'inside a git folder';
    if (part.includes('\0')) return 'not a plain path';
    if (windows && (/[\\:<>"|?*]/.test(part) || reserved.test(part) || /[. ]$/.test(part))) return 'not a name here';
  }
  return null;
}

/** A tree of our own: only what cannot be a file here. On Linux `.GIT` and `git~1` are names like any other. */
export function impossiblePath(path: string, exact: boolean): string | null {
  const unsafe = unsafePath(path);
  if (!exact || unsafe !== 'inside a git folder' || path.split('/').includes('.git')) return unsafe;
  return null;
}

/** The same for names that are one where case or Unicode form does not count. */
export const folded = (path: string): string => path.normalize('NFC').toLowerCase();

/** Names of one tree that would be the same file where case or Unicode form does not count. */
export function collisions(paths: string[]): PathReason[] {
  const seen = new Map<string, string>();
  const out: PathReason[] = [];
  for (const path of paths) {
    const key = folded(path);
    const other = seen.get(key);
    if (other !== undefined) out.push({ path, reason: `the same name as ${other} on this file system` });
    else seen.set(key, path);
  }
  return out;
}

/** A link that leaves the root, or may do so through another link, judged by its text. */
export function linkLeavesRoot(path: string, target: string): boolean {
  if (target.startsWith('/') || target.startsWith('\\') || /^[a-z]:/i.test(target)) return true;
  const at = path.split('/').slice(0, -1);
  let down = false;
  for (const part of target.split(/[\\/]/)) {
    if (part === '' || part === '.') continue;
    if (part === '..') {
      // Down and up again: what "up" means is decided by the link that may be on the way.
      if (at.length === 0 || down) return true;
      at.pop();
    } else {
      at.push(part);
      down = true;
    }
  }
  return at.some((part) => part.toLowerCase() === '.git');
}
