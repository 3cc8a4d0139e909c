import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { CheckpointsError } from '../core/errors';
import { makeFolder } from './folders';
import { runGit, safeFlags, storeEnv } from './run';

/** Where git writes the packed refs anew. */
export const packedDraft = 'packed-refs.new';

const oidPattern = /^[0-9a-f]{40}([0-9a-f]{24})?$/;
/** A ref is written in microseconds: a lock that is older was left by a process that died. */
const staleAfterMs = 5_000;
/** git writes all packed refs anew under one lock. */
const packedStaleAfterMs = 10_000;
/** Others hold a lock while they sync; git by itself gives up after a tenth of a second. */
const patience = ['-c', 'core.filesRefLockTimeout=5000', '-c', 'core.packedRefsTimeout=5000'];

/**
 * The store's refs, read and written in git's own file format and by git's own lock protocol, without
 * starting a process: creating a checkpoint is a lock, a sync and a rename of each.
 */
export class Refs {
  private packed: { stamp: string; refs: Map<string, string> } | null = null;

  constructor(private readonly gitDir: string) {}

  read(ref: string): string | null {
    try {
      const text = readFileSync(join(this.gitDir, ref), 'latin1').trim();
      if (oidPattern.test(text)) return text;
      throw new CheckpointsError('store-broken', `${ref} is damaged. Run doctor to see what can be mended.`);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
    return this.packedRefs().get(ref) ?? null;
  }

  /** Names below `prefix` (which ends in a slash), without it. Damaged loose refs are left out and reported. */
  list(prefix: string, onDamaged?: (ref: string) => void): Map<string, string> {
    const found = new Map<string, string>();
    for (const [ref, oid] of this.packedRefs()) if (ref.startsWith(prefix)) found.set(ref.slice(prefix.length), oid);
    this.walk(prefix, '', found, onDamaged);
    return found;
  }

  private walk(prefix: string, below: string, found: Map<string, string>, onDamaged?: (ref: string) => void): void {
    const folder = join(this.gitDir, prefix, below);
    let names;
    try {
      names = readdirSync(folder, { withFileTypes: true });
    } catch (error) {
      if (isMissing(error)) return;
      throw error;
    }
    for (const entry of names) {
      const name = below + entry.name;
      if (entry.isDirectory()) this.walk(prefix, `${name}/`, found, onDamaged);
      else if (!entry.name.endsWith('.lock')) {
        const oid = readLoose(join(folder, entry.name));
        if (oid === null) continue;
        if (oidPattern.test(oid)) found.set(name, oid);
        else onDamaged?.(prefix + name);
      }
    }
  }

  private packedRefs(): Map<string, string> {
    const file = join(this.gitDir, 'packed-refs');
    let stamp: string;
    try {
      const s = statSync(file, { bigint: true });
      stamp = `${s.mtimeNs}:${s.size}:${s.ino}`;
    } catch (error) {
      if (isMissing(error)) return new Map();
      throw error;
    }
    if (this.packed?.stamp === stamp) return this.packed.refs;
    const refs = new Map<string, string>();
    for (const line of readFileSync(file, 'latin1').split('\n')) {
      const space = line.indexOf(' ');
      if (space < 40 || line[0] === '#' || line[0] === '^') continue;
      refs.set(line.slice(space + 1), line.slice(0, space));
    }
    this.packed = { stamp, refs };
    return refs;
  }

  /** Sets `ref` if it still is `expected` (null: must not exist). False when somebody was faster. */
  async swap(ref: string, expected: string | null, value: string): Promise<boolean> {
    return (await this.swapInOrder([{ ref, from: expected, to: value }])) === null;
  }

  /**
   * Several, each as `swap` does, becoming visible in this order: all are on the disk before the first one is. Returns the ref that was
   * not what was expected, and then nothing was changed; else null.
   */
  async swapInOrder(moves: ReadonlyArray<{ ref: string; from: string | null; to: string }>): Promise<string | null> {
    const locks: RefLock[] = [];
    try {
      for (const { ref, from } of moves) {
        locks.push(await this.lock(ref));
        if (this.read(ref) !== from) return ref;
      }
      moves.forEach(({ to }, i) => locks[i]!.write(line(to)));
      moves.forEach(({ ref }, i) => locks[i]!.publish(join(this.gitDir, ref)));
      return null;
    } finally {
      for (const lock of locks) lock.release();
    }
  }

  /** Holds git's lock file of a ref for as long as the caller needs to look and decide. */
  async lock(ref: string, waitMs = 15_000, staleMs = staleAfterMs): Promise<RefLock> {
    const path = join(this.gitDir, `${ref}.lock`);
    makeFolder(dirname(path));
    const deadline = Date.now() + waitMs;
    for (let delay = 1; ; delay = Math.min(delay * 2, 50)) {
      try {
        return new RefLock(path, openSync(path, 'wx', 0o644));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        breakStale(path, staleMs);
        if (Date.now() > deadline)
          throw new CheckpointsError('busy', `Another process holds ${ref}.lock. Try again in a moment.`);
        await new Promise((resolve) => setTimeout(resolve, delay));
      }
    }
  }

  /** Many at once, all or none: one transaction of git's own. False when one of them is not what was expected. */
  async swapAll(moves: ReadonlyArray<{ ref: string; from: string | null; to: string }>): Promise<boolean> {
    if (moves.length === 0) return true;
    const lines = moves.map(({ ref, from, to }) => `update ${ref} ${to} ${from ?? '0'.repeat(to.length)}\n`);
    const refs = moves.map(({ ref }) => ref);
    return (await this.byGit(['update-ref', '--stdin'], { refs, input: lines.join(''), accept: [1, 128] })) === 0;
  }

  /** Deletes refs, packed ones too, in one transaction of git's own. */
  async remove(refs: string[]): Promise<void> {
    if (refs.length === 0) return;
    await this.byGit(['update-ref', '--stdin'], { refs, input: refs.map((ref) => `delete ${ref}\n`).join('') });
  }

  /** All of them in one file. */
  async pack(signal?: AbortSignal): Promise<void> {
    await this.byGit(['pack-refs', '--all', '--prune'], { refs: [], signal });
  }

  private async byGit(
    args: string[],
    { refs, ...options }: { refs: readonly string[]; input?: string; accept?: number[]; signal?: AbortSignal },
  ): Promise<number> {
    await this.clearAway(refs);
    const git = [...safeFlags, ...patience, `--git-dir=${this.gitDir}`, ...args];
    // As a group it is asked to end, and cleans up after itself.
    return (await runGit(git, { cwd: this.gitDir, env: storeEnv(), group: true, ...options })).code;
  }

  /** What a killed process left in git's way: git itself neither goes on nor cleans up, as long as it is there. */
  private async clearAway(refs: readonly string[]): Promise<void> {
    for (const ref of refs) if (existsSync(join(this.gitDir, `${ref}.lock`))) (await this.lock(ref)).release();
    const draft = join(this.gitDir, packedDraft);
    if (!existsSync(draft) && !existsSync(join(this.gitDir, 'packed-refs.lock'))) return;
    // Who writes the draft holds the lock.
    const lock = await this.lock('packed-refs', 15_000, packedStaleAfterMs);
    rmSync(draft, { force: true });
    lock.release();
  }
}

export class RefLock {
  private open = true;

  constructor(
    private readonly path: string,
    private readonly fd: number,
  ) {}

  write(content: string): void {
    writeSync(this.fd, content);
    fsyncSync(this.fd);
  }

  publish(target: string): void {
    // A disk that took seconds may have made it look left over: then it is somebody else's by now.
    if (!this.isHeld()) throw new CheckpointsError('busy', `${this.path} was taken away. Try again.`);
    closeSync(this.fd);
    this.open = false;
    renameSync(this.path, target);
  }

  private isHeld(): boolean {
    try {
      return statSync(this.path, { bigint: true }).ino === fstatSync(this.fd, { bigint: true }).ino;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  release(): void {
    if (!this.open) return;
    this.open = false;
    if (this.isHeld()) rmSync(this.path, { force: true });
    closeSync(this.fd);
  }
}

function line(value: string): string {
  if (!oidPattern.test(value)) throw new CheckpointsError('store-broken', `Not an object id: ${value}`);
  return `${value}\n`;
}

function readLoose(path: string): string | null {
  try {
    return readFileSync(path, 'latin1').trim();
  } catch (error) {
    if (isMissing(error)) return null; // packed or deleted in between
    throw error;
  }
}

/** Moves a dead process's lock aside; if it was a fresh one after all, its inode tells, and it goes back. */
function breakStale(path: string, staleMs: number): void {
  try {
    const seen = statSync(path, { bigint: true });
    if (Date.now() - Number(seen.mtimeMs) < staleMs) return;
    const aside = `${path}.stale-${process.pid}-${Date.now()}`;
    renameSync(path, aside);
    if (statSync(aside, { bigint: true }).ino !== seen.ino) renameSync(aside, path);
    else rmSync(aside, { force: true });
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** Nothing is there; below a file, or below a link that leads to itself, nothing can be. */
export function isMissing(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP';
}
