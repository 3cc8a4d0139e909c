import { createHash } from 'node:crypto';
import type { HashName } from './pack-writer';
import { comparePaths, decodePath, encodePath } from './path-bytes';

/** What git remembers of a file to see without reading it whether it changed. */
export interface StatData {
  ctime: [number, number];
  mtime: [number, number];
  dev: number;
  ino: number;
  uid: number;
  gid: number;
  size: number;
}

export interface IndexEntry {
  path: string;
  mode: number;
  oid: string;
  stage: number;
  assumeValid: boolean;
  skipWorktree: boolean;
  intentToAdd: boolean;
  /** null: unknown, so that git reads the file next time. */
  stat: StatData | null;
}

/** An entry that git must look at. */
export function plainEntry(path: string, oid: string, mode = 0o100644, stat: StatData | null = null): IndexEntry {
  return { path, mode, oid, stage: 0, assumeValid: false, skipWorktree: false, intentToAdd: false, stat };
}

export interface ParsedIndex {
  entries: IndexEntry[];
  /** Names of the extensions, e.g. `link` (split index) and `sdir` (sparse index). */
  extensions: string[];
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
  for (let i = 0; i < count; i++) {
    const start = at;
    const fixed = 40 + oidBytes;
    const flags = data.readUInt16BE(at + fixed);
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
      const end = data.indexOf(0, name);
      path = data.subarray(name, end);
      name = end;
      at = start + ((end - start + 8) & ~7);
    }
    const u = (offset: number): number => data.readUInt32BE(start + offset);
    entries[i] = {
      path: decodePath(path),
      mode: u(24),
      oid: data.toString('hex', start + 40, start + 40 + oidBytes),
      stage: (flags >> 12) & 3,
      assumeValid: (flags & 0x8000) !== 0,
      skipWorktree: (more & 0x4000) !== 0,
      intentToAdd: (more & 0x2000) !== 0,
      stat: { ctime: [u(0), u(4)], mtime: [u(8), u(12)], dev: u(16), ino: u(20), uid: u(28), gid: u(32), size: u(36) },
    };
  }
  const extensions: string[] = [];
  while (at + 8 <= data.length - oidBytes) {
    extensions.push(data.toString('latin1', at, at + 4));
    at += 8 + data.readUInt32BE(at + 4);
  }
  return { entries, extensions };
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

/** Version 2, no extensions: git adds its caches itself. */
export function formatIndex(entries: IndexEntry[], algorithm: HashName): Buffer {
  const sorted = [...entries].sort((a, b) => comparePaths(a.path, b.path));
  const oidBytes = algorithm === 'sha1' ? 20 : 32;
  const names = sorted.map((entry) => encodePath(entry.path));
  let total = 12;
  for (const name of names) total += (42 + oidBytes + name.length + 8) & ~7;
  const out = Buffer.alloc(total);
  out.write('DIRC', 0, 'latin1');
  out.writeUInt32BE(2, 4);
  out.writeUInt32BE(sorted.length, 8);
  let at = 12;
  for (const [i, entry] of sorted.entries()) {
    const name = names[i]!;
    const s = entry.stat;
    if (s) {
      const words = [...s.ctime, ...s.mtime, s.dev, s.ino, entry.mode, s.uid, s.gid, s.size];
      for (const [n, word] of words.entries()) out.writeUInt32BE(word >>> 0, at + n * 4);
    } else {
      out.writeUInt32BE(entry.mode, at + 24);
    }
    out.write(entry.oid, at + 40, 'hex');
    out.writeUInt16BE(Math.min(name.length, 0xfff), at + 40 + oidBytes);
    name.copy(out, at + 42 + oidBytes);
    at += (42 + oidBytes + name.length + 8) & ~7;
  }
  return Buffer.concat([out, createHash(algorithm).update(out).digest()]);
}
