import { existsSync } from 'node:fs';
import { join, sep } from 'node:path';
import type { Problem } from '../core/api';
import type { Config } from '../core/config';
import { CheckpointsError } from '../core/errors';
import { damagedObjects, neededBy } from './damaged';
import { checkIndex, checkLayout, checkLocks } from './doctor-layout';
import { checkPackedRefs, checkRefs } from './doctor-refs';
import type { Report } from './doctor-report';
import { FileReader } from './file-reader';
import { readJournal, setJournalAside } from './journal';
import { hasStore, knownRoots, readWorkspaceFile } from './layout';
import { adopt, findMoved, renameRoot } from './moved';
import type { GitStore } from './store';

/** While one of these is open git reads nothing in the store, and all of it would look lost. */
const blinding = ['folder-blocked', 'folder-missing', 'store-config', 'head', 'packed-refs'];

/** Looks at everything a crash, a full disk or a stray hand can have done; mends what can only get better. */
export async function diagnose(store: GitStore, repair: boolean, config: () => Config): Promise<Problem[]> {
  const problems: Problem[] = [];
  const report: Report = async (reason, message, mend) => {
    let repaired = false;
    if (repair && mend) {
      repaired = (await mend()) !== 'not mended';
    }
    problems.push({ reason, message, repaired });
  };
  // Where there is no store yet, that of a folder which was moved here may be found all the same.
  if (hasStore(store.layout)) {
    await checkJournal(store, report);
    await checkLayout(store, report);
    await checkIndex(store, report);
    await checkLocks(store, report);
    await checkPackedRefs(store, report);
    if (problems.some(({ reason, repaired }) => !repaired && blinding.includes(reason))) return problems;
    await checkObjects(store, report);
    await checkOverlaps(store, report);
  }
  await checkMoved(store, config, report);
  return problems;
}

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

async function checkContent(store: GitStore, report: Report): Promise<void> {
  const lost = await damagedObjects(store);
  if (lost.size === 0) return;
  const here = await stillHere(store, lost);
  if (here.length > 0)
    await report('object-damaged', `${hereInWords(here.length)} damaged in the store.`, async () => {
      const writer = store.newWriter();
      for (const { oid, data } of here) writer.add('blob', data, oid);
      await writer.flush();
    });
  for (const { oid } of here) lost.delete(oid);
  if (lost.size === 0) return;
  const needed = [...(await neededBy(store, lost)).keys()];
  const others = needed.filter((name) => name !== 'base' && name !== 'scan');
  // The next look at the files makes these two anew.
  const made = others.length > 0 ? [] : needed.map((name) => `refs/${name}`);
  if (made.length > 0) {
    await report('object-damaged', `${made.join(' and ')}: content is damaged.`, () => store.refsOf.remove(made));
    return;
  }
  const [what, whom, whoseIs] =
    lost.size === 1
      ? ['1 object of the store is damaged', 'it', 'It belongs']
      : [`${lost.size} objects of the store are damaged`, 'them', 'They belong'];
  const way = others.length === 1 ? 'Until that is deleted by its id' : 'Until these are deleted by their ids';
  const whose =
    others.length === 0
      ? `No checkpoint needs ${whom}.`
      : `${whoseIs} to ${others.join(', ')}. ${way} nothing can be freed.`;
  await report('object-damaged', `${what}. ${whose}`);
}

const hereInWords = (count: number): string =>
  count === 1 ? '1 file of the workspace is' : `${count} files of the workspace are`;

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

/** The folder was moved or renamed: its checkpoints are still kept under its old name. */
async function checkMoved(store: GitStore, config: () => Config, report: Report): Promise<void> {
  const file = readWorkspaceFile(join(store.folder, 'workspace.json'));
  if (file && file.root !== store.root)
    await report('moved', `The store still names the folder this workspace had before.`, () => renameRoot(store));
  for (const moved of await findMoved(store, config)) {
    const what = `${moved.root} is gone, and its ${moved.checkpoints} checkpoints are of the files that are here now`;
    if (store.refs().size > 0)
      await report(
        'moved',
        `${what}. They stay where they are, since this workspace has checkpoints of its own; to have them in their place, \`export\` what you want to keep of these, \`clear\`, then \`doctor --repair\`, and \`import\` it again.`,
      );
    else await report('moved', `${what}: the workspace was moved.`, () => adopt(store, moved));
  }
}

/** Two stores of which one's root lies in the other's would both claim the same files. */
async function checkOverlaps(store: GitStore, report: Report): Promise<void> {
  for (const { folder, root } of knownRoots(store.layout.home))
    if (folder !== store.folder && (root.startsWith(store.root + sep) || store.root.startsWith(root + sep)))
      await report(
        'overlap',
        `${root} has checkpoints of its own, and overlaps with ${store.root}. Neither is harmed by it; to be rid of those of ${root}, delete ${folder}.`,
      );
}
