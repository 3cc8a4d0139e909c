import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { destinationOf } from '../backup/destination';
import { BackedUpConversations } from '../backup/stored-sessions';
import { loadConfig, storeHome, type Config } from '../core/config';
import { GatewayConversation } from '../core/conversation';
import { CheckpointsError } from '../core/errors';
import type { SessionGateway } from '../core/sessions';
import { TaskService } from '../core/task-service';
import { TaskStore } from '../core/task-store';
import { Upkeep } from '../core/upkeep';
import type { Workspace } from '../core/workspace';
import { openWorkspace } from '../git/open';
import { resolveRoot, workspaceFolder } from '../git/roots';

export interface Opened {
  workspace: Workspace;
  task: TaskService;
  upkeep: Upkeep;
}

/** After a failure to open, OpenCode is not made to wait for the next one at every call. */
const retryMs = 10_000;

/** One folder's workspace as the plugin uses it: opened at the first need, opened again after a failure. */
export class Companion {
  private place: Promise<{ root: string; folder: string }> | null = null;
  private opening: Promise<Opened> | null = null;
  private failedAt = 0;

  constructor(
    readonly directory: string,
    private readonly gateway: () => Promise<SessionGateway>,
    private readonly log: (message: string) => void,
  ) {}

  /** As it is now: a changed setting counts from the next call on. */
  async config(): Promise<Config> {
    this.place ??= this.locate();
    try {
      const { root, folder } = await this.place;
      return loadConfig(root, folder).config;
    } catch (error) {
      this.place = null;
      throw error;
    }
  }

  private async locate(): Promise<{ root: string; folder: string }> {
    const home = storeHome();
    const root = await resolveRoot(this.directory, home);
    return { root, folder: workspaceFolder(home, root) };
  }

  open(): Promise<Opened> {
    if (this.opening && (this.failedAt === 0 || Date.now() - this.failedAt < retryMs)) return this.opening;
    this.failedAt = 0;
    this.opening = this.openNow();
    this.opening.catch(() => (this.failedAt = Date.now()));
    return this.opening;
  }

  private async openNow(): Promise<Opened> {
    let task: TaskService | null = null;
    const workspace = await openWorkspace({
      directory: this.directory,
      task: (folder, root) => {
        const exportState = (): boolean => loadConfig(root, folder).config['task.exportState'];
        return (task = new TaskService(new TaskStore({ folder, root, exportState })));
      },
      conversation: (folder, root, stored) => {
        const backedUp = new BackedUpConversations(stored, () => destinationOf(loadConfig(root, folder).config).path);
        return new GatewayConversation(root, this.gateway, backedUp, this.gateway);
      },
      log: this.log,
    });
    if (!task) throw new CheckpointsError('no-task', 'The workspace was opened without its task.');
    return { workspace, task, upkeep: new Upkeep(workspace, this.log) };
  }

  sessions(): Promise<SessionGateway> {
    return this.gateway();
  }

  async close(): Promise<void> {
    const opening = this.opening;
    this.opening = null;
    if (!opening) return;
    // What never opened needs no closing; its failure was told when it happened.
    const opened = await opening.catch(() => null);
    await opened?.upkeep.dispose();
    await opened?.workspace.close();
  }
}

/**
 * Which tools to offer is asked while OpenCode waits for its plugins: no program is run for it, only files are looked at. A wrong guess of the root
 * would only miss a project's own setting.
 */
export function offeredTools(directory: string): Config['tools'] {
  const home = storeHome();
  const above: string[] = [directory];
  for (let at = directory; dirname(at) !== at;) above.push((at = dirname(at)));
  const root =
    above.find((folder) => existsSync(join(workspaceFolder(home, folder), 'workspace.json'))) ??
    above.find((folder) => existsSync(join(folder, '.git'))) ??
    directory;
  return loadConfig(root, workspaceFolder(home, root)).config.tools;
}
