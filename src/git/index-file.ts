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
  /** Every entry is as `formatIndex` would write it. */
  plain: boolean;
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
  let plain = version < 4;
  const fixed = 40 + oidBytes;
  for (let i = 0; i < count; i++) {
    const start = at;
    const flags = data.readUInt16BE(at + fixed);
    if ((flags & 0xf000) !== 0) plain = false;
    const extended = version >= 3 && (flags & 0x4000) !== 0;
    const more = extended ? data.readUInt16BE(at + fixed + 2) : 0;
    let name = at + fixed + 2 + (extended ? 2 : 0);
    let path: Buffer;
    if (version === 4) {
      const [strip, next] = readOffset(data, name);
      const end = data.indexOf(0, next);
      path = Buffer.concat([previous.subarray(0, previous.length - strip), data.subarray(next, end)]);
      previous = path;
      at = end + 1;
    } else {
      const length = flags & 0xfff;
      const end = length < 0xfff ? name + length : data.indexOf(0, name);
      path = data.subarray(name, end);
      name = end;
      at = start + ((end - start + 8) & ~7);
    }
    entries[i] = {
      path: decodePath(path),
      mode: data.readUInt32BE(start + 24),
      oid: data.toString('hex', start + 40, start + 40 + oidBytes),
      flags: ((flags >> 12) & 3) | ((more & 0x4000) >> 12) | ((more & 0x2000) >> 10),
      statAt: start,
    };
  }
  const end = at;
  const extensions = new Map<string, Buffer>();
  while (at + 8 <= data.length - oidBytes) {
    const next = at + 8 + data.readUInt32BE(at + 4);
    extensions.set(data.toString('latin1', at, at + 4), data.subarray(at + 8, next));
    at = next;
  }
  return { entries, end, extensions, plain };
}

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
  { entries, end }: ParsedIndex,
  entry: IndexEntry,
  tree: Buffer,
  algorithm: HashName,
): Buffer {
  let low = 0;
  for (let high = entries.length; low < high;) {
    const middle = (low + high) >> 1;
    if (comparePaths(entries[middle]!.path, entry.path) < 0) low = middle + 1;
    else high = middle;
  }
  const at = entries[low]?.statAt ?? end;
  const checksum = algorithm === 'sha1' ? 20 : 32;
  const one = formatIndex([entry], algorithm, source);
  const head = Buffer.from(source.subarray(0, 12));
  head.writeUInt32BE(entries.length + 1, 8);
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
