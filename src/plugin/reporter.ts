import { CheckpointsError } from '../core/errors';

/** Where the plugin can speak: a log, and a place where a person sees it. */
export interface Voice {
  log(level: 'info' | 'warn' | 'error', message: string): void;
  show(message: string): void;
}

/** What keeps every checkpoint from being made, whichever meets it first: told once for all of them. */
const ofTheStore: ReadonlySet<string> = new Set<CheckpointsError['reason']>([
  ...(['disk-full', 'store-readonly', 'store-broken', 'git-missing'] as const),
]);

/** Says what went wrong, once per kind: an agent makes hundreds of calls, and each would fail alike. */
export class Reporter {
  private readonly said = new Map<string, string>();

  constructor(private readonly voice: Voice) {}

  info(message: string): void {
    this.voice.log('info', message);
  }

  failed(what: string, error: unknown): void {
    const kind = CheckpointsError.is(error) ? error.reason : 'unexpected';
    const why = error instanceof Error ? error.message : String(error);
    const isTold = ofTheStore.has(kind) && [...this.said.keys()].some((known) => known.endsWith(`/${kind}`));
    this.problem(`${what}/${kind}`, `${what}: ${why}`, isTold);
  }

  problem(kind: string, message: string, isTold = false): void {
    const first = !isTold && !this.said.has(kind);
    this.said.set(kind, message);
    this.voice.log(first ? 'error' : 'info', message);
    if (first) this.voice.show(message);
  }

  /** It works again: the next failure is news. */
  recovered(what: string): void {
    for (const kind of this.said.keys()) if (kind.startsWith(`${what}/`)) this.said.delete(kind);
  }

  /** A checkpoint could be made, or would have been if anything had changed: the store is well. */
  storeWorks(): void {
    for (const kind of this.said.keys())
      if (ofTheStore.has(kind.slice(kind.lastIndexOf('/') + 1))) this.said.delete(kind);
  }

  /** What is wrong now, for the agent's own question. */
  get problems(): string[] {
    return [...this.said.values()];
  }
}
