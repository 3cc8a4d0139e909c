/** A folder as git's index remembers it (its `TREE` extension). */
export interface CachedTree {
  oid: string;
  /** Index entries below it. */
  files: number;
  folders: Map<string, CachedTree>;
}

/** All of it, or null where git does not know a folder's tree at the moment. */
export function parseCacheTree(data: Buffer, oidBytes: number, decode: (name: Buffer) => string): CachedTree | null {
  let at = 0;
  const read = (): { name: string; tree: CachedTree } | null => {
    const end = data.indexOf(0, at);
    const line = data.indexOf(10, end);
    if (end < 0 || line < 0) return null;
    const name = decode(data.subarray(at, end));
    const [files, folders] = data
      .toString('latin1', end + 1, line)
      .split(' ')
      .map(Number);
    at = line + 1 + oidBytes;
    // A number below nothing: out of date, and no id follows.
    if (files === undefined || folders === undefined || !(files >= 0) || at > data.length) return null;
    const tree: CachedTree = { oid: data.toString('hex', line + 1, at), files, folders: new Map() };
    for (let i = 0; i < folders; i++) {
      const below = read();
      if (!below) return null;
      tree.folders.set(below.name, below.tree);
    }
    return { name, tree };
  };
  return read()?.tree ?? null;
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
