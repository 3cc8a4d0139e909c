/** The least an event needs. */
export class Emitter<T> {
  private readonly listeners = new Set<(value: T) => void>();

  get size(): number {
    return this.listeners.size;
  }

  on(listener: (value: T) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  fire(value: T): void {
    for (const listener of [...this.listeners]) listener(value);
  }
}
