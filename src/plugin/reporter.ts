import { CheckpointsError, type Reason } from '../core/errors';
import { asSentence } from '../core/text';

/** Where the plugin can speak: a log, and a place where a person sees it. */
export interface Voice {
  log(level: 'info' | 'warn' | 'error', message: string): void;
  show(message: string): void;
}

/** How files are looked at: a store that takes what one lane found may not take what the other finds. */
export type Lane = 'scan' | 'paths';

/** What keeps every checkpoint from being made, whichever meets it first, and the way out: told once for all of them. */
const ofTheStore: Partial<Record<Reason, string>> = {
  'disk-full':
    'Free some space there; `opencode-checkpoints prune` and `delete`, or Clean Up Store in VS Code, give some back.',
  'store-readonly': 'Make it writable, or name another folder as `storeLocation`.',
  'store-broken': 'Run `opencode-checkpoints doctor --repair`, or Run Doctor in VS Code.',
  'refused-root': 'Start OpenCode in a project folder to have them made.',
  'git-missing': 'Install git 2.31 or newer, and see that it is on PATH.',
};

/**
 * Says what went wrong, once per kind: an agent makes hundreds of calls, and each would fail alike. OpenCode 2 has nothing but its log, so a
 * repetition is not logged either: it is counted, and told when it is over.
 */
export class Reporter {
  private readonly said = new Map<string, string>();
  /** By reason, for what concerns the store: the lanes that have met it and not worked since. */
  private readonly lanes = new Map<string, Set<Lane>>();

  /** `told`: the reasons that this process has told, and how often each was met. A plugin that is loaded anew does not tell them again. */
  constructor(
    private readonly voice: Voice,
    private readonly told = new Map<string, number>(),
  ) {}

  info(message: string): void {
    this.voice.log('info', message);
  }

  failed(what: string, error: unknown, lane: Lane = 'scan'): void {
    const reason = CheckpointsError.is(error) ? error.reason : null;
    const why = `${what}: ${error instanceof Error ? error.message : String(error)}`;
    const wayOut = reason && ofTheStore[reason];
    if (!reason || wayOut === undefined) return this.problem(`${what}/${lane}/${reason ?? 'unexpected'}`, why);
    this.lanes.set(reason, (this.lanes.get(reason) ?? new Set()).add(lane));
    const before = this.told.get(reason) ?? 0;
    this.told.set(reason, before + 1);
    this.problem(`store/${reason}`, `${asSentence(why)} ${wayOut} Until then checkpoints are missing.`, before === 0);
  }

  problem(kind: string, message: string, isNews = true): void {
    const first = isNews && !this.said.has(kind);
    if (!this.said.has(kind)) this.said.set(kind, message);
    if (!first) return;
    this.voice.log('error', message);
    this.voice.show(message);
  }

  /** It works again: the next failure is news. */
  recovered(what: string): void {
    for (const kind of this.said.keys()) if (kind.startsWith(`${what}/`)) this.said.delete(kind);
  }

  /**
   * A checkpoint could be made, or would have been if anything had changed: what that lane met is over. A scan looks at everything, so the other
   * lane has room and rights again, too; but what is broken may be what only the other one reads.
   */
  storeWorks(lane: Lane): void {
    for (const [reason, failures] of this.told) {
      const lanes = this.lanes.get(reason) ?? new Set();
      lanes.delete(lane);
      if (lane === 'scan' && reason !== 'store-broken') lanes.clear();
      if (lanes.size > 0) continue;
      this.told.delete(reason);
      this.said.delete(`store/${reason}`);
      if (failures > 1) this.info(`Checkpoints are made again; ${failures} failed meanwhile.`);
    }
  }

  /** What is wrong now, for the agent's own question. */
  get problems(): string[] {
    return [...this.said.values()];
  }
}
