import { comparePaths, decodePath, encodePath, isAscii } from './path-bytes';

export const modes = { file: 0o100644, executable: 0o100755, link: 0o120000, tree: 0o40000, gitlink: 0o160000 };

/** One file or link as a tree has it. */
export interface Leaf {
  mode: number;
  oid: string;
}
export interface TreeEntry extends Leaf {
  name: string;
}
export function parseTree(data: Buffer, oidBytes: number): TreeEntry[] {
  const entries: TreeEntry[] = [];
  for (let at = 0; at < data.length;) {
    const space = data.indexOf(32, at);
    const end = data.indexOf(0, space);
    const mode = usualMode(parseInt(data.toString('latin1', at, space), 8));
    const name = decodePath(data.subarray(space + 1, end));
    at = end + 1 + oidBytes;
    entries.push({ mode, name, oid: data.toString('hex', end + 1, at) });
  }
  return entries;
}

/** Old trees have other permissions; git takes them for one of these two. */
function usualMode(mode: number): number {
  if (mode === modes.file || (mode & 0o170000) !== 0o100000) return mode;
  return (mode & 0o100) !== 0 ? modes.executable : modes.file;
}

/** git sorts folders as if their names ended in a slash. */
const sortKey = (entry: TreeEntry): string => (entry.mode === modes.tree ? `${entry.name}/` : entry.name);

export function formatTree(entries: TreeEntry[]): Buffer {
  // What was read is in order already, and few changes add a name.
  const sorted = inOrder(entries) ? entries : [...entries].sort((a, b) => comparePaths(sortKey(a), sortKey(b)));
  return Buffer.concat(sorted.map((entry) => treeEntry(entry.mode, entry.name, entry.oid)));
}

function inOrder(entries: TreeEntry[]): boolean {
  let previous = '';
  for (const entry of entries) {
    const key = sortKey(entry);
    if (comparePaths(previous, key) >= 0) return false;
    previous = key;
  }
  return true;
}

export function treeEntry(mode: number, name: string, oid: string): Buffer {
  const path = isAscii(name) ? null : encodePath(name);
  const length = path?.length ?? name.length;
  const head = mode.toString(8);
  const out = Buffer.allocUnsafe(head.length + 2 + length + oid.length / 2);
  out.write(head, 0, 'latin1');
  out[head.length] = 32;
  if (path) path.copy(out, head.length + 1);
  else out.write(name, head.length + 1, 'latin1');
  out[head.length + 1 + length] = 0;
  out.write(oid, head.length + 2 + length, 'hex');
  return out;
}

/** The folders alone, without making anything of the files. */
export function parseFolders(data: Buffer, oidBytes: number): Map<string, string> {
  const folders = new Map<string, string>();
  for (let at = 0; at < data.length;) {
    const end = data.indexOf(0, at);
    // "40000 name": every other mode has six digits.
    if (data[at + 5] === 32)
      folders.set(decodePath(data.subarray(at + 6, end)), data.toString('hex', end + 1, end + 1 + oidBytes));
    at = end + 1 + oidBytes;
  }
  return folders;
}
