import { readFileSync, readdirSync, rmSync, statSync, statfsSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import { CheckpointsError } from '../core/errors';
import { parseIndex } from './index-file';
import { refuseInterrupted } from './journal';
import type { Layout } from './layout';
import type { Commits } from './lost-refs';
import { encodeCommit } from './records';
import { isMissing } from './refs';
import { forget } from './packing';
import { isOrphan } from './process-identity';
import { runGit, safeFlags, storeEnv, type GitOutput } from './run';
import { sweepDead } from './scanner';
import { staleLocks } from './stale-locks';
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

/** The tree that the scanner's index is built on. */
async function scanTree(store: GitStore): Promise<string | null> {
  let data: Buffer;
  try {
    data = readFileSync(join(store.layout.scan, 'index'));
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
  const oidBytes = store.file.objectFormat === 'sha1' ? 20 : 32;
  let entries: ReturnType<typeof parseIndex>['entries'];
  try {
    ({ entries } = parseIndex(data, oidBytes));
  } catch {
    return null; // damaged: whoever scans next makes it anew
  }
  const mark = entries.find((e) => e.path.startsWith(treeMark));
  const tree = mark?.path.split('/')[1]?.split('-')[0];
  return tree && (await store.trees.exists(tree)) ? tree : null;
}

/** Keeps that tree from being freed. */
async function holdScanTree(store: GitStore): Promise<void> {
  const tree = await scanTree(store);
  if (tree === null) return;
  const writer = store.newWriter();
  const commit = writer.add('commit', encodeCommit(tree, 'scan\n', Date.now()));
  await writer.flush();
  await store.refsOf.swap('refs/scan', store.refsOf.read('refs/scan'), commit);
}

/**
 * Frees what no ref needs: alone with the store, since a capture's objects have no ref until it is done. Where the disk has no room to write
 * everything anew, only what is not needed at all goes, and it is not `whole`.
 */
export async function collect(
  store: GitStore,
  waitMs: number,
  options: { yielding?: boolean; signal?: AbortSignal } = {},
): Promise<{ freedBytes: number; whole: boolean }> {
  return store.exclusively('clean up', waitMs, options.signal, async () => {
    refuseInterrupted(store.layout.journal);
    store.refsOf.compactLog(await holdLost(store));
    const stop = options.yielding ? untilWanted(store, options.signal) : null;
    const before = storeSizes(store.layout).bytes;
    const git: Git = (args, input) =>
      runGit([...safeFlags, `--git-dir=${store.layout.gitDir}`, ...args], {
        cwd: store.layout.gitDir,
        env: storeEnv(),
        input,
        timeoutMs: 30 * 60_000,
        signal: stop?.signal ?? options.signal,
        group: true,
      });
    let whole: boolean;
    try {
      // What killed processes left may be the room that is missing.
      sweep(store.layout);
      whole = hasRoom(store.layout, before);
      if (!whole) {
        await dropUnneeded(store, git);
        whole = hasRoom(store.layout, await neededBytes(git));
      }
      if (whole) await rewrite(store, git, stop?.signal ?? options.signal);
    } catch (error) {
      throw notFreed(error);
    } finally {
      stop?.end();
    }
    sweep(store.layout);
    return { freedBytes: Math.max(0, before - storeSizes(store.layout).bytes), whole };
  });
}

/**
 * What has lost its ref looks as if nobody needed it: it is held by another until doctor brings it back. What cannot be read may lie in a pack that
 * has only lost its index, and would be swept.
 */
async function holdLost({ lostRefs }: GitStore): Promise<Commits> {
  const { found, gone } = await lostRefs.sorted();
  const unreadable = [...(await lostRefs.unreadable()).keys(), ...gone.keys()];
  if (unreadable.length > 0)
    throw new CheckpointsError(
      'store-broken',
      `Nothing was freed, for what cannot be read would go, too: ${unreadable.slice(0, 3).join(', ')}${unreadable.length > 3 ? ', …' : ''}.`,
    );
  await lostRefs.hold(found);
  return found;
}

/** What is missing may come back: until then, or until whoever needs it is deleted, it stays as it is. */
function notFreed(error: unknown): unknown {
  if (!CheckpointsError.is(error, 'store-broken') || error.details === undefined) return error; // not git's words
  const message = `Nothing was freed, for a checkpoint has lost content, which doctor tells: ${error.message}`;
  return new CheckpointsError('store-broken', message, { cause: error });
}

type Git = (args: string[], input?: Buffer) => Promise<GitOutput>;

async function rewrite(store: GitStore, git: Git, signal: AbortSignal | undefined): Promise<void> {
  await store.catchUp();
  await holdScanTree(store);
  await store.refsOf.pack(signal);
  refuseUnheld(store);
  await git(['repack', '-a', '-d', '-l', '-q', '--window=50', '--depth=50']);
  refuseUnheld(store);
  await git(['prune', '--expire=now']);
}

/** git takes what no ref names for garbage: right before it looks, none may have been lost since they were held. */
function refuseUnheld({ lostRefs }: GitStore): void {
  if (!lostRefs.isHeld())
    throw new CheckpointsError('store-broken', 'Nothing more was freed, for refs were lost meanwhile.');
}

/** Writes nothing: loose objects and whole packs that neither a ref nor the scanner's index needs are deleted. */
async function dropUnneeded(store: GitStore, git: Git): Promise<void> {
  const tree = await scanTree(store);
  const roots = tree === null ? [] : [tree];
  refuseUnheld(store);
  const { stdout } = await git(['rev-list', '--objects', '--no-object-names', '--all', ...roots]);
  const needed = new Set(stdout.toString('latin1').split('\n'));
  const folder = join(store.layout.objects, 'pack');
  store.reader.close();
  for (const name of list(folder).filter((one) => one.endsWith('.idx'))) {
    const index = await git(['show-index'], readFileSync(join(folder, name)));
    const lines = index.stdout.toString('latin1').trimEnd().split('\n');
    if (!lines.some((line) => needed.has(line.split(' ')[1] ?? ''))) forget(folder, name.slice(0, -4));
  }
  refuseUnheld(store);
  await git(['prune', '--expire=now', ...roots]);
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

async function neededBytes(git: Git): Promise<number> {
  const { stdout } = await git(['rev-list', '--objects', '--disk-usage', '--all']);
  return Number(stdout.toString('latin1').trim());
}

/** Repacking needs room for a second copy before it frees the first. */
function hasRoom(layout: Layout, bytes: number): boolean {
  const { bavail, bsize } = statfsSync(layout.folder);
  return bavail * bsize >= bytes + (64 << 20);
}

/** What processes that were killed left behind. The caller holds the exclusive lease. */
function sweep(layout: Layout): string[] {
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
    if (name.startsWith('stage-') || isOrphan(name)) {
      rmSync(join(layout.folder, name), { recursive: true, force: true });
      removed.push(name);
    }
  for (const name of list(layout.leases)) if (isOrphan(name)) rmSync(join(layout.leases, name), { force: true });
  for (const path of staleLocks(layout.gitDir)) rmSync(path, { force: true });
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
