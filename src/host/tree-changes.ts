import type { Change, Checkpoint, CheckpointId } from '../core/model';
import type { TurnEnd } from '../core/turn-ends';
import { changesSince } from './since';
import type { Target } from './diff';
import type { Root } from './root';

/** The changed files below the rows of the tree, read once for as long as they are counted against the same checkpoint. */
export class TreeChanges {
  private readonly changes = new Map<CheckpointId, Promise<Change[]>>();
  /** What each one was counted against, as last read. */
  private readonly before = new Map<CheckpointId, CheckpointId | undefined>();
  private readonly ends = new Map<Root, ReadonlyMap<CheckpointId, TurnEnd>>();

  /** `checkpoints`: newest first; with the ends of their turns. */
  list(root: Root, checkpoints: readonly Checkpoint[], ends: ReadonlyMap<CheckpointId, TurnEnd>): void {
    this.ends.set(root, ends);
    checkpoints.forEach(({ id }, index) => {
      const before = ends.get(id)?.first.id ?? checkpoints[index + 1]?.id;
      if (this.before.get(id) !== before) this.changes.delete(id);
      this.before.set(id, before);
    });
  }

  /** The turn that ended with this checkpoint. */
  endOf(root: Root, id: CheckpointId): TurnEnd | undefined {
    return this.ends.get(root)?.get(id);
  }

  of(target: Target): Promise<Change[]> {
    const { root, checkpoint } = target;
    const known = this.changes.get(checkpoint.id);
    if (known !== undefined) return known;
    const end = this.endOf(root, checkpoint.id);
    const changes = changesSince(target, { before: end?.first, wholeTurn: end !== undefined });
    this.changes.set(checkpoint.id, changes);
    changes.catch(() => this.changes.delete(checkpoint.id));
    return changes;
  }
}
