import { CheckpointsError } from '../core/errors';

/** Where the plugin can speak: a log, and a place where a person sees it. */
export interface Voice {
  log(level: 'info' | 'warn' | 'error', message: string): void;
  show(message: string): void;
}

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
    this.problem(`${what}/${kind}`, `${what}: ${why}`);
  }

  problem(kind: string, message: string): void {
    const first = !this.said.has(kind);
    this.said.set(kind, message);
    this.voice.log(first ? 'error' : 'info', message);
    if (first) this.voice.show(message);
  }

  /** It works again: the next failure is news. */
  recovered(what: string): void {
    for (const kind of this.said.keys()) if (kind.startsWith(`${what}/`)) this.said.delete(kind);
  }

  /** What is wrong now, for the agent's own question. */
  get problems(): string[] {
    return [...this.said.values()];
  }
}
