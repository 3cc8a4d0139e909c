import type { FindQuery } from '../../../src/protocol/timeline';
import { findKey } from './filter';

/**
 * Asks the host what rows cannot tell, a moment after the last key press. Old answers stay in use until the new ones
 * are there, so that a list that updates does not blink.
 */
export class Finder {
  readonly found = new Map<string, ReadonlySet<string>>();
  /** Questions without an answer yet. */
  waiting = 0;
  readonly #ask: (query: FindQuery, signal: AbortSignal) => Promise<string[]>;
  readonly #onChange: (failure: unknown) => void;
  #fresh = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #abort = new AbortController();

  constructor(ask: (query: FindQuery, signal: AbortSignal) => Promise<string[]>, onChange: (failure: unknown) => void) {
    this.#ask = ask;
    this.#onChange = onChange;
  }

  /** Rows changed: what was found may not be all any more. */
  expire(): void {
    this.#fresh = new Set();
  }

  want(queries: readonly FindQuery[], delay: number): void {
    clearTimeout(this.#timer);
    this.#abort.abort();
    this.waiting = 0;
    const open = queries.filter((query) => !this.#fresh.has(findKey(query)));
    const keep = new Set(queries.map(findKey));
    for (const key of [...this.found.keys()]) if (!keep.has(key)) this.#forget(key);
    if (open.length === 0) return;
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    this.waiting = open.length;
    this.#timer = setTimeout(() => {
      for (const query of open) void this.#run(query, signal);
    }, delay);
  }

  async #run(query: FindQuery, signal: AbortSignal): Promise<void> {
    let failure: unknown = null;
    try {
      const ids = await this.#ask(query, signal);
      if (signal.aborted) return;
      this.found.set(findKey(query), new Set(ids));
      this.#fresh.add(findKey(query));
    } catch (error) {
      if (signal.aborted) return;
      failure = error;
    }
    this.waiting--;
    this.#onChange(failure);
  }

  #forget(key: string): void {
    this.found.delete(key);
    this.#fresh.delete(key);
  }
}
