import type { WorkspaceApi } from './api';

/** So long nobody made a checkpoint. */
const quietMs = 2 * 60_000;

/**
 * Looks after a store while nothing else happens: a while after the last change it thins, packs and frees. Every host may
 * have one; the store remembers when it was last looked after, and whoever needs it in the middle gets it at once.
 */
export class Upkeep {
  private timer: NodeJS.Timeout | null = null;
  private readonly end = new AbortController();
  private running: Promise<void> | null = null;

  constructor(
    private readonly workspace: Pick<WorkspaceApi, 'tidy'>,
    private readonly log: (message: string) => void,
    private readonly waitMs = quietMs,
  ) {
    this.touch();
  }

  /** Something happened: the quiet begins anew. */
  touch(): void {
    if (this.end.signal.aborted) return;
    if (this.timer) clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.run(), this.waitMs);
    this.timer.unref();
  }

  private async run(): Promise<void> {
    if (this.running) return;
    this.running = this.workspace.tidy({ signal: this.end.signal }).then(
      (done) => {
        if (done && (done.deleted.length > 0 || done.packed))
          this.log(
            `looked after the store: ${done.deleted.length} old checkpoints gone, ${done.freedBytes} bytes free`,
          );
      },
      // It is tried again after the next change; the user asked for nothing, so nobody is interrupted.
      (error: unknown) => this.log(`the store was not looked after: ${String(error)}`),
    );
    await this.running;
    this.running = null;
  }

  async dispose(): Promise<void> {
    if (this.timer) clearTimeout(this.timer);
    this.end.abort();
    await this.running;
  }
}
