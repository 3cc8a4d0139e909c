import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { codeOf, writeAtomic } from '../core/atomic-file';

/**
 * index.db on disk: the SQLite file, then 16 bytes of mark and the SHA-256 of it all. SQLite counts its pages in its own header and
 * never looks at what follows, so any tool can open the file; we do not have to trust one that was damaged, or changed by another
 * program, in a place where SQLite itself would not notice.
 */
const mark = Buffer.from('cp-index-sha256\n', 'latin1');
const trailerLength = mark.length + 32;

export type IndexFile = { state: 'whole'; database: Uint8Array } | { state: 'missing' } | { state: 'damaged' };

export async function readIndexFile(path: string): Promise<IndexFile> {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (error) {
    // Whatever keeps it from being read (a folder in its place, permissions): it is only an index, and is made anew.
    return { state: codeOf(error) === 'ENOENT' ? 'missing' : 'damaged' };
  }
  const end = bytes.length - trailerLength;
  if (end <= 0 || !bytes.subarray(end, end + mark.length).equals(mark)) return { state: 'damaged' };
  const database = bytes.subarray(0, end);
  return digest(database).equals(bytes.subarray(end + mark.length))
    ? { state: 'whole', database }
    : { state: 'damaged' };
}

export async function writeIndexFile(path: string, database: Uint8Array): Promise<void> {
  await writeAtomic(path, Buffer.concat([database, mark, digest(database)]));
}

function digest(database: Uint8Array): Buffer {
  return createHash('sha256').update(database).digest();
}
