import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { CheckpointsError } from '../core/errors';
import { eachObject } from './bulk-reader';
import { reasonOf, safeFlags, storeEnv } from './run';

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

/** This one object is there and cannot be read; others can. */
export const isDamaged = (error: unknown): boolean =>
  CheckpointsError.is(error, 'store-broken') && error.details?.['damaged'] === true;

/**
 * One resident `git cat-file --batch`: reads any object in a fraction of a millisecond. It finds packs that
 * appear later by itself. It is started on first use, and again when it died.
 */
export class ObjectReader {
  private child: ChildProcessWithoutNullStreams | null = null;
  private pending: Pending[] = [];
  private chunks: Buffer[] = [];
  private size = 0;
  private asked = '';
  /** Header of the object whose body is still arriving. */
  private header: { type: ObjectType; length: number } | null = null;

  constructor(private readonly gitDir: string) {}

  /** null when the store does not have it. */
  read(oid: string): Promise<GitObject | null> {
    if (!/^[0-9a-f]{40,64}$/.test(oid))
      return Promise.reject(new CheckpointsError('store-broken', `Not an object id: ${oid}`));
    return new Promise((resolve, reject) => {
      const child = (this.child ??= this.start());
      this.pending.push({ oid, resolve, reject });
      if (this.pending.length === 1) this.hold(child, true);
      this.ask(child, oid);
    });
  }

  /** What is asked for in one turn goes out in one piece. */
  private ask(child: ChildProcessWithoutNullStreams, oid: string): void {
    if (this.asked === '') queueMicrotask(() => this.send(child));
    this.asked += `${oid}\n`;
  }

  private send(child: ChildProcessWithoutNullStreams): void {
    if (this.child !== child) return; // its questions were answered with a failure
    const { asked } = this;
    this.asked = '';
    if (asked !== '') child.stdin.write(asked);
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
    const child = this.child;
    this.child = null;
    child?.stdin.end();
    this.fail(new CheckpointsError('cancelled', 'The store was closed.'));
  }

  private start(): ChildProcessWithoutNullStreams {
    const child = spawn('git', [...safeFlags, `--git-dir=${this.gitDir}`, 'cat-file', '--batch'], {
      cwd: this.gitDir,
      env: storeEnv(),
      stdio: ['pipe', 'pipe', 'pipe'],
      windowsHide: true,
    });
    this.chunks = [];
    this.size = 0;
    this.header = null;
    this.asked = '';
    let stderr = '';
    const lost = (why: string): void => {
      if (this.child !== child) return;
      this.child = null;
      // Nothing else is read by it: what it cannot read is damaged. It ended at the first that it had not answered.
      const damaged = /is corrupt/.test(why);
      const reason = damaged ? 'store-broken' : reasonOf(why);
      const error = new CheckpointsError(reason, `git cat-file ended: ${why}`, { details: { damaged } });
      const rest = damaged ? this.pending.splice(1) : [];
      this.fail(error);
      for (const one of rest) this.read(one.oid).then(one.resolve, one.reject);
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
