interface Running {
  session: string;
  paths: ReadonlySet<string>;
  ended: Promise<void>;
  end: () => void;
}

/**
 * Calls of one step run side by side. Of those that name the same file the next one waits for the one before, so that the point before it holds what that
 * one did: else the content in between would never have been seen.
 */
export class SameFile {
  private readonly running = new Map<string, Running>();

  /** A call begins. What to wait for first; null when no other call is at one of its files. */
  begin(callId: string, session: string, paths: readonly string[]): Promise<unknown> | null {
    const before = [...this.running.values()].filter((one) => paths.some((path) => one.paths.has(path)));
    let end = (): void => undefined;
    const ended = new Promise<void>((done) => (end = done));
    this.running.set(callId, { session, paths: new Set(paths), ended, end });
    return before.length === 0 ? null : Promise.all(before.map((one) => one.ended));
  }

  /** However it ended; also when it was told before. */
  end(callId: string): void {
    this.running.get(callId)?.end();
    this.running.delete(callId);
  }

  /** Its calls are over, whether they said so or not. */
  endAll(session: string): void {
    for (const [callId, one] of this.running) if (one.session === session) this.end(callId);
  }
}
