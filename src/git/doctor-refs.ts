import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CheckpointsError } from '../core/errors';
import { checkpointRefs } from './checkpoint-refs';
import { keepAside, readOr, type Report } from './doctor-report';
import { decodeCheckpoint } from './records';
import { quietFlags, runGit, safeFlags, storeEnv, userEnv, type GitOutput } from './run';
import { borrowObjects } from './seed';
import type { GitStore } from './store';
import { findUserRepo } from './user-repo';

/** git reads no ref at all while one line of it is none. */
export async function checkPackedRefs(store: GitStore, report: Report): Promise<void> {
  try {
    store.refsOf.list('refs/');
  } catch (error) {
    if (!CheckpointsError.is(error, 'store-broken')) throw error;
    await report('packed-refs', 'packed-refs, where git keeps the refs, is damaged.', () =>
      store.refsOf.mendPacked((content) => keepAside(store, 'packed-refs', content)),
    );
  }
}

/** The refs, and that everything they need is there. */
export async function checkRefs(store: GitStore, report: Report): Promise<void> {
  const damaged: string[] = [];
  store.refsOf.list('refs/', (ref) => damaged.push(ref));
  for (const ref of damaged) await report('ref-damaged', `${ref} is damaged.`, () => mendRef(store, ref));
  await checkLost(store, report);
  await checkNames(store, report);
  const refs = store.refsOf.list('refs/');
  // One walk over everything; only when something is missing, which checkpoint it is.
  const isWhole = async (): Promise<boolean> => (await missingBelow(store, [...refs.values()])) === null;
  if (refs.size === 0 || (await isWhole())) return;
  await checkFindable(store, [...refs.values()], report);
  if (await isWhole()) return;
  for (const [name, commit] of refs) {
    const lost = await missingBelow(store, [commit]);
    if (!lost) continue;
    const ref = `refs/${name}`;
    if (name === 'base' || name === 'scan')
      await report('object-missing', `${ref} has lost content: ${lost}`, () => store.refsOf.remove([ref]));
    else if (ref.startsWith(checkpointRefs) && !(await isReadable(store, ref, commit)))
      await report(
        'object-missing',
        `The checkpoint ${ref.slice(checkpointRefs.length)} is lost: ${lost}. Until it is deleted by its id nothing can be freed.`,
      );
    // A checkpoint with missing content still has the rest: it is reported, never deleted.
    else
      await report('object-missing', `The checkpoint ${name.replace(/^checkpoints\//, '')} has lost content: ${lost}`);
  }
}

/** A ref may name what is not there, or what is another's. */
async function checkNames(store: GitStore, report: Report): Promise<void> {
  const refs = store.checkpoints.refs();
  for (const id of await unreadableCheckpoints(store)) {
    const ref = checkpointRefs + id;
    const last = await lastReadable(store, ref);
    if (last !== null)
      await report('ref-damaged', `${ref} does not name its checkpoint.`, async () => {
        await store.refsOf.swap(ref, refs.get(id) ?? null, last);
      });
  }
}

async function mendRef(store: GitStore, ref: string): Promise<void> {
  const path = join(store.layout.gitDir, ref);
  keepAside(store, ref.split('/').join('_'), readOr(path) ?? '');
  const last = await lastReadable(store, ref);
  rmSync(path, { force: true });
  const packed = store.refsOf.read(ref);
  if (last !== null && last !== packed) await store.refsOf.swap(ref, packed, last);
}

/** What the log says that a checkpoint's ref was last, if that is there. */
async function lastReadable(store: GitStore, ref: string): Promise<string | null> {
  const commit = store.refsOf.logged(ref);
  return commit !== null && (await isReadable(store, ref, commit)) ? commit : null;
}

async function isReadable(store: GitStore, ref: string, commit: string): Promise<boolean> {
  try {
    const object = await store.reader.read(commit);
    return object?.type === 'commit' && checkpointRefs + decodeCheckpoint(object.data, commit)?.id === ref;
  } catch (error) {
    if (CheckpointsError.is(error, 'store-broken')) return false; // it is there, and damaged
    throw error;
  }
}

/** Checkpoints that nobody deleted and that no ref names any more: a clean-up leaves their content in the store. */
async function checkLost(store: GitStore, report: Report): Promise<void> {
  const { found, gone } = await sortLost(store);
  const [lost, they] =
    found.length === 1
      ? ['1 checkpoint has lost its ref', 'it is']
      : [`${found.length} checkpoints have lost their refs`, 'they are'];
  if (found.length > 0)
    await report('refs-lost', `${lost}: ${they} not listed, but still in the store.`, async () => {
      for (const [ref, commit] of found) await store.refsOf.swap(ref, null, commit);
      await store.refsOf.remove(found.map(([ref]) => heldRef(ref)));
    });
  if (gone.length > 0)
    await report('checkpoints-lost', goneInWords(gone.length), () => {
      store.refsOf.forget(gone.map(([ref]) => ref)); // told once: nothing will bring them back
      return 'not mended';
    });
}

const goneInWords = (count: number): string =>
  count === 1
    ? '1 checkpoint is lost, its content with it.'
    : `${count} checkpoints are lost, their content with them.`;

export type LoggedRef = [ref: string, commit: string];

/** Holds what a lost ref named, so that nothing frees it. */
export const heldRef = (ref: string): string => `refs/lost/${ref.slice(checkpointRefs.length)}`;

/** The refs that are lost, by whether their checkpoint is there. */
export async function sortLost(store: GitStore): Promise<{ found: LoggedRef[]; gone: LoggedRef[] }> {
  const found: LoggedRef[] = [];
  const gone: LoggedRef[] = [];
  for (const [ref, commit] of store.refsOf.lost())
    ((await isReadable(store, ref, commit)) ? found : gone).push([ref, commit]);
  return { found, gone };
}

/** Checkpoints whose ref is there and whose record is not. */
export async function unreadableCheckpoints(store: GitStore): Promise<string[]> {
  const out: string[] = [];
  for (const [id, commit] of store.checkpoints.refs())
    if (!(await isReadable(store, checkpointRefs + id, commit))) out.push(id);
  return out;
}

/** What is missing may be in a pack that has only lost its index, or still be in the user's repository. */
async function checkFindable(store: GitStore, commits: string[], report: Report): Promise<void> {
  const { gitDir, objects, borrowed } = store.layout;
  const names = readdirSync(join(objects, 'pack'));
  const bare = names.filter((name) => name.endsWith('.pack') && !names.includes(name.replace(/pack$/, 'idx')));
  if (bare.length > 0)
    await report(
      'pack-index',
      `${bare.length === 1 ? 'A pack' : `${bare.length} packs`} of the store lost the index.`,
      async () => {
        const options = { cwd: gitDir, env: storeEnv(), accept: [1, 128], timeoutMs: 600_000 };
        for (const name of bare) await runGit([...safeFlags, 'index-pack', join(objects, 'pack', name)], options);
      },
    );
  const repo = await findUserRepo(store.root);
  if (repo && (await hasAny(store, await missingOf(store, commits))))
    await report('borrowed', 'The store has lost objects that your repository still has.', () => {
      borrowObjects(repo.objects, borrowed);
    });
}

/** Whether the user's repository has any of these. */
async function hasAny(store: GitStore, oids: string[]): Promise<boolean> {
  if (oids.length === 0) return false;
  const input = oids.map((oid) => `${oid}\n`).join('');
  const ask = [...quietFlags, 'cat-file', '--batch-check'];
  const { stdout } = await runGit(ask, { cwd: store.root, env: userEnv(), input, accept: [128] });
  return / (blob|tree) \d+$/m.test(stdout.toString('latin1'));
}

async function missingOf(store: GitStore, commits: string[]): Promise<string[]> {
  const found = new Set<string>();
  for (const commit of commits)
    for (const [, oid] of (await needs(store, [commit])).stdout.toString('latin1').matchAll(/^\?([0-9a-f]+)/gm))
      found.add(oid!);
  return [...found];
}

/** Whether everything the commits need is there; says what is not. */
async function missingBelow(store: GitStore, commits: string[]): Promise<string | null> {
  const { code, stdout, stderr } = await needs(store, commits);
  if (code !== 0) return stderr.trim().split('\n')[0] ?? 'unreadable';
  const missing = stdout.toString('latin1').match(/^\?[0-9a-f]+/gm);
  return missing ? `${missing.length} objects` : null;
}

/** What they need and is not there has a question mark. */
function needs(store: GitStore, commits: string[]): Promise<GitOutput> {
  const { gitDir } = store.layout;
  const args = ['rev-list', '--objects', '--no-walk', '--missing=print', '--quiet', '--stdin'];
  return runGit([...safeFlags, `--git-dir=${gitDir}`, ...args], {
    cwd: gitDir,
    env: storeEnv(),
    accept: [1, 128],
    timeoutMs: 600_000,
    input: commits.map((commit) => `${commit}\n`).join(''),
  });
}
