import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { codeOf, writeAtomic } from '../core/atomic-file';
import type { CheckpointId } from '../core/model';

/**
 * index.db on disk: the SQLite file, then the SHA-256 of the refs it was made from, 16 bytes of mark and the SHA-256 of it all. SQLite
 * counts its pages in its own header and never looks at what follows, so any tool can open the file; we do not have to trust one that was
 * damaged, or changed by another program, in a place where SQLite itself would not notice, and can tell without SQLite whether it is up to date.
 */
const mark = Buffer.from('cp-index-refs-1\n', 'latin1');
const digestLength = 32;
const trailerLength = digestLength + mark.length + digestLength;

export type IndexFile =
  { state: 'whole'; database: Uint8Array; refs: Buffer } | { state: 'missing' } | { state: 'damaged' };

export async function readIndexFile(path: string): Promise<IndexFile> {
  let bytes: Buffer;
  try {
    // Opening anything but a file may wait for ever: a pipe does.
    if (!(await stat(path)).isFile()) return { state: 'damaged' };
    bytes = await readFile(path);
  } catch (error) {
    // Whatever keeps it from being read (a folder in its place, permissions): it is only an index, and is made anew.
    return { state: codeOf(error) === 'ENOENT' ? 'missing' : 'damaged' };
  }
  const end = bytes.length - trailerLength;
  const atMark = end + digestLength;
  if (end <= 0 || !bytes.subarray(atMark, atMark + mark.length).equals(mark)) return { state: 'damaged' };
  return digest(bytes.subarray(0, atMark)).equals(bytes.subarray(atMark + mark.length))
    ? { state: 'whole', database: bytes.subarray(0, end), refs: bytes.subarray(end, atMark) }
    : { state: 'damaged' };
}

export async function writeIndexFile(path: string, database: Uint8Array, refs: Buffer): Promise<void> {
  const content = Buffer.concat([database, refs]);
  await writeAtomic(path, Buffer.concat([content, mark, digest(content)]));
}

/** The same for the same checkpoints, in whatever order they come. */
export function digestOfRefs(refs: Iterable<readonly [CheckpointId, string]>): Buffer {
  return digest(
    Array.from(refs, ([id, commit]) => `${id} ${commit}\n`)
      .sort()
      .join(''),
  );
}

/** Is the file whole, and made from these very refs? */
export async function isUpToDate(path: string, refs: ReadonlyMap<CheckpointId, string>): Promise<boolean> {
  const file = await readIndexFile(path);
  return file.state === 'whole' && file.refs.equals(digestOfRefs(refs));
}

function digest(content: Uint8Array | string): Buffer {
  return createHash('sha256').update(content).digest();
}
