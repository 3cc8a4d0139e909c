import { expect, it } from 'vitest';
import { Cleanup } from '../../src/core/cleanup';
import { defaults } from '../../src/core/config';
import { CheckpointsError } from '../../src/core/errors';
import type { SnapshotStore } from '../../src/core/ports';
import { Records } from './records';

/** A real disk cannot be filled here at the right moment: the store only says so. */
it('names what was deleted when the space could not be freed', async () => {
  const old = new Records().next('turn', { session: 'ses_1', turn: 1 });
  const kept = new Set([old.id]);
  const store = {
    remove: (ids: string[]) => Promise.resolve(ids.forEach((id) => kept.delete(id))),
    collect: () => Promise.reject(new CheckpointsError('disk-full', 'No room.')),
    refs: () => new Map([...kept].map((id) => [id, ''])),
    read: () => Promise.resolve([old]),
  } as unknown as SnapshotStore;
  const pruned: string[] = [];
  const cleanup = new Cleanup({
    store,
    config: () => ({ ...defaults, maxAge: 1 }),
    list: () => Promise.resolve([old]),
    now: () => Date.parse(old.createdAt) + 100 * 86_400_000,
    onPruned: (ids) => pruned.push(...ids),
  });
  const error = await cleanup.prune().catch((caught: unknown) => caught);
  expect(CheckpointsError.is(error, 'disk-full')).toBe(true);
  expect((error as Error).message).toContain(old.id);
  expect(pruned).toEqual([old.id]);
});
