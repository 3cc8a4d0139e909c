import { stat } from 'node:fs/promises';
import type { WorkspaceApi } from '../core/api';
import { CheckpointsError } from '../core/errors';
import type { OpenNeeds } from './command';
import type { Globals } from './globals';

/** The one place of the command line where the parts are put together. */
export async function openFor(globals: Globals, _needs: OpenNeeds): Promise<WorkspaceApi> {
  await checkFolder(globals.cwd);
  const { openWorkspace } = await import('../git/open');
  return openWorkspace({ directory: globals.cwd });
}

async function checkFolder(folder: string): Promise<void> {
  try {
    if ((await stat(folder)).isDirectory()) return;
  } catch (error) {
    throw new CheckpointsError('invalid-argument', `--cwd ${folder}: there is no such folder`, { cause: error });
  }
  throw new CheckpointsError('invalid-argument', `--cwd ${folder}: it is not a folder`);
}
