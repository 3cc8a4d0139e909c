import { renameSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from '../core/api';
import { storeHome } from '../core/config';
import { CheckpointsError } from '../core/errors';
import { moveAside, whatIsAt } from './doctor-report';
import { readJournal, setJournalAside } from './journal';
import { ensureStore, layoutOf, readWorkspaceFile, type Layout } from './layout';
import { resolveRoot } from './roots';
import { findUserRepo } from './user-repo';

/**
 * A store cannot be opened while its workspace.json or its journal is damaged, so these are looked at before, and mended. What was there is
 * set aside.
 */
export async function examineStoreFiles(
  directory: string,
  { repair = false, home = storeHome(process.env) }: { repair?: boolean; home?: string } = {},
): Promise<Problem[]> {
  const root = await resolveRoot(directory, home);
  const layout = layoutOf(home, root);
  const folders = examinePlaces(layout, repair);
  // As long as one is in the way the rest cannot be told.
  if (folders.some(({ repaired }) => !repaired)) return folders;
  const problems = [await examineWorkspaceFile(layout, root, repair), examineJournal(layout, repair)];
  return [...folders, ...problems.filter((problem) => problem !== null)];
}

/** Read before anything else, or by git. A program that mounts a file which is not there makes a folder of that name. */
const files = [
  'workspace.json',
  'journal.json',
  'fork.json',
  'task.json',
  'config.json',
  'tidied.json',
  'refs.log',
  'snapshots.git/packed-refs',
  'snapshots.git/info/attributes',
];

function examinePlaces({ folder }: Layout, repair: boolean): Problem[] {
  const problems: Problem[] = [];
  for (const path of files.map((name) => join(folder, name))) {
    if (whatIsAt(path) !== 'folder') continue;
    if (repair) moveAside({ folder }, path);
    problems.push({
      reason: 'file-blocked',
      message: `A folder is where a file should be: ${path}.`,
      repaired: repair,
    });
  }
  return problems;
}

/** The store's folder is found by the root, and all else is in the repository itself. */
async function examineWorkspaceFile(layout: Layout, root: string, repair: boolean): Promise<Problem | null> {
  const path = join(layout.folder, 'workspace.json');
  if (!isDamaged(() => readWorkspaceFile(path))) return null;
  const message = `${path} is damaged: the store cannot be opened.`;
  if (!repair) return { reason: 'store-broken', message, repaired: false };
  const aside = `${path}.damaged-${Date.now()}`;
  renameSync(path, aside);
  const repo = await findUserRepo(root);
  ensureStore(layout, root, () => repo?.objectFormat ?? 'sha1');
  return { reason: 'store-broken', message: `${message} It was made anew; the old one is ${aside}.`, repaired: true };
}

function examineJournal({ journal }: Layout, repair: boolean): Problem | null {
  if (!isDamaged(() => readJournal(journal))) return null;
  const message = 'A restore was interrupted, and its journal is damaged: files may be half restored.';
  if (!repair) return { reason: 'journal-damaged', message, repaired: false };
  return { reason: 'journal-damaged', message: `${message} ${setJournalAside(journal)}`, repaired: true };
}

function isDamaged(read: () => unknown): boolean {
  try {
    read();
    return false;
  } catch (error) {
    if (!CheckpointsError.is(error, 'store-broken')) throw error;
    return true;
  }
}
