import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Checkpoint, RestoreRecord } from '../../src/core/model';
import { undoStacks } from '../../src/core/undo';
import { Records } from './records';

describe('undo and redo', () => {
  const records = new Records();
  const point = (operation: RestoreRecord['operation'], target: Checkpoint | null = null, more = {}): Checkpoint =>
    records.next('restore', { restore: { operation, target: target?.id ?? null, ...more } });

  it('have nothing to go to at first', () => expect(undoStacks([])).toEqual({ undo: null, redo: null }));

  it('walk back and forth through the safety checkpoints', () => {
    const first = point('restore');
    const second = point('revert-turn');
    expect(undoStacks([first, second])).toEqual({ undo: second, redo: null });
    const undone = point('undo', second);
    expect(undoStacks([first, second, undone])).toEqual({ undo: first, redo: undone });
    const undoneToo = point('undo', first);
    expect(undoStacks([first, second, undone, undoneToo])).toEqual({ undo: null, redo: undoneToo });
    const redone = point('redo', undoneToo);
    expect(undoStacks([first, second, undone, undoneToo, redone])).toEqual({ undo: redone, redo: undone });
    const other = point('restore');
    expect(undoStacks([first, second, undone, undoneToo, redone, other])).toEqual({ undo: other, redo: null });
  });

  it('can still redo after a restore that found nothing to change', () => {
    const first = point('restore');
    const undone = point('undo', first);
    const idle = point('restore', null, { restored: 0, touched: [] });
    expect(undoStacks([first, undone, idle])).toEqual({ undo: idle, redo: undone });
    const idleUndone = point('undo', idle, { restored: 0, touched: [] });
    expect(undoStacks([first, undone, idle, idleUndone])).toEqual({ undo: null, redo: idleUndone });
    const idleRedone = point('redo', idleUndone, { restored: 0, touched: [] });
    expect(undoStacks([first, undone, idle, idleUndone, idleRedone])).toEqual({ undo: idleRedone, redo: undone });
    for (const more of [{ deleted: 1 }, { folders: ['empty'] }, { scope: ['task'] as const }])
      expect(undoStacks([first, undone, point('restore', null, { restored: 0, ...more })]).redo).toBeNull();
  });

  it('pass over restores that changed no files and no task', () => {
    const first = point('restore');
    const rolledBack = records.next('restore');
    const conversation = point('restore', null, { scope: ['conversation'] });
    expect(undoStacks([first, rolledBack, conversation])).toEqual({ undo: first, redo: null });
    expect(undoStacks([point('restore', null, { scope: ['conversation', 'task'] })]).undo).not.toBeNull();
  });

  it('tolerate deleted safety checkpoints', () => {
    const first = point('restore');
    const second = point('restore');
    const undone = point('undo', second);
    // The one that was undone is gone: the older one is still good.
    expect(undoStacks([first, undone])).toEqual({ undo: first, redo: undone });
    expect(undoStacks([undone])).toEqual({ undo: null, redo: undone });
    const redone = point('redo', undone);
    expect(undoStacks([first, second, redone])).toEqual({ undo: redone, redo: null });
  });

  it('behave as the history of an editor, whatever the order of operations', () => {
    const operations = fc.array(
      fc.oneof(
        fc.record({ kind: fc.constantFrom('restore' as const, 'revert-turn' as const), state: fc.nat(9) }),
        fc.record({ kind: fc.constantFrom('undo' as const, 'redo' as const), state: fc.nat(9) }),
        fc.record({ kind: fc.constant('edit' as const), state: fc.nat(9) }),
      ),
    );
    fc.assert(
      fc.property(operations, (steps) => {
        const made = new Records();
        const points: Checkpoint[] = [];
        const contents = new Map<string, number>();
        // The model: what an editor's history would hold, as plain contents.
        const undo: number[] = [];
        const redo: number[] = [];
        let files = 0;
        for (const { kind, state } of steps) {
          if (kind === 'edit') {
            files = state;
            continue;
          }
          const stacks = undoStacks(points);
          const target = kind === 'undo' ? stacks.undo : kind === 'redo' ? stacks.redo : null;
          expect(stacks.undo === null ? null : contents.get(stacks.undo.id)).toBe(undo.at(-1) ?? null);
          expect(stacks.redo === null ? null : contents.get(stacks.redo.id)).toBe(redo.at(-1) ?? null);
          if ((kind === 'undo' || kind === 'redo') && target === null) continue;
          const safety = made.next('restore', { restore: { operation: kind, target: target?.id ?? 'cp_any' } });
          contents.set(safety.id, files);
          points.push(safety);
          const before = files;
          if (kind === 'undo') {
            files = undo.pop() as number;
            redo.push(before);
          } else if (kind === 'redo') {
            files = redo.pop() as number;
            undo.push(before);
          } else {
            files = state;
            undo.push(before);
            redo.length = 0;
          }
        }
      }),
    );
  });

  it('name only points that are there, whatever was deleted', () => {
    const kinds = fc.constantFrom<RestoreRecord['operation']>('restore', 'undo', 'redo', 'revert-turn');
    fc.assert(
      fc.property(fc.array(fc.tuple(kinds, fc.boolean())), (steps) => {
        const made = new Records();
        const points: Checkpoint[] = [];
        for (const [operation, deleteOne] of steps) {
          const { undo, redo } = undoStacks(points);
          const target = operation === 'undo' ? undo : operation === 'redo' ? redo : null;
          points.push(made.next('restore', { restore: { operation, target: target?.id ?? null } }));
          if (deleteOne) points.splice(Math.floor(points.length / 2), 1);
          for (const found of Object.values(undoStacks(points))) if (found) expect(points).toContain(found);
        }
      }),
    );
  });
});
