import { CheckpointsError } from '../core/errors';
import type { Checkpoint, CheckpointId } from '../core/model';
import type { Fetched, FetchedRef } from './fetched';
import type { ObjectReader } from './object-reader';
import type { PackWriter } from './pack-writer';
import { checkpointMessage, decodeCheckpoint, encodeCommit } from './records';
import type { Refs } from './refs';

export const checkpointRefs = 'refs/checkpoints/';
/** What a restore of very many paths left, under its safety checkpoint's id: undo compares trees. */
const restoredRefs = 'refs/restored/';
const idPattern = /^cp_[0-9a-z]{26}$/;

export interface CheckpointRefsParts {
  refs: Refs;
  reader: ObjectReader;
  fetched: Fetched;
  newWriter(): PackWriter;
  log(message: string): void;
}

/** The checkpoints of a store, own and fetched: a ref each, whose commit holds the record. Leases are the caller's. */
export class CheckpointRefs {
  constructor(private readonly parts: CheckpointRefsParts) {}

  refs(): Map<CheckpointId, string> {
    const found = this.parts.refs.list(checkpointRefs, (ref) => this.parts.log(`damaged ref ${ref}`));
    for (const id of found.keys()) if (!idPattern.test(id)) found.delete(id);
    return found;
  }

  /** For whoever shows them: a store that has lost its refs must not look as if nothing had ever been in it. */
  listed(): Map<CheckpointId, string> {
    const found = this.refs();
    const lost = found.size === 0 ? this.parts.refs.lost().size : 0;
    if (lost > 0) throw new CheckpointsError('store-broken', `The store has lost the refs of its ${lost} checkpoints.`);
    return found;
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
        const object = await this.parts.reader.read(commit);
        if (object?.type !== 'commit') {
          this.parts.log(`lost commit of ${id}`);
          return null;
        }
        return decodeCheckpoint(object.data, commit);
      }),
    );
    return records.filter((record): record is Checkpoint => record !== null);
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

  /** Those of `ids` that are others' alone. */
  fetchedAmong(ids: readonly CheckpointId[]): FetchedRef[] {
    const others = new Set(ids.filter((id) => !this.isOwn(id)));
    return others.size > 0 ? this.parts.fetched.all().filter(({ id }) => others.has(id)) : [];
  }

  removeOwn(ids: readonly CheckpointId[]): Promise<void> {
    const own = ids.filter((id) => this.isOwn(id));
    const held = own.map((id) => restoredRefs + id).filter((ref) => this.parts.refs.read(ref) !== null);
    return this.parts.refs.remove([...own.map((id) => checkpointRefs + id), ...held]);
  }
}

export function withCommit(checkpoint: Checkpoint, tree: string, commit: string): Checkpoint {
  return { ...checkpoint, files: { ...checkpoint.files, tree, commit } };
}
