import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { destinationOf } from '../backup/destination';
import { BackedUpConversations } from '../backup/stored-sessions';
import { defaults, loadConfig, storeHome, type Config, type ConfigProblem } from '../core/config';
import { GatewayConversation } from '../core/conversation';
import { CheckpointsError } from '../core/errors';
import type { SessionGateway } from '../core/sessions';
import { TaskService } from '../core/task-service';
import { TaskStore } from '../core/task-store';
import { Upkeep } from '../core/upkeep';
import type { Workspace } from '../core/workspace';
import { openWorkspace } from '../git/open';
import { resolveRoot, workspaceFolder } from '../git/roots';
import { spareNewFolder } from '../opencode/plugin-install';
import type { Reporter } from './reporter';

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

  /** What is wrong with the settings, as it was told. */
  private toldProblems = '';

  constructor(
    readonly directory: string,
    private readonly gateway: () => Promise<SessionGateway>,
    private readonly reporter: Reporter,
  ) {}

  private readonly log = (message: string): void => this.reporter.info(message);

  /** As it is now: a changed setting counts from the next call on. */
  async config(): Promise<Config> {
    this.place ??= this.locate();
    try {
      const { root, folder } = await this.place;
      const { config, problems } = loadConfig(root, folder);
      this.tell(problems);
      return config;
    } catch (error) {
      this.place = null;
      throw error;
    }
  }

  /** A setting that is not taken is said once, and again when something else is wrong. */
  private tell(problems: readonly ConfigProblem[]): void {
    const messages = problems.map(({ message }) => message);
    const all = messages.join('\n');
    if (all === this.toldProblems) return;
    this.toldProblems = all;
    this.reporter.recovered('Settings');
    for (const message of messages) this.reporter.problem(`Settings/${message}`, `Settings: ${message}`);
  }

  private async locate(): Promise<{ root: string; folder: string }> {
    const home = storeHome();
    const root = await resolveRoot(this.directory, home);
    return { root, folder: workspaceFolder(home, root) };
  }

  async open(): Promise<Opened> {
    const opening = this.openOnce();
    const opened = await opening;
    if (existsSync(join(opened.workspace.folder, 'workspace.json'))) return opened;
    // Somebody removed the store: it is begun anew, by the first who notices.
    if (this.opening === opening) {
      this.opening = null;
      this.place = null;
      closeAll(opened).catch((error: unknown) => this.log(`The removed store was not closed: ${String(error)}`));
    }
    return this.openOnce();
  }

  private openOnce(): Promise<Opened> {
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
        return (task = new TaskService(new TaskStore({ folder, root, exportState, madeFolder: spareNewFolder })));
      },
      conversation: (folder, root, stored) => {
        const backedUp = new BackedUpConversations(stored, () => destinationOf(loadConfig(root, folder).config).path);
        return new GatewayConversation(root, this.gateway, backedUp, async () => [await this.gateway()]);
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
    if (opened) await closeAll(opened);
  }
}

async function closeAll({ upkeep, workspace }: Opened): Promise<void> {
  await upkeep.dispose();
  await workspace.close();
}

/**
 * Which tools to offer is asked while OpenCode waits for its plugins: no program is run for it, only files are looked at. A wrong guess of the root
 * would only miss a project's own setting. A place for stores that cannot be is told; the tools are offered, and answer with it.
 */
export function offeredTools(directory: string, reporter: Reporter): Config['tools'] {
  try {
    return offeredIn(directory, storeHome());
  } catch (error) {
    if (!CheckpointsError.is(error)) throw error;
    reporter.failed('Settings', error);
    return defaults.tools;
  }
}

function offeredIn(directory: string, home: string): Config['tools'] {
  // A project opened through a link has the settings of the one it leads to.
  const real = existsSync(directory) ? realpathSync.native(directory) : directory;
  const above: string[] = [real];
  for (let at = real; dirname(at) !== at;) above.push((at = dirname(at)));
  const root =
    above.find((folder) => existsSync(join(workspaceFolder(home, folder), 'workspace.json'))) ??
    above.find((folder) => existsSync(join(folder, '.git'))) ??
    real;
  return loadConfig(root, workspaceFolder(home, root)).config.tools;
}
