import { lstatSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { listFolder } from './list-folder';
import { decodePath, fsPath } from './path-bytes';
import { modes, type TreeEntry } from './tree-format';
import type { Trees } from './trees';
import { folded } from './trust';

/*
 * Most volumes of macOS and Windows, and many sticks and shares, take names that differ in case or Unicode form alone for one: a file answers to all
 * of them, and its folder lists one. That is its name.
 */

/** So many entries are asked before it is believed that case counts. */
const enough = 3;

/** Asked of what is in the folder: the volume it lies on need not be that of the folders above it. */
export function ignoresCase(root: string): boolean {
  try {
    const asked = readdirSync(root).filter((name) => swapped(name) !== name);
    if (asked.length === 0) return answersToOther(dirname(root), basename(root));
    return asked.slice(0, enough).some((name) => answersToOther(root, name));
  } catch {
    return false; // whoever looks at the files meets the failure again, and tells it
  }
}

/** The letters that every volume which ignores case takes for the same. */
function swapped(name: string): string {
  const upper = name.replace(/[a-z]/g, (letter) => letter.toUpperCase());
  return upper === name ? name.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) : upper;
}

function answersToOther(folder: string, name: string): boolean {
  const other = swapped(name);
  if (other === name || !lstatSync(join(folder, other), { throwIfNoEntry: false })) return false;
  return !readdirSync(folder).includes(other);
}

/** What the folders list at this moment, each looked at once. */
export class ListedNames {
  private readonly listed = new Map<string, ReadonlySet<string> | null>();

  constructor(private readonly root: string) {}

  /** Whether a path is written as it is listed, and does not only answer to it. */
  has(path: string): boolean {
    let folder = '';
    for (const part of path.split('/')) {
      const names = this.namesIn(folder);
      if (names && !names.has(part)) return false;
      folder = folder === '' ? part : `${folder}/${part}`;
    }
    return true;
  }

  /** The path that is listed for what somebody wrote in his own way. */
  nameOf(path: string): string {
    let at = '';
    for (const part of path.split('/')) {
      const names = this.namesIn(at);
      const same = !names || names.has(part) ? part : [...names].find((name) => folded(name) === folded(part));
      at = at === '' ? (same ?? part) : `${at}/${same ?? part}`;
    }
    return at;
  }

  /** null where it cannot be listed: then nothing is known. */
  private namesIn(folder: string): ReadonlySet<string> | null {
    const known = this.listed.get(folder);
    if (known !== undefined) return known;
    let names: ReadonlySet<string> | null;
    try {
      names = new Set(listFolder(fsPath(this.root, folder)).map(({ name }) => decodePath(name)));
    } catch {
      names = null;
    }
    this.listed.set(folder, names);
    return names;
  }
}

/** Files of a tree whose paths are those of others but for case: where these are new, they were renamed, and git sees both. */
export async function namesakes(trees: Trees, root: string, paths: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  const known = new Map<string, Map<string, TreeEntry[]>>();
  const byName = async (tree: string): Promise<Map<string, TreeEntry[]>> => {
    let names = known.get(tree);
    if (names) return names;
    known.set(tree, (names = new Map()));
    for (const entry of await trees.entries(tree)) {
      const key = folded(entry.name);
      names.set(key, [...(names.get(key) ?? []), entry]);
    }
    return names;
  };
  for (const path of paths) {
    const parts = path.split('/').map(folded);
    let level = [{ prefix: '', tree: root }];
    for (const [i, part] of parts.entries()) {
      const next: typeof level = [];
      for (const { prefix, tree } of level)
        for (const { name, mode, oid } of (await byName(tree)).get(part) ?? [])
          if (mode === modes.tree) next.push({ prefix: `${prefix}${name}/`, tree: oid });
          else if (i === parts.length - 1 && prefix + name !== path) found.add(prefix + name);
      level = next;
    }
  }
  return [...found];
}

/** Those of the paths that are one file with another of them. */
export function ambiguous(root: string, paths: readonly string[]): Set<string> {
  if (!ignoresCase(root)) return new Set();
  const groups = new Map<string, string[]>();
  for (const path of paths) {
    const key = folded(path);
    groups.set(key, [...(groups.get(key) ?? []), path]);
  }
  return new Set([...groups.values()].filter((group) => group.length > 1).flat());
}
