import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { destinationOf } from '../backup/destination';
import { BackedUpConversations } from '../backup/stored-sessions';
import { loadConfig } from '../core/config';
import { GatewayConversation } from '../core/conversation';
import { CheckpointsError } from '../core/errors';
import type { QueryIndex } from '../core/ports';
import { TaskService } from '../core/task-service';
import { TaskStore } from '../core/task-store';
import type { Opened, OpenNeeds } from './command';
import type { Globals } from './globals';
import type { Sessions } from './sessions';

/** In a build it lies beside the bundle. */
const wasm = path.join(__dirname, 'sql-wasm.wasm');

/**
 * The one place of the command line where the parts are put together. Each is loaded when it is needed: help and usage errors are
 * there at once, and SQLite starts for searching and counting only.
 */
export async function openFor(
  globals: Pick<Globals, 'cwd'>,
  needs: OpenNeeds,
  sessions: (folder: string, root: string) => Promise<Sessions>,
): Promise<Opened> {
  await checkFolder(globals.cwd);
  const { openWorkspace } = await import('../git/open');
  const { GitSync } = await import('../sync/sync');
  let task: TaskService | null = null;
  const workspace = await openWorkspace({
    directory: globals.cwd,
    create: needs.begins ?? false,
    task: (folder, root, ready) => (task = taskOf(folder, root, ready)),
    conversation: (folder, root, stored) => {
      const backedUp = new BackedUpConversations(stored, () => destinationOf(loadConfig(root, folder).config).path);
      return new GatewayConversation(
        root,
        async () => (await sessions(folder, root)).gateway(),
        backedUp,
        async () => (await sessions(folder, root)).allRunning(),
      );
    },
    sync: (parts) => new GitSync(parts),
    ...(existsSync(wasm) ? (needs.index ? { index: openIndex } : { indexAtEnd }) : {}),
  });
  return {
    workspace,
    task: task ?? taskOf(workspace.folder, workspace.root),
    recovered: workspace.recovered,
  };
}

function taskOf(folder: string, root: string, ready?: () => void): TaskService {
  const exportState = (): boolean => loadConfig(root, folder).config['task.exportState'];
  const madeFolder = async (made: string): Promise<void> =>
    (await import('../opencode/plugin-install')).spareNewFolder(made);
  return new TaskService(new TaskStore({ folder, root, exportState, ready, madeFolder }));
}

const indexFile = (folder: string): string => path.join(folder, 'index.db');

async function openIndex(folder: string): Promise<QueryIndex> {
  const { CheckpointIndex } = await import('../index/checkpoint-index');
  return CheckpointIndex.open({ path: indexFile(folder), wasm: { file: wasm } });
}

/** More than these take longer to write than most commands take: `stats` and `list --search`, which need them, do it then. */
const fewEnough = 1000;

/** At the end of every command, so that `sqlite3 index.db` tells what `list` tells. */
async function indexAtEnd(folder: string, refs: Map<string, string>): Promise<QueryIndex | null> {
  if (refs.size > fewEnough) return null;
  const { isUpToDate } = await import('../index/index-file');
  if (await isUpToDate(indexFile(folder), refs)) return null;
  startFast();
  return openIndex(folder);
}

/** For a few rows V8 would work longer on making SQLite fast than SQLite works. Flags that a V8 does not know it complains about. */
function startFast(): void {
  if (Number.parseInt(process.versions.v8, 10) > 13) return;
  for (const flag of ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering']) setFlagsFromString(flag);
}

async function checkFolder(folder: string): Promise<void> {
  try {
    if ((await stat(folder)).isDirectory()) return;
  } catch (error) {
    throw new CheckpointsError('invalid-argument', `${folder}: there is no such folder`, { cause: error });
  }
  throw new CheckpointsError('invalid-argument', `${folder}: it is not a folder`);
}
