import * as vscode from 'vscode';
import type { CreateOptions } from '../core/api';
import { currentSession } from '../core/current-session';
import type { Checkpoint, SessionAnchor } from '../core/model';
import { cleanName } from '../core/titles';
import { countsInWords, plural, shortTitle, withoutIcons, withoutLinks } from './labels';
import { activeRoot, folderItem, openRoots } from './picker';
import { withCancel } from './progress';
import { Root } from './root';
import { isTreeNode } from './tree-nodes';
import type { Services } from './services';
import { listed, pathsOf, saveAll, unsavedFiles } from './unsaved';

const askName = (value: string, prompt: string): Thenable<string | undefined> =>
  vscode.window.showInputBox({
    title: 'Name of the Checkpoint',
    prompt,
    value,
    placeHolder: 'Before the big refactoring',
    validateInput: (text) => {
      try {
        cleanName(text);
        return undefined;
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    },
  });

const create = async (
  { workspaces, tree, treeView, log }: Services,
  root: Root,
  options: CreateOptions,
): Promise<Checkpoint> => {
  const checkpoint = await withCancel('Creating a checkpoint', async ({ signal }) =>
    root.api.create({ ...options, session: await sessionOf(root, log), signal }),
  );
  log.info(`created ${checkpoint.id} in ${root.api.root}: ${countsInWords(checkpoint.files)}`);
  const where = workspaces.current.length > 1 ? ` of ${withoutIcons(root.name)}` : '';
  const talk = checkpoint.session === null ? '' : ' with the conversation';
  vscode.window.setStatusBarMessage(
    `$(check) Checkpoint${where} “${withoutIcons(shortTitle(checkpoint))}” created${talk}`,
    5000,
  );
  if (checkpoint.files.partial.length > 0) warnPartial(checkpoint);
  if (treeView.visible) {
    await tree.refresh();
    const node = await tree.find(checkpoint.id);
    if (node !== undefined) await treeView.reveal(node, { select: true, focus: false });
  }
  return checkpoint;
};

/** The conversation belongs to a checkpoint by hand as it does to the others, where a server runs that can tell. */
const sessionOf = async (root: Root, log: Services['log']): Promise<SessionAnchor | null> => {
  try {
    return await currentSession(() => root.sessions.allRunning(), root.api.root);
  } catch (error) {
    log.info(`the checkpoint is made without a conversation: ${String(error)}`);
    return null;
  }
};

const warnPartial = ({ files }: Checkpoint): void => {
  const names = files.partial.slice(0, 3).map(({ path, reason }) => `${path} (${reason})`);
  const more = files.partial.length > names.length ? ` and ${files.partial.length - names.length} more` : '';
  vscode.window.showWarningMessage(
    `The checkpoint is not whole: could not read ${withoutLinks(names.join(', '))}${more}. The rest is in it; make another one when they can be read.`,
  );
};

/** The roots a new checkpoint is for: the one that was named, the active editor's, or the user says. */
const rootsFor = async ({ workspaces }: Services, argument: unknown): Promise<Root[]> => {
  if (isTreeNode(argument)) return [argument.root];
  if (argument instanceof Root) return [argument];
  const own = await activeRoot(workspaces);
  if (own !== undefined) return [own];
  const roots = await openRoots(workspaces);
  if (roots.length === 1) return roots;
  const items = [
    { label: '$(folder-library) All Folders', roots },
    ...roots.map((root) => ({ ...folderItem(root), roots: [root] })),
  ];
  return (await vscode.window.showQuickPick(items, { title: 'Create a Checkpoint of' }))?.roots ?? [];
};

const saveFirst = 'Save All and Create';
const createAnyway = 'Create Anyway';

/** A checkpoint holds what is on disk: where the editors show something else, the user says which it shall be. */
const settled = async (roots: readonly Root[]): Promise<boolean> => {
  const dirty = roots.flatMap(unsavedFiles);
  if (dirty.length === 0) return true;
  const answer = await vscode.window.showWarningMessage(
    `${plural(dirty.length, 'file')} ${dirty.length === 1 ? 'has' : 'have'} unsaved changes, which the checkpoint would not hold.`,
    { modal: true, detail: listed(pathsOf(dirty)) },
    saveFirst,
    createAnyway,
  );
  if (answer !== saveFirst) return answer === createAnyway;
  const failed = await saveAll(dirty);
  if (failed.length > 0) {
    const names = failed.map(({ path }) => path).join(', ');
    vscode.window.showWarningMessage(
      `No checkpoint was made: ${names} could not be saved. Save by hand, or choose ${createAnyway}.`,
    );
  }
  return failed.length === 0;
};

const createIn = async (
  services: Services,
  roots: readonly Root[],
  options: CreateOptions,
): Promise<Checkpoint | undefined> => {
  if (!(await settled(roots))) return undefined;
  let last: Checkpoint | undefined;
  for (const root of roots) last = await create(services, root, options);
  return last;
};

export const createCheckpoint = async (services: Services, argument?: unknown): Promise<Checkpoint | undefined> =>
  createIn(services, await rootsFor(services, argument), { trigger: 'manual' });

export const createNamed = async (services: Services, argument?: unknown): Promise<Checkpoint | undefined> => {
  const roots = await rootsFor(services, argument);
  if (roots.length === 0) return undefined;
  const given =
    typeof argument === 'string' ? argument : await askName('', 'Named checkpoints are kept until you delete them.');
  if (given === undefined) return undefined;
  return createIn(services, roots, { trigger: 'manual', name: given.trim() });
};

export { askName };
