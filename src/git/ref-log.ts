import { appendFileSync, existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { writeFileDurably } from './durable';
import { isMissing } from './refs';

const linePattern = /^(?:\+(\S+) ([0-9a-f]{40}(?:[0-9a-f]{24})?)|-(\S+))$/gm;

/** By their names below the prefix. */
export interface LoggedRefs {
  /** As it should be, and what each was last. */
  living: ReadonlyMap<string, string>;
  removed: ReadonlySet<string>;
}

/**
 * Which refs there are, written down once more beside the repository. When refs are lost (a folder deleted, packed-refs cut off), what they named is
 * still there, and only this tells it from what was deleted or never came to be.
 */
export class RefLog {
  private last: { stamp: string; logged: LoggedRefs } | null = null;

  constructor(
    private readonly path: string,
    /** Of these refs. */
    readonly prefix: string,
    private readonly onProblem: (message: string) => void,
  ) {}

  /** They are there already. A full disk keeps nobody from what the log is only a second account of. */
  added(moves: ReadonlyArray<{ ref: string; to: string }>, all: () => Map<string, string>): void {
    const lines = moves.filter(({ ref }) => ref.startsWith(this.prefix)).map(({ ref, to }) => `+${ref} ${to}\n`);
    try {
      this.append(lines, all);
    } catch (error) {
      this.tell(error);
    }
  }

  /** Before they go: a deleted one must never look lost, wherever the process dies. */
  removed(refs: readonly string[], all: () => Map<string, string>): void {
    const lines = refs.filter((ref) => ref.startsWith(this.prefix)).map((ref) => `-${ref}\n`);
    this.append(lines, all);
  }

  /**
   * The first time all that are there are written, too: others may do the same at that moment, and nothing of theirs is overwritten. What is
   * appended begins a line of its own, whatever a process that died left of its last one.
   */
  private append(lines: readonly string[], all: () => Map<string, string>): void {
    if (lines.length === 0) return;
    const before = existsSync(this.path) ? '' : this.lines(all());
    appendFileSync(this.path, `\n${before}${lines.join('')}`);
  }

  /** Better none than one that calls lost what was deleted; the next ref that is made begins it anew. */
  drop(why: unknown): void {
    this.tell(why);
    rmSync(this.path, { force: true });
  }

  read(): LoggedRefs {
    try {
      const { mtimeNs, size, ino } = statSync(this.path, { bigint: true });
      const stamp = `${mtimeNs}:${size}:${ino}`;
      if (this.last?.stamp !== stamp)
        this.last = { stamp, logged: parse(readFileSync(this.path, 'latin1'), this.prefix) };
      return this.last.logged;
    } catch (error) {
      if (isMissing(error)) return { living: new Map(), removed: new Set() };
      throw error;
    }
  }

  /** From now on these. The caller is alone with the store: nobody makes or deletes a checkpoint meanwhile. */
  compact(all: Map<string, string>): void {
    try {
      writeFileDurably(this.path, this.lines(all));
    } catch (error) {
      this.tell(error);
    }
  }

  private lines(all: Map<string, string>): string {
    return [...all].map(([name, oid]) => `+${this.prefix}${name} ${oid}\n`).join('');
  }

  private tell(error: unknown): void {
    this.onProblem(`the log of refs was not written: ${String(error)}`);
  }
}

/** What was deleted stays so, whatever comes after it: nobody uses an id again, but somebody may have been about to rename it. */
function parse(text: string, prefix: string): LoggedRefs {
  const living = new Map<string, string>();
  const removed = new Set<string>();
  for (const [, added, oid, gone] of text.matchAll(linePattern)) {
    const name = (added ?? gone ?? '').slice(prefix.length);
    if (gone !== undefined) {
      removed.add(name);
      living.delete(name);
    } else if (oid !== undefined && !removed.has(name)) living.set(name, oid);
  }
  return { living, removed };
}
