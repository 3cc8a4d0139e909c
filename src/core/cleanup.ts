import type { Tidied } from './api';
import type { Config } from './config';
import { CheckpointsError } from './errors';
import type { Checkpoint, CheckpointId } from './model';
import type { SnapshotStore } from './ports';
import { overSize, thin } from './retention';
import { removeAll } from './removal';

const patienceMs = 30_000;
/** How often a store is looked after without being asked. */
const tidyEveryMs = 60 * 60_000;

export interface CleanupDependencies {
  store: SnapshotStore;
  config: () => Config;
  list: () => Promise<Checkpoint[]>;
  now: () => number;
  onPruned: (ids: CheckpointId[]) => void;
}

export interface Pruned {
  deleted: CheckpointId[];
  freedBytes: number;
}

/** Deletes what retention gives up, and gives the space back: when asked, or by itself while nothing else happens. */
export class Cleanup {
  private readonly store: SnapshotStore;

  constructor(private readonly deps: CleanupDependencies) {
    this.store = deps.store;
  }

  async prune(): Promise<Pruned> {
    const all = await this.deps.list();
    const local = all.filter(isOwn);
    const deleted = this.outlived(local);
    try {
      await removeAll(this.store, deleted);
      let { freedBytes, whole } = await this.store.collect(patienceMs);
      // What could not be freed for want of room says nothing about what is left.
      while (whole) {
        const bytes = this.store.sizes().bytes - (await this.fetchedBytes(without(all, deleted)));
        const more = this.tooMuch(without(local, deleted), bytes);
        if (more.length === 0) break;
        await removeAll(this.store, more);
        deleted.push(...more);
        const again = await this.store.collect(patienceMs);
        freedBytes += again.freedBytes;
        whole = again.whole;
      }
      this.store.markTidied({ at: this.deps.now(), garbage: !whole });
      return { deleted, freedBytes };
    } catch (error) {
      throw deletedBefore(error, this.gone(deleted));
    } finally {
      const gone = this.gone(deleted);
      if (gone.length > 0) this.deps.onPruned(gone);
    }
  }

  /** Which of them are really deleted. */
  private gone(ids: CheckpointId[]): CheckpointId[] {
    const left = this.store.refs();
    return ids.filter((id) => !left.has(id));
  }

  /** What pruning would delete, and about what that would free: the rest shares bytes with it. */
  async foresee(): Promise<Pruned> {
    const all = await this.deps.list();
    const local = all.filter(isOwn);
    const bytesOf = async (ids: CheckpointId[]): Promise<number> => {
      if (ids.length === 0) return 0;
      const rest = without(all, ids).map((checkpoint) => checkpoint.files.commit);
      const kept = new Set(rest);
      const lost = all.map((checkpoint) => checkpoint.files.commit).filter((commit) => !kept.has(commit));
      return this.store.ownBytes(lost, rest);
    };
    const bytes = this.store.sizes().bytes - (await this.fetchedBytes(all));
    const deleted = this.outlived(local);
    for (;;) {
      const freedBytes = await bytesOf(deleted);
      const more = this.tooMuch(without(local, deleted), bytes - freedBytes);
      if (more.length === 0) return { deleted, freedBytes };
      deleted.push(...more);
    }
  }

  async tidy(signal?: AbortSignal): Promise<Tidied | null> {
    const now = this.deps.now();
    const { at, garbage } = this.store.tidied();
    // A clock that was set back must not put it off for as long as it was ahead.
    if (at <= now && now - at < tidyEveryMs) return null;
    // At once, so that another host does not begin the same.
    this.store.markTidied({ at: now, garbage });
    const all = await this.deps.list();
    const local = all.filter(isOwn);
    const deleted = this.outlived(local);
    const bytes = this.store.sizes().bytes - (await this.fetchedBytes(without(all, deleted)));
    deleted.push(...this.tooMuch(without(local, deleted), bytes));
    await removeAll(this.store, deleted);
    if (deleted.length > 0) {
      this.store.markTidied({ garbage: true });
      this.deps.onPruned(deleted);
    }
    try {
      if (deleted.length === 0 && !garbage) {
        const packed = await this.store.pack(signal);
        return packed ? { deleted, freedBytes: 0, packed } : null;
      }
      const { freedBytes, whole } = await this.store.collect(0, { yielding: true, signal });
      this.store.markTidied({ garbage: !whole });
      return { deleted, freedBytes, packed: true };
    } catch (error) {
      // Somebody needs the store now; what is not freed yet is freed the next time.
      if (CheckpointsError.is(error, 'busy') || CheckpointsError.is(error, 'cancelled'))
        return { deleted, freedBytes: 0, packed: false };
      throw error;
    }
  }

  /** What came from elsewhere is not thinned, so it must not make room for itself at the expense of what is. */
  private async fetchedBytes(all: Checkpoint[]): Promise<number> {
    const commits = (some: Checkpoint[]): string[] => some.map(({ files }) => files.commit);
    const fetched = all.filter((checkpoint) => !isOwn(checkpoint));
    return fetched.length === 0 ? 0 : this.store.ownBytes(commits(fetched), commits(all.filter(isOwn)));
  }

  private outlived(local: Checkpoint[]): CheckpointId[] {
    return thin(local, this.deps.config(), this.deps.now()).drop.map((drop) => drop.id);
  }

  private tooMuch(local: Checkpoint[], bytes: number): CheckpointId[] {
    return overSize(local, bytes, this.deps.config().maxStoreSize).map((drop) => drop.id);
  }
}

/** Checkpoints that went before it failed are named: they do not come back. */
function deletedBefore(error: unknown, ids: CheckpointId[]): unknown {
  if (!CheckpointsError.is(error) || ids.length === 0) return error;
  const message = `${error.message} Deleted before, and not freed yet: ${ids.join(', ')}.`;
  return new CheckpointsError(error.reason, message, { cause: error, details: { ...error.details, deleted: ids } });
}

/** What came from elsewhere is not this workspace's to thin. */
const isOwn = ({ origin }: Checkpoint): boolean => origin === null;

function without(checkpoints: Checkpoint[], ids: CheckpointId[]): Checkpoint[] {
  const gone = new Set(ids);
  return checkpoints.filter((checkpoint) => !gone.has(checkpoint.id));
}
