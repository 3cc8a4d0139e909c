/** Tells whether what a view shows has changed since it was last asked. What cannot be read counts as changed: the rows will say why. */
export class TaskLook {
  private last: string | undefined;

  constructor(private readonly read: () => Promise<unknown>) {}

  forget(): void {
    this.last = undefined;
  }

  async changed(): Promise<boolean> {
    const now = await this.read().then(
      (value) => JSON.stringify(value),
      () => undefined,
    );
    if (now !== undefined && now === this.last) return false;
    this.last = now;
    return true;
  }
}
