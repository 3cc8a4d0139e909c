/** Does a piece of work once for everything that comes in a burst, and then not again too soon. */
export class Calm {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private last = -Infinity;

  /** `gather`: milliseconds that the first of a burst waits for others. `apart`: between two times, at least. */
  constructor(
    private readonly work: () => void,
    private readonly gather: number,
    private readonly apart: number,
  ) {}

  ask(): void {
    if (this.timer !== undefined) return;
    const wait = Math.max(this.gather, this.last + this.apart - Date.now());
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.last = Date.now();
      this.work();
    }, wait);
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}
