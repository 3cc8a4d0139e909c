import { copyFileSync, linkSync, existsSync, renameSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { basename, join } from 'node:path';
import { CheckpointsError } from '../core/errors';
import type { Checkpoint } from '../core/model';
import { syncFile } from '../git/sync-file';
import { readForeign, refOf, sourceOf, fetchedSessionRefs, type FetchedRef } from '../git/fetched';
import { examineTree, type KnownTrees } from './foreign-tree';
import { ObjectReader } from '../git/object-reader';
import { runGit, safeFlags, storeEnv } from '../git/run';
import type { Scratch } from './scratch';
import { readSession } from '../git/session-store';
import type { GitStore } from '../git/store';
import { Trees } from '../git/trees';
import { maxRecordBytes } from '../git/untrusted-record';
import type { WireRef } from './wire';

export interface Refusal {
  id: string;
  origin: string;
  reason: string;
}

/** What is on offer, beside what is here. */
export interface Offer {
  /** New, or changed by their owner. */
  wanted: WireRef[];
  /** Sessions whose checkpoints are here or wanted. */
  sessions: WireRef[];
  unchanged: number;
  deletedHere: number;
}

/** What of the offered refs is worth taking. Reads records only where a commit is not the one that was fetched. */
export async function compare(store: GitStore, refs: readonly WireRef[], own: string | null): Promise<Offer> {
  const present = new Map(store.fetched.all().map((one) => [`${one.origin}/${one.id}`, one]));
  const { deleted } = await store.syncState.read();
  const offer: Offer = { wanted: [], sessions: [], unchanged: 0, deletedHere: 0 };
  for (const ref of refs) {
    if (ref.kind !== 'checkpoint' || ref.origin === own) continue;
    const key = `${ref.origin}/${ref.id}`;
    const here = present.get(key);
    // A copy of what this workspace has itself tells nothing new.
    if (store.checkpoints.isOwn(ref.id)) offer.unchanged += 1;
    else if (here && (here.commit === ref.oid || sourceOf(await store.fetched.read(here)) === ref.oid))
      offer.unchanged += 1;
    else if (!here && deleted[key] === ref.oid) offer.deletedHere += 1;
    else offer.wanted.push(ref);
  }
  const origins = new Set([...offer.wanted.map(({ origin }) => origin), ...[...present.values()].map((o) => o.origin)]);
  for (const ref of refs)
    if (
      ref.kind === 'session' &&
      ref.origin !== own &&
      origins.has(ref.origin) &&
      store.refsOf.read(`${fetchedSessionRefs}${ref.origin}/${ref.id}`) !== ref.oid
    )
      offer.sessions.push(ref);
  return offer;
}

export interface Examined {
  accepted: Array<{ ref: WireRef; record: Checkpoint }>;
  sessions: WireRef[];
  refused: Refusal[];
}

/** Looks at everything that arrived, in the scratch repository, before any of it is let in. */
export async function examine(
  scratch: Scratch,
  offer: Offer,
  onProgress: (done: number, total: number) => void,
): Promise<Examined> {
  const reader = new ObjectReader(scratch.gitDir);
  try {
    const first = offer.wanted[0] ?? offer.sessions[0];
    const trees = new Trees(reader, (first?.oid.length ?? 40) / 2);
    const sizes = await commitSizes(scratch, [...offer.wanted, ...offer.sessions]);
    const out: Examined = { accepted: [], sessions: [], refused: [] };
    const known: KnownTrees = new Map();
    const total = offer.wanted.length + offer.sessions.length;
    for (const ref of [...offer.wanted, ...offer.sessions]) {
      try {
        const size = sizes.get(ref.oid);
        if (size === undefined) throw new CheckpointsError('untrusted-tree', 'It is not a commit.');
        if (size > maxRecordBytes) throw new CheckpointsError('untrusted-tree', 'Its record is too large.');
        if (ref.kind === 'session') {
          await readSession(reader, ref.oid, ref.id);
          out.sessions.push(ref);
        } else out.accepted.push({ ref, record: await examineOne(reader, trees, ref, known) });
      } catch (error) {
        if (!CheckpointsError.is(error)) throw error;
        // What is missing may have been the store's, and cleaned up since.
        if (error.reason === 'store-broken' && !scratch.alone)
          throw new CheckpointsError('conflict', 'The store was cleaned up while this was coming in.', {
            cause: error,
          });
        out.refused.push({ id: ref.id, origin: ref.origin, reason: error.message });
      }
      onProgress(out.accepted.length + out.sessions.length + out.refused.length, total);
    }
    return out;
  } finally {
    reader.close();
  }
}

async function examineOne(
  reader: ObjectReader,
  trees: Trees,
  { id, oid, origin }: WireRef,
  known: KnownTrees,
): Promise<Checkpoint> {
  const object = await reader.read(oid);
  const record = object?.type === 'commit' ? readForeign(object.data, oid, id, origin) : null;
  if (!record) throw new CheckpointsError('untrusted-tree', 'It is not a checkpoint.');
  const why = await examineTree(trees, record.files.tree, known);
  if (why) throw new CheckpointsError('untrusted-tree', why);
  return record;
}

/** Asked before anything is read: an object of a gigabyte that calls itself a record is never loaded. */
async function commitSizes(scratch: Scratch, refs: readonly WireRef[]): Promise<Map<string, number>> {
  const { stdout } = await runGit([...safeFlags, `--git-dir=${scratch.gitDir}`, 'cat-file', '--batch-check'], {
    cwd: scratch.gitDir,
    env: storeEnv(),
    input: refs.map(({ oid }) => `${oid}\n`).join(''),
  });
  const sizes = new Map<string, number>();
  for (const line of stdout.toString('latin1').split('\n')) {
    const match = /^([0-9a-f]+) commit (\d+)$/.exec(line);
    if (match?.[1]) sizes.set(match[1], Number(match[2]));
  }
  return sizes;
}

export interface Taken {
  added: Checkpoint[];
  updated: Checkpoint[];
  sessions: string[];
}

/**
 * Lets in what was accepted: first the objects, then, once everything is known to be there, the refs one by one. The shared
 * lease is held throughout, so that no cleaning up frees an object in between.
 */
export async function take(
  store: GitStore,
  scratch: Scratch,
  examined: Examined,
  signal?: AbortSignal,
): Promise<Taken> {
  return store.sharing('fetch', 30_000, signal, async () => {
    for (const pack of scratch.packs()) letIn(store, pack);
    const commits = [...examined.accepted.map(({ ref }) => ref.oid), ...examined.sessions.map(({ oid }) => oid)];
    await mustBeWhole(store, commits);
    const taken: Taken = { added: [], updated: [], sessions: [] };
    await takeAll(store, examined.accepted, taken);
    const needed = new Set<string>();
    for (const one of store.fetched.all()) needed.add(`${one.origin}/${(await store.fetched.read(one))?.session?.id}`);
    for (const { origin, id, oid } of examined.sessions) {
      const name = `${fetchedSessionRefs}${origin}/${id}`;
      if (needed.has(`${origin}/${id}`) && (await store.refsOf.swap(name, store.refsOf.read(name), oid)))
        taken.sessions.push(id);
    }
    const back = new Set(examined.accepted.map(({ ref }) => `${ref.origin}/${ref.id}`));
    await store.syncState.change((state) => ({
      ...state,
      fetches: state.fetches + 1,
      deleted: Object.fromEntries(Object.entries(state.deleted).filter(([key]) => !back.has(key))),
    }));
    return taken;
  });
}

/** Names of many checkpoints are written together; where another process edits one of them meanwhile, all are looked at again. */
async function takeAll(store: GitStore, accepted: Examined['accepted'], taken: Taken): Promise<void> {
  for (let attempt = 0; attempt < 10; attempt++) {
    const moves: Array<{ ref: string; from: string | null; to: string }> = [];
    for (const { ref, record } of accepted) {
      const at: FetchedRef = { origin: ref.origin, id: ref.id, commit: store.refsOf.read(refOf(ref)) ?? '' };
      const here = at.commit ? await store.fetched.read(at) : null;
      moves.push({ ref: refOf(ref), from: at.commit || null, to: await store.fetched.merged(record, here) });
    }
    if (!(await store.refsOf.swapAll(moves.filter(({ from, to }) => from !== to)))) continue;
    for (const [i, { from, to }] of moves.entries()) {
      const record = accepted[i]?.record;
      if (record && from !== to) (from ? taken.updated : taken.added).push(record);
    }
    return;
  }
  throw new CheckpointsError('busy', 'Another process keeps changing these checkpoints. Try again.');
}

/** The index makes a pack visible, so it comes last; with both there, the same objects are there. */
function letIn(store: GitStore, pack: string): void {
  const folder = join(store.layout.objects, 'pack');
  if (existsSync(join(folder, `${basename(pack)}.idx`))) return;
  for (const end of ['.pack', '.idx']) {
    const target = join(folder, basename(pack) + end);
    const temporary = join(folder, `tmp_pack_${randomBytes(8).toString('hex')}`);
    linkOrCopy(pack + end, temporary);
    syncFile(temporary);
    renameSync(temporary, target);
  }
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to); // a volume without hard links
  }
}

/** What arrived may lean on what the store had at the time: it must still be there. */
async function mustBeWhole(store: GitStore, commits: string[]): Promise<void> {
  if (commits.length === 0) return;
  const result = await runGit(
    [...safeFlags, `--git-dir=${store.layout.gitDir}`, 'rev-list', '--objects', '--quiet', '--stdin'],
    {
      cwd: store.layout.gitDir,
      env: storeEnv(),
      input: commits.map((commit) => `${commit}\n`).join(''),
      accept: [128],
      timeoutMs: 10 * 60_000,
    },
  );
  if (result.code !== 0)
    throw new CheckpointsError('conflict', 'The store was cleaned up while this was coming in.', {
      details: { stderr: result.stderr.slice(0, 2000) },
    });
}
