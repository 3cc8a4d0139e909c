import { lstatSync, readdirSync } from 'node:fs';

export interface FolderEntry {
  /** As the file system has it: it need not be UTF-8. */
  name: Buffer;
  isFolder: boolean;
}

interface NodeEntry {
  name: Buffer;
  isDirectory(): boolean;
}

/** The entries of a folder with their names as bytes, in Node and in Bun, OpenCode's runtime. */
export function listFolder(path: string | Buffer): FolderEntry[] {
  const listed = readdirSync(path, { withFileTypes: true, encoding: 'buffer' }) as unknown as NodeEntry[];
  // Bun gives names as bytes or kinds, not both, and each of its versions something else when asked for both.
  if (listed.some((entry) => typeof entry.isDirectory !== 'function')) return listInBun(path);
  return listed.map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }));
}

/** Names that are plain UTF-8 are found again among the kinds, others are looked at one by one. */
function listInBun(path: string | Buffer): FolderEntry[] {
  const folders = new Map<string, boolean>();
  for (const entry of readdirSync(path, { withFileTypes: true })) folders.set(entry.name, entry.isDirectory());
  const prefix = Buffer.concat([Buffer.from(path), Buffer.from('/')]);
  return readdirSync(path, { encoding: 'buffer' }).map((entry) => {
    const name = Buffer.from(entry);
    const text = name.toString('utf8');
    const isFolder = text.includes('\uFFFD') ? undefined : folders.get(text);
    return { name, isFolder: isFolder ?? lstatSync(Buffer.concat([prefix, name])).isDirectory() };
  });
}
