import type { Checkpoint, Origin, PathReason } from '../core/model';
import type { Exclusions } from '../git/exclusions';
import type { PackWriter } from '../git/pack-writer';
import { checkpointMessage, encodeCommit } from '../git/records';
import { formatTree, modes, type TreeEntry } from '../git/tree-format';
import type { Trees } from '../git/trees';

interface Filtered {
  /** null: nothing is left of it. */
  tree: string | null;
  dropped: number;
}

/**
 * Checkpoints as others get them: without what is excluded now, at whatever depth it lies and whenever it was captured, and with
 * their origin. The same checkpoint always becomes the same commit, so what did not change is not sent again.
 */
export class Outgoing {
  /** By path and tree: most folders of most checkpoints are the same. */
  private readonly known = new Map<string, Promise<Filtered>>();
  filtered = 0;

  constructor(
    private readonly trees: Trees,
    private readonly writer: PackWriter,
    private readonly exclusions: Exclusions,
    private readonly own: Origin,
  ) {}

  /** The commit's id; its new objects are in the writer. */
  async checkpoint(record: Checkpoint): Promise<string> {
    const { tree, dropped } = await this.folder(record.files.tree, '');
    this.filtered += dropped;
    const root = tree ?? this.writer.add('tree', Buffer.alloc(0));
    const message = checkpointMessage(this.record(record, root));
    const commit = this.writer.add('commit', encodeCommit(root, message, Date.parse(record.createdAt)));
    if (this.writer.full) await this.writer.flush();
    return commit;
  }

  private folder(tree: string, prefix: string): Promise<Filtered> {
    const key = `${tree} ${prefix}`;
    let found = this.known.get(key);
    if (!found) this.known.set(key, (found = this.filter(tree, prefix)));
    return found;
  }

  private async filter(tree: string, prefix: string): Promise<Filtered> {
    const entries = await this.trees.entries(tree);
    const kept: TreeEntry[] = [];
    let dropped = 0;
    let changed = false;
    for (const entry of entries) {
      const path = prefix + entry.name;
      if (entry.mode !== modes.tree) {
        if (this.exclusions.why(path) === null) kept.push(entry);
        else dropped += 1;
        continue;
      }
      const below = await this.folder(entry.oid, `${path}/`);
      dropped += below.dropped;
      changed ||= below.tree !== entry.oid;
      if (below.tree !== null) kept.push({ ...entry, oid: below.tree });
    }
    if (!changed && kept.length === entries.length) return { tree, dropped: 0 };
    return { tree: kept.length === 0 ? null : this.writer.add('tree', formatTree(kept)), dropped };
  }

  /** Not even the names of what is excluded. */
  private record(record: Checkpoint, tree: string): Checkpoint {
    const may = (path: string): boolean => this.exclusions.why(path) === null;
    const mayAll = (list: PathReason[]): PathReason[] => list.filter(({ path }) => may(path));
    const { exclude: _patterns, calls: _calls, ...files } = record.files;
    const { cause, restore } = record;
    const { edited: _ours, ...origin } = record.origin ?? this.own;
    return {
      ...record,
      origin,
      files: {
        ...files,
        tree,
        paths: files.paths.filter(may),
        skipped: mayAll(files.skipped),
        partial: mayAll(files.partial),
        emptyDirs: files.emptyDirs.filter((folder) => may(folder) && may(`${folder}/x`)),
        ...(files.uncertain ? { uncertain: files.uncertain.filter(may) } : {}),
        ...(files.only ? { only: files.only.filter(may) } : {}),
      },
      cause: cause && { ...cause, paths: cause.paths.filter(may) },
      restore: restore && { ...restore, touched: restore.touched?.filter(may) ?? null },
    };
  }
}

/**
 * A commit that has all others as its parents. git finds out what two sides share by parents alone, and a checkpoint has none: with
 * this one beside it, what the other side has is not sent again. It is made anew every time and keeps nothing alive that is
 * deleted.
 */
export function headCommit(writer: PackWriter, commits: readonly string[], message: string): string {
  const tree = writer.add('tree', Buffer.alloc(0));
  const plain = encodeCommit(tree, message, 0).toString('utf8');
  const [first, ...rest] = plain.split('\n');
  const parents = [...new Set(commits)].map((oid) => `parent ${oid}`);
  return writer.add('commit', Buffer.from([first, ...parents, ...rest].join('\n'), 'utf8'));
}
