import { CheckpointsError } from '../core/errors';

const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;
type Stop = keyof typeof exitCodes;

/** A restore that was told to stop rolls back; longer than this nobody waits for it, and the next start finishes the work. */
const patience = 10_000;

/** Ctrl+C and `kill`: the first asks the running operation to stop cleanly, the second does not wait for it. */
export class Interruption {
  private readonly controller = new AbortController();
  private by: Stop | null = null;

  constructor() {
    for (const stop of Object.keys(exitCodes) as Stop[]) process.on(stop, () => this.stop(stop));
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** The shell's convention for a program that ended by a signal; null while there was none. */
  get exitCode(): number | null {
    return this.by ? exitCodes[this.by] : null;
  }

  private stop(by: Stop): void {
    if (this.by) process.exit(exitCodes[by]);
    this.by = by;
    this.controller.abort(new CheckpointsError('cancelled', 'Interrupted'));
    setTimeout(() => process.exit(exitCodes[by]), patience).unref();
  }
}
