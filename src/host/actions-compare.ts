import * as vscode from 'vscode';
import { CheckpointsError } from '../core/errors';
import type { Checkpoint } from '../core/model';
import { compareCheckpoints, compareWithWorking, openChangeDiff, openWorkingDiff, type Target } from './diff';
import { newestFirst, pickCheckpoint, targetOf, targetsOf } from './picker';
import type { Services } from './services';
import { isTreeNode } from './tree-nodes';

const same = (what: string): void => {
  vscode.window.showInformationMessage(`No difference: ${what}.`);
};

export const compareWorking = async ({ workspaces }: Services, argument: unknown): Promise<void> => {
  const target = await targetOf(workspaces, argument, 'Compare with Working Files');
  if (target === undefined) return;
  const folder = isTreeNode(argument) && argument.type === 'folder' ? [argument.path] : undefined;
  if (!(await compareWithWorking(target, folder))) same('the working files are as they were at this checkpoint');
};

/** The checkpoint before this one in the same workspace: its changes are counted against that. */
export const previousOf = async ({ root, checkpoint }: Target): Promise<Checkpoint | undefined> => {
  const list = (await root.api.list())
    .sort(newestFirst)
    .filter((other) => other.origin === null || checkpoint.origin !== null);
  return list[list.findIndex((other) => other.id === checkpoint.id) + 1];
};

export const comparePrevious = async ({ workspaces }: Services, argument: unknown): Promise<void> => {
  const target = await targetOf(workspaces, argument, 'Compare with Previous');
  if (target === undefined) return;
  const previous = await previousOf(target);
  if (previous === undefined)
    throw new CheckpointsError(
      'invalid-argument',
      'This is the first checkpoint: there is none before it to compare with.',
    );
  if (!(await compareCheckpoints(target.root, previous, target.checkpoint)))
    same('nothing changed since the checkpoint before');
};

export const compareWith = async ({ workspaces }: Services, argument: unknown): Promise<void> => {
  const target = await targetOf(workspaces, argument, 'Compare (1 of 2)');
  if (target === undefined) return;
  const other = await pickCheckpoint(
    workspaces,
    'Compare with…',
    ({ root, checkpoint }) => root === target.root && checkpoint.id !== target.checkpoint.id,
  );
  if (other !== undefined) await comparePair(target, other);
};

export const compareSelected = async (
  { workspaces, treeView }: Services,
  argument: unknown,
  selected: unknown,
): Promise<void> => {
  const nodes = (Array.isArray(selected) ? selected : [...treeView.selection]).filter(isTreeNode);
  const [first, second] = nodes.length === 2 ? await targetsOf(workspaces, argument, nodes, 'Compare Selected') : [];
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

export const openFileDiff = async ({ workspaces }: Services, argument: unknown): Promise<void> => {
  const place = isTreeNode(argument) && argument.type === 'file' ? argument : undefined;
  if (place !== undefined) return openChangeDiff(place, await previousOf(place), place.change);
  const active = vscode.window.activeTextEditor?.document.uri;
  const root = active?.scheme === 'file' ? await workspaces.forUri(active) : undefined;
  const path = active === undefined ? undefined : root?.toRelative(active);
  if (root === undefined || path === undefined)
    throw new CheckpointsError('invalid-argument', 'Open a file of this workspace in the editor first.');
  const target = await pickCheckpoint(workspaces, `Compare ${path} with…`, (candidate) => candidate.root === root);
  if (target !== undefined) await openWorkingDiff(target, path);
};

export const openFile = async (_services: Services, argument: unknown): Promise<void> => {
  if (isTreeNode(argument) && argument.type === 'file')
    await vscode.commands.executeCommand('vscode.open', argument.root.toUri(argument.change.path));
};
