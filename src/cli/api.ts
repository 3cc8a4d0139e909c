import type { CheckpointsApi } from '../core/programs';
import { programApi } from '../core/programs';

export { CheckpointsError, type Reason } from '../core/errors';
export type * from '../core/model';
export type { CheckpointsApi, ProgramEvents, Restorability, SaveOptions } from '../core/programs';
export type { DiffOptions, DiffResult, ListFilter, PlanOptions, RestoreOptions, Stats } from '../core/api';

export interface OpenOptions {
  /** Any folder of the workspace. */
  directory: string;
}

/** The checkpoints of one workspace, for Node programs. The same as the VS Code extension's `activate` returns. */
export function openWorkspace(options: OpenOptions): Promise<CheckpointsApi> {
  const api = programApi(async () => {
    const { openWorkspace: open } = await import('../git/open');
    return open({ directory: options.directory });
  });
  return api.initialize().then(() => api);
}
