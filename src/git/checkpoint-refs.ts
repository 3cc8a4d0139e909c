import { CheckpointsError } from '../core/errors';
import type { LostCheckpoints } from '../core/api';
import type { Checkpoint, CheckpointId } from '../core/model';
import type { Fetched, FetchedRef } from './fetched';
import { checkpointRefs, idPattern, type LostRefs } from './lost-refs';
import { isDamaged, type ObjectReader } from './object-reader';
import type { PackWriter } from './pack-writer';
import { checkpointMessage, decodeOwn, encodeCommit } from './records';
import type { Refs } from './refs';

/** What a restore of very many paths left, under its safety checkpoint's id: undo compares trees. */
const restoredRefs = 'refs/restored/';

export interface CheckpointRefsParts {
  refs: Refs;
  lost: LostRefs;
  reader: ObjectReader;
  fetched: Fetched;
  newWriter(): PackWriter;
  log(message: string): void;
}

/** The checkpoints of a store, own and fetched: a ref each, whose commit holds the record. Leases are the caller's. */
export class CheckpointRefs {
  private readonly unreadable = new Set<CheckpointId>();
  /** Commits that were found to need what is not there. */
  readonly incomplete = new Set<string>();

  constructor(private readonly parts: CheckpointRefsParts) {}

  refs(): Map<CheckpointId, string> {
    const found = this.parts.refs.list(checkpointRefs, (ref) => {
      this.parts.log(`damaged ref ${ref}`);
      this.unreadable.add(ref.slice(checkpointRefs.length));
    });
    for (const id of found.keys()) if (!idPattern.test(id)) found.delete(id);
    return found;
  }

  /** Costs next to nothing: records and content are those that were met missing so far. */
  lost(): LostCheckpoints {
    const there = this.parts.refs.names(checkpointRefs);
    const records = [...this.unreadable].filter((id) => there.has(id));
    const broken =
      this.incomplete.size === 0 ? [] : [...this.refs()].filter(([, commit]) => this.incomplete.has(commit));
    const content = broken.map(([id]) => id).filter((id) => !this.unreadable.has(id));
    return { refs: this.lostRefs().sort(), records: records.sort(), content: content.sort() };
  }

  private lostRefs(): CheckpointId[] {
    try {
      return [...this.parts.lost.all().keys()];
    } catch (error) {
      this.parts.log(`whether refs are lost is not known: ${String(error)}`); // `doctor` says why
      return [];
    }
  }

  isOwn(id: CheckpointId): boolean {
    return this.parts.refs.read(checkpointRefs + id) !== null;
  }

  fetchedRefs(): Map<CheckpointId, string> {
    const fetched = this.parts.fetched.visible((id) => this.isOwn(id));
    return new Map([...fetched].map(([id, { commit }]) => [id, commit]));
  }

  siblings(id: CheckpointId): CheckpointId[] {
    const at = this.isOwn(id) ? null : this.parts.fetched.find(id);
    return at ? this.parts.fetched.siblings(at.origin) : [...this.refs().keys()].sort();
  }

  async read(ids: CheckpointId[]): Promise<Checkpoint[]> {
    const all = ids.length > 50 ? this.refs() : null;
    let others: Map<CheckpointId, FetchedRef> | null = null;
    const records = await Promise.all(
      ids.map(async (id) => {
        const commit = all ? all.get(id) : idPattern.test(id) && this.parts.refs.read(checkpointRefs + id);
        if (!commit) {
          const at = (others ??= this.parts.fetched.visible(() => false)).get(id);
          return at ? this.parts.fetched.read(at) : null;
        }
        return this.readOwn(id, commit);
      }),
    );
    return records.filter((record): record is Checkpoint => record !== null);
  }

  /** null when it cannot be read: the others are there all the same. */
  private async readOwn(id: CheckpointId, commit: string): Promise<Checkpoint | null> {
    const record = await this.recordOf(id, commit);
    if (record) this.unreadable.delete(id);
    else {
      if (!this.unreadable.has(id)) this.parts.log(`the record of ${id} is lost`);
      this.unreadable.add(id);
    }
    return record;
  }

  private async recordOf(id: CheckpointId, commit: string): Promise<Checkpoint | null> {
    try {
      const object = await this.parts.reader.read(commit);
      return object?.type === 'commit' ? decodeOwn(object.data, commit, id) : null;
    } catch (error) {
      if (isDamaged(error)) return null;
      throw error;
    }
  }

  async update(id: CheckpointId, change: (checkpoint: Checkpoint) => Checkpoint): Promise<Checkpoint> {
    const elsewhere = this.isOwn(id) ? null : this.parts.fetched.find(id);
    if (elsewhere) return this.parts.fetched.update(elsewhere, change);
    for (let attempt = 0; attempt < 40; attempt++) {
      const [record] = await this.read([id]);
      if (!record) throw new CheckpointsError('unknown-reference', `There is no checkpoint ${id}.`);
      const next = change(record);
      const writer = this.parts.newWriter();
      const time = Date.parse(record.createdAt);
      const commit = writer.add('commit', encodeCommit(record.files.tree, checkpointMessage(next), time));
      await writer.flush();
      if (
        commit === record.files.commit ||
        (await this.parts.refs.swap(checkpointRefs + id, record.files.commit, commit))
      )
        return withCommit(next, record.files.tree, commit);
    }
    throw new CheckpointsError('busy', 'Another process keeps changing this checkpoint. Try again.');
  }

  /** Keeps a tree for as long as the safety checkpoint is there. */
  async holdRestored(id: CheckpointId, tree: string): Promise<void> {
    const writer = this.parts.newWriter();
    const commit = writer.add('commit', encodeCommit(tree, 'restored\n', Date.now()));
    await writer.flush();
    const ref = restoredRefs + id;
    if (!(await this.parts.refs.swap(ref, this.parts.refs.read(ref), commit)))
      throw new CheckpointsError('busy', 'Another process keeps changing this checkpoint. Try again.');
  }

  async remove(ids: readonly CheckpointId[]): Promise<void> {
    const others = new Set(ids.filter((id) => !this.isOwn(id)));
    const fetched = others.size > 0 ? this.parts.fetched.all().filter(({ id }) => others.has(id)) : [];
    if (fetched.length > 0) await this.parts.fetched.remove(fetched);
    await this.removeOwn(ids);
  }

  /** Lost ones too: then nobody brings them back. */
  private removeOwn(ids: readonly CheckpointId[]): Promise<void> {
    const lost = this.parts.lost.all();
    const own = ids.filter((id) => this.isOwn(id) || lost.has(id));
    const restored = own.map((id) => restoredRefs + id).filter((ref) => this.parts.refs.read(ref) !== null);
    return this.parts.refs.remove([
      ...own.map((id) => checkpointRefs + id),
      ...restored,
      ...this.parts.lost.heldOf(own),
    ]);
  }
}

export function withCommit(checkpoint: Checkpoint, tree: string, commit: string): Checkpoint {
  return { ...checkpoint, files: { ...checkpoint.files, tree, commit } };
}
