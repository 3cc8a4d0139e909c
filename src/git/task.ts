import { join } from 'node:path';
import { loadConfig } from '../core/config';
import { TaskService } from '../core/task-service';
import { TaskStore } from '../core/task-store';
import { Leases } from './leases';

const lockWaitMs = 30_000;

/** The task of a workspace, for `openWorkspace({ task: openTask })`. */
export function openTask(folder: string, root: string, env: NodeJS.ProcessEnv = process.env): TaskService {
  const { config } = loadConfig(root, folder, env);
  // Leases of its own: captures and restores do not wait for somebody who edits the task.
  const leases = new Leases(join(folder, 'task-leases'));
  return new TaskService(new TaskStore(folder, root, config['task.exportState']), async (work) => {
    const lease = await leases.exclusive('task', lockWaitMs);
    try {
      return await work();
    } finally {
      lease.release();
    }
  });
}
