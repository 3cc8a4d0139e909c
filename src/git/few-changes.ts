import type { Change } from '../core/model';
import { compareLines, countLines, isBinary } from './line-counts';
import { areSimilar, comparableSizes, piecesOf, type Pieces } from './similarity';
import { modes, type Leaf } from './tree-format';
import type { TreeChange } from './trees';

/** Changes described at once, bytes in all; renames looked for among so many pairs. What is beyond is git's. */
const limits = { atOnce: 32, bytes: 16 << 20, pairs: 2500 };
/** So many portions are asked for before the first is described: git is never without work. */
const ahead = 3;

interface Side {
  leaf: Leaf;
  data: Buffer;
  binary: boolean;
}

type Content = (oid: string) => Buffer | Promise<Buffer>;

/** Changes as git describes them; null where there is something that only git can tell, such as a rename. */
export async function describeFew(changes: TreeChange[], content: Content): Promise<Change[] | null> {
  const leaves = changes.flatMap(({ before, after }) => [before, after]).filter((leaf) => leaf !== null);
  if (leaves.some(({ mode }) => !files.includes(mode))) return null;
  const added = changes.filter((change) => !change.before);
  const deleted = changes.filter((change) => !change.after);
  if (added.length * deleted.length > limits.pairs) return null;
  const left = new Set(deleted.map(({ before }) => before!.oid));
  if (added.some(({ after }) => left.has(after!.oid))) return null;

  const contents = new Map<string, Buffer>();
  const side = (leaf: Leaf | null): Side | null => {
    if (!leaf) return null;
    const data = contents.get(leaf.oid)!;
    return { leaf, data, binary: isBinary(data) };
  };
  // What may be renamed comes first: a rename is for git, whatever the others are.
  const single = [...deleted, ...added];
  const all = [...single, ...changes.filter((change) => change.before && change.after)];
  const described = new Map<string, Change>();
  let bytes = 0;
  const asked = new Set<string>();
  const portions: Array<Promise<number>> = [];
  const ask = (n: number): void =>
    void (portions[n] ??= readSome(all, n * limits.atOnce, { asked, contents, content }));
  for (let at = 0; at < all.length; at += limits.atOnce) {
    const n = at / limits.atOnce;
    for (let more = 0; more < ahead; more += 1) ask(n + more);
    bytes += await portions[n]!;
    if (bytes > limits.bytes) return null;
    const end = at + limits.atOnce;
    ask(n + ahead);
    await Promise.resolve(); // the questions are sent before lines are counted: git and we work at the same time
    if (at < single.length && end >= single.length) {
      const [from, to] = [deleted.map(({ before }) => side(before)!), added.map(({ after }) => side(after)!)];
      if (anySimilar(from, to)) return null;
    }
    for (const { path, before, after } of all.slice(at, end)) {
      const change = describeOne(path, side(before), side(after));
      if (!change) return null;
      described.set(path, change);
    }
  }
  return changes.map(({ path }) => described.get(path)!);
}

const files: readonly number[] = [modes.file, modes.executable, modes.link];

interface Reading {
  asked: Set<string>;
  contents: Map<string, Buffer>;
  content: Content;
}

/** Puts what some of the changes need, and nobody has asked for yet, into `contents`; how many bytes that were. */
function readSome(changes: TreeChange[], from: number, { asked, contents, content }: Reading): Promise<number> {
  const some = changes.slice(from, from + limits.atOnce).flatMap(({ before, after }) => [before, after]);
  const oids = new Set(some.flatMap((leaf) => (leaf && !asked.has(leaf.oid) ? [leaf.oid] : [])));
  for (const oid of oids) asked.add(oid);
  const read = async (): Promise<number> => {
    let bytes = 0;
    const one = async (oid: string): Promise<void> => {
      const data = await content(oid);
      contents.set(oid, data);
      bytes += data.length;
    };
    await Promise.all([...oids].map(one));
    return bytes;
  };
  const reading = read();
  reading.catch(() => undefined); // heard when its turn comes
  return reading;
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
