import type { Checkpoint } from '../core/model';

/** What an object with its arrays takes beyond its text, about. */
const objectWeight = 1000;

/**
 * Records that were read before, so that a view which asks again after every change does not make thousands of objects each time.
 * Bounded by weight; the one read longest ago goes first.
 */
export class RecordCache {
  private readonly records = new Map<number, { checkpoint: Checkpoint; weight: number }>();
  private weight = 0;

  constructor(private readonly limit: number) {}

  get(seq: number): Checkpoint | undefined {
    return this.records.get(seq)?.checkpoint;
  }

  add(seq: number, checkpoint: Checkpoint, characters: number): void {
    const weight = characters + objectWeight;
    this.delete(seq);
    this.records.set(seq, { checkpoint, weight });
    this.weight += weight;
    for (const oldest of this.records.keys()) {
      if (this.weight <= this.limit) break;
      this.delete(oldest);
    }
  }

  delete(seq: number): void {
    this.weight -= this.records.get(seq)?.weight ?? 0;
    this.records.delete(seq);
  }

  clear(): void {
    this.records.clear();
    this.weight = 0;
  }
}
