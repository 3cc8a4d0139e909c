import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  linkSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { CheckpointsError } from '../core/errors';
import { makeFolder } from './folders';
import { isAlive, ownIdentity, type ProcessIdentity } from './process-identity';
import { isMissing } from './refs';

export interface Lease {
  release(): void;
}

interface Owner extends ProcessIdentity {
  purpose: string;
}

const exclusiveName = 'exclusive';
/** Touched by whoever has to wait: a holder that can stop half-way looks for it. */
const wantedName = 'wanted';
const heartbeatMs = 10_000;
/** A lease that cannot be read has an owner for as long as its heart may beat. */
const unreadableMs = 3 * heartbeatMs;
const nobody: Owner = { pid: 0, host: 'unknown', start: '', purpose: 'unknown' };

/**
 * Many captures or one restore (or pruning): shared and exclusive leases among any number of processes, as
 * files in one folder. A shared holder writes its file, then looks for the exclusive one; the exclusive holder
 * writes its file, then looks for shared ones: at least one of two sees the other. Files of the dead are removed.
 */
export class Leases {
  constructor(private readonly folder: string) {}

  /** For a capture. Waits for an exclusive holder for at most `waitMs`. */
  async shared(purpose: string, waitMs: number, signal?: AbortSignal): Promise<Lease> {
    const name = `shared-${process.pid}-${randomBytes(6).toString('hex')}`;
    return this.wait(waitMs, signal, () => {
      // Looking first keeps those who wait from being taken for those who work.
      const before = this.living(exclusiveName);
      if (before) return before;
      const lease = this.create(name, purpose);
      if (!lease) return null;
      const holder = this.living(exclusiveName);
      if (!holder) return lease;
      lease.release();
      return holder;
    });
  }

  /** For a restore or pruning: nobody else captures, restores or prunes meanwhile. */
  async exclusive(purpose: string, waitMs: number, signal?: AbortSignal): Promise<Lease> {
    const lease = await this.wait(waitMs, signal, () => {
      const made = this.create(exclusiveName, purpose);
      return made ?? this.living(exclusiveName);
    });
    try {
      await this.wait(waitMs, signal, () => this.holders()[0] ?? lease);
      return lease;
    } catch (error) {
      lease.release();
      throw error;
    }
  }

  /** Forgets who waited before. */
  clearWanted(): void {
    rmSync(join(this.folder, wantedName), { force: true });
  }

  /** Whether somebody waits for a lease since `clearWanted`. */
  wanted(): boolean {
    return existsSync(join(this.folder, wantedName));
  }

  private want(): void {
    writeFileSync(join(this.folder, wantedName), '');
  }

  /** Living shared holders. */
  private holders(): Owner[] {
    const owners: Owner[] = [];
    for (const name of this.names()) {
      if (!name.startsWith('shared-') || this.isDraft(name)) continue;
      const owner = this.living(name);
      if (owner) owners.push(owner);
    }
    return owners;
  }

  /** Not a lease yet, and perhaps only half written; what a process left that died there is removed. */
  private isDraft(name: string): boolean {
    if (!name.includes('.new-')) return false;
    const path = join(this.folder, name);
    const seen = statSync(path, { throwIfNoEntry: false });
    if (seen && Date.now() - seen.mtimeMs > 60_000) rmSync(path, { force: true });
    return true;
  }

  private names(): string[] {
    try {
      return readdirSync(this.folder);
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  private async wait(
    waitMs: number,
    signal: AbortSignal | undefined,
    attempt: () => Lease | Owner | null,
  ): Promise<Lease> {
    const deadline = Date.now() + waitMs;
    for (let delay = 1; ; delay = Math.min(delay * 2, 40)) {
      const got = attempt();
      if (got && 'release' in got) return got;
      if (signal?.aborted) throw new CheckpointsError('cancelled', 'Cancelled.');
      if (Date.now() >= deadline) {
        const who = got ? ` (${got.purpose}, process ${got.pid} on ${got.host})` : '';
        throw new CheckpointsError(
          'busy',
          `Another process is working on these checkpoints${who}. Try again in a moment.`,
        );
      }
      if (delay === 1) this.want();
      await new Promise((resolve) => setTimeout(resolve, delay));
    }
  }

  /** null when the name is taken. */
  private create(name: string, purpose: string): Lease | null {
    makeFolder(this.folder);
    const path = join(this.folder, name);
    const owner: Owner = { ...ownIdentity(), purpose };
    // Written under another name first: nobody ever sees a lease whose owner cannot be read.
    const draft = `${path}.new-${process.pid}-${randomBytes(4).toString('hex')}`;
    write(draft, JSON.stringify(owner));
    if (!claim(draft, path, name === exclusiveName)) return null;
    const timer = setInterval(() => touch(path), heartbeatMs);
    timer.unref();
    let held = true;
    return {
      release: () => {
        if (!held) return;
        held = false;
        clearInterval(timer);
        rmSync(path, { force: true });
      },
    };
  }

  /** The owner if it lives; the file of a dead one is removed. */
  private living(name: string): Owner | null {
    const path = join(this.folder, name);
    try {
      const seen = statSync(path);
      const owner = parseOwner(readFileSync(path, 'utf8'));
      const ageMs = Date.now() - seen.mtimeMs;
      if (owner ? isAlive(owner, ageMs) : Math.abs(ageMs) < unreadableMs) return owner ?? nobody;
      // Of several that see the dead, one moves it aside; a newcomer's file (another inode) is put back.
      const aside = `${path}.dead-${process.pid}-${randomBytes(4).toString('hex')}`;
      renameSync(path, aside);
      if (statSync(aside).ino !== seen.ino) renameSync(aside, path);
      else rmSync(aside, { force: true });
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
    return null;
  }
}

/** null for what a power failure leaves: the file, and nothing or only half of it in it. */
function parseOwner(text: string): Owner | null {
  try {
    const value = JSON.parse(text) as Partial<Owner> | null;
    return typeof value?.pid === 'number' ? (value as Owner) : null;
  } catch {
    return null;
  }
}

/** A full disk must not leave half of it behind. */
function write(path: string, content: string): void {
  const fd = openSync(path, 'wx', 0o600);
  try {
    writeSync(fd, content);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** A rename would replace the exclusive lease of another; a link refuses. Shared names are unique. */
function claim(draft: string, path: string, exclusive: boolean): boolean {
  if (!exclusive) {
    renameSync(draft, path);
    return true;
  }
  try {
    linkOrCreate(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function linkOrCreate(draft: string, path: string): void {
  const content = readFileSync(draft, 'utf8');
  try {
    linkSync(draft, path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'EEXIST') throw error;
    // A volume without hard links: exclusive creation is the next best, its window is one write.
    write(path, content);
  }
}

function touch(path: string): void {
  try {
    const now = new Date();
    utimesSync(path, now, now);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}
