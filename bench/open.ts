import { dirname, join } from 'node:path';
import type { WorkspaceApi } from '../src/core/api';
import { openWorkspace } from '../src/git/open';
import { CheckpointIndex } from '../src/index/checkpoint-index';
import type { Place } from './engine';

/** A workspace put together as the extension does it: with the index over its checkpoints. */
export function openOurs({ tree, store }: Place): Promise<WorkspaceApi> {
  const wasm = { file: join(dirname(process.argv[1] ?? ''), 'sql-wasm.wasm') };
  return openWorkspace({
    directory: tree,
    home: store,
    index: (folder) => CheckpointIndex.open({ path: join(folder, 'index.db'), wasm }),
  });
}
