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
import type { LoggedRefs, RefLog } from './ref-log';
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
  private packed: { stamp: string; refs: Map<string, string>; damaged: boolean } | null = null;

  constructor(
    private readonly gitDir: string,
    private readonly log: RefLog | null = null,
  ) {}

  read(ref: string): string | null {
    try {
      const text = readFileSync(join(this.gitDir, ref), 'latin1').trim();
      if (oidPattern.test(text)) return text;
      throw new CheckpointsError('store-broken', `${ref} is damaged.`);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
    return this.packedRefs().refs.get(ref) ?? null;
  }

  /** Names below `prefix` (which ends in a slash), without it. Damaged loose refs are left out and reported. */
  list(prefix: string, onDamaged?: (ref: string) => void): Map<string, string> {
    const loose = new Map<string, string>();
    for (const name of this.looseBelow(prefix)) {
      const oid = readLoose(join(this.gitDir, prefix, name));
      if (oid === null) continue;
      if (oidPattern.test(oid)) loose.set(name, oid);
      else onDamaged?.(prefix + name);
    }
    // Afterwards, as git does: one that is packed at this moment is in both, or in this one.
    return new Map([...this.packedBelow(prefix), ...loose]);
  }

  /** The same names, the damaged ones too, without a look into any. */
  names(prefix: string): Set<string> {
    const loose = this.looseBelow(prefix);
    return new Set([...this.packedBelow(prefix).keys(), ...loose]);
  }

  private packedBelow(prefix: string): Map<string, string> {
    const { refs, damaged } = this.packedRefs();
    // git itself goes no further either. As if they were not there, checkpoints would look deleted.
    if (damaged) throw packedDamaged();
    const found = new Map<string, string>();
    for (const [ref, oid] of refs) if (ref.startsWith(prefix)) found.set(ref.slice(prefix.length), oid);
    return found;
  }

  private looseBelow(prefix: string, below = ''): string[] {
    let entries;
    try {
      entries = readdirSync(join(this.gitDir, prefix, below), { withFileTypes: true });
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
    return entries.flatMap((entry) => {
      const name = below + entry.name;
      if (entry.isDirectory()) return this.looseBelow(prefix, `${name}/`);
      return entry.name.endsWith('.lock') ? [] : [name];
    });
  }

  private packedRefs(): { refs: Map<string, string>; damaged: boolean } {
    const file = join(this.gitDir, 'packed-refs');
    let stamp: string;
    try {
      const s = statSync(file, { bigint: true });
      if (s.isDirectory()) return { refs: new Map(), damaged: true };
      stamp = `${s.mtimeNs}:${s.size}:${s.ino}`;
    } catch (error) {
      if (isMissing(error)) return { refs: new Map(), damaged: false };
      throw error;
    }
    if (this.packed?.stamp !== stamp) this.packed = { stamp, ...parsePacked(readFileSync(file, 'latin1')) };
    return this.packed;
  }

  /** What the log says that there is, and what was deleted. */
  logged(): LoggedRefs {
    return this.log?.read() ?? { living: new Map(), removed: new Set() };
  }

  /** They go for good: the log does not miss them any more. */
  forget(refs: readonly string[]): void {
    const { log } = this;
    if (!log) return;
    try {
      log.removed(refs, () => this.list(log.prefix));
    } catch (error) {
      // Rather no log than one that calls lost what was deleted; but where something is lost, only the log tells it.
      const there = this.names(log.prefix);
      if ([...log.read().living.keys()].some((name) => !there.has(name))) throw error;
      log.drop(error);
    }
  }

  /**
   * Leaves out of the log what was deleted and what came before. What it knows and is not there stays: it may have been lost this very moment. The
   * caller is alone with the store.
   */
  compactLog(lost: ReadonlyMap<string, string>): void {
    const { log } = this;
    log?.compact(new Map([...lost, ...log.read().living, ...this.list(log.prefix)]));
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
      this.logAdded(moves);
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
    const done = (await this.byGit(['update-ref', '--stdin'], { refs, input: lines.join(''), accept: [1, 128] })) === 0;
    if (done) this.logAdded(moves);
    return done;
  }

  private logAdded(moves: ReadonlyArray<{ ref: string; to: string }>): void {
    const { log } = this;
    log?.added(moves, () => this.list(log.prefix));
  }

  /** Deletes refs, packed ones too, in one transaction of git's own. */
  async remove(refs: string[]): Promise<void> {
    if (refs.length === 0) return;
    this.forget(refs);
    await this.byGit(['update-ref', '--stdin'], { refs, input: refs.map((ref) => `delete ${ref}\n`).join('') });
  }

  /** Writes packed-refs anew with the lines of it that are whole; `aside` gets it as it was. */
  async mendPacked(aside: (content: Buffer) => void): Promise<void> {
    const file = join(this.gitDir, 'packed-refs');
    const lock = await this.lock('packed-refs', 15_000, packedStaleAfterMs);
    try {
      const content = readFileSync(file);
      aside(content);
      const { refs } = parsePacked(content.toString('latin1'));
      const lines = [...refs].sort(([a], [b]) => (a < b ? -1 : 1)).map(([ref, oid]) => `${oid} ${ref}\n`);
      lock.write(`# pack-refs with: sorted \n${lines.join('')}`);
      lock.publish(file);
    } finally {
      lock.release();
    }
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

function packedDamaged(): CheckpointsError {
  return new CheckpointsError('store-broken', 'packed-refs is damaged.');
}

/** git goes no further where a name is none, in every command. */
const refName = /^refs\/(?!.*(?:\.\.|\/[./]|@\{|\.lock(?:\/|$)|[./]$))[^\x00-\x20\x7f~^:?*[\\]+$/;

/** As far as it is whole: a line that was cut off, or is none, is left out. Out of order, git finds some refs and not others. */
function parsePacked(text: string): { refs: Map<string, string>; damaged: boolean } {
  const refs = new Map<string, string>();
  const lines = text.split('\n');
  let damaged = lines.pop() !== '';
  let last = '';
  for (const line of lines) {
    if (line.startsWith('#') || /^\^[0-9a-f]{40,64}$/.test(line)) continue;
    const [, oid, ref] = /^([0-9a-f]{40}(?:[0-9a-f]{24})?) (.+)$/.exec(line) ?? [];
    if (!oid || !ref || !refName.test(ref)) {
      damaged = true;
      continue;
    }
    refs.set(ref, oid);
    damaged ||= ref <= last;
    last = ref;
  }
  return { refs, damaged };
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

/**
 * Moves a dead process's lock aside; if it was a fresh one after all, its inode tells, and it goes back. The name is a lock's, too: who dies here
 * must not leave what git takes for a damaged ref.
 */
function breakStale(path: string, staleMs: number): void {
  try {
    const seen = statSync(path, { bigint: true });
    // A clock that was set back makes one seem to come from the future.
    if (Math.abs(Date.now() - Number(seen.mtimeMs)) < staleMs) return;
    const aside = `${path}.stale-${process.pid}-${Date.now()}.lock`;
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
