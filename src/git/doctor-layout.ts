import { accessSync, chmodSync, constants, existsSync, readdirSync, rmSync, rmdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CheckpointsError } from '../core/errors';
import { keepAside, moveAside, readOr, whatIsAt, type Report } from './doctor-report';
import { writeFileDurably } from './durable';
import { storeFailure } from './file-failure';
import { makeFolder } from './folders';
import { rawAttributes, storeConfig, storeHead } from './layout';
import { runGit, storeEnv } from './run';
import { staleLocks } from './stale-locks';
import type { GitStore } from './store';

/** The files and folders of the store that are always there, besides its objects and refs. */
export async function checkLayout(store: GitStore, report: Report): Promise<void> {
  const { gitDir, objects, home } = store.layout;
  await checkFolders(store, report);
  await checkConfig(store, report);
  const attributes = join(gitDir, 'info', 'attributes');
  if (readOr(attributes) !== rawAttributes)
    await report('attributes', 'The store would not keep bytes exactly.', () =>
      writeFileDurably(attributes, rawAttributes),
    );
  const head = join(gitDir, 'HEAD');
  if (readOr(head) !== storeHead)
    await report('head', 'git does not take the store for a repository.', () => writeFileDurably(head, storeHead));
  const alternates = join(objects, 'info', 'alternates');
  if (existsSync(store.layout.borrowed) && readOr(alternates) !== '../../borrowed/objects\n')
    await report('alternates', 'The store does not see the objects it shares with your repository.', () =>
      writeFileDurably(alternates, '../../borrowed/objects\n'),
    );
  const failure = writeFailure(store.folder);
  if (failure) await report('store-readonly', failure.message);
  if (process.platform !== 'win32' && (statSync(home).mode & 0o077) !== 0)
    await report('permissions', 'Other users of this machine can read the store.', () => chmodSync(home, 0o700));
}

/** Without some of them git takes the store for no repository, without others nothing can be written. */
async function checkFolders(store: GitStore, report: Report): Promise<void> {
  const { gitDir, objects, leases, scan, borrowed } = store.layout;
  const needed = [join(gitDir, 'refs'), join(gitDir, 'info'), join(objects, 'pack'), join(objects, 'info')];
  for (const path of [leases, scan, borrowed, gitDir, objects, ...needed])
    if (whatIsAt(path) === 'other')
      await report('folder-blocked', `Something else is where a folder of the store should be: ${path}.`, () =>
        moveAside(store, path),
      );
  const gone = needed.filter((path) => !existsSync(path));
  if (gone.length > 0)
    await report('folder-missing', `The store has lost folders: ${gone.join(', ')}.`, () => {
      for (const path of gone) makeFolder(path);
    });
}

/** What git goes by. One that says nothing of sha256 makes a store of that kind unreadable; one that git cannot read does so for any. */
async function checkConfig(store: GitStore, report: Report): Promise<void> {
  const { gitDir } = store.layout;
  const path = join(gitDir, 'config');
  const text = readOr(path);
  const ask = ['config', '--file', path, '--get', 'extensions.objectformat'];
  const { code, stdout } = await runGit(ask, { cwd: store.folder, env: storeEnv(), accept: [1, 2, 3, 128] });
  const isRead = text !== null && code <= 1;
  const format = stdout.toString('latin1').trim() || 'sha1';
  if (isRead && format === store.file.objectFormat) return;
  await report('store-config', 'The settings of the repository in the store are damaged.', () => {
    if (text !== null) keepAside(store, 'config', text);
    writeFileDurably(path, storeConfig(store.file.objectFormat, true));
  });
}

/** Nothing can be captured then, and nothing mended. */
function writeFailure(folder: string): CheckpointsError | null {
  try {
    accessSync(folder, constants.W_OK);
    return null;
  } catch (error) {
    const failure = storeFailure(error, folder);
    if (CheckpointsError.is(failure, 'store-readonly')) return failure;
    throw error;
  }
}

/** Damaged content is simply made anew; a folder in its place cannot be replaced by a file. What is in it is not ours to delete. */
export async function checkIndex(store: GitStore, report: Report): Promise<void> {
  const path = join(store.folder, 'index.db');
  if (whatIsAt(path) !== 'folder') return;
  await report('index-blocked', 'A folder is where index.db should be: the index cannot be written.', () => {
    if (readdirSync(path).length === 0) return rmdirSync(path);
    moveAside(store, path);
  });
}

export async function checkLocks(store: GitStore, report: Report): Promise<void> {
  for (const path of staleLocks(store.layout.gitDir))
    await report('stale-lock', `A lock was left behind: ${path.slice(store.layout.gitDir.length + 1)}.`, () =>
      rmSync(path, { force: true }),
    );
}
