/** What a run measured: samples by operation and engine, what went wrong, what was found right. */

export interface Sample {
  operation: string;
  engine: string;
  ms: number;
}

export interface Size {
  operation: string;
  engine: string;
  bytes: number;
}

export interface Failure {
  operation: string;
  engine: string;
  message: string;
}

export interface Gate {
  name: string;
  ok: boolean;
  detail?: string;
}

export class Ledger {
  readonly samples: Sample[] = [];
  readonly sizes: Size[] = [];
  readonly failures: Failure[] = [];
  private readonly gateResults = new Map<string, Gate>();

  constructor(private readonly log: (line: string) => void) {}

  /** By the bench's own clock, or by that of an engine that runs elsewhere. */
  async time<T>(operation: string, engine: string, work: () => Promise<T>, clock?: { spent: number }): Promise<T> {
    const start = performance.now();
    const result = await work();
    this.sample(operation, engine, clock?.spent ?? performance.now() - start);
    return result;
  }

  sample(operation: string, engine: string, ms: number): void {
    this.samples.push({ operation, engine, ms });
    this.log(`  ${engine.padEnd(13)} ${operation.padEnd(34)} ${ms.toFixed(ms < 10 ? 2 : 0).padStart(9)} ms`);
  }

  /** How many times were taken so far. */
  get count(): number {
    return this.samples.length;
  }

  forgetSince(count: number): void {
    this.samples.length = count;
  }

  size(operation: string, engine: string, bytes: number): void {
    this.sizes.push({ operation, engine, bytes });
    this.log(`  ${engine.padEnd(13)} ${operation.padEnd(34)} ${(bytes / 1e6).toFixed(2).padStart(9)} MB`);
  }

  fail(operation: string, engine: string, message: string): void {
    this.failures.push({ operation, engine, message });
    this.log(`  ${engine.padEnd(13)} ${operation.padEnd(34)} FAILED: ${message}`);
  }

  /** A gate asked several times holds only if it held each time; the first reason is kept. */
  gate(name: string, ok: boolean, detail?: string): void {
    const before = this.gateResults.get(name);
    if (before?.ok === false) return;
    this.gateResults.set(name, { name, ok, ...(!ok && detail !== undefined ? { detail } : {}) });
    if (!ok) this.log(`  GATE FAILED: ${name}${detail === undefined ? '' : `: ${detail}`}`);
  }

  get gates(): Gate[] {
    return [...this.gateResults.values()];
  }

  /** Milliseconds; null when it was never measured. */
  median(operation: string, engine: string): number | null {
    return median(this.samples.filter((s) => s.operation === operation && s.engine === engine).map((s) => s.ms));
  }

  bytes(operation: string, engine: string): number | null {
    return median(this.sizes.filter((s) => s.operation === operation && s.engine === engine).map((s) => s.bytes));
  }

  /** Never failed at it, in any repetition. */
  correct(operation: string, engine: string): boolean {
    return !this.failures.some((f) => f.operation === operation && f.engine === engine);
  }
}

export function median(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] as number;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2;
}
