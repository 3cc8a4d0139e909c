import { existsSync, lstatSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Config } from '../core/config';
import { writeFileDurably } from './durable';
import { layoutIn, readWorkspaceFile, type WorkspaceFile } from './layout';
import { fsPath } from './path-bytes';
import { GitStore } from './store';
import { WorkingFiles } from './working-files';

export interface MovedStore {
  folder: string;
  /** Where the workspace was. */
  root: string;
  checkpoints: number;
}

/** So many of its files are compared, and so large a share must be the same. */
const sample = 200;
const enough = 0.6;

/**
 * Stores of folders that are no longer there, whose files are those of this workspace: it was moved or renamed. Names prove
 * nothing, contents do.
 */
export async function findMoved(store: GitStore, config: () => Config): Promise<MovedStore[]> {
  const all = join(store.layout.home, 'workspaces');
  const found: MovedStore[] = [];
  for (const name of existsSync(all) ? readdirSync(all) : []) {
    const folder = join(all, name);
    const file = folder === store.folder ? null : readOrNull(folder);
    if (!file || existsSync(file.root) || file.objectFormat !== store.file.objectFormat) continue;
    const other = new GitStore(file.root, layoutIn(store.layout.home, folder), file, config);
    try {
      const checkpoints = other.refs().size;
      if (checkpoints > 0 && (await sameFiles(other, store.root))) found.push({ folder, root: file.root, checkpoints });
    } finally {
      await other.close();
    }
  }
  return found;
}

function readOrNull(folder: string): WorkspaceFile | null {
  try {
    return readWorkspaceFile(join(folder, 'workspace.json'));
  } catch {
    return null; // damaged or newer: its own doctor tells
  }
}

async function sameFiles(other: GitStore, root: string): Promise<boolean> {
  const newest = [...other.refs().keys()].sort().at(-1);
  const [record] = newest ? await other.read([newest]) : [];
  if (!record) return false;
  const leaves = [...(await other.trees.list(record.files.tree))];
  const step = Math.max(1, Math.floor(leaves.length / sample));
  const files = new WorkingFiles(root, other.file.objectFormat);
  let [looked, same] = [0, 0];
  for (let i = 0; i < leaves.length; i += step) {
    const [path, leaf] = leaves[i]!;
    looked += 1;
    if (!there(root, path)) continue;
    const now = files.leafAt(path);
    if (now !== null && now !== 'unreadable' && now.oid === leaf.oid) same += 1;
  }
  return looked > 0 && same / looked >= enough;
}

function there(root: string, path: string): boolean {
  return lstatSync(fsPath(root, path), { throwIfNoEntry: false }) !== undefined;
}

/**
 * Puts the moved workspace's store in the place of this one's, which has no checkpoints. Both are held alone meanwhile. A death
 * after the first rename leaves a workspace without a store and the old one untouched; after the second, a store that only has
 * its old root's name in it, which the next doctor mends.
 */
export async function adopt(store: GitStore, moved: MovedStore): Promise<void> {
  const aside = join(store.layout.home, 'workspaces', `${basename(store.folder)}.replaced-${Date.now()}`);
  const other = layoutIn(store.layout.home, moved.folder);
  const theirs = new GitStore(moved.root, other, readWorkspaceFile(join(moved.folder, 'workspace.json'))!, () => {
    throw new Error('a store that is being moved captures nothing');
  });
  await theirs.exclusively('adopt', 10_000, undefined, () =>
    store.exclusively('adopt', 10_000, undefined, async () => {
      store.forgetOpenFiles();
      renameSync(store.folder, aside);
      renameSync(moved.folder, store.folder);
      renameRoot(store);
    }),
  );
  await theirs.close();
  rmSync(aside, { recursive: true, force: true });
}

/** Writes where the workspace is now into its store. */
export function renameRoot(store: GitStore): void {
  const path = join(store.folder, 'workspace.json');
  const file = readWorkspaceFile(path);
  if (file) writeFileDurably(path, `${JSON.stringify({ ...file, root: store.root }, null, 2)}\n`);
}
