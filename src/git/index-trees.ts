import { createHash } from 'node:crypto';
import type { HashName } from './pack-writer';
import { decodePath, encodePath, isAscii } from './path-bytes';
import { modes, type TreeEntry } from './tree-format';

/** A folder as the index has it in its `TREE` extension; one that was changed since has no id. */
interface Folder {
  oid: string | null;
  files: number;
  folders: Map<string, Folder>;
  /** Its bytes in the extension, without its name. */
  from: number;
  to: number;
}

interface Extension {
  name: string;
  data: Buffer;
}

/** What is known of a folder's files and folders. */
type Entries = (tree: string) => Promise<readonly TreeEntry[]>;

/**
 * The same index knowing the tree of every folder again. git forgets those above each changed entry, `git status` never finds them out,
 * and so it reads and compares more folders at every look. null: it is not this tree and `extra` entries in the top folder, or
 * of a kind that we do not know.
 */
export async function withAllTrees(
  index: Buffer,
  tree: string,
  { entries, extra, algorithm }: { entries: Entries; extra: number; algorithm: HashName },
): Promise<Buffer | null> {
  const parsed = parse(index, algorithm === 'sha1' ? 20 : 32);
  if (!parsed) return null;
  const { end, extensions, source, top: known } = parsed;
  const made = await makeFolder(source, known, tree, entries);
  if (made.files + extra !== index.readUInt32BE(8)) return null;
  // The top has entries that are none of the tree's.
  const top = Buffer.from(`\0-1 ${made.folders}\n`, 'latin1');
  const others = extensions.filter(({ name }) => name !== 'TREE' && name !== 'EOIE' && name !== 'IEOT');
  const parts = [index.subarray(0, end)];
  for (const { name, data } of [{ name: 'TREE', data: Buffer.concat([top, ...made.below]) }, ...others])
    parts.push(header(name, data.length), data);
  const out = Buffer.concat(parts);
  return Buffer.concat([out, createHash(algorithm).update(out).digest()]);
}

function header(name: string, length: number): Buffer {
  const out = Buffer.alloc(8);
  out.write(name, 'latin1');
  out.writeUInt32BE(length, 4);
  return out;
}

interface Made {
  files: number;
  folders: number;
  below: Buffer[];
}

/** Folders that the index still knows are taken over as they are. */
async function makeFolder(source: Buffer, old: Folder | null, tree: string, entries: Entries): Promise<Made> {
  const all = await entries(tree);
  const folders = all.filter(({ mode }) => mode === modes.tree);
  const made: Made = { files: all.length - folders.length, folders: folders.length, below: [] };
  // Asked for together: what is not at hand is read, and one by one each answer would be waited for.
  const parts = await Promise.all(
    folders.map(async ({ name, oid }): Promise<Pick<Made, 'files' | 'below'>> => {
      const known = old?.folders.get(name) ?? null;
      if (known?.oid === oid) return { files: known.files, below: [source.subarray(known.from, known.to)] };
      const { files, folders: count, below } = await makeFolder(source, known, oid, entries);
      return { files, below: [Buffer.from(`${files} ${count}\n`, 'latin1'), Buffer.from(oid, 'hex'), ...below] };
    }),
  );
  for (const [i, { files, below }] of parts.entries()) {
    made.files += files;
    made.below.push(encodePath(folders[i]!.name), Buffer.from([0]));
    for (const part of below) made.below.push(part);
  }
  return made;
}

interface Parsed {
  end: number;
  extensions: Extension[];
  /** The `TREE` extension, and its top folder where it has one. */
  source: Buffer;
  top: Folder | null;
}

/** null for what is not understood: a version that is not written here, a damaged file. */
function parse(index: Buffer, oidBytes: number): Parsed | null {
  try {
    const end = endOfEntries(index, oidBytes);
    if (end === null) return null;
    const extensions = extensionsOf(index, end, oidBytes);
    const source = extensions.find(({ name }) => name === 'TREE')?.data ?? Buffer.alloc(0);
    return { end, extensions, source, top: source.length > 0 ? parseFolder(source, oidBytes) : null };
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** null for versions that are not written here. */
function endOfEntries(index: Buffer, oidBytes: number): number | null {
  const version = index.readUInt32BE(4);
  if (index.toString('latin1', 0, 4) !== 'DIRC' || version < 2 || version > 3) return null;
  let at = 12;
  for (let left = index.readUInt32BE(8); left > 0; left -= 1) {
    const flags = index.readUInt16BE(at + 40 + oidBytes);
    const name = at + 42 + oidBytes + ((flags & 0x4000) !== 0 ? 2 : 0);
    const length = flags & 0xfff;
    const end = length < 0xfff ? name + length : index.indexOf(0, name);
    at += (end - at + 8) & ~7;
  }
  return at;
}

function extensionsOf(index: Buffer, from: number, oidBytes: number): Extension[] {
  const out: Extension[] = [];
  for (let at = from; at + 8 <= index.length - oidBytes;) {
    const next = at + 8 + index.readUInt32BE(at + 4);
    out.push({ name: index.toString('latin1', at, at + 4), data: index.subarray(at + 8, next) });
    at = next;
  }
  return out;
}

function parseFolder(data: Buffer, oidBytes: number): Folder {
  if (data[0] !== 0) throw new RangeError('TREE extension'); // the top has no name
  // Cut out of two long strings: asking the buffer for each of thousands costs more than all of it at once.
  const text = data.toString('latin1');
  const hex = data.toString('hex');
  let at = 1;
  const read = (): Folder => {
    const from = at;
    const line = text.indexOf('\n', at);
    const space = text.indexOf(' ', at);
    const files = Number(text.slice(at, space));
    const count = Number(text.slice(space + 1, line));
    if (space < from || line < space || !Number.isInteger(files) || !(count >= 0))
      throw new RangeError('TREE extension');
    // A number below nothing: out of date, and no id follows.
    const oidEnd = files < 0 ? line + 1 : line + 1 + oidBytes;
    const oid = files < 0 ? null : hex.slice(2 * (line + 1), 2 * oidEnd);
    at = oidEnd;
    const folders = new Map<string, Folder>();
    for (let i = 0; i < count; i++) {
      const end = text.indexOf('\0', at);
      if (end < 0) throw new RangeError('TREE extension');
      const plain = text.slice(at, end);
      const name = isAscii(plain) ? plain : decodePath(data.subarray(at, end));
      at = end + 1;
      folders.set(name, read());
    }
    return { oid, files, folders, from, to: at };
  };
  return read();
}

/** The folders of every tree that this index knows as a whole, by the tree's id. */
export function knownShapes(index: Buffer, oidBytes: number): Map<string, Map<string, string>> {
  const shapes = new Map<string, Map<string, string>>();
  const walk = ({ oid, folders }: Folder): void => {
    const names = new Map<string, string>();
    for (const [name, below] of folders) {
      walk(below);
      if (below.oid !== null) names.set(name, below.oid);
    }
    if (oid !== null && names.size === folders.size) shapes.set(oid, names);
  };
  const top = parse(index, oidBytes)?.top;
  if (top) walk(top);
  return shapes;
}
