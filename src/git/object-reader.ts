import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { CheckpointsError } from '../core/errors';
import { eachObject } from './bulk-reader';
import { damagedObject, reasonOf, safeFlags, storeEnv } from './run';

export type ObjectType = 'blob' | 'tree' | 'commit' | 'tag';
export interface GitObject {
  type: ObjectType;
  data: Buffer;
}

interface Pending {
  oid: string;
  resolve: (object: GitObject | null) => void;
  reject: (error: Error) => void;
}

/** From so many questions at once a second git takes half of them. */
const manyAtOnce = 24;
/** The second one is started when nobody has to wait for that, and only where it was missed before. */
const quietMs = 250;

/** This one object is there and cannot be read; others can. */
export const isDamaged = (error: unknown): boolean =>
  CheckpointsError.is(error, 'store-broken') && error.details?.['damaged'] === true;

/**
 * Reads any object in a fraction of a millisecond, from a resident `git cat-file --batch`; where many are asked for at once, from two: unpacking
 * them is what takes the time. They find packs that appear later by themselves, are started on first use, and again when they died.
 */
export class ObjectReader {
  private readonly first: Resident;
  private readonly second: Resident;
  private asked: Pending[] = [];
  private helping: NodeJS.Timeout | null = null;

  constructor(private readonly gitDir: string) {
    this.first = new Resident(gitDir);
    this.second = new Resident(gitDir);
  }

  /** null when the store does not have it. */
  read(oid: string): Promise<GitObject | null> {
    if (!/^[0-9a-f]{40,64}$/.test(oid))
      return Promise.reject(new CheckpointsError('store-broken', `Not an object id: ${oid}`));
    return new Promise((resolve, reject) => {
      // What is asked for in one turn goes out in one piece.
      if (this.asked.length === 0) queueMicrotask(() => this.send());
      this.asked.push({ oid, resolve, reject });
    });
  }

  private send(): void {
    const { asked } = this;
    this.asked = [];
    if (asked.length < manyAtOnce || !this.second.isThere) {
      this.first.ask(asked);
      if (asked.length >= manyAtOnce) this.helpLater();
      return;
    }
    // Neighbours stay together: they are often told from each other.
    const half = asked.length >> 1;
    this.first.ask(asked.slice(0, half));
    this.second.ask(asked.slice(half));
  }

  private helpLater(): void {
    this.helping ??= setTimeout(() => {
      this.helping = null;
      this.second.start();
    }, quietMs).unref();
  }

  async blob(oid: string): Promise<Buffer> {
    const object = await this.read(oid);
    if (object?.type !== 'blob') throw new CheckpointsError('store-broken', `The store has lost the content ${oid}.`);
    return object.data;
  }

  /** Many, in this order, by a git of their own: see `eachObject`. */
  each(oids: readonly string[], use: (i: number, object: GitObject | null) => void): Promise<{ used: number }> {
    return eachObject(this.gitDir, oids, use);
  }

  close(): void {
    if (this.helping) clearTimeout(this.helping);
    this.helping = null;
    const { asked } = this;
    this.asked = [];
    for (const one of asked) one.reject(closedError());
    this.first.close();
    this.second.close();
  }
}

const closedError = (): CheckpointsError => new CheckpointsError('cancelled', 'The store was closed.');

/** One `git cat-file --batch`. */
class Resident {
  private child: ChildProcessWithoutNullStreams | null = null;
  private pending: Pending[] = [];
  private chunks: Buffer[] = [];
  private size = 0;
  /** Header of the object whose body is still arriving. */
  private header: { type: ObjectType; length: number } | null = null;

  constructor(private readonly gitDir: string) {}

  get isThere(): boolean {
    return this.child !== null;
  }

  ask(questions: Pending[]): void {
    if (questions.length === 0) return;
    const child = this.start();
    if (this.pending.length === 0) this.hold(child, true);
    for (const one of questions) this.pending.push(one);
    child.stdin.write(questions.map(({ oid }) => `${oid}\n`).join(''));
  }

  close(): void {
    const child = this.child;
    this.child = null;
    child?.stdin.end();
    this.fail(closedError());
  }

  start(): ChildProcessWithoutNullStreams {
    return (this.child ??= this.spawned());
  }

  private spawned(): ChildProcessWithoutNullStreams {
    const child = spawn('git', [...safeFlags, `--git-dir=${this.gitDir}`, 'cat-file', '--batch'], {
      cwd: this.gitDir,
      env: storeEnv(),
      stdio: ['pipe', 'pipe', 'pipe'],
      windowsHide: true,
    });
    this.chunks = [];
    this.size = 0;
    this.header = null;
    let stderr = '';
    const lost = (why: string): void => {
      if (this.child !== child) return;
      this.child = null;
      // Nothing else is read by it: what it cannot read is damaged. It ended at the first that it had not answered.
      const damaged = damagedObject.test(why);
      const reason = damaged ? 'store-broken' : reasonOf(why);
      const error = new CheckpointsError(reason, `git cat-file ended: ${why}`, { details: { damaged } });
      const rest = damaged ? this.pending.splice(1) : [];
      this.fail(error);
      this.ask(rest);
    };
    child.stdout.on('data', (chunk: Buffer) => {
      this.chunks.push(chunk);
      this.size += chunk.length;
      this.drain(child);
    });
    child.stderr.on('data', (chunk: Buffer) => (stderr = (stderr + chunk.toString()).slice(-2000)));
    child.stdin.on('error', () => undefined); // `close` tells the same with the reason
    child.on('error', (error: NodeJS.ErrnoException) => lost(error.message));
    child.on('close', () => lost(stderr.trim() || 'no message'));
    this.hold(child, false);
    return child;
  }

  /** Keeps the event loop alive only while an answer is awaited. */
  private hold(child: ChildProcessWithoutNullStreams, on: boolean): void {
    const handles = [child, child.stdin, child.stdout, child.stderr] as Array<{ ref?(): void; unref?(): void }>;
    for (const handle of handles) (on ? handle.ref : handle.unref)?.call(handle);
  }

  private drain(child: ChildProcessWithoutNullStreams): void {
    while (this.pending.length > 0) {
      if (!this.header) {
        const line = this.takeLine();
        if (line === null) return;
        if (/ (missing|ambiguous)$/.test(line)) {
          this.pending.shift()!.resolve(null);
          continue;
        }
        const [, type, length] = line.split(' ');
        this.header = { type: type as ObjectType, length: Number(length) };
      }
      if (this.size < this.header.length + 1) return;
      const data = this.take(this.header.length + 1).subarray(0, this.header.length);
      const { type } = this.header;
      this.header = null;
      this.pending.shift()!.resolve({ type, data });
    }
    if (this.child === child) this.hold(child, false);
  }

  private joined(): Buffer {
    if (this.chunks.length !== 1) this.chunks = [Buffer.concat(this.chunks)];
    return this.chunks[0]!;
  }

  private takeLine(): string | null {
    if (this.size === 0) return null;
    const all = this.joined();
    const end = all.indexOf(10);
    if (end < 0) return null;
    return this.take(end + 1)
      .subarray(0, end)
      .toString('latin1');
  }

  private take(length: number): Buffer {
    const all = this.joined();
    const head = all.subarray(0, length);
    this.chunks = length < all.length ? [all.subarray(length)] : [];
    this.size -= length;
    return head;
  }

  private fail(error: Error): void {
    const waiting = this.pending;
    this.pending = [];
    for (const one of waiting) one.reject(error);
  }
}
