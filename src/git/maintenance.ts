import { readFileSync, readdirSync, rmSync, statSync, statfsSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import { CheckpointsError } from '../core/errors';
import { parseIndex } from './index-file';
import type { Layout } from './layout';
import { encodeCommit } from './records';
import { isMissing } from './refs';
import { runGit, safeFlags, storeEnv } from './run';
import { sweepDead } from './scanner';
import { treeMark } from './status-rows';
import type { GitStore } from './store';

/** Sizes on disk. Files the user's repository still has (linked more than once) cost nothing. */
export function storeSizes(layout: Layout): { bytes: number; borrowedBytes: number } {
  let bytes = 0;
  let borrowedBytes = 0;
  for (const { path, stat } of walk(layout.folder)) {
    const linked = stat.nlink > 1 && path.startsWith(layout.borrowed);
    if (linked) borrowedBytes += stat.size;
    else bytes += stat.size;
  }
  return { bytes, borrowedBytes };
}

function* walk(folder: string): Generator<{ path: string; stat: { size: number; nlink: number; mtimeMs: number } }> {
  let entries: Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* walk(path);
    else
      try {
        yield { path, stat: statSync(path) };
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
  }
}

/** Keeps the tree that the scanner's index is built on from being freed. */
async function holdScanTree(store: GitStore): Promise<void> {
  let data: Buffer;
  try {
    data = readFileSync(join(store.layout.scan, 'index'));
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  const oidBytes = store.file.objectFormat === 'sha1' ? 20 : 32;
  const mark = parseIndex(data, oidBytes).entries.find((e) => e.path.startsWith(treeMark));
  const tree = mark?.path.split('/')[1]?.split('-')[0];
  if (!tree || !(await store.trees.exists(tree))) return;
  const writer = store.newWriter();
  const commit = writer.add('commit', encodeCommit(tree, 'scan\n', Date.now()));
  await writer.flush();
  await store.refsOf.swap('refs/scan', store.refsOf.read('refs/scan'), commit);
}

/** Frees what no ref needs: alone with the store, since a capture's objects have no ref until it is done. */
export async function collect(
  store: GitStore,
  waitMs: number,
  options: { yielding?: boolean; signal?: AbortSignal } = {},
): Promise<{ freedBytes: number }> {
  return store.exclusively('clean up', waitMs, options.signal, async () => {
    const stop = options.yielding ? untilWanted(store, options.signal) : null;
    const before = storeSizes(store.layout).bytes;
    checkSpace(store.layout, before);
    await store.catchUp();
    await holdScanTree(store);
    const git = (args: string[]): Promise<unknown> =>
      runGit([...safeFlags, `--git-dir=${store.layout.gitDir}`, ...args], {
        cwd: store.layout.gitDir,
        env: storeEnv(),
        timeoutMs: 30 * 60_000,
        signal: stop?.signal ?? options.signal,
        group: true,
      });
    try {
      await git(['pack-refs', '--all', '--prune']);
      await git(['repack', '-a', '-d', '-l', '-q', '--window=50', '--depth=50']);
      await git(['prune', '--expire=now']);
    } finally {
      stop?.end();
    }
    sweep(store.layout);
    return { freedBytes: Math.max(0, before - storeSizes(store.layout).bytes) };
  });
}

/** Gives way: aborts as soon as anybody else waits for the store. What was freed until then stays freed. */
function untilWanted(store: GitStore, signal?: AbortSignal): { signal: AbortSignal; end(): void } {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  signal?.addEventListener('abort', abort, { once: true });
  store.leases.clearWanted();
  const timer = setInterval(() => {
    if (store.leases.wanted()) abort();
  }, 50);
  return {
    signal: controller.signal,
    end: () => {
      clearInterval(timer);
      signal?.removeEventListener('abort', abort);
    },
  };
}

/** Repacking needs room for a second copy before it frees the first. */
function checkSpace(layout: Layout, bytes: number): void {
  const { bavail, bsize } = statfsSync(layout.folder);
  if (bavail * bsize < bytes + (64 << 20))
    throw new CheckpointsError('disk-full', 'There is not enough free space on the disk of the store to clean it up.');
}

/** What processes that were killed left behind. The caller holds the exclusive lease. */
export function sweep(layout: Layout): string[] {
  const removed: string[] = [];
  const pack = join(layout.objects, 'pack');
  const names = list(pack);
  for (const name of names) {
    const orphan = name.endsWith('.pack') && !names.includes(`${name.slice(0, -5)}.idx`);
    if (name.startsWith('tmp_') || name.startsWith('.tmp') || orphan) {
      rmSync(join(pack, name), { force: true });
      removed.push(name);
    }
  }
  for (const name of list(layout.folder))
    if (/^(stage-|merge-|snapshots\.git\.new-)|\.tmp-\d+-[0-9a-f]+$/.test(name)) {
      rmSync(join(layout.folder, name), { recursive: true, force: true });
      removed.push(name);
    }
  for (const name of list(layout.leases))
    if (/\.(new|dead)-/.test(name)) rmSync(join(layout.leases, name), { force: true });
  sweepDead(layout.scan);
  sweepDead(join(layout.folder, 'sync'));
  return removed;
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
