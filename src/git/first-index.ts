import type { Found } from './file-reader';
import { formatIndex, plainEntry, statBytes, type IndexEntry } from './index-file';
import type { HashName } from './pack-writer';
import { emptyBlob } from './scanner';
import { nestedName } from './status-rows';

/** The scanner's first index where there is no repository to build on: made from what was just read. */
export class FirstIndex {
  private readonly entries: IndexEntry[] = [];
  private stats = Buffer.alloc(1 << 16);
  private length = 0;

  constructor(
    private readonly algorithm: HashName,
    readonly startedAt: number,
  ) {}

  add(path: string, found: Found, oid: string): void {
    if (found.kind !== 'file' && found.kind !== 'link') return;
    const { stat } = found;
    const second = 1_000_000_000n;
    const words = [
      stat.ctimeNs / second,
      stat.ctimeNs % second,
      stat.mtimeNs / second,
      stat.mtimeNs % second,
      stat.dev,
      stat.ino,
      BigInt(found.mode),
      stat.uid,
      stat.gid,
      stat.size,
    ];
    if (this.length + statBytes > this.stats.length)
      this.stats = Buffer.concat([this.stats, Buffer.alloc(this.stats.length)]);
    for (const [n, word] of words.entries()) this.stats.writeUInt32BE(Number(word & 0xffffffffn), this.length + n * 4);
    this.entries.push(plainEntry(path, oid, found.mode, this.length));
    this.length += statBytes;
  }

  finish(mark: string, nested: string[]): Buffer {
    const blob = emptyBlob[this.algorithm];
    const extra = [mark, ...nested.map((folder) => `${folder}/${nestedName}`)];
    const entries = [...this.entries, ...extra.map((path) => plainEntry(path, blob))];
    return formatIndex(entries, this.algorithm, this.stats);
  }
}
