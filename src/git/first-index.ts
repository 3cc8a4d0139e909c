import type { Found } from './file-reader';
import { formatIndex, plainEntry, type IndexEntry, type StatData } from './index-file';
import type { HashName } from './pack-writer';
import { emptyBlob, nestedName } from './scanner';

/** The scanner's first index where there is no repository to build on: made from what was just read. */
export class FirstIndex {
  private entries: IndexEntry[] = [];

  constructor(
    private readonly algorithm: HashName,
    readonly startedAt: number,
  ) {}

  add(path: string, found: Found, oid: string): void {
    if (found.kind !== 'file' && found.kind !== 'link') return;
    const { stat } = found;
    const word = (value: bigint): number => Number(value & 0xffffffffn);
    const data: StatData = {
      ctime: [word(stat.ctimeNs / 1_000_000_000n), word(stat.ctimeNs % 1_000_000_000n)],
      mtime: [word(stat.mtimeNs / 1_000_000_000n), word(stat.mtimeNs % 1_000_000_000n)],
      dev: word(stat.dev),
      ino: word(stat.ino),
      uid: word(stat.uid),
      gid: word(stat.gid),
      size: word(stat.size),
    };
    this.entries.push(plainEntry(path, oid, found.mode, data));
  }

  finish(mark: string, nested: string[]): Buffer {
    const blob = emptyBlob[this.algorithm];
    const extra = [mark, ...nested.map((folder) => `${folder}/${nestedName}`)];
    return formatIndex([...this.entries, ...extra.map((path) => plainEntry(path, blob))], this.algorithm);
  }
}
