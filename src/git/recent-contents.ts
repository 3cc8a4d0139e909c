const limits = { all: 4 << 20, one: 512 << 10 };

/** What was put into the store last, by its id: most people look at a checkpoint right when it is made. */
export class RecentContents {
  private readonly contents = new Map<string, Buffer>();
  private size = 0;

  get(oid: string): Buffer | undefined {
    return this.contents.get(oid);
  }

  add(oid: string, data: Buffer): void {
    if (data.length > limits.one || this.contents.has(oid)) return;
    this.contents.set(oid, data);
    this.size += data.length;
    // Oldest first out.
    for (const [old, { length }] of this.contents) {
      if (this.size <= limits.all) break;
      this.contents.delete(old);
      this.size -= length;
    }
  }
}
