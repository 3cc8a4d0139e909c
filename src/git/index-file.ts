import { createHash } from 'node:crypto';
import type { HashName } from './pack-writer';
import { comparePaths, decodePath, encodePath, isAscii } from './path-bytes';

/** Ten words of stat data, as git stores them: ctime, mtime (seconds, nanoseconds), dev, ino, mode, uid, gid, size. */
export const statBytes = 40;

/** One entry. There are as many as files, so it is small: its stat data stays where it was read. */
export interface IndexEntry {
  path: string;
  mode: number;
  oid: string;
  /** 0 for a plain one; else git's stage (1 to 3), skip-worktree (4), intent-to-add (8). */
  flags: number;
  /** Where in the source its stat data lie; -1: unknown, so that git reads the file next time. */
  statAt: number;
}

/** An entry that git must look at. */
export function plainEntry(path: string, oid: string, mode = 0o100644, statAt = -1): IndexEntry {
  return { path, mode, oid, flags: 0, statAt };
}

/** Size on disk as the stat data say, modulo 2^32. */
export function statSize(source: Buffer, entry: IndexEntry): number {
  return source.readUInt32BE(entry.statAt + 36);
}

export interface ParsedIndex {
  entries: IndexEntry[];
  /** Where the entries end. */
  end: number;
  /** By name, e.g. `link` (split index) and `sdir` (sparse index). */
  extensions: Map<string, Buffer>;
}

/** git's index, versions 2 to 4. Throws on anything it does not know. */
export function parseIndex(data: Buffer, oidBytes: number): ParsedIndex {
  if (data.toString('latin1', 0, 4) !== 'DIRC') throw new Error('not a git index');
  const version = data.readUInt32BE(4);
  if (version < 2 || version > 4) throw new Error(`index version ${version}`);
  const count = data.readUInt32BE(8);
  const entries: IndexEntry[] = new Array<IndexEntry>(count);
  let at = 12;
  let previous: Buffer = Buffer.alloc(0);
  const fixed = 40 + oidBytes;
  // Names are cut out of one long string, and numbers read byte by byte: there are as many as files, and asking the buffer for each costs several times as much.
  const text = version < 4 ? data.toString('latin1') : '';
  for (let i = 0; i < count; i++) {
    const start = at;
    const flagsAt = start + fixed;
    if (flagsAt + 2 > data.length) throw new Error('index ends within its entries');
    const flags = (data[flagsAt]! << 8) | data[flagsAt + 1]!;
    const extended = version >= 3 && (flags & 0x4000) !== 0;
    const more = extended ? data.readUInt16BE(flagsAt + 2) : 0;
    const name = flagsAt + 2 + (extended ? 2 : 0);
    let path: string;
    if (version === 4) {
      const [strip, next] = readOffset(data, name);
      const end = data.indexOf(0, next);
      previous = Buffer.concat([previous.subarray(0, previous.length - strip), data.subarray(next, end)]);
      path = decodePath(previous);
      at = end + 1;
    } else {
      const length = flags & 0xfff;
      const end = length < 0xfff ? name + length : data.indexOf(0, name);
      const bytes = text.slice(name, end);
      path = isAscii(bytes) ? bytes : decodePath(data.subarray(name, end));
      at = start + ((end - start + 8) & ~7);
    }
    entries[i] = {
      path,
      mode:
        ((data[start + 24]! << 24) | (data[start + 25]! << 16) | (data[start + 26]! << 8) | data[start + 27]!) >>> 0,
      oid: data.toString('hex', start + 40, start + 40 + oidBytes),
      flags: ((flags >> 12) & 3) | ((more & 0x4000) >> 12) | ((more & 0x2000) >> 10),
      statAt: start,
    };
  }
  return { entries, end: at, extensions: extensionsFrom(data, at, oidBytes) };
}

function extensionsFrom(data: Buffer, end: number, oidBytes: number): Map<string, Buffer> {
  const extensions = new Map<string, Buffer>();
  for (let at = end; at + 8 <= data.length - oidBytes;) {
    const next = at + 8 + data.readUInt32BE(at + 4);
    extensions.set(data.toString('latin1', at, at + 4), data.subarray(at + 8, next));
    at = next;
  }
  return extensions;
}

/** As much of an index as is known without making anything of its entries. */
export interface PlainIndex {
  count: number;
  /** Where the entries end. */
  end: number;
  extensions: Map<string, Buffer>;
}

/** null unless every entry is a file or link as `formatIndex` would write it, and all of them are there. */
export function plainIndex(data: Buffer, oidBytes: number): PlainIndex | null {
  if (data.length < 12 || data.toString('latin1', 0, 4) !== 'DIRC') return null;
  const version = data.readUInt32BE(4);
  if (version !== 2 && version !== 3) return null;
  const count = data.readUInt32BE(8);
  let at = 12;
  for (let left = count; left > 0; left -= 1) {
    const flagsAt = at + 40 + oidBytes;
    // No flag, no name that is too long for its field.
    const high = data[flagsAt];
    const length = ((high ?? 0) << 8) | (data[flagsAt + 1] ?? 0);
    if (high === undefined || length >= 0xfff || !fileKinds.includes(data[at + 26]!)) return null;
    at = entryEnd(at, oidBytes, length);
  }
  if (at > data.length - oidBytes) return null;
  const extensions = extensionsFrom(data, at, oidBytes);
  return extensions.has('link') || extensions.has('sdir') ? null : { count, end: at, extensions };
}

/** The byte of the mode that tells what it is: a file, a link. */
const fileKinds: readonly number[] = [0x81, 0xa0];

const entryEnd = (at: number, oidBytes: number, length: number): number => at + ((42 + oidBytes + length + 8) & ~7);

function readOffset(data: Buffer, at: number): [number, number] {
  let byte = data[at++]!;
  let value = byte & 127;
  while (byte & 128) {
    byte = data[at++]!;
    value = ((value + 1) << 7) | (byte & 127);
  }
  return [value, at];
}

/**
 * Version 2, no extensions: git adds its caches itself. `source` holds the entries' stat data; where it is an index (`oids`),
 * the ids follow them there.
 */
export function formatIndex(
  entries: IndexEntry[],
  algorithm: HashName,
  source: Buffer,
  has: { oids?: boolean } = {},
): Buffer {
  const sorted = inOrder(entries) ? entries : [...entries].sort((a, b) => comparePaths(a.path, b.path));
  const oidBytes = algorithm === 'sha1' ? 20 : 32;
  const lengths = sorted.map((entry) => encodedLength(entry.path));
  let total = 12;
  for (const length of lengths) total += (42 + oidBytes + length + 8) & ~7;
  const out = Buffer.alloc(total);
  out.write('DIRC', 0, 'latin1');
  out.writeUInt32BE(2, 4);
  out.writeUInt32BE(sorted.length, 8);
  let at = 12;
  for (const [i, entry] of sorted.entries()) {
    const length = lengths[i]!;
    const copied = entry.statAt < 0 ? 0 : has.oids ? statBytes + oidBytes : statBytes;
    if (copied > 0) source.copy(out, at, entry.statAt, entry.statAt + copied);
    out.writeUInt32BE(entry.mode, at + 24);
    if (copied <= statBytes) out.write(entry.oid, at + 40, 'hex');
    out.writeUInt16BE(Math.min(length, 0xfff), at + 40 + oidBytes);
    if (isAscii(entry.path)) out.write(entry.path, at + 42 + oidBytes, 'latin1');
    else encodePath(entry.path).copy(out, at + 42 + oidBytes);
    at += (42 + oidBytes + length + 8) & ~7;
  }
  return Buffer.concat([out, createHash(algorithm).update(out).digest()]);
}

/** A plain index with one entry more, otherwise as it is, and with this `TREE` extension alone. */
export function insertEntry(
  source: Buffer,
  { count, end }: PlainIndex,
  entry: IndexEntry,
  tree: Buffer,
  algorithm: HashName,
): Buffer {
  const checksum = algorithm === 'sha1' ? 20 : 32;
  const path = encodePath(entry.path);
  let at = 12;
  while (at < end) {
    const name = at + 42 + checksum;
    const length = source.readUInt16BE(name - 2);
    if (source.compare(path, 0, path.length, name, name + length) >= 0) break;
    at = entryEnd(at, checksum, length);
  }
  const one = formatIndex([entry], algorithm, source);
  const head = Buffer.from(source.subarray(0, 12));
  head.writeUInt32BE(count + 1, 8);
  const extension = Buffer.alloc(8);
  extension.write('TREE', 'latin1');
  extension.writeUInt32BE(tree.length, 4);
  const parts = [head, source.subarray(12, at), one.subarray(12, one.length - checksum), source.subarray(at, end)];
  const out = Buffer.concat([...parts, extension, tree]);
  return Buffer.concat([out, createHash(algorithm).update(out).digest()]);
}

function inOrder(entries: IndexEntry[]): boolean {
  for (let i = 1; i < entries.length; i++) if (comparePaths(entries[i - 1]!.path, entries[i]!.path) >= 0) return false;
  return true;
}

function encodedLength(path: string): number {
  return isAscii(path) ? path.length : encodePath(path).length;
}
