import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { writeFileDurably } from './durable';
import { isMissing } from './refs';

const linePattern = /^(?:\+(\S+) ([0-9a-f]{40}(?:[0-9a-f]{24})?)|-(\S+))$/gm;

/**
 * Which refs there are, written down once more beside the repository. Nothing is read from it while all is well. When refs are lost (a folder
 * deleted, packed-refs cut off), what they named is still there, and only this tells it from what was deleted or never came to be.
 */
export class RefLog {
  constructor(
    private readonly path: string,
    /** Of these refs. */
    readonly prefix: string,
    private readonly onProblem: (message: string) => void,
  ) {}

  /** They are there already. The first time all that are there are written: others may do the same at that moment, and nothing of theirs is overwritten. */
  added(moves: ReadonlyArray<{ ref: string; to: string }>, all: () => Map<string, string>): void {
    const own = moves.filter(({ ref }) => ref.startsWith(this.prefix));
    if (own.length === 0) return;
    this.trying(() => {
      const isNew = !existsSync(this.path);
      appendFileSync(this.path, isNew ? this.lines(all()) : own.map(({ ref, to }) => `+${ref} ${to}\n`).join(''));
    });
  }

  /** Before they go, and once more afterwards: the log may have been written anew meanwhile. */
  removed(refs: readonly string[]): void {
    const own = refs.filter((ref) => ref.startsWith(this.prefix));
    if (own.length === 0 || !existsSync(this.path)) return;
    this.trying(
      () => appendFileSync(this.path, own.map((ref) => `-${ref}\n`).join('')),
      // What was deleted must not look lost: then rather no log, until the next ref is made.
      () => rmSync(this.path, { force: true }),
    );
  }

  /** As it should be: whole names, and what each was last. */
  living(): Map<string, string> {
    const found = new Map<string, string>();
    let text: string;
    try {
      text = readFileSync(this.path, 'latin1');
    } catch (error) {
      if (isMissing(error)) return found;
      throw error;
    }
    for (const [, added, oid, removed] of text.matchAll(linePattern))
      if (added && oid) found.set(added, oid);
      else if (removed) found.delete(removed);
    return found;
  }

  /** Leaves out all that is gone. The caller is alone with the store. */
  compact(all: Map<string, string>): void {
    this.trying(() => writeFileDurably(this.path, this.lines(all)));
  }

  private lines(all: Map<string, string>): string {
    return [...all].map(([name, oid]) => `+${this.prefix}${name} ${oid}\n`).join('');
  }

  /** A full disk keeps nobody from what the log is only a second account of. */
  private trying(work: () => void, otherwise: () => void = () => undefined): void {
    try {
      work();
    } catch (error) {
      otherwise();
      this.onProblem(`the log of refs was not written: ${String(error)}`);
    }
  }
}
