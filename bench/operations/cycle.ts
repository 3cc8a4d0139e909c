import { messageOf, rotated, type Context } from '../context';
import type { Lane, Mark } from '../engine';
import { planEdits, planPaths } from '../edits';
import { settleDisk } from '../exec';
import { operations, ours } from '../names';
import type { WorkTree, Wrong } from '../worktree';
import type { Opened } from './first';

/** One engine on its own clone. */
export interface Rider extends Opened {
  tree: WorkTree;
}

interface Batch {
  count: number;
  tag: string;
  seed: number;
  checkpoint: string;
  restore: string;
  diff?: string;
}

const scan: Lane = { lane: 'scan', automatic: false };

/** Edits of thousands are dear for some peers; their medians need no more than this. */
const manyReps = 2;

/**
 * The main comparison. In every repetition, for every engine in rotated order, on the same paths: nothing changed; one edit
 * with known paths; one edit found by looking; restore; a hundred edits, compared and restored; thousands likewise.
 * Every restore is checked path by path, and what an engine left wrong is put right before the next step. What is compared are processes
 * that have been running for a while: the times of a first cycle are not kept, what it finds wrong is.
 */
export async function cycles(context: Context, riders: readonly Rider[]): Promise<void> {
  const { ledger, options, log } = context;
  const out = new Set<string>();
  for (let rep = 0; rep <= options.reps; rep += 1) {
    log(rep === 0 ? 'a cycle to warm up, not counted' : `cycle ${rep} of ${options.reps}`);
    const before = ledger.count;
    for (const rider of rotated(riders, rep)) {
      if (out.has(rider.kind.name)) continue;
      // What the engine before it has left to be written is not written on this one's time.
      await settleDisk();
      try {
        await cycle(context, rider, rep);
      } catch (error) {
        // Its tree is in an unknown state: it takes no further part.
        ledger.fail('cycle', rider.kind.name, messageOf(error));
        out.add(rider.kind.name);
      }
    }
    if (rep === 0) ledger.forgetSince(before);
  }
}

async function cycle(context: Context, rider: Rider, rep: number): Promise<void> {
  const { ledger, template } = context;
  const { engine, tree } = rider;
  const name = rider.kind.name;
  const seed = template.seed * 1000 + rep * 10;
  await ledger.time(operations.nothing, name, () => engine.checkpoint({ lane: 'scan', automatic: true }), engine);
  await engine.settle();

  const known = planEdits(template.editable, 1, `known-${rep}`, seed + 1);
  await tree.apply(known);
  const lane: Lane = { lane: 'paths', paths: planPaths(known) };
  await ledger.time(operations.knownPath, name, () => engine.checkpoint(lane), engine);
  await engine.settle();
  // Restores go back to a point that looked at everything, as the start of a turn does.
  let mark = await engine.checkpoint(scan);
  await engine.settle();

  const one = {
    count: 1,
    tag: `one-${rep}`,
    seed: seed + 2,
    checkpoint: operations.oneEdit,
    restore: operations.restoreOne,
  };
  mark = await backAndForth(context, rider, mark, one);
  const hundred = { checkpoint: operations.hundredEdits, restore: operations.restoreHundred, diff: operations.diff };
  mark = await backAndForth(context, rider, mark, { count: 100, tag: `hundred-${rep}`, seed: seed + 3, ...hundred });
  if (rep === 0 || rep > manyReps) return;
  const many = { checkpoint: operations.manyEdits, restore: operations.restoreMany };
  await backAndForth(context, rider, mark, {
    count: context.options.many,
    tag: `many-${rep}`,
    seed: seed + 4,
    ...many,
  });
}

/** Edit, checkpoint, compare, restore, check. Returns the mark of the state that the tree is in again. */
async function backAndForth(context: Context, rider: Rider, from: Mark, batch: Batch): Promise<Mark> {
  const { ledger, template } = context;
  const { engine, tree } = rider;
  const name = rider.kind.name;
  const plan = planEdits(template.editable, batch.count, batch.tag, batch.seed);
  const applied = await tree.apply(plan);
  const changed = planPaths(plan);
  const to = await ledger.time(batch.checkpoint, name, () => engine.checkpoint(scan), engine);
  await engine.settle();
  const { diff } = batch;
  if (diff !== undefined) {
    const found = await ledger.time(diff, name, () => engine.diff(from, to), engine);
    const same = found.length === changed.length && [...found].sort().every((path, at) => path === changed[at]);
    if (!same) ledger.fail(diff, name, `${found.length} paths differ, expected ${changed.length}`);
    if (name === ours) ledger.gate('every diff names the changed paths', same);
  }
  if (batch.count > 1000) await settleDisk();
  await ledger.time(batch.restore, name, () => engine.restore(from, changed), engine);
  await engine.settle();
  tree.expect(applied.before);
  const wrong = tree.check();
  if (wrong.length > 0) {
    ledger.fail(batch.restore, name, describe(wrong));
    await tree.repair(wrong, applied.before);
  }
  if (name === ours) ledger.gate('every restore is exact, byte for byte', wrong.length === 0, describe(wrong));
  return from;
}

export function describe(wrong: readonly Wrong[]): string {
  const kinds = new Map<string, number>();
  for (const { what } of wrong) kinds.set(what, (kinds.get(what) ?? 0) + 1);
  const counts = [...kinds].map(([what, count]) => `${count} ${what}`).join(', ');
  return `${counts}; ${wrong
    .slice(0, 3)
    .map(({ path }) => path)
    .join(', ')}`;
}
