import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CheckpointsError } from '../core/errors';
import { keepAside, readOr, type Report } from './doctor-report';
import { checkpointRefs } from './lost-refs';
import { incomplete, missingBelow, missingOf } from './missing';
import { quietFlags, runGit, safeFlags, storeEnv, userEnv } from './run';
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
  // First of all: what only cannot be found is not lost.
  const isWhole = await checkFindable(store, report);
  await checkLost(store, report);
  await checkNames(store, report);
  if (!isWhole) await checkNeeded(store, report);
}

async function checkNeeded(store: GitStore, report: Report): Promise<void> {
  const { gitDir } = store.layout;
  const unreadable = await store.lostRefs.unreadable();
  const refs = store.refsOf.list('refs/');
  const broken = new Set(await incomplete(gitDir, [...refs.values()]));
  for (const [name, commit] of refs) {
    if (!broken.has(commit)) continue;
    const lost = (await missingBelow(gitDir, [commit])) ?? 'it is there again';
    const ref = `refs/${name}`;
    const id = ref.slice(checkpointRefs.length);
    if (name === 'base' || name === 'scan')
      await report('object-missing', `${ref} has lost content: ${lost}.`, () => store.refsOf.remove([ref]));
    else if (!ref.startsWith(checkpointRefs)) await report('object-missing', `${ref} has lost content: ${lost}.`);
    // A checkpoint with missing content still has the rest: it is reported, never deleted.
    else
      await report(
        'object-missing',
        `The checkpoint ${id} ${unreadable.has(id) ? 'is lost' : 'has lost content'}: ${lost}. Until it is deleted by its id nothing can be freed.`,
      );
  }
}

/** A ref may name what is not there, or what is another's. */
async function checkNames(store: GitStore, report: Report): Promise<void> {
  for (const [id, commit] of await store.lostRefs.unreadable()) {
    const ref = checkpointRefs + id;
    const last = await store.lostRefs.lastReadable(id);
    if (last !== null)
      await report('ref-damaged', `${ref} does not name its checkpoint.`, async () => {
        await store.refsOf.swap(ref, commit, last);
      });
    // What is missing or damaged is told by whoever looks for that.
    else if (await store.lostRefs.isThere(commit))
      await report(
        'record-damaged',
        `The checkpoint ${id} cannot be read: what ${ref} names is no record of it. Until it is deleted by its id nothing can be freed.`,
      );
  }
}

async function mendRef(store: GitStore, ref: string): Promise<void> {
  const path = join(store.layout.gitDir, ref);
  keepAside(store, ref.split('/').join('_'), readOr(path) ?? '');
  const last = ref.startsWith(checkpointRefs)
    ? await store.lostRefs.lastReadable(ref.slice(checkpointRefs.length))
    : null;
  rmSync(path, { force: true });
  const packed = store.refsOf.read(ref);
  if (last !== null && last !== packed) await store.refsOf.swap(ref, packed, last);
}

/** Checkpoints that nobody deleted and that no ref names any more: a clean-up leaves their content in the store. */
async function checkLost(store: GitStore, report: Report): Promise<void> {
  const { found, gone } = await store.lostRefs.sorted();
  const [lost, they] =
    found.size === 1
      ? ['1 checkpoint has lost its ref', 'it is']
      : [`${found.size} checkpoints have lost their refs`, 'they are'];
  if (found.size > 0)
    await report('refs-lost', `${lost}: ${they} not listed, but still in the store.`, () =>
      store.lostRefs.bringBack(found),
    );
  if (gone.size > 0)
    await report('checkpoints-lost', goneInWords(gone.size), async (): Promise<'not mended'> => {
      await store.lostRefs.forget([...gone.keys()]); // told once: nothing will bring them back
      return 'not mended';
    });
}

const goneInWords = (count: number): string =>
  count === 1
    ? '1 checkpoint is lost, its content with it.'
    : `${count} checkpoints are lost, their content with them.`;

/**
 * What is missing may be in a pack that has only lost its index, or still be in the user's repository. Answers whether all is there that refs need; one
 * walk over everything tells it.
 */
async function checkFindable(store: GitStore, report: Report): Promise<boolean> {
  const { gitDir, objects, borrowed } = store.layout;
  const commits = [...store.refsOf.list('refs/').values(), ...store.lostRefs.all().values()];
  const isWhole = async (): Promise<boolean> => commits.length === 0 || (await missingBelow(gitDir, commits)) === null;
  if (await isWhole()) return true;
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
  if (repo && (await hasAny(store, await missingOf(gitDir, commits))))
    await report('borrowed', 'The store has lost objects that your repository still has.', () => {
      borrowObjects(repo.objects, borrowed);
    });
  return isWhole();
}

/** Whether the user's repository has any of these. */
async function hasAny(store: GitStore, oids: string[]): Promise<boolean> {
  if (oids.length === 0) return false;
  const input = oids.map((oid) => `${oid}\n`).join('');
  const ask = [...quietFlags, 'cat-file', '--batch-check'];
  const { stdout } = await runGit(ask, { cwd: store.root, env: userEnv(), input, accept: [128] });
  return / (blob|tree) \d+$/m.test(stdout.toString('latin1'));
}
