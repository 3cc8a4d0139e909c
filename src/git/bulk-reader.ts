import { spawn } from 'node:child_process';
import { CheckpointsError } from '../core/errors';
import type { GitObject, ObjectType } from './object-reader';
import { safeFlags, storeEnv } from './run';

/** For so many it is worth a git of their own. */
export const bulk = 256;

/**
 * Thousands of objects in the given order, from a git that is told all of them at once: it writes as fast as it is read, in large pieces,
 * where the resident one hands out each by itself. `use` is told null for what the store does not have. `used` is less than all where git could not
 * go on (a damaged object): the rest is to be asked for one by one, and then it is known which it is.
 */
export function eachObject(
  gitDir: string,
  oids: readonly string[],
  use: (i: number, object: GitObject | null) => void,
): Promise<{ used: number }> {
  return new Promise((resolve, reject) => {
    const child = spawn('git', [...safeFlags, `--git-dir=${gitDir}`, 'cat-file', '--batch', '--buffer'], {
      cwd: gitDir,
      env: storeEnv(),
      stdio: ['pipe', 'pipe', 'ignore'],
      windowsHide: true,
    });
    const answers = new Answers();
    let used = 0;
    let failure: { error: unknown } | null = null;
    child.stdout.on('data', (chunk: Buffer) => {
      if (failure) return;
      try {
        answers.add(chunk);
        for (let next = answers.next(); next !== undefined && used < oids.length; next = answers.next()) {
          use(used, next);
          used += 1;
        }
      } catch (error) {
        failure = { error };
        child.kill('SIGKILL');
      }
    });
    child.stdin.on('error', () => undefined); // it ended before it had read all: then not all was used
    child.on('error', (error) => (failure ??= { error }));
    child.on('close', () => {
      if (failure) reject(failure.error instanceof Error ? failure.error : new Error(String(failure.error)));
      else resolve({ used });
    });
    child.stdin.end(oids.map((oid) => `${oid}\n`).join(''));
  });
}

/** What `cat-file --batch` says, object by object. */
class Answers {
  private parts: Buffer[] = [];
  private size = 0;
  private header: { type: ObjectType; length: number } | null = null;

  add(chunk: Buffer): void {
    this.parts.push(chunk);
    this.size += chunk.length;
  }

  /** undefined: it has not arrived yet. */
  next(): GitObject | null | undefined {
    if (!this.header) {
      const all = this.joined();
      const end = all.indexOf(10);
      if (end < 0) return undefined;
      const words = this.take(end + 1)
        .toString('latin1', 0, end)
        .split(' ');
      if (words.length === 2) return null; // "ID missing"
      this.header = { type: words[1] as ObjectType, length: Number(words[2]) };
    }
    const { type, length } = this.header;
    if (this.size < length + 1) return undefined;
    this.header = null;
    return { type, data: this.take(length + 1).subarray(0, length) };
  }

  private joined(): Buffer {
    if (this.parts.length !== 1) this.parts = [Buffer.concat(this.parts)];
    return this.parts[0]!;
  }

  private take(length: number): Buffer {
    const all = this.joined();
    this.parts = [all.subarray(length)];
    this.size -= length;
    return all.subarray(0, length);
  }
}

/** The content of a file, as `use` of `eachObject` gets it. */
export function blobOf(oid: string, object: GitObject | null): Buffer {
  if (object?.type !== 'blob') throw new CheckpointsError('store-broken', `The store has lost the content ${oid}.`);
  return object.data;
}
