import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, appendFile, copyFile, link, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, parse, sep } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { codeOf, writeAtomic } from '../core/atomic-file';
import { marker } from './layout';
import { BackupError, folderError, isPassing } from './trouble';

export interface Written {
  size: number;
  sha256: string;
}

export const hashOf = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex');

const format = 1;
/** A cloud client lets go of a file within moments. */
const patienceMs = [50, 100, 200, 400];

/**
 * The backup's folder, which is not ours alone: it may be on a drive that is pulled out, in the hands of a cloud client, shared with other machines, or
 * renamed while we write. Nothing below it is made unless it is still the folder that was opened.
 */
export class BackupFolder {
  private constructor(
    readonly path: string,
    /** Tells this backup from another one in the same place. */
    readonly id: string,
    private readonly identity: string,
  ) {}

  /** `remembered` is the id of the backup that was here before: when it is gone nothing new is begun in its place, unless that is wanted. */
  static async open(path: string, remembered: string | null, startAnew = false): Promise<BackupFolder> {
    const expected = startAnew ? null : remembered;
    try {
      if (!(await isFolder(path))) {
        if (expected !== null) throw new BackupError('destination-missing', `${path} is not there`);
        await makeFirst(path);
      }
      const id = await readMarker(path);
      if (id !== null) return new BackupFolder(path, id, await identityOf(path));
      if (expected !== null)
        throw new BackupError('destination-missing', `The backup that was in ${path} is not there any more`);
      const fresh = randomUUID();
      const content = { format, id: fresh, createdAt: new Date().toISOString(), about: 'Sessions of OpenCode' };
      await writeAtomic(join(path, marker), `${JSON.stringify(content, null, 2)}\n`);
      return new BackupFolder(path, fresh, await identityOf(path));
    } catch (error) {
      throw folderError(error, path);
    }
  }

  /** To read only: nothing is made. Null when there is no folder. */
  static async look(path: string): Promise<BackupFolder | null> {
    try {
      if (!(await isFolder(path))) return null;
      await access(path, constants.R_OK);
      return new BackupFolder(path, (await readMarker(path)) ?? '', await identityOf(path));
    } catch (error) {
      throw folderError(error, path);
    }
  }

  /** Renamed, unmounted or replaced since: whatever is written now would go astray. */
  async check(): Promise<void> {
    let now: string;
    try {
      now = await identityOf(this.path);
    } catch (error) {
      throw folderError(error, this.path);
    }
    if (now !== this.identity)
      throw new BackupError('destination-missing', `${this.path} is not the folder any more that it was`);
  }

  absolute(file: string): string {
    return join(this.path, ...file.split('/'));
  }

  /** The file has its old content or all of the new one. `beforeRename` runs when the new one is on disk and not yet in place. */
  async write(file: string, content: string, beforeRename?: () => Promise<void>): Promise<Written> {
    await this.makeParents(file);
    await this.patiently(file, () => writeAtomic(this.absolute(file), content, 0o600, beforeRename));
    const bytes = Buffer.from(content);
    return { size: bytes.length, sha256: hashOf(bytes) };
  }

  /** Under a second name, without a moment in which it has none. Does nothing when that is there. */
  async keep(file: string, as: string): Promise<void> {
    await this.makeParents(as);
    const [from, to] = [this.absolute(file), this.absolute(as)];
    await this.patiently(as, async () => {
      try {
        await link(from, to);
      } catch (error) {
        if (codeOf(error) === 'EEXIST') return;
        if (codeOf(error) === 'ENOENT') throw error;
        // Not every file system, and hardly any cloud folder, has second names.
        await copyWhole(from, to);
      }
    });
  }

  async move(from: string, to: string): Promise<void> {
    await this.makeParents(to);
    await this.patiently(from, () => rename(this.absolute(from), this.absolute(to)));
  }

  async remove(file: string): Promise<void> {
    await this.check();
    await this.patiently(file, () => rm(this.absolute(file), { force: true }));
  }

  /** Null when it is not there. */
  async read(file: string): Promise<Buffer | null> {
    try {
      return await readFile(this.absolute(file));
    } catch (error) {
      if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return null;
      throw folderError(error, this.absolute(file));
    }
  }

  async size(file: string): Promise<number | null> {
    try {
      const info = await stat(this.absolute(file));
      return info.isFile() ? info.size : null;
    } catch (error) {
      if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return null;
      throw folderError(error, this.absolute(file));
    }
  }

  /** Names in a folder, none when it is not there. */
  async list(folder: string): Promise<Array<{ name: string; isFolder: boolean }>> {
    try {
      const entries = await readdir(this.absolute(folder), { withFileTypes: true });
      return entries.map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }));
    } catch (error) {
      if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return [];
      throw folderError(error, this.absolute(folder));
    }
  }

  /** Removes what a killed writer left, once it is too old to be in anybody's hands. */
  async sweep(file: string, ageMs = 3_600_000): Promise<void> {
    if (!/\.tmp-\d+-[0-9a-f]{12}$/.test(file)) return;
    const info = await stat(this.absolute(file)).catch(() => null);
    if (info !== null && Date.now() - info.mtimeMs > ageMs) await this.remove(file);
  }

  /** Lines at the end of a file, on disk when it returns. */
  async append(file: string, text: string): Promise<void> {
    await this.makeParents(file);
    await this.patiently(file, async () => {
      const handle = await open(this.absolute(file), 'a', 0o600);
      try {
        await handle.appendFile(text);
        await handle.sync();
      } finally {
        await handle.close();
      }
    });
  }

  /** For what may be lost: a log. */
  async appendLoosely(file: string, text: string): Promise<void> {
    await this.check();
    await this.patiently(file, () => appendFile(this.absolute(file), text, { mode: 0o600 }));
  }

  /** One level after the other: all at once would also make a backup folder that has just been renamed. */
  private async makeParents(file: string): Promise<void> {
    await this.check();
    const parts = file.split('/').slice(0, -1);
    for (let depth = 1; depth <= parts.length; depth++) {
      const folder = this.absolute(parts.slice(0, depth).join('/'));
      try {
        await mkdir(folder, { mode: 0o700 });
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw folderError(error, folder);
      }
    }
  }

  private async patiently(file: string, work: () => Promise<void>): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        const wait = patienceMs[attempt];
        if (wait === undefined || !isPassing(error)) throw folderError(error, this.absolute(file));
        await pause(wait);
      }
    }
  }
}

async function copyWhole(from: string, to: string): Promise<void> {
  const temp = `${to}.tmp-${process.pid}-${hashOf(`${Date.now()}${Math.random()}`).slice(0, 12)}`;
  try {
    await copyFile(from, temp);
    const handle = await open(temp, 'r+');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temp, to);
  } catch (error) {
    await rm(temp, { force: true });
    throw error;
  }
}

async function isFolder(path: string): Promise<boolean> {
  try {
    const info = await stat(path);
    if (info.isDirectory()) return true;
    throw new BackupError('destination-missing', `${path} is not a folder`);
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return false;
    throw error;
  }
}

async function identityOf(path: string): Promise<string> {
  const { dev, ino } = await stat(path, { bigint: true });
  return `${dev}:${ino}`;
}

async function readMarker(path: string): Promise<string | null> {
  let text: string;
  try {
    text = await readFile(join(path, marker), 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
  let content: { format?: unknown; id?: unknown } = {};
  try {
    content = JSON.parse(text) as typeof content;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  if (typeof content?.format === 'number' && content.format > format)
    throw new BackupError('failed', `${path} was written by a newer version of this program`);
  // Damaged, yet a backup: its sessions do not depend on it.
  return typeof content?.id === 'string' && content.id !== '' ? content.id : 'unknown';
}

/** Where drives are mounted: a folder that is missing below them is a drive that is not connected. */
const mountPoints = /^(\/Volumes|\/media(\/[^/]+)?|\/mnt|\/run\/media(\/[^/]+)?|.*\/Library\/CloudStorage)$/;

async function makeFirst(path: string): Promise<void> {
  let above = dirname(path);
  while (!(await isFolder(above)) && dirname(above) !== above) above = dirname(above);
  const unmounted = mountPoints.test(above.split(sep).join('/'));
  if (unmounted || (parse(above).root === above && above !== dirname(path)))
    throw new BackupError('destination-missing', `${path} is not there, and the folder above it is not ours to make`);
  await mkdir(path, { recursive: true, mode: 0o700 });
}
