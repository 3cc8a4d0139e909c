import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  rmdirSync,
  statSync,
} from 'node:fs';
import { join, sep } from 'node:path';
import type { Problem } from '../core/api';
import type { Config } from '../core/config';
import { CheckpointsError } from '../core/errors';
import { readJournal, setJournalAside } from './journal';
import { storeFailure } from './file-failure';
import { makeFolder } from './folders';
import { hasStore, rawAttributes, readWorkspaceFile, storeHead } from './layout';
import { writeFileDurably } from './durable';
import { adopt, findMoved, renameRoot } from './moved';
import { FileReader } from './file-reader';
import { ObjectReader } from './object-reader';
import { isMissing, packedDraft } from './refs';
import { runGit, safeFlags, storeEnv } from './run';
import { unsound } from './secure';
import type { GitStore } from './store';

/** Looks at everything a crash, a full disk or a stray hand can have done; mends what can only get better. */
export async function diagnose(store: GitStore, repair: boolean, config: () => Config): Promise<Problem[]> {
  const problems: Problem[] = [];
  const report = async (reason: string, message: string, mend?: () => Promise<void> | void): Promise<void> => {
    let repaired = false;
    if (repair && mend) {
      await mend();
      repaired = true;
    }
    problems.push({ reason, message, repaired });
  };
  // Where there is no store yet, that of a folder which was moved here may be found all the same.
  if (hasStore(store.layout)) {
    await checkJournal(store, report);
    await checkLayout(store, report);
    await checkIndex(store, report);
    await checkLocks(store, report);
    await checkObjects(store, report);
    await checkOverlaps(store, report);
  }
  await checkMoved(store, config, report);
  return problems;
}

type Report = (reason: string, message: string, mend?: () => Promise<void> | void) => Promise<void>;

async function checkJournal(store: GitStore, report: Report): Promise<void> {
  const path = store.layout.journal;
  if (!existsSync(path)) return;
  try {
    readJournal(path);
  } catch (error) {
    if (!CheckpointsError.is(error, 'store-broken')) throw error;
    await report(
      'journal-damaged',
      'The journal of an interrupted restore is damaged.',
      () => void setJournalAside(path),
    );
    return;
  }
  await report('restore-interrupted', 'A restore was interrupted.', async () => void (await store.recover()));
}

async function checkLayout(store: GitStore, report: Report): Promise<void> {
  const { gitDir, objects, home } = store.layout;
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
    await report('permissions', 'Other users of this machine can read the store.', async () => {
      const { chmodSync } = await import('node:fs');
      chmodSync(home, 0o700);
    });
}

/** Damaged content is simply made anew; a folder in its place cannot be replaced by a file. What is in it is not ours to delete. */
async function checkIndex({ folder }: GitStore, report: Report): Promise<void> {
  const path = join(folder, 'index.db');
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return;
  await report('index-blocked', 'A folder is where index.db should be: the index cannot be written.', () => {
    if (readdirSync(path).length === 0) return rmdirSync(path);
    const aside = join(folder, 'damaged');
    makeFolder(aside);
    renameSync(path, join(aside, `index.db-${Date.now()}`));
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

/** Locks are held for milliseconds; one that is minutes old belongs to nobody. */
async function checkLocks(store: GitStore, report: Report): Promise<void> {
  for (const path of lockFiles(store.layout.gitDir)) {
    const lock = statSync(path, { throwIfNoEntry: false }); // those of others come and go
    if (!lock || Date.now() - lock.mtimeMs < 60_000) continue;
    await report('stale-lock', `A lock was left behind: ${path.slice(store.layout.gitDir.length + 1)}.`, () =>
      rmSync(path, { force: true }),
    );
  }
}

function lockFiles(folder: string): string[] {
  const out: string[] = [];
  for (const entry of existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : []) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && entry.name !== 'objects') out.push(...lockFiles(path));
    else if (entry.name.endsWith('.lock') || entry.name === packedDraft) out.push(path);
  }
  return out;
}

/**
 * Looking at every object takes long, and nobody waits for it: what another process frees or packs meanwhile looks like damage. So
 * whatever is found is looked at again while nobody frees anything, and only that counts.
 */
async function checkObjects(store: GitStore, report: Report): Promise<void> {
  const look = async (tell: Report): Promise<void> => {
    await checkRefs(store, tell);
    await checkContent(store, tell);
  };
  let isSuspicious = false;
  try {
    await look(async () => void (isSuspicious = true));
  } catch {
    isSuspicious = true; // what it stumbled over is met again, or was not damage
  }
  if (isSuspicious) await undisturbed(store, () => look(report));
}

/** A store that cannot be written has no leases: nobody frees anything in it either. */
async function undisturbed(store: GitStore, work: () => Promise<void>): Promise<void> {
  let began = false;
  const begin = (): Promise<void> => {
    began = true;
    return work();
  };
  try {
    await store.sharing('doctor', 30_000, undefined, begin);
  } catch (error) {
    if (began || !(CheckpointsError.is(error, 'store-readonly') || CheckpointsError.is(error, 'disk-full')))
      throw error;
    await work();
  }
}

async function checkRefs(store: GitStore, report: Report): Promise<void> {
  const damaged: string[] = [];
  const refs = store.refsOf.list('refs/', (ref) => damaged.push(ref));
  for (const ref of damaged)
    await report('ref-damaged', `${ref} is damaged.`, () => {
      const aside = join(store.folder, 'damaged', ref.split('/').join('_'));
      writeFileDurably(aside, readOr(join(store.layout.gitDir, ref)) ?? '');
      rmSync(join(store.layout.gitDir, ref), { force: true });
    });
  // One walk over everything; only when something is missing, which checkpoint it is.
  if (refs.size === 0 || (await missingBelow(store, [...refs.values()])) === null) return;
  for (const [name, commit] of refs) {
    const lost = await missingBelow(store, [commit]);
    if (!lost) continue;
    const isBase = name === 'base' || name === 'scan';
    const what = isBase ? `refs/${name}` : `The checkpoint ${name.replace(/^checkpoints\//, '')}`;
    // A checkpoint with missing content still has the rest: it is reported, never deleted.
    await report(
      'object-missing',
      `${what} has lost content: ${lost}`,
      isBase ? () => rmSync(join(store.layout.gitDir, 'refs', name), { force: true }) : undefined,
    );
  }
}

/** Objects that are there and cannot be read, or are not what their name says. Borrowed ones are the user's repository's. */
async function checkContent(store: GitStore, report: Report): Promise<void> {
  const { gitDir } = store.layout;
  const suspects = [...looseObjects(store), ...(await damagedPacks(store)).flat()];
  if (suspects.length === 0) return;
  const reader = new ObjectReader(gitDir);
  const lost = await unsound(reader, suspects, store.file.objectFormat).finally(() => reader.close());
  if (lost.size === 0) return;
  const here = await stillHere(store, lost);
  if (here.length > 0)
    await report('object-damaged', `${here.length} files of the workspace are damaged in the store.`, async () => {
      const writer = store.newWriter();
      for (const { oid, data } of here) writer.add('blob', data, oid);
      await writer.flush();
    });
  for (const { oid } of here) lost.delete(oid);
  if (lost.size === 0) return;
  const needed = await neededBy(store, lost);
  const [what, whom, whoseIs] =
    lost.size === 1
      ? ['1 object of the store is damaged', 'it', 'It belongs']
      : [`${lost.size} objects of the store are damaged`, 'them', 'They belong'];
  const whose = needed.length === 0 ? `No checkpoint needs ${whom}.` : `${whoseIs} to ${needed.join(', ')}.`;
  await report('object-damaged', `${what}. ${whose}`);
}

function looseObjects({ layout: { objects } }: GitStore): string[] {
  const folders = namesIn(objects).filter((name) => /^[0-9a-f]{2}$/.test(name));
  return folders.flatMap((folder) => readdirSync(join(objects, folder)).map((rest) => folder + rest));
}

/** A folder that is gone holds nothing; what is missing by that is told for each checkpoint. */
function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** All that is in packs that do not pass git's own look. */
async function damagedPacks({ layout: { gitDir, objects } }: GitStore): Promise<string[][]> {
  const folder = join(objects, 'pack');
  const names = namesIn(folder).filter((name) => name.endsWith('.idx'));
  const options = { cwd: gitDir, env: storeEnv(), accept: [1, 128], timeoutMs: 600_000 };
  const isSound = async (some: string[]): Promise<boolean> => {
    const paths = some.map((name) => join(folder, name));
    return (await runGit([...safeFlags, `--git-dir=${gitDir}`, 'verify-pack', ...paths], options)).code === 0;
  };
  if (names.length === 0 || (await isSound(names))) return [];
  const out: string[][] = [];
  for (const name of names) {
    // Gone meanwhile: another process has put its objects into a larger one.
    if ((await isSound([name])) || !existsSync(join(folder, name))) continue;
    const input = readFileSync(join(folder, name));
    const { stdout } = await runGit([...safeFlags, `--git-dir=${gitDir}`, 'show-index'], { ...options, input });
    out.push([...stdout.toString('latin1').matchAll(/^\d+ ([0-9a-f]+)/gm)].map((match) => match[1]!));
  }
  return out;
}

/** What the workspace's files still have of it. */
async function stillHere(store: GitStore, lost: ReadonlySet<string>): Promise<Array<{ oid: string; data: Buffer }>> {
  const base = await store.base.read();
  if (!base) return [];
  const files = new FileReader(store.root, Number.MAX_SAFE_INTEGER);
  const out = new Map<string, Buffer>();
  for (const [path, { oid }] of await store.trees.list(base.tree)) {
    const found = lost.has(oid) && !out.has(oid) ? files.read(path) : null;
    if (found && 'data' in found && store.hashOf(found.data) === oid) out.set(oid, found.data);
  }
  return [...out].map(([oid, data]) => ({ oid, data }));
}

async function neededBy(store: GitStore, lost: ReadonlySet<string>): Promise<string[]> {
  const { gitDir } = store.layout;
  const out: string[] = [];
  for (const [name, commit] of store.refsOf.list('refs/')) {
    const { stdout } = await runGit(
      [...safeFlags, `--git-dir=${gitDir}`, 'rev-list', '--objects', '--no-walk', '--no-object-names', commit],
      { cwd: gitDir, env: storeEnv(), accept: [1, 128], timeoutMs: 600_000 },
    );
    if (
      stdout
        .toString('latin1')
        .split('\n')
        .some((oid) => lost.has(oid))
    )
      out.push(name.replace(/^checkpoints\//, ''));
  }
  return out;
}

/** Whether everything the commits need is there; says what is not. */
async function missingBelow(store: GitStore, commits: string[]): Promise<string | null> {
  const result = await runGit(
    [
      ...safeFlags,
      `--git-dir=${store.layout.gitDir}`,
      'rev-list',
      '--objects',
      '--no-walk',
      '--missing=print',
      '--quiet',
      '--stdin',
    ],
    {
      cwd: store.layout.gitDir,
      env: storeEnv(),
      accept: [1, 128],
      timeoutMs: 600_000,
      input: commits.map((commit) => `${commit}\n`).join(''),
    },
  );
  if (result.code !== 0) return result.stderr.trim().split('\n')[0] ?? 'unreadable';
  const missing = result.stdout.toString('latin1').match(/^\?[0-9a-f]+/gm);
  return missing ? `${missing.length} objects` : null;
}

/** The folder was moved or renamed: its checkpoints are still kept under its old name. */
async function checkMoved(store: GitStore, config: () => Config, report: Report): Promise<void> {
  const file = readWorkspaceFile(join(store.folder, 'workspace.json'));
  if (file && file.root !== store.root)
    await report('moved', `The store still names the folder this workspace had before.`, () => renameRoot(store));
  for (const moved of await findMoved(store, config)) {
    const what = `${moved.root} is gone, and its ${moved.checkpoints} checkpoints are of the files that are here now`;
    if (store.refs().size > 0)
      await report('moved', `${what}. They stay where they are, since this workspace has checkpoints of its own.`);
    else await report('moved', `${what}: the workspace was moved.`, () => adopt(store, moved));
  }
}

/** Two stores of which one's root lies in the other's would both claim the same files. */
async function checkOverlaps(store: GitStore, report: Report): Promise<void> {
  const all = join(store.layout.home, 'workspaces');
  for (const id of readdirSync(all)) {
    const folder = join(all, id);
    if (folder === store.folder) continue;
    let root: string | undefined;
    try {
      root = readWorkspaceFile(join(folder, 'workspace.json'))?.root;
    } catch {
      continue; // that workspace's own doctor tells
    }
    if (root && (root.startsWith(store.root + sep) || store.root.startsWith(root + sep)))
      await report('overlap', `${root} has checkpoints of its own, and overlaps with ${store.root}.`);
  }
}

function readOr(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}
