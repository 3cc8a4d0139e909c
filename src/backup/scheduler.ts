export interface Timing {
  /** Quiet after the last change. */
  debounceMs: number;
  /** Between the beginnings of two runs, whichever process made them. */
  spacingMs: number;
  /** An agent at work is never quiet: this long after the first change a run is made all the same. */
  patienceMs: number;
  /** Longest pause between attempts that fail. */
  retryMs: number;
}

export const usualTiming: Timing = { debounceMs: 5_000, spacingMs: 30_000, patienceMs: 30_000, retryMs: 600_000 };

/** `again`: it has to be tried once more. */
export type RunOutcome = 'done' | 'again';

/**
 * When to run: soon after something changed, not too often, and always once more for what came in between. A run that failed is made again, after
 * longer and longer pauses, until one succeeds.
 */
export class Scheduler {
  private timer: NodeJS.Timeout | null = null;
  private firstAt: number | null = null;
  private lastAt = 0;
  private failures = 0;
  private running: Promise<void> | null = null;
  private closed = false;

  constructor(
    private readonly run: () => Promise<RunOutcome>,
    /** When the last run of any process began, in milliseconds. */
    private readonly lastRun: () => Promise<number>,
    private readonly timing: Timing = usualTiming,
  ) {}

  get pending(): boolean {
    return this.firstAt !== null;
  }

  touch(): void {
    if (this.closed) return;
    this.firstAt ??= Date.now();
    this.lastAt = Date.now();
    if (!this.running) this.arm();
  }

  /** A run was made otherwise: what was noticed before it is done. */
  settled(since: number): void {
    if (this.firstAt === null || this.lastAt > since) return;
    this.firstAt = null;
    this.failures = 0;
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
  }

  async close(): Promise<void> {
    this.closed = true;
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    await this.running;
  }

  private arm(earliest = 0): void {
    if (this.closed || this.firstAt === null) return;
    const { debounceMs, patienceMs } = this.timing;
    const due = Math.max(Math.min(this.lastAt + debounceMs, this.firstAt + patienceMs), earliest);
    if (this.timer) clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.fire(), Math.max(0, due - Date.now()));
    // Nobody's process is kept alive for it: what is not saved now is saved by the next one.
    this.timer.unref();
  }

  private async fire(): Promise<void> {
    if (this.running || this.closed) return;
    this.timer = null;
    this.running = this.attempt().finally(() => (this.running = null));
    const earliest = await this.running.then(() => this.earliest);
    if (this.pending) this.arm(earliest);
  }

  private earliest = 0;

  private async attempt(): Promise<void> {
    const { spacingMs, retryMs } = this.timing;
    const free = (await this.lastRun()) + spacingMs;
    if (free > Date.now()) {
      this.earliest = free;
      return;
    }
    const { firstAt } = this;
    this.firstAt = null;
    const outcome = await this.run();
    if (outcome === 'done') {
      this.failures = 0;
      this.earliest = 0;
      return;
    }
    this.firstAt ??= firstAt ?? Date.now();
    this.earliest = Date.now() + Math.min(spacingMs * 2 ** this.failures, retryMs);
    this.failures += 1;
  }
}
