import { CheckpointsError } from '../core/errors';
import type { PathReason } from '../core/model';
import { decodePath } from './path-bytes';

/** An index entry that is never on disk: its name says which tree the other entries are. */
export const treeMark = '.opencode-checkpoints-tree/';
/** Another: names a file of that tree that the index has no entry for, since a nested repository took its place. */
export const goneMark = '.opencode-checkpoints-gone/';
/** An index entry that makes git walk a nested repository as the plain folder it is for us. */
export const nestedName = '.opencode-checkpoints-nested';

/** What `git status` says about an index of ours. */
export interface StatusRows {
  base: string | null;
  added: string[];
  changed: string[];
  /** Something of another kind is there. */
  retyped: string[];
  deleted: string[];
  gone: string[];
  nested: string[];
  repositories: string[];
}

export function parseStatus(stdout: Buffer, rules: string): StatusRows {
  const rows: StatusRows = {
    base: null,
    added: [],
    changed: [],
    retyped: [],
    deleted: [],
    gone: [],
    nested: [],
    repositories: [],
  };
  for (let at = 0; at < stdout.length;) {
    const end = stdout.indexOf(0, at);
    const x = String.fromCharCode(stdout[at]!);
    const y = String.fromCharCode(stdout[at + 1]!);
    const path = decodePath(stdout.subarray(at + 3, end < 0 ? undefined : end));
    at = end < 0 ? stdout.length : end + 1;
    if (path.startsWith(treeMark)) {
      // In the index (whatever HEAD says), never on disk.
      const [tree, madeUnder] = path.slice(treeMark.length).split('-');
      if (y === 'D' && madeUnder === rules && tree) rows.base = tree;
    } else if (path.startsWith(goneMark)) {
      if (y === 'D') rows.gone.push(path.slice(goneMark.length));
    } else if (path.endsWith(`/${nestedName}`)) {
      if (y === 'D') rows.nested.push(path.slice(0, -nestedName.length - 1));
    } else if (x === '?') {
      if (path.endsWith('/')) rows.repositories.push(path.slice(0, -1));
      else rows.added.push(path);
    } else if (y === 'D') rows.deleted.push(path);
    else if (y === 'T') rows.retyped.push(path);
    else if (y === 'M' || y === 'A') rows.changed.push(path);
    else if (y !== ' ') throw new CheckpointsError('git-failed', `git status said something unknown: ${x}${y}`);
  }
  return rows;
}

export function warnings(stderr: string): PathReason[] {
  const out: PathReason[] = [];
  for (const match of stderr.matchAll(/could not open directory '(.*?)\/?': (.*)/g))
    out.push({ path: match[1]!, reason: match[2]! });
  return out;
}
