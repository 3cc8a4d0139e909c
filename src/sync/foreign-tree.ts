import { modes } from '../git/tree-format';
import type { Trees } from '../git/trees';
import { unsafePath } from '../git/trust';

interface Found {
  /** The first thing that is wrong, as a path below the folder; null when nothing is. */
  bad: { path: string; why: string } | null;
  files: number;
  depth: number;
}

export type KnownTrees = Map<string, Promise<Found>>;

const maxFiles = 5_000_000;
const maxDepth = 500;
const allowed: readonly number[] = [modes.file, modes.executable, modes.link, modes.tree];

/**
 * Whether a tree from elsewhere could be that of a workspace; else why not. What only some file systems mind (names that collide,
 * links out of the root) is judged when it is restored. Each folder is looked at once, however often it is used: a small pack
 * can describe more files than there is disk.
 */
export async function examineTree(trees: Trees, root: string, known: KnownTrees): Promise<string | null> {
  const { bad, files, depth } = await look(trees, root, known, 0);
  if (bad) return `${JSON.stringify(bad.path)}: ${bad.why}`;
  if (files > maxFiles) return `It has ${files} files.`;
  return depth > maxDepth ? 'Its folders are nested too deeply.' : null;
}

function look(trees: Trees, tree: string, known: KnownTrees, level: number): Promise<Found> {
  let found = known.get(tree);
  if (!found) known.set(tree, (found = lookNow(trees, tree, known, level)));
  return found;
}

async function lookNow(trees: Trees, tree: string, known: KnownTrees, level: number): Promise<Found> {
  const out: Found = { bad: null, files: 0, depth: 1 };
  if (level > maxDepth) return { ...out, depth: maxDepth + 1 };
  for (const { name, mode, oid } of await trees.entries(tree)) {
    const why =
      (name.includes('/') ? 'not a plain path' : unsafePath(name)) ??
      (allowed.includes(mode) ? null : `not a file, link or folder (${mode.toString(8)})`);
    if (why) out.bad ??= { path: name, why };
    if (mode !== modes.tree) {
      out.files += 1;
      continue;
    }
    const below = await look(trees, oid, known, level + 1);
    out.files += below.files;
    out.depth = Math.max(out.depth, below.depth + 1);
    if (below.bad) out.bad ??= { path: `${name}/${below.bad.path}`, why: below.bad.why };
  }
  return out;
}
