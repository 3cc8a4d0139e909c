import { BackupService } from '../backup/service';
import { loadConfig, storeHome, type Config } from '../core/config';
import { CheckpointsError } from '../core/errors';
import type { SessionEvent } from '../core/sessions';
import { workspaceFolder } from '../git/roots';
import type { Companion } from './companion';
import type { Reporter } from './reporter';

const what = 'Session backup';

/** The session backup inside OpenCode: follows the sessions' events, and says once when it cannot do its work. */
export class PluginBackup {
  readonly service: BackupService;
  private readonly ending: () => void;

  constructor(
    private readonly companion: Companion,
    private readonly reporter: Reporter,
  ) {
    this.service = new BackupService({
      root: companion.directory,
      // A place that cannot be is an error of the backup's runs, not of loading the plugin.
      get home() {
        return storeHome();
      },
      config: () => configOf(companion),
      gateway: () => companion.sessions(),
      log: (line) => reporter.info(line),
    });
    this.ending = this.service.onDidChangeStatus(({ problem }) => {
      // That somebody else is at it is no news.
      if (problem === null) reporter.recovered(what);
      else if (problem.trouble !== 'busy')
        reporter.problem(`${what}/${problem.trouble}`, `${what}: ${problem.message}`);
    });
  }

  /** What happened while OpenCode was not running is caught up with. */
  start(): void {
    this.service.noticed({ type: 'connected' });
  }

  noticed(events: readonly SessionEvent[]): void {
    for (const event of events) this.service.noticed(event);
  }

  /** Where OpenCode 2 has no server that can be reached, there is nothing to save from. */
  async source(): Promise<string> {
    try {
      const { generation, url } = await this.companion.sessions();
      return `OpenCode ${generation === 'v1' ? '1' : '2'} at ${url}`;
    } catch (error) {
      if (!CheckpointsError.is(error)) throw error;
      this.reporter.failed(what, error);
      return `none: ${error.message}`;
    }
  }

  async close(): Promise<void> {
    this.ending();
    await this.service.close();
  }
}

/** A folder that gets no checkpoints, a home folder for instance, has sessions all the same. */
async function configOf(companion: Companion): Promise<Config> {
  try {
    return await companion.config();
  } catch (error) {
    if (!CheckpointsError.is(error, 'refused-root') && !CheckpointsError.is(error, 'git-missing')) throw error;
    const { directory } = companion;
    return loadConfig(directory, workspaceFolder(storeHome(), directory)).config;
  }
}
