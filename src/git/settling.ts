/** So long nobody has to want anything else: whoever looks at a checkpoint just made, or goes back to it, is not kept waiting. */
const quietMs = 250;

/** The scanner's index catching up, one at a time: after the answer is given, before the next scan. They share the scanner. */
export class Settling {
  private running: Promise<void> = Promise.resolve();
  private waiting: { timer: NodeJS.Timeout; work: () => Promise<void> } | null = null;

  constructor(private readonly failed: (error: unknown) => void) {}

  /** `soon`: a scan that comes first waits for it. Else it goes without, for less than catching up would cost it. */
  later(work: () => Promise<void>, soon: boolean): void {
    this.drop();
    if (soon) return this.begin(work);
    const timer = setTimeout(() => {
      this.waiting = null;
      this.begin(work);
    }, quietMs);
    timer.unref();
    this.waiting = { timer, work };
  }

  /** The scanner is free. */
  free(): Promise<void> {
    this.drop();
    return this.running;
  }

  /** Nothing is left to be done. */
  finished(): Promise<void> {
    const work = this.waiting?.work;
    this.drop();
    if (work) this.begin(work);
    return this.running;
  }

  private begin(work: () => Promise<void>): void {
    this.running = this.running.then(work).catch(this.failed);
  }

  private drop(): void {
    if (this.waiting) clearTimeout(this.waiting.timer);
    this.waiting = null;
  }
}
