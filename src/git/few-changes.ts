import type { Change } from '../core/model';
import { compareLines, countLines, isBinary } from './line-counts';
import { areSimilar, comparableSizes, piecesOf, type Pieces } from './similarity';
import { modes, type Leaf } from './tree-format';
import type { TreeChange } from './trees';

/** Contents read at once, and in all; renames looked for among so many pairs. What is beyond is git's. */
const limits = { atOnce: 64, bytes: 16 << 20, pairs: 2500 };

interface Side {
  leaf: Leaf;
  data: Buffer;
  binary: boolean;
}

/** Changes as git describes them; null where there is something that only git can tell, such as a rename. */
export async function describeFew(
  changes: TreeChange[],
  content: (oid: string) => Promise<Buffer>,
): Promise<Change[] | null> {
  const leaves = changes.flatMap(({ before, after }) => [before, after]).filter((leaf) => leaf !== null);
  if (leaves.some(({ mode }) => !files.includes(mode))) return null;
  const added = changes.filter((change) => !change.before);
  const deleted = changes.filter((change) => !change.after);
  if (added.length * deleted.length > limits.pairs) return null;
  const left = new Set(deleted.map(({ before }) => before!.oid));
  if (added.some(({ after }) => left.has(after!.oid))) return null;

  const contents = await readAll(new Set(leaves.map(({ oid }) => oid)), content);
  if (!contents) return null;
  const side = (leaf: Leaf | null): Side | null => {
    if (!leaf) return null;
    const data = contents.get(leaf.oid)!;
    return { leaf, data, binary: isBinary(data) };
  };
  if (
    anySimilar(
      deleted.map(({ before }) => side(before)!),
      added.map(({ after }) => side(after)!),
    )
  )
    return null;
  const out: Change[] = [];
  for (const { path, before, after } of changes) {
    const change = describeOne(path, side(before), side(after));
    if (!change) return null;
    out.push(change);
  }
  return out;
}

const files: readonly number[] = [modes.file, modes.executable, modes.link];

async function readAll(
  oids: Set<string>,
  content: (oid: string) => Promise<Buffer>,
): Promise<Map<string, Buffer> | null> {
  const out = new Map<string, Buffer>();
  const all = [...oids];
  let bytes = 0;
  for (let at = 0; at < all.length; at += limits.atOnce) {
    const some = all.slice(at, at + limits.atOnce);
    const read = await Promise.all(some.map(content));
    for (const [i, data] of read.entries()) {
      out.set(some[i]!, data);
      bytes += data.length;
    }
    if (bytes > limits.bytes) return null;
  }
  return out;
}

/** Links are renamed only as they are. */
function anySimilar(deleted: Side[], added: Side[]): boolean {
  const known = new Map<Side, Pieces>();
  const pieces = (side: Side): Pieces => {
    const found = known.get(side) ?? piecesOf(side.data, side.binary);
    known.set(side, found);
    return found;
  };
  const regular = (side: Side): boolean => side.leaf.mode !== modes.link;
  for (const from of deleted.filter(regular))
    for (const to of added.filter(regular)) {
      if (!comparableSizes(from.data.length, to.data.length)) continue;
      if (areSimilar(pieces(from), from.data.length, pieces(to), to.data.length)) return true;
    }
  return false;
}

/** null: a change of kind, or texts too far apart. */
function describeOne(path: string, before: Side | null, after: Side | null): Change | null {
  const status = !before ? 'added' : !after ? 'deleted' : 'modified';
  if (before && after && (before.leaf.mode === modes.link) !== (after.leaf.mode === modes.link)) return null;
  const binary = (before?.binary ?? false) || (after?.binary ?? false);
  if (binary || before?.leaf.oid === after?.leaf.oid) return { path, status, additions: 0, deletions: 0, binary };
  const counts =
    before && after
      ? compareLines(before.data, after.data)
      : { additions: after ? countLines(after.data) : 0, deletions: before ? countLines(before.data) : 0 };
  return counts && { path, status, ...counts, binary };
}
