import * as vscode from 'vscode';
import { contextKeys } from './ids';
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
  if (tree.total === undefined) return 'loading';
  return tree.total === 0 ? 'empty' : 'ready';
};

/** Keeps VS Code's context key in step with what is known. */
export const trackContext = (workspaces: Workspaces, tree: CheckpointTree): vscode.Disposable => {
  const state = (): void =>
    void vscode.commands.executeCommand('setContext', contextKeys.state, viewState(workspaces, tree));
  state();
  return vscode.Disposable.from(workspaces.onDidChangeRoots(state), tree.onDidList(state));
};
