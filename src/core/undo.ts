import type { Checkpoint, CheckpointId, RestoreRecord } from './model';

/** What undo and redo have to know of a safety checkpoint. */
export type SafetyPoint = Pick<Checkpoint, 'id' | 'restore'>;

/**
 * What `undo` and `redo` would go back to. Nothing is stored for it: every restore, undo and redo leaves a safety checkpoint whose
 * record names the operation and its target, and replaying those gives the two stacks, in any process and after any restart.
 *
 * `points` is oldest first. Points without a record (a restore that was rolled back or is under way) changed nothing; nor did a restore
 * of the conversation alone: there are no files and no task to go back to. A safety checkpoint may have been deleted: what is left
 * still leads to states that were there.
 */
export function undoStacks<T extends SafetyPoint>(points: readonly T[]): { undo: T | null; redo: T | null } {
  const undo: T[] = [];
  const redo: T[] = [];
  for (const point of points) {
    const record = point.restore;
    if (record === null || !record.scope.some((scope) => scope !== 'conversation')) continue;
    switch (record.operation) {
      case 'restore':
      case 'revert-turn':
        undo.push(point);
        // It is undone like any other, so that who restores and undoes gets what was there; but it took nothing from what can be redone.
        if (changedAnything(record)) redo.length = 0;
        break;
      case 'undo':
        pop(undo, record.target);
        redo.push(point);
        break;
      case 'redo':
        pop(redo, record.target);
        undo.push(point);
        break;
    }
  }
  return { undo: undo.at(-1) ?? null, redo: redo.at(-1) ?? null };
}

const changedAnything = ({ restored, deleted, scope, folders }: RestoreRecord): boolean =>
  restored + deleted > 0 || scope.includes('task') || (folders ?? []).length > 0;

/** Takes the target off, with whatever lies above it. A target that is not there was deleted: the rest of the stack is still good. */
function pop<T extends SafetyPoint>(stack: T[], target: CheckpointId | null): void {
  const at = target === null ? stack.length - 1 : stack.findLastIndex((point) => point.id === target);
  if (at >= 0) stack.length = at;
}
