import { isAscii } from './path-bytes';

/** A folder as git's index remembers it (its `TREE` extension). */
export interface CachedTree {
  oid: string;
  /** Index entries below it. */
  files: number;
  folders: Map<string, CachedTree>;
}

/** All of it, or null where git does not know a folder's tree at the moment. */
export function parseCacheTree(data: Buffer, oidBytes: number, decode: (name: Buffer) => string): CachedTree | null {
  // Cut out of two long strings: asking the buffer for each of thousands costs more than all of it at once.
  const text = data.toString('latin1');
  const hex = data.toString('hex');
  let at = 0;
  const read = (): { name: string; tree: CachedTree } | null => {
    const end = text.indexOf('\0', at);
    const space = text.indexOf(' ', end);
    const line = text.indexOf('\n', end);
    if (end < 0 || line < 0 || space < 0 || space > line) return null;
    const plain = text.slice(at, end);
    const name = isAscii(plain) ? plain : decode(data.subarray(at, end));
    const files = Number(text.slice(end + 1, space));
    const folders = Number(text.slice(space + 1, line));
    at = line + 1 + oidBytes;
    // A number below nothing: out of date, and no id follows.
    if (!(files >= 0) || !(folders >= 0) || at > data.length) return null;
    const tree: CachedTree = { oid: hex.slice(2 * (line + 1), 2 * at), files, folders: new Map() };
    for (let i = 0; i < folders; i++) {
      const below = read();
      if (!below) return null;
      tree.folders.set(below.name, below.tree);
    }
    return { name, tree };
  };
  return read()?.tree ?? null;
}

/** The top folder alone; null where it is out of date. */
export function topOf(data: Buffer, oidBytes: number): { oid: string; files: number } | null {
  const line = data.indexOf(10);
  const found = /^\0(\d+) \d+$/.exec(data.toString('latin1', 0, Math.max(0, line)));
  const oid = data.toString('hex', line + 1, line + 1 + oidBytes);
  return found && oid.length === 2 * oidBytes ? { oid, files: Number(found[1]) } : null;
}

/** The same with the top out of date: an entry was added there. */
export function withoutTop(data: Buffer, oidBytes: number): Buffer {
  const line = data.indexOf(10);
  const [, folders] = data.toString('latin1', data.indexOf(0) + 1, line).split(' ');
  return Buffer.concat([Buffer.from(`\0-1 ${folders}\n`, 'latin1'), data.subarray(line + 1 + oidBytes)]);
}

/** The folders of every tree by its id, and so all ids. */
export function foldersOfAll(top: CachedTree): Map<string, Map<string, string>> {
  const out = new Map<string, Map<string, string>>();
  const walk = ({ oid, folders }: CachedTree): void => {
    if (out.has(oid)) return;
    const names = new Map<string, string>();
    out.set(oid, names);
    for (const [name, below] of folders) {
      names.set(name, below.oid);
      walk(below);
    }
  };
  walk(top);
  return out;
}
