import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { Engine, Lane, Mark, Place } from './engine';

type Method = Exclude<keyof Engine, 'name'>;

export interface Call {
  method: Method;
  args: unknown[];
}

export type Answer = { ms: number; value: unknown } | { ms: number; error: string };

/**
 * An engine in a process of its own, as the extension's host is one. The bench holds what every file should be, some 300 MB: each git that
 * is started from such a process costs ten milliseconds more, and its garbage would be collected on the engine's time.
 */
export class DrivenEngine implements Engine {
  /** Milliseconds of the last call, by the engine's own clock. */
  spent = 0;
  private readonly child: ChildProcess;

  constructor(
    readonly name: string,
    place: Place,
    bundles: string,
  ) {
    this.child = fork(join(bundles, 'engine.js'), [name, place.tree, place.store], {
      serialization: 'advanced',
      execArgv: [],
    });
  }

  first(): Promise<Mark> {
    return this.call('first');
  }

  checkpoint(lane: Lane): Promise<Mark> {
    return this.call('checkpoint', lane);
  }

  diff(from: Mark, to: Mark): Promise<string[]> {
    return this.call('diff', from, to);
  }

  restore(target: Mark, changed: readonly string[]): Promise<void> {
    return this.call('restore', target, changed);
  }

  restoreAll(target: Mark): Promise<void> {
    return this.call('restoreAll', target);
  }

  settle(): Promise<void> {
    return this.call('settle');
  }

  /** May be called again, and after a failure. */
  async close(): Promise<void> {
    if (!this.child.connected) return;
    await this.call('close');
    if (this.child.exitCode === null) await new Promise((resolve) => this.child.once('exit', resolve));
  }

  private call<T>(method: Method, ...args: unknown[]): Promise<T> {
    const { child } = this;
    return new Promise((resolve, reject) => {
      const ended = (code: number | null): void =>
        reject(new Error(`${this.name} ended in ${method} with exit code ${code}`));
      child.once('exit', ended);
      child.once('message', (answer: Answer) => {
        child.off('exit', ended);
        this.spent = answer.ms;
        if ('error' in answer) reject(new Error(answer.error));
        else resolve(answer.value as T);
      });
      child.send({ method, args } satisfies Call, (error) => {
        if (error) reject(error);
      });
    });
  }
}
