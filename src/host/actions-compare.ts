import * as vscode from 'vscode';
import { CheckpointsError } from '../core/errors';
import { isWhole } from '../core/files-facet';
import type { Checkpoint } from '../core/model';
import { turnAround } from '../core/turn-revert';
import {
  compareCheckpoints,
  compareTurnEnds,
  compareWithWorking,
  openChangeDiff,
  openWorkingDiff,
  type Target,
} from './diff';
import { shortTitle } from './labels';
import { showError } from './notifications';
import {
  checkpointItems,
  newestFirst,
  noFile,
  openRoots,
  pickCheckpoint,
  pickInSession,
  pickTurn,
  targetOf,
} from './picker';
import type { Root } from './root';
import type { Services } from './services';
import { previousOf, sinceOf } from './since';
import { isTreeNode, nodeTargets, selectedNodes, type FileNode } from './tree-nodes';

const same = (what: string): void => {
  vscode.window.showInformationMessage(`No difference: ${what}.`);
};

export const compareWorking = async (services: Services, argument: unknown): Promise<void> => {
  const target = await targetOf(services.workspaces, argument, 'Compare with Working Files');
  if (target === undefined) return;
  const folder = isTreeNode(argument) && argument.type === 'folder' ? [argument.path] : undefined;
  if (await compareWithWorking(target, folder)) return;
  const ends = folder === undefined && (await sinceOf(target)).wholeTurn;
  // Not awaited: the message stays until somebody reads it.
  void saySame(services, target, ends).catch((error: unknown) => showError(error, services.log));
};

const ofTurn = 'Show Changes of This Turn';

/** At the end of a turn the files often still are as it left them: whoever compares there looks for what it did. */
const saySame = async (services: Services, target: Target, endsTurn: boolean): Promise<void> => {
  const text = 'No difference: the working files are as they were at this checkpoint.';
  const answer = await vscode.window.showInformationMessage(text, ...(endsTurn ? [ofTurn] : []));
  if (answer === ofTurn) await compareTurn(services, target);
};

export const comparePrevious = async ({ workspaces }: Services, argument: unknown): Promise<void> => {
  const target = await targetOf(workspaces, argument, 'Compare with Previous');
  if (target === undefined) return;
  const { before, wholeTurn } = await sinceOf(target);
  if (wholeTurn && before !== undefined) await showTurn(target.root, before, target.checkpoint);
  else await compareBefore(target, before);
};

const compareBefore = async ({ root, checkpoint }: Target, before: Checkpoint | undefined): Promise<void> => {
  if (before === undefined)
    throw new CheckpointsError(
      'invalid-argument',
      'This is the first checkpoint: there is none before it to compare with.',
    );
  if (!(await compareCheckpoints(root, before, checkpoint))) same('nothing changed since the checkpoint before');
};

const showTurn = async (root: Root, before: Checkpoint, after: Checkpoint): Promise<void> => {
  if (!(await compareTurnEnds(root, before, after))) same('this turn changed no files');
};

/** Any other checkpoint, and above them what one most often compares with. */
export const compareWith = async (services: Services, argument: unknown): Promise<void> => {
  const target = await targetOf(services.workspaces, argument, 'Compare (1 of 2)');
  if (target === undefined) return;
  const { id, session, turn } = target.checkpoint;
  const shortcuts = [
    { label: '$(files) Working Files', run: () => compareWorking(services, target) },
    { label: '$(arrow-up) Previous Checkpoint', run: async () => compareBefore(target, await previousOf(target)) },
    ...(session === null
      ? []
      : [{ label: '$(comment-discussion) Start of the Session', run: () => compareSessionStart(services, target) }]),
    ...(turn === null ? [] : [{ label: '$(comment) All of This Turn', run: () => compareTurn(services, target) }]),
  ];
  const others = await checkpointItems(
    services.workspaces,
    ({ root, checkpoint }) => root === target.root && checkpoint.id !== id,
  );
  const chosen = await vscode.window.showQuickPick(
    [
      ...shortcuts,
      { label: 'Checkpoints', kind: vscode.QuickPickItemKind.Separator },
      ...others.map((item) => ({ ...item, run: () => comparePair(target, item.target) })),
    ],
    {
      title: `Compare “${shortTitle(target.checkpoint)}” with…`,
      placeHolder: 'Type to search by title, time or folder',
      matchOnDescription: true,
    },
  );
  if (chosen !== undefined && 'run' in chosen) await chosen.run();
};

/** What the session did up to here; for a row of a session: up to now. */
export const compareSessionStart = async ({ workspaces }: Services, argument: unknown): Promise<void> => {
  const group = isTreeNode(argument) && argument.type === 'session' ? argument : undefined;
  const ask = () => pickInSession(workspaces, 'Compare with Session Start');
  const target = group === undefined ? await targetOf(workspaces, argument, ask) : undefined;
  const root = group?.root ?? target?.root;
  const session = group?.group.id ?? target?.checkpoint.session?.id;
  if (root === undefined) return;
  if (session === undefined)
    throw new CheckpointsError('no-conversation', 'It was made outside of any session: there is no start to go by.');
  const start = (await root.api.list({ session })).filter(isWhole).sort(newestFirst).at(-1);
  if (start === undefined) throw new CheckpointsError('unknown-reference', 'The session has no checkpoint any more.');
  if (target === undefined) {
    if (!(await compareWithWorking({ root, checkpoint: start })))
      same('the working files are as they were when the session began');
  } else if (start.id === target.checkpoint.id)
    throw new CheckpointsError('invalid-argument', 'This is the first checkpoint of its session.');
  else if (!(await compareCheckpoints(root, start, target.checkpoint))) same('nothing changed since the session began');
};

/** All that one turn changed: from before its prompt to when it had ended, or to now. */
export const compareTurn = async ({ workspaces }: Services, argument: unknown): Promise<void> => {
  const target = await targetOf(workspaces, argument, () => pickTurn(workspaces, 'Show Changes of This Turn'));
  if (target === undefined) return;
  const { root, checkpoint } = target;
  const { before, after } = turnAround(checkpoint, (await root.api.list()).filter(isWhole).sort(newestFirst).reverse());
  if (after !== null) await showTurn(root, before, after);
  else if (!(await compareWithWorking({ root, checkpoint: before }))) same('this turn changed no files');
};

export const compareSelected = async ({ workspaces, treeView }: Services, selected: unknown): Promise<void> => {
  await openRoots(workspaces);
  const nodes = Array.isArray(selected) ? selectedNodes(selected) : [...treeView.selection];
  const [first, second] = nodes.length === 2 ? nodeTargets(nodes, ['checkpoint', 'turn']) : [];
  if (first === undefined || second === undefined)
    throw new CheckpointsError(
      'invalid-argument',
      'Select two checkpoints in the list to compare them (Ctrl+click or Cmd+click).',
    );
  await comparePair(first, second);
};

/** Older left, newer right, whichever was named first. */
export const comparePair = async (one: Target, two: Target): Promise<void> => {
  if (one.root !== two.root)
    throw new CheckpointsError('invalid-argument', 'These checkpoints belong to different folders.');
  const [from, to] = [one.checkpoint, two.checkpoint].sort((a, b) => newestFirst(b, a));
  if (from === undefined || to === undefined) return;
  if (!(await compareCheckpoints(one.root, from, to))) same('both checkpoints hold the same files');
};

const filesOf = (argument: unknown, selected: unknown): FileNode[] => {
  const nodes = selectedNodes(selected);
  return (nodes.length > 1 ? nodes : selectedNodes([argument])).filter((node) => node.type === 'file');
};

/** Rows of files: what their checkpoint changed in them. Several keep an editor each. */
export const openChanges = async (argument: unknown, selected?: unknown): Promise<void> => {
  const files = filesOf(argument, selected);
  for (const node of files)
    await openChangeDiff(node, await sinceOf(node), node.change, { preview: files.length === 1 });
};

/** The file in the editor, with a checkpoint that is asked for. */
export const openFileDiff = async ({ workspaces }: Services): Promise<void> => {
  const active = vscode.window.activeTextEditor?.document.uri;
  const root = active?.scheme === 'file' ? await workspaces.forUri(active) : undefined;
  const path = active === undefined ? undefined : root?.toRelative(active);
  if (root === undefined || path === undefined) throw await noFile(workspaces, active);
  const target = await pickCheckpoint(workspaces, `Compare ${path} with…`, (candidate) => candidate.root === root);
  if (target !== undefined) await openWorkingDiff(target, path);
};

export const openFile = async (argument: unknown, selected?: unknown): Promise<void> => {
  const files = filesOf(argument, selected).filter(({ change }) => change.status !== 'deleted');
  for (const { root, change } of files)
    await vscode.commands.executeCommand('vscode.open', root.toUri(change.path), { preview: files.length === 1 });
};
