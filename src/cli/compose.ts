import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { WorkspaceApi } from '../core/api';
import { GatewayConversation } from '../core/conversation';
import { CheckpointsError } from '../core/errors';
import type { QueryIndex } from '../core/ports';
import type { SessionGateway } from '../core/sessions';
import type { OpenNeeds } from './command';
import type { Globals } from './globals';

/** In a build it lies beside the bundle. */
const wasm = path.join(__dirname, 'sql-wasm.wasm');

/**
 * The one place of the command line where the parts are put together. Each is loaded when it is needed: help and usage errors are
 * there at once, and SQLite starts for searching and counting only.
 */
export async function openFor(
  globals: Globals,
  needs: OpenNeeds,
  sessions: (folder: string, root: string) => Promise<SessionGateway>,
): Promise<WorkspaceApi> {
  await checkFolder(globals.cwd);
  const { openWorkspace } = await import('../git/open');
  return openWorkspace({
    directory: globals.cwd,
    conversation: (folder, root) => new GatewayConversation(root, () => sessions(folder, root)),
    ...(needs.index && existsSync(wasm) ? { index: openIndex } : {}),
  });
}

async function openIndex(folder: string): Promise<QueryIndex> {
  const { CheckpointIndex } = await import('../index/checkpoint-index');
  return CheckpointIndex.open({ path: path.join(folder, 'index.db'), wasm: { file: wasm } });
}

async function checkFolder(folder: string): Promise<void> {
  try {
    if ((await stat(folder)).isDirectory()) return;
  } catch (error) {
    throw new CheckpointsError('invalid-argument', `--cwd ${folder}: there is no such folder`, { cause: error });
  }
  throw new CheckpointsError('invalid-argument', `--cwd ${folder}: it is not a folder`);
}
