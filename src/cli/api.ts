import { type CheckpointsApi, programApi } from '../core/programs';
import { openFor } from './compose';
import { openSessions, type Sessions } from './sessions';

export { CheckpointsError, type Reason } from '../core/errors';
export type * from '../core/model';
export type { CheckpointsApi, ExtensionApi, ProgramEvents, Restorability, SaveOptions } from '../core/programs';
export type { DiffOptions, DiffResult, ListFilter, PlanOptions, RestoreOptions, Stats } from '../core/api';

export interface OpenOptions {
  /** Any folder of the workspace. */
  directory: string;
  /** OpenCode's server, for conversations; left out, it is found as the command line finds it. */
  server?: string;
}

/** The checkpoints of one workspace, for Node programs: the same API as the VS Code extension's `activate` returns. A text is the folder. */
export async function openWorkspace(given: string | OpenOptions = '.'): Promise<CheckpointsApi> {
  const options: OpenOptions = typeof given === 'string' ? { directory: given } : given;
  const globals = { cwd: options.directory, server: options.server ?? null };
  let connection: Sessions | null = null;
  const api = programApi(async () => {
    const { workspace } = await openFor(globals, { index: true, begins: true }, async (folder, root) => {
      connection ??= await openSessions(globals, root, folder);
      return connection;
    });
    return workspace;
  });
  await api.initialize();
  return {
    ...api,
    close: async () => {
      await api.close();
      await connection?.close();
    },
  };
}
