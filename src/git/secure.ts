import type { FileChange } from '../core/ports';
import { bulk } from './bulk-reader';
import { FileReader, parentOf } from './file-reader';
import type { GitObject, ObjectReader } from './object-reader';
import type { PackReader } from './pack-reader';
import { hashObject, type HashName, type PackWriter } from './pack-writer';
import { formatTree } from './tree-format';
import type { Trees } from './trees';

const atOnce = 48;

/** Which of these objects the store cannot give back byte for byte. One that is damaged ends git: then they are asked one by one. */
export async function unsound(reader: ObjectReader, oids: Iterable<string>, algorithm: HashName): Promise<Set<string>> {
  const bad = new Set<string>();
  const judge = (oid: string, object: GitObject | null): void => {
    if (!object || hashObject(object.type, object.data, algorithm) !== oid) bad.add(oid);
  };
  const check = async (oid: string): Promise<void> => judge(oid, await reader.read(oid));
  const every = [...new Set(oids)];
  const { used } =
    every.length < bulk ? { used: 0 } : await reader.each(every, (i, object) => judge(every[i]!, object));
  const all = every.slice(used);
  const ask = (at: number): Promise<Array<PromiseSettledResult<void>>> =>
    Promise.allSettled(all.slice(at, at + atOnce).map(check));
  // Some are read ahead, so that git and we work at the same time.
  let next = ask(0);
  for (let at = 0; at < all.length; at += atOnce) {
    const asked = next;
    next = ask(at + atOnce);
    if ((await asked).every(({ status }) => status === 'fulfilled')) continue;
    await next;
    for (const oid of all.slice(at, at + atOnce)) await check(oid).catch(() => bad.add(oid));
  }
  return bad;
}

export interface SecureParts {
  root: string;
  reader: ObjectReader;
  trees: Trees;
  packs: PackReader;
  algorithm: HashName;
  newWriter(): PackWriter;
}

/**
 * What is about to be overwritten or deleted can really be brought back: captures do not write again what the store has already, and
 * that may have been damaged since. Such content is written anew from the files, while they are there.
 */
export class Safekeeping {
  /** Read from the store as they should be, for the restore that is under way. */
  private sound: Promise<Set<string>> | null = null;

  constructor(private readonly parts: SecureParts) {}

  /** Whoever reads first need not wait: what a restore of `target` overwrites if nothing else has changed since `now`. */
  begin(now: string, target: string): void {
    this.sound = this.readAhead(now, target);
    this.sound.catch(() => undefined); // then all of it is read by `secure`, which tells what fails
  }

  /** What was read for one restore says nothing about a later one. */
  forget(): void {
    this.sound = null;
  }

  private async readAhead(now: string, target: string): Promise<Set<string>> {
    const { trees, reader, packs, algorithm } = this.parts;
    const { saved, folders } = await overwritten(trees, now, await trees.diff(now, target));
    const oids = [...new Set([...saved.map(({ oid }) => oid), ...folders])];
    if (oids.length < bulk) return new Set(); // a few are as fast later
    const sound = packs.inSoundPacks(oids);
    const rest = oids.filter((oid) => !sound.has(oid));
    // By a git of their own, which a damaged one may end.
    if (rest.length >= bulk)
      await reader.each(rest, (i, object) => {
        const oid = rest[i]!;
        if (object && hashObject(object.type, object.data, algorithm) === oid) sound.add(oid);
      });
    return sound;
  }

  async secure(tree: string, changes: readonly FileChange[]): Promise<void> {
    const { root, reader, algorithm, trees } = this.parts;
    const { saved, folders } = await overwritten(trees, tree, changes);
    if (saved.length === 0) return;
    const sound = await (this.sound ?? Promise.resolve(new Set<string>())).catch(() => new Set<string>());
    const oids = [...saved.map(({ oid }) => oid), ...folders].filter((oid) => !sound.has(oid));
    const bad = await unsound(reader, oids, algorithm);
    if (bad.size === 0) return;
    const writer = this.parts.newWriter();
    const files = new FileReader(root, Number.MAX_SAFE_INTEGER);
    for (const { path, oid } of saved) {
      const found = bad.has(oid) ? files.read(path) : null;
      // Another content is not overwritten either: it changed meanwhile.
      if (found && 'data' in found && hashObject('blob', found.data, algorithm) === oid)
        writer.add('blob', found.data, oid);
      if (writer.full) await writer.flush();
    }
    for (const oid of folders) {
      const data = bad.has(oid) ? formatTree(await trees.entries(oid)) : null;
      if (data && hashObject('tree', data, algorithm) === oid) writer.add('tree', data, oid);
    }
    await writer.flush();
  }
}

async function overwritten(
  trees: Trees,
  tree: string,
  changes: readonly FileChange[],
): Promise<{ saved: Array<{ path: string; oid: string }>; folders: Set<string> }> {
  const saved = changes.flatMap(({ path, before }) => (before ? [{ path, oid: before.oid }] : []));
  return { saved, folders: saved.length === 0 ? new Set() : await foldersAbove(trees, tree, saved) };
}

/** The trees by which these paths are found. */
async function foldersAbove(trees: Trees, root: string, paths: ReadonlyArray<{ path: string }>): Promise<Set<string>> {
  const seen = new Map<string, string | null>([['', root]]);
  const treeAt = async (folder: string): Promise<string | null> => {
    const known = seen.get(folder);
    if (known !== undefined) return known;
    const above = await treeAt(parentOf(folder));
    const found =
      above === null ? null : ((await trees.folders(above)).get(folder.slice(folder.lastIndexOf('/') + 1)) ?? null);
    seen.set(folder, found);
    return found;
  };
  for (const { path } of paths) if (!seen.has(parentOf(path))) await treeAt(parentOf(path));
  return new Set([...seen.values()].filter((oid) => oid !== null));
}
