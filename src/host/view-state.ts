import * as vscode from 'vscode';
import { contextKeys } from './ids';
import { explain } from './notifications';
import type { CheckpointTree } from './tree';
import type { Workspaces } from './workspaces';

/** What the tree has to say when it has no rows; the welcome views of package.json hang on it. */
export type ViewState = 'loading' | 'untrusted' | 'git-missing' | 'refused' | 'readonly' | 'failed' | 'empty' | 'ready';

export const viewState = (workspaces: Workspaces, tree: CheckpointTree): ViewState => {
  const [failure] = workspaces.failures;
  if (workspaces.current.length === 0 && failure !== undefined) {
    if (!vscode.workspace.isTrusted) return 'untrusted';
    if (failure.reason === 'git-missing') return 'git-missing';
    if (failure.reason === 'store-readonly') return 'readonly';
    return failure.reason === 'refused-root' ? 'refused' : 'failed';
  }
  if (tree.broken) return 'failed';
  if (tree.total === undefined) return 'loading';
  return tree.total === 0 ? 'empty' : 'ready';
};

/** Which folders have no checkpoints, and why, for where others have some. */
export const failedFolders = ({ failed }: Workspaces): string[] =>
  failed.map(({ folder, error }) => {
    // That a folder is not trusted needs no way out: VS Code offers it.
    const why = vscode.workspace.isTrusted ? explain(error) : error.message;
    return `${folder.name} could not be opened. ${why}`;
  });

/** Keeps VS Code's context keys and the line above the rows in step with what is known. */
export const trackContext = (
  workspaces: Workspaces,
  tree: CheckpointTree,
  treeView: Pick<vscode.TreeView<unknown>, 'message'>,
): vscode.Disposable => {
  const state = (): void => {
    void vscode.commands.executeCommand('setContext', contextKeys.state, viewState(workspaces, tree));
    // Where no folder could be opened the welcome view speaks.
    const some = workspaces.current.length > 0;
    treeView.message = some && workspaces.failed.length > 0 ? failedFolders(workspaces).join('\n') : undefined;
  };
  state();
  return vscode.Disposable.from(workspaces.onDidChangeRoots(state), tree.onDidList(state));
};
