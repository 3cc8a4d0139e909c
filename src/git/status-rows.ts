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

/** Said where nothing of the workspace is left out: the user's own git does the same there. */
const harmless = [
  /^warning: untracked cache is disabled/, // the store was moved here: git looks at everything
  /^warning: unable to access '(\/|[A-Za-z]:).*'/, // the user's own ignore file, outside the workspace
  /^warning: unable to access '.*': Too many levels of symbolic links$/, // git follows no link to an ignore file
  // What git does not understand in the user's .gitattributes: we convert nothing anyway.
  /^(warning: )?.* (is not a valid attribute name|not allowed): .*:\d+$/,
  /^warning: Negative patterns are ignored in git attributes$/,
  /^Use '\\!' for literal leading exclamation\.$/,
  /^warning: ignoring overly l(ong attributes line|arge gitattributes )/,
];

const forms = [/^warning: could not open directory '(.*?)\/?': (.*)$/, /^warning: unable to access '(.*)': (.*)$/];
/** git cuts long lines off: the folder above is named whole. */
const cutOff = /^warning: could not open directory '(.*)\/[^/]*$/;
/** A file of the index that git could not look at. */
const unseenForm = /^(?!warning: |error: |fatal: |hint: )(.+): ([^:]+)$/;

export interface Warnings {
  unreadable: PathReason[];
  /** Not looked at by git, and so in no row: they may be gone, or closed. */
  unseen: PathReason[];
  /** Folders of nested repositories that it could not enter. */
  nested: PathReason[];
}

/** What git could not look at. A line that we do not know may mean anything, so it counts for the whole workspace. */
export function warnings(stderr: string): Warnings {
  const unreadable = new Map<string, string>();
  const unseen = new Map<string, string>();
  const nested = new Map<string, string>();
  for (const line of stderr.split('\n')) {
    if (line === '' || harmless.some((form) => form.test(line))) continue;
    const match = forms.map((form) => form.exec(line)).find((found) => found !== null);
    const cut = match ? null : cutOff.exec(line);
    const [, entry, reason] = unseenForm.exec(line) ?? [];
    if (match) unreadable.set(match[1]!, match[2]!);
    else if (cut) unreadable.set(cut[1]!, 'path too long');
    else if (entry?.endsWith(`/${nestedName}`)) nested.set(entry.slice(0, -nestedName.length - 1), reason!);
    else if (entry) unseen.set(entry, reason!);
    else unreadable.set('.', line);
  }
  const list = (found: Map<string, string>): PathReason[] => [...found].map(([path, reason]) => ({ path, reason }));
  return { unreadable: list(unreadable), unseen: list(unseen), nested: list(nested) };
}
