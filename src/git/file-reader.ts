import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  readlinkSync,
  type BigIntStats,
} from 'node:fs';
import { fsPath } from './path-bytes';
import { isMissing } from './refs';
import { modes } from './tree-format';

/** What lies at a path of the workspace right now. */
export type Found =
  | { kind: 'file' | 'link'; mode: number; data: Buffer; stat: BigIntStats }
  | { kind: 'missing' }
  | { kind: 'folder' }
  | { kind: 'special' }
  | { kind: 'too-large'; size: number }
  | { kind: 'unreadable'; reason: string };

const attempts = 3;
/** Node reads no more at once, whatever the settings allow. */
const largest = 2 ** 31 - 2;

/** What the way to a folder of the workspace is: real folders all along, one that is not there, or a link or a file in between. */
type Way = 'real' | 'missing' | 'blocked';

/**
 * Reads files exactly as they are. A path below a symlink is `missing`: it is not a file of this workspace.
 * A file that changes while it is read is read again, and given up as unreadable rather than stored torn.
 */
export class FileReader {
  private ways = new Map<string, Way>();

  private readonly maxFileSize: number;
  private readonly buffer: ((size: number) => Buffer) | undefined;

  constructor(
    private readonly root: string,
    maxFileSize: number,
    /** Where contents are read into: they are good until it is used again. Each has one of its own without it. */
    { buffer }: { buffer?: (size: number) => Buffer } = {},
  ) {
    this.maxFileSize = Math.min(maxFileSize, largest);
    this.buffer = buffer;
  }

  read(path: string): Found {
    try {
      if (!this.isRealFolder(parentOf(path))) return { kind: 'missing' };
      for (let i = 0; i < attempts; i++) {
        const found = this.readOnce(path);
        if (found) return found;
      }
      return { kind: 'unreadable', reason: 'changed while it was read' };
    } catch (error) {
      if (isMissing(error)) return { kind: 'missing' };
      const code = (error as NodeJS.ErrnoException).code ?? String(error);
      return { kind: 'unreadable', reason: code };
    }
  }

  /** null: it changed meanwhile. */
  private readOnce(path: string): Found | null {
    const full = fsPath(this.root, path);
    const seen = lstatSync(full, { bigint: true });
    if (seen.isSymbolicLink()) {
      const data = readlinkSync(full, { encoding: 'buffer' }) as unknown as Buffer;
      return { kind: 'link', mode: modes.link, data, stat: seen };
    }
    if (seen.isDirectory()) return { kind: 'folder' };
    if (!seen.isFile()) return { kind: 'special' };
    if (seen.size > BigInt(this.maxFileSize)) return { kind: 'too-large', size: Number(seen.size) };
    const fd = openSync(full, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
    try {
      const before = fstatSync(fd, { bigint: true });
      if (!before.isFile() || before.size > BigInt(this.maxFileSize)) return null;
      const data = readAll(fd, Number(before.size), this.buffer);
      const after = fstatSync(fd, { bigint: true });
      const torn = before.mtimeNs !== after.mtimeNs || before.size !== after.size || data.length !== Number(after.size);
      if (torn) return null;
      const mode = (Number(before.mode) & 0o100) !== 0 ? modes.executable : modes.file;
      return { kind: 'file', mode, data, stat: before };
    } finally {
      closeSync(fd);
    }
  }

  /** Whether every folder on the way is a real one, not a link. */
  isRealFolder(folder: string): boolean {
    return this.wayTo(folder) === 'real';
  }

  /** Remembered, also for the folders above. */
  wayTo(folder: string): Way {
    if (folder === '') return 'real';
    const known = this.ways.get(folder);
    if (known !== undefined) return known;
    const above = this.wayTo(parentOf(folder));
    const way = above === 'real' ? this.lookAt(folder) : above;
    this.ways.set(folder, way);
    return way;
  }

  /** It was removed: what is known of the folders above still holds. */
  forgetFolder(folder: string): void {
    this.ways.delete(folder);
  }

  private lookAt(folder: string): Way {
    try {
      return lstatSync(fsPath(this.root, folder)).isDirectory() ? 'real' : 'blocked';
    } catch (error) {
      if (!isMissing(error)) throw error;
      return 'missing';
    }
  }
}

function readAll(
  fd: number,
  size: number,
  buffer: (size: number) => Buffer = (length) => Buffer.allocUnsafe(length),
): Buffer {
  // One byte more than expected tells a file that grew; so does its size, which is looked at again.
  const data = buffer(size + 1);
  let length = 0;
  for (;;) {
    const got = readSync(fd, data, length, data.length - length, null);
    length += got;
    if (got === 0 || length >= size) return data.subarray(0, length);
  }
}

export function parentOf(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash < 0 ? '' : path.slice(0, slash);
}
