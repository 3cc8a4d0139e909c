import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import * as zlib from 'node:zlib';
import { promisify } from 'node:util';
import type { ObjectType } from './object-reader';
import type { RecentContents } from './recent-contents';

export type HashName = 'sha1' | 'sha256';

const typeCode: Record<ObjectType, number> = { commit: 1, tree: 2, blob: 3, tag: 4 };
const deflate = promisify(zlib.deflate) as (data: Uint8Array, options: zlib.ZlibOptions) => Promise<Buffer>;

interface Entry {
  oid: string;
  body: Buffer;
}

export function hashObject(type: ObjectType, data: Uint8Array, algorithm: HashName): string {
  return createHash(algorithm).update(`${type} ${data.length}\0`).update(data).digest('hex');
}

/**
 * Collects new objects and writes them as one pack with its index: two files and two syncs, however many
 * objects, so durability costs a few milliseconds. The pack becomes visible to git by its index, last.
 */
export class PackWriter {
  private entries = new Map<string, Promise<Entry>>();
  private held = 0;
  private readonly listeners: Array<() => void> = [];

  constructor(
    private readonly objectsDir: string,
    readonly algorithm: HashName,
    private readonly limits = { objects: 5000, bytes: 48 << 20 },
    /** Told of every content. */
    private readonly recent: RecentContents | null = null,
  ) {}

  /** The object's id at once; it is in the store after `flush`. */
  add(type: ObjectType, data: Buffer, oid = hashObject(type, data, this.algorithm)): string {
    if (!this.entries.has(oid)) {
      this.held += data.length;
      this.entries.set(oid, this.encode(type, data, oid));
      if (type === 'blob') this.recent?.add(oid, data);
    }
    return oid;
  }

  has(oid: string): boolean {
    return this.entries.has(oid);
  }

  /** True when so much is waiting that the caller should flush before it reads on. */
  get full(): boolean {
    return this.entries.size >= this.limits.objects || this.held >= this.limits.bytes;
  }

  private async encode(type: ObjectType, data: Buffer, oid: string): Promise<Entry> {
    // A few objects compress well at little cost; many are bound by the processor, and packed again later.
    const level = this.held > 1 << 18 ? 1 : 6;
    // Handing a small one to another thread costs several times what compressing it does.
    const compressed = data.length < 1 << 16 ? zlib.deflateSync(data, { level }) : await deflate(data, { level });
    return { oid, body: Buffer.concat([entryHeader(typeCode[type], data.length), compressed]) };
  }

  /** Called each time when what was added is in the store. */
  onFlushed(listener: () => void): void {
    this.listeners.push(listener);
  }

  async flush(): Promise<void> {
    if (this.entries.size === 0) return;
    const entries = await Promise.all(this.entries.values());
    this.entries = new Map();
    this.held = 0;
    writePack(this.objectsDir, entries, this.algorithm);
    for (const listener of this.listeners) listener();
  }
}

function entryHeader(type: number, size: number): Buffer {
  const bytes: number[] = [];
  let rest = Math.floor(size / 16);
  let byte = (type << 4) | (size & 15);
  while (rest > 0) {
    bytes.push(byte | 0x80);
    byte = rest & 0x7f;
    rest = Math.floor(rest / 128);
  }
  bytes.push(byte);
  return Buffer.from(bytes);
}

function writePack(objectsDir: string, entries: Entry[], algorithm: HashName): void {
  const header = Buffer.alloc(12);
  header.write('PACK', 0, 'latin1');
  header.writeUInt32BE(2, 4);
  header.writeUInt32BE(entries.length, 8);
  const parts: Buffer[] = [header];
  const rows: Array<{ oid: string; crc: number; offset: number }> = [];
  let offset = header.length;
  for (const { oid, body } of entries) {
    rows.push({ oid, crc: crc32(body), offset });
    parts.push(body);
    offset += body.length;
  }
  const content = Buffer.concat(parts);
  const checksum = createHash(algorithm).update(content).digest();
  const index = packIndex(rows, checksum, algorithm);
  const dir = join(objectsDir, 'pack');
  const base = join(dir, `pack-${checksum.toString('hex')}`);
  // The index makes a pack visible, so it comes last: a death in between leaves a file that maintenance sweeps.
  writeDurably(dir, `${base}.pack`, [content, checksum]);
  writeDurably(dir, `${base}.idx`, [index]);
}

function packIndex(
  rows: Array<{ oid: string; crc: number; offset: number }>,
  packChecksum: Buffer,
  algorithm: HashName,
): Buffer {
  rows.sort((a, b) => (a.oid < b.oid ? -1 : 1));
  const width = packChecksum.length;
  const out = Buffer.alloc(8 + 1024 + rows.length * (width + 8) + width);
  out.writeUInt32BE(0xff744f63, 0);
  out.writeUInt32BE(2, 4);
  const fanout = new Uint32Array(256);
  for (const row of rows) fanout[parseInt(row.oid.slice(0, 2), 16)]! += 1;
  let sum = 0;
  for (let i = 0; i < 256; i++) out.writeUInt32BE((sum += fanout[i]!), 8 + i * 4);
  let at = 8 + 1024;
  for (const row of rows) at += out.write(row.oid, at, 'hex');
  for (const row of rows) at = out.writeUInt32BE(row.crc >>> 0, at);
  for (const row of rows) at = out.writeUInt32BE(row.offset, at);
  packChecksum.copy(out, at);
  return Buffer.concat([out, createHash(algorithm).update(out).digest()]);
}

/** Temporary file in the same folder, synced, then renamed: it exists whole or not at all. */
function writeDurably(dir: string, target: string, parts: Buffer[]): void {
  const temporary = join(dir, `tmp_pack_${randomBytes(8).toString('hex')}`);
  const fd = openSync(temporary, 'wx', 0o444);
  try {
    for (const part of parts) for (let at = 0; at < part.length;) at += writeSync(fd, part, at);
    fsyncSync(fd);
  } catch (error) {
    closeSync(fd);
    rmSync(temporary, { force: true });
    throw error;
  }
  closeSync(fd);
  renameSync(temporary, target);
}

const crcTable = new Uint32Array(256).map((_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c >>> 0;
});

function crc32(data: Buffer): number {
  if (typeof zlib.crc32 === 'function') return zlib.crc32(data);
  let c = 0xffffffff;
  for (const byte of data) c = crcTable[(c ^ byte) & 0xff]! ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}
