import { join } from 'node:path';
import * as vscode from 'vscode';
import type { WorkspaceApi } from '../core/api';
import { CheckpointsError } from '../core/errors';
import type { QueryIndex } from '../core/ports';
import { hasStore } from './startup';
import type { OpenWorkspace } from './workspaces';

/**
 * Opens the store of a folder. Engine and index are loaded on first use: most windows start without them. In a folder
 * that is not trusted no store is made; one that is there already may be looked at.
 */
export const workspaceOpener = (extension: vscode.Uri, log: vscode.LogOutputChannel): OpenWorkspace => {
  const wasm = join(extension.fsPath, 'dist', 'sql-wasm.wasm');
  const index = async (folder: string): Promise<QueryIndex> => {
    const { CheckpointIndex } = await import('../index/checkpoint-index');
    return CheckpointIndex.open({
      path: join(folder, 'index.db'),
      wasm: { file: wasm },
      onProblem: (error) => log.warn(`the index is built anew: ${String(error)}`),
    });
  };
  return async (directory): Promise<WorkspaceApi> => {
    if (!vscode.workspace.isTrusted && !(await hasStore(directory)))
      throw new CheckpointsError('not-supported', 'The folder is not trusted: no checkpoints are made for it.');
    const { openWorkspace } = await import('../git/open');
    return openWorkspace({ directory, index, log: (message) => log.info(message) });
  };
};
