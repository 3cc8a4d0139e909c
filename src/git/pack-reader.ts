import { createHash } from 'node:crypto';
import { closeSync, openSync, readdirSync, readFileSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import type { GitObject, ObjectType } from './object-reader';
import { hashObject, type HashName } from './pack-writer';
import { applyDelta } from './pack-delta';

/** Larger ones are for git: nobody is kept waiting for them here. */
const sizeLimit = 4 << 20;
/** git's own packs have chains of 50. */
const chainLimit = 64;
const headerLength = 8 + 256 * 4;
/** An entry of the index of a pack is looked for in pieces of this many names. */
const namesAtOnce = 256;
/** A pack is proved as a whole where that is cheaper than reading the objects in question: so many of them, in a pack no larger than this. */
const proofLimits = { objects: 64, bytes: 24 << 20 };

/** How many names of a pack begin with a byte up to this one. */
interface PackNames {
  path: string;
  fanout: number[];
}

interface Folder {
  path: string;
  /** As it was listed last. */
  version: string;
  packs: Map<string, PackNames>;
}

/**
 * Reads single objects in process and at once. A resident git answers in a fraction of a millisecond, but the answer has to be waited
 * for, and in a busy process (OpenCode 1 does all its work on one thread) the wait is many times as long as the reading. Whatever is
 * given out has the hash it was asked for; whatever is not found or not understood here, git is asked for.
 */
export class PackReader {
  private readonly folders: Folder[];

  constructor(
    private readonly objects: readonly string[],
    private readonly algorithm: HashName,
  ) {
    this.folders = objects.map((path) => ({ path: join(path, 'pack'), version: '', packs: new Map() }));
  }

  /** `work` reads as many as it likes; files are open as long as it runs, so that deleted packs leave the disk. */
  reading<T>(work: (read: (oid: string) => GitObject | null) => T): T {
    const files = new OpenFiles();
    let listed = false;
    try {
      return work((oid) => {
        const isFirst = !listed;
        listed = true;
        return this.read(oid, files, isFirst);
      });
    } finally {
      files.close();
    }
  }

  private read(oid: string, files: OpenFiles, isFirst: boolean): GitObject | null {
    try {
      if (isFirst) this.list();
      const object = this.packed(oid, files, chainLimit) ?? this.loose(oid);
      return object && hashObject(object.type, object.data, this.algorithm) === oid ? object : null;
    } catch {
      // A pack that was rewritten meanwhile, or one that is damaged: git finds the former and names the latter.
      return null;
    }
  }

  /**
   * Those of these objects that lie in a pack whose bytes are those that were once written, which its checksums prove. Of the others nothing is
   * said.
   */
  inSoundPacks(oids: Iterable<string>): Set<string> {
    const sound = new Set<string>();
    let left = [...oids];
    try {
      this.list();
      for (const { packs } of this.folders)
        for (const pack of packs.values()) {
          if (left.length < proofLimits.objects) return sound;
          if (pack.fanout[255]! < proofLimits.objects || statSync(`${pack.path}.pack`).size > proofLimits.bytes)
            continue;
          const names = this.namesIn(pack);
          const held = left.filter((oid) => names.has(oid));
          if (held.length < proofLimits.objects || !isAsWritten(pack.path, this.algorithm)) continue;
          for (const oid of held) sound.add(oid);
          left = left.filter((oid) => !sound.has(oid));
        }
    } catch {
      // Deleted or unreadable meanwhile: what is in it is read by whoever asked.
    }
    return sound;
  }

  private namesIn({ path, fanout }: PackNames): Set<string> {
    const digits = this.algorithm === 'sha1' ? 40 : 64;
    const count = fanout[255]!;
    const all = readFileSync(`${path}.idx`).toString('hex', headerLength, headerLength + (count * digits) / 2);
    return new Set(Array.from({ length: count }, (_, i) => all.slice(i * digits, (i + 1) * digits)));
  }

  /** New packs are found, and those that are gone forgotten. */
  private list(): void {
    for (const folder of this.folders) {
      const stat = statSync(folder.path, { throwIfNoEntry: false });
      const version = stat ? `${stat.ino}:${stat.mtimeMs}` : '';
      if (version === folder.version) continue;
      const names = stat ? readdirSync(folder.path).filter((name) => name.endsWith('.idx')) : [];
      const known = folder.packs;
      folder.packs = new Map();
      for (const name of names) {
        const pack = known.get(name) ?? namesOf(join(folder.path, name.slice(0, -'.idx'.length)));
        if (pack) folder.packs.set(name, pack);
      }
      folder.version = version;
    }
  }

  private packed(oid: string, files: OpenFiles, chain: number): GitObject | null {
    const name = Buffer.from(oid, 'hex');
    for (const { packs } of this.folders)
      for (const pack of packs.values()) {
        const offset = this.find(pack, name, files);
        if (offset !== null) return this.entry(pack, offset, files, chain);
      }
    return null;
  }

  /** Where in the pack it begins. */
  private find({ path, fanout }: PackNames, name: Buffer, files: OpenFiles): number | null {
    let low = name[0] === 0 ? 0 : fanout[name[0]! - 1]!;
    let high = fanout[name[0]!]!;
    if (low === high) return null;
    const file = files.open(`${path}.idx`);
    const width = name.length;
    while (high - low > namesAtOnce) {
      const middle = (low + high) >>> 1;
      if (readAt(file, headerLength + middle * width, width).compare(name) > 0) high = middle;
      else low = middle;
    }
    const names = readAt(file, headerLength + low * width, (high - low) * width);
    for (let i = 0; i < high - low; i++) {
      if (names.compare(name, 0, width, i * width, (i + 1) * width) !== 0) continue;
      const count = fanout[255]!;
      const offsets = headerLength + count * (width + 4);
      const offset = readAt(file, offsets + (low + i) * 4, 4).readUInt32BE(0);
      if (offset < 0x80000000) return offset;
      return Number(readAt(file, offsets + count * 4 + (offset - 0x80000000) * 8, 8).readBigUInt64BE(0));
    }
    return null;
  }

  private entry(pack: PackNames, offset: number, files: OpenFiles, chain: number): GitObject | null {
    if (chain === 0) return null;
    const file = files.open(`${pack.path}.pack`);
    const width = this.algorithm === 'sha1' ? 20 : 32;
    const head = readAt(file, offset, 20 + width);
    let at = 0;
    const kind = (head[0]! >> 4) & 7;
    let size = head[0]! & 15;
    for (let factor = 16; head[at++]! & 0x80; factor *= 128) size += (head[at]! & 0x7f) * factor;
    if (size > sizeLimit) return null;
    let base: GitObject | null = null;
    if (kind === 6) {
      let back = head[at]! & 0x7f;
      while (head[at++]! & 0x80) back = (back + 1) * 128 + (head[at]! & 0x7f);
      base = this.entry(pack, offset - back, files, chain - 1);
    } else if (kind === 7) {
      base = this.packed(head.toString('hex', at, at + width), files, chain - 1);
      at += width;
    }
    const type = types[kind];
    if (!type && !base) return null;
    // Nothing becomes much longer by being compressed; what follows it is left alone.
    const data = inflateSync(readAt(file, offset + at, size + (size >> 8) + 128));
    if (data.length !== size) return null;
    return type ? { type, data } : base && { type: base.type, data: applyDelta(base.data, data) };
  }

  private loose(oid: string): GitObject | null {
    for (const folder of this.objects) {
      const path = join(folder, oid.slice(0, 2), oid.slice(2));
      const stat = statSync(path, { throwIfNoEntry: false });
      if (!stat || stat.size > sizeLimit) continue;
      const whole = inflateSync(readFileSync(path), { maxOutputLength: sizeLimit });
      const end = whole.indexOf(0);
      const [type] = whole.toString('latin1', 0, end).split(' ');
      return { type: type as ObjectType, data: whole.subarray(end + 1) };
    }
    return null;
  }
}

const types: Readonly<Record<number, ObjectType>> = { 1: 'commit', 2: 'tree', 3: 'blob', 4: 'tag' };

/** A pack and its index end with the hash of what stands before it, and the index names that of its pack before its own. */
function isAsWritten(path: string, algorithm: HashName): boolean {
  const width = algorithm === 'sha1' ? 20 : 32;
  const hashOf = (file: string): { right: boolean; data: Buffer } => {
    const data = readFileSync(file);
    const end = Math.max(0, data.length - width);
    const hash = createHash(algorithm).update(data.subarray(0, end)).digest();
    return { right: hash.equals(data.subarray(end)), data };
  };
  const index = hashOf(`${path}.idx`);
  if (!index.right) return false;
  const pack = hashOf(`${path}.pack`);
  return pack.right && index.data.subarray(-2 * width, -width).equals(pack.data.subarray(-width));
}

/** null for an index of an older kind. */
function namesOf(path: string): PackNames | null {
  const file = openSync(`${path}.idx`, 'r');
  try {
    const head = readAt(file, 0, headerLength);
    if (head.length < headerLength || head.readUInt32BE(0) !== 0xff744f63 || head.readUInt32BE(4) !== 2) return null;
    return { path, fanout: Array.from({ length: 256 }, (_, i) => head.readUInt32BE(8 + i * 4)) };
  } finally {
    closeSync(file);
  }
}

/** Up to `length` bytes: less where the file ends. */
function readAt(file: number, position: number, length: number): Buffer {
  const out = Buffer.alloc(length);
  let got = 0;
  while (got < length) {
    const read = readSync(file, out, got, length - got, position + got);
    if (read === 0) break;
    got += read;
  }
  return out.subarray(0, got);
}

class OpenFiles {
  private readonly files = new Map<string, number>();

  open(path: string): number {
    const known = this.files.get(path);
    if (known !== undefined) return known;
    const file = openSync(path, 'r');
    this.files.set(path, file);
    return file;
  }

  close(): void {
    for (const file of this.files.values()) closeSync(file);
  }
}
