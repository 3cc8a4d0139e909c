import { compactionContext } from '../core/handoff';
import { midTurn } from '../core/attribution';
import { defaults } from '../core/config';
import type { TaskState } from '../core/model';
import { taskKey } from '../core/task';
import { orAfter, type AutomaticPoints } from './automatic';
import type { Companion } from './companion';
import type { Reporter } from './reporter';
import type { Prompt, SessionTracker } from './tracker';

const notPutIn = 'The task was not put into the summary';

/** The task's memory over a long session: saved every few prompts and at every compaction, and put into the summary. */
export class TaskMemory {
  /** User messages since the last save, by session. */
  private readonly counts = new Map<string, number>();
  /** The state at the last prompt: a person or another program may have saved another one since. */
  private lastSeen: string | null = null;
  /** The state that was put into a summary prompt: waiting for the summary to succeed, and in one that did. */
  private readonly offered = new Map<string, string>();
  private readonly summarised = new Map<string, string>();

  constructor(
    private readonly companion: Companion,
    private readonly sessions: SessionTracker,
    private readonly points: AutomaticPoints,
    private readonly reporter: Reporter,
  ) {}

  /** Every fifth user message saves again what there is; nothing is made up. */
  async prompted(session: string, prompt: Prompt): Promise<void> {
    await this.quietly('The task was not saved', async () => {
      const config = await this.companion.config();
      const every = config['task.autosaveEvery'];
      if (every === 0 || config.automatic === 'off') return;
      const now = await (await this.companion.open()).task.read();
      const seen = now && taskKey(now);
      if (seen !== this.lastSeen) this.saved();
      this.lastSeen = seen;
      const count = (this.counts.get(session) ?? 0) + 1;
      this.counts.set(session, count);
      if (count < every) return;
      this.counts.delete(session);
      await this.points.inOrder(async () => {
        const { workspace, task } = await this.companion.open();
        const metadata = {};
        const moment = await this.points.place(session, metadata, () => this.sessions.afterPrompt(session, prompt));
        await task.autosave(workspace, 'interval', { ...moment, metadata });
      });
    });
  }

  /** Saved by whomever: counting starts anew, for the task is the workspace's. */
  saved(): void {
    this.counts.clear();
  }

  /** What goes into the prompt that summarises the conversation; null when it has been in one as it is. OpenCode waits for it. */
  async contextFor(session: string): Promise<string | null> {
    const reading = this.state();
    const budget = defaults.captureBudget;
    if ((await orAfter(reading, budget)) === 'late') {
      this.reporter.problem(`${notPutIn}/late`, `${notPutIn}: it could not be read within ${budget} ms.`);
      return null;
    }
    const state = await reading;
    return state && this.offer(session, state);
  }

  private async state(): Promise<TaskState | null> {
    try {
      return await (await this.companion.open()).task.read();
    } catch (error) {
      this.reporter.failed(notPutIn, error);
      return null;
    }
  }

  private offer(session: string, state: TaskState): string | null {
    const key = taskKey(state);
    if (this.summarised.get(session) === key) return null;
    this.offered.set(session, key);
    return compactionContext(state);
  }

  async compacted(session: string): Promise<void> {
    const offered = this.offered.get(session);
    if (offered !== undefined) this.summarised.set(session, offered);
    this.offered.delete(session);
    this.sessions.forget(session);
    const working = this.points.working();
    await this.quietly('The task was not saved', () =>
      // Before anything that the next prompt, or the turn as it goes on, does.
      this.points.inOrder(async () => {
        if ((await this.companion.config()).automatic === 'off') return;
        const root = await this.sessions.rootOf(session);
        const { workspace, task } = await this.companion.open();
        const metadata = working.has(root) ? { ...midTurn } : {};
        const moment = await this.points.place(root, metadata, () => this.sessions.whenIdle(root, 0));
        await task.autosave(workspace, 'compaction', { ...moment, metadata });
      }),
    );
  }

  private async quietly(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.reporter.failed(what, error);
    }
  }
}
