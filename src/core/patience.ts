/** Who let us wait in vain a moment ago is asked again, but not waited for as long. */
const shortMs = 500;
const rememberedMs = 60_000;

/** Waits for answers, but not for ever, and for one who is silent only once. */
export class Patience {
  /** When each of them was last waited for in vain. */
  private readonly silent = new Map<string, number>();

  constructor(private readonly ms: number) {}

  /** The answer of `who`; null when it did not come in time. */
  async inTime<T>(who: string, answer: Promise<T>): Promise<T | null> {
    let timer: NodeJS.Timeout | undefined;
    const end = new Promise<null>((over) => {
      timer = setTimeout(() => over(null), this.limitFor(who));
    });
    try {
      const found = await Promise.race([answer, end]);
      if (found === null) this.silent.set(who, performance.now());
      else this.silent.delete(who);
      return found;
    } finally {
      clearTimeout(timer);
    }
  }

  private limitFor(who: string): number {
    const since = this.silent.get(who);
    const isRemembered = since !== undefined && performance.now() - since < rememberedMs;
    return isRemembered ? Math.min(shortMs, this.ms) : this.ms;
  }
}
