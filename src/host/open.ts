import { join } from 'node:path';
import * as vscode from 'vscode';
import { destinationOf } from '../backup/destination';
import { BackedUpConversations } from '../backup/stored-sessions';
import type { WorkspaceApi } from '../core/api';
import { loadConfig } from '../core/config';
import { GatewayConversation } from '../core/conversation';
import { CheckpointsError } from '../core/errors';
import type { QueryIndex, RecoveryReport } from '../core/ports';
import { TaskService } from '../core/task-service';
import { TaskStore } from '../core/task-store';
import { Upkeep } from '../core/upkeep';
import { Sessions } from './sessions';
import { hasStore } from './startup';

/** One workspace with all its facets. */
export interface Opened {
  api: WorkspaceApi;
  task: TaskService;
  sessions: Sessions;
  /** Not in a folder that is only looked at. */
  upkeep: Upkeep | null;
  /** What became of a restore that had died. */
  recovered: RecoveryReport | null;
}

type Parts = Pick<Opened, 'task' | 'sessions'>;

export type OpenWorkspace = (directory: string) => Promise<Opened>;

/**
 * Opens the store of a folder. Engine and index are loaded on first use: most windows start without them. In a folder
 * that is not trusted no store is made; one that is there already may be looked at, and what it has to finish waits.
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
  return async (directory) => {
    if (!vscode.workspace.isTrusted && !(await hasStore(directory)))
      throw new CheckpointsError('untrusted-folder', 'This folder is not trusted: no checkpoints are made for it.');
    const { openWorkspace } = await import('../git/open');
    const { GitSync } = await import('../sync/sync');
    let parts: Parts | undefined;
    const partsOf = (folder: string, root: string): Parts =>
      (parts ??= { task: taskOf(folder, root), sessions: new Sessions(root, folder, log) });
    const api = await openWorkspace({
      directory,
      index,
      task: (folder, root) => partsOf(folder, root).task,
      conversation: (folder, root, stored) => {
        const { sessions } = partsOf(folder, root);
        const backedUp = new BackedUpConversations(stored, () => destinationOf(loadConfig(root, folder).config).path);
        return new GatewayConversation(
          root,
          () => sessions.gateway(),
          backedUp,
          () => sessions.allRunning(),
        );
      },
      sync: (parts) => new GitSync(parts),
      recover: vscode.workspace.isTrusted,
      log: (message) => log.info(message),
    });
    if (api.recovered !== null)
      log.warn(`a restore that had died was ${api.recovered.outcome}: safety checkpoint ${api.recovered.safety}`);
    return { api, ...partsOf(api.folder, api.root), upkeep: upkeepOf(api, log), recovered: api.recovered };
  };
};

const upkeepOf = (api: WorkspaceApi, log: vscode.LogOutputChannel): Upkeep | null => {
  if (!vscode.workspace.isTrusted) return null;
  const upkeep = new Upkeep(api, (message) => log.info(message));
  api.onDidChange(() => upkeep.touch());
  return upkeep;
};

const taskOf = (folder: string, root: string): TaskService => {
  const exportState = (): boolean => loadConfig(root, folder).config['task.exportState'];
  const madeFolder = async (made: string): Promise<void> =>
    (await import('../opencode/plugin-install')).spareNewFolder(made);
  return new TaskService(new TaskStore({ folder, root, exportState, madeFolder }));
};
