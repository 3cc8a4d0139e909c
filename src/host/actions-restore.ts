import * as vscode from 'vscode';
import { CheckpointsError } from '../core/errors';
import type { Target } from './diff';
import type { LineChange } from './line-edit';
import { restoreChange, restoreChangeAt } from './line-restore';
import { folderItem, newestFirst, noFile, openRoots, pickCheckpoint, pickTurn, targetOf } from './picker';
import { relativeTime } from './relative-time';
import { Root } from './root';
import type { Services } from './services';
import { sinceOf } from './since';
import { activeSnapshotDiff } from './snapshot-diff';
import { isTreeNode, type FileNode, type FolderNode } from './tree-nodes';
import { parseSnapshotUri } from './uris';
import { workingKind } from './working-side';

export const restore = async ({ workspaces, flow }: Services, argument: unknown): Promise<boolean> => {
  const target = await targetOf(workspaces, argument, 'Restore Checkpoint…');
  return target === undefined ? false : flow.restore(target);
};

/** Among the roots that have something to go back to: the active editor's, the only one, or the user says. */
const rootWith = async ({ workspaces }: Services, which: 'undo' | 'redo', title: string): Promise<Root | undefined> => {
  const roots = await openRoots(workspaces);
  const states = await Promise.all(
    roots.map(async (root) => ({ root, checkpoint: (await root.api.undoState())[which] })),
  );
  const possible = states.flatMap(({ root, checkpoint }) => (checkpoint === null ? [] : [{ root, checkpoint }]));
  if (possible.length <= 1) return possible[0]?.root ?? roots[0];
  const active = vscode.window.activeTextEditor?.document.uri;
  const own = active?.scheme === 'file' ? await workspaces.forUri(active) : undefined;
  if (possible.some(({ root }) => root === own)) return own;
  const items = possible
    .sort((a, b) => newestFirst(a.checkpoint, b.checkpoint))
    .map(({ root, checkpoint }) => ({
      ...folderItem(root),
      description: `${which === 'undo' ? 'restored' : 'undone'} ${relativeTime(checkpoint.createdAt, Date.now(), vscode.env.language)}`,
      detail: folderItem(root).description,
      root,
    }));
  return (await vscode.window.showQuickPick(items, { title }))?.root;
};

export const undo = async (services: Services, argument: unknown): Promise<boolean> => {
  const root = argument instanceof Root ? argument : await rootWith(services, 'undo', 'Undo Last Restore');
  return root === undefined ? false : services.flow.undo(root);
};

export const redo = async (services: Services, argument: unknown): Promise<boolean> => {
  const root = argument instanceof Root ? argument : await rootWith(services, 'redo', 'Redo Restore');
  return root === undefined ? false : services.flow.redo(root);
};

export const revertTurn = async (
  { workspaces, flow }: Pick<Services, 'workspaces' | 'flow'>,
  argument: unknown,
): Promise<boolean> => {
  const target = await targetOf(workspaces, argument, () => pickTurn(workspaces, 'Revert This Turn'));
  return target === undefined ? false : flow.revertTurn(target);
};

/**
 * "Restore This File": from a row of the tree, from our diff editor (its checkpoint; the one in front unless one is
 * given), or from any editor (the checkpoint of the gutter, else the user says).
 */
export const restoreFile = async (services: Services, argument: unknown): Promise<boolean> => {
  const { workspaces, flow, gutter } = services;
  if (isTreeNode(argument) && argument.type === 'file')
    return flow.restorePaths(await holderOf(argument), [argument.change.path]);
  if (isTreeNode(argument) && argument.type === 'folder')
    return flow.restorePaths(await holderOf(argument), [argument.path]);
  const diff = argument instanceof vscode.TabInputTextDiff ? argument : activeSnapshotDiff();
  const file =
    diff === undefined
      ? argument instanceof vscode.Uri
        ? argument
        : vscode.window.activeTextEditor?.document.uri
      : diff.original;
  const place =
    file?.scheme === 'file' ? { checkpoint: null, file } : file === undefined ? undefined : parseSnapshotUri(file);
  const root = place === undefined ? undefined : await workspaces.forUri(place.file);
  const path = place === undefined ? undefined : root?.toRelative(place.file);
  if (place === undefined || root === undefined || path === undefined) throw await noFile(workspaces, place?.file);
  if (place.checkpoint !== null) {
    // A file that was renamed since comes back under its old name and goes under its new one.
    const now = diff === undefined ? place.file : workingFile(diff.modified);
    const renamed = (await workingKind(now)) === 'nothing' ? undefined : root.toRelative(now);
    const paths = [...new Set([path, renamed ?? path])];
    return flow.restorePaths({ root, checkpoint: await root.api.resolve(place.checkpoint) }, paths);
  }
  const target =
    gutter.target?.root === root
      ? gutter.target
      : await pickCheckpoint(workspaces, `Restore ${path} from…`, (candidate) => candidate.root === root);
  return target === undefined ? false : flow.restorePaths(target, [path]);
};

const workingFile = (uri: vscode.Uri): vscode.Uri => (uri.scheme === 'file' ? uri : parseSnapshotUri(uri).file);

/** What its checkpoint no longer has is brought back from the one before. */
const holderOf = async (node: FileNode | FolderNode): Promise<Target> => {
  const changes = node.type === 'file' ? [node.change] : node.changes;
  const isGone = changes.every(({ status }) => status === 'deleted');
  const before = isGone ? (await sinceOf(node)).before : undefined;
  return before === undefined ? node : { root: node.root, checkpoint: before };
};

/**
 * Called by VS Code's inline change view with the file, all changes of this provider and the one in view; by the palette
 * with nothing: then it is the change at the cursor.
 */
export const restoreThisChange = async (
  { gutter }: Services,
  uri: unknown,
  changes: unknown,
  index: unknown,
): Promise<void> => {
  const change =
    Array.isArray(changes) && typeof index === 'number' ? (changes[index] as LineChange | undefined) : undefined;
  if (uri instanceof vscode.Uri && change !== undefined) return restoreChange(gutter.original(uri), uri, change);
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined)
    throw new CheckpointsError('invalid-argument', 'Put the cursor on a change bar of the gutter first.');
  await restoreChangeAt(gutter.original(editor.document.uri), editor);
};

export const showInGutter = async ({ workspaces, gutter }: Services, argument: unknown): Promise<void> => {
  const target = await targetOf(workspaces, argument, 'Show Changes in Gutter');
  if (target !== undefined) await gutter.show(target);
};
