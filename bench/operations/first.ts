import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, rotated, type Context } from '../context';
import { DrivenEngine } from '../driven';
import type { EngineKind, Place } from '../engine';
import { settleDisk } from '../exec';
import { operations } from '../names';
import { plainCopy } from '../repository';

/** Engines with a store that holds the first checkpoint, ready for the cycle. */
export interface Opened {
  kind: EngineKind;
  place: Place;
  engine: DrivenEngine;
}

/** Repetitions for engines whose first checkpoint is short. */
const shortReps = 3;

/**
 * From an empty store to the first checkpoint, in each engine's own clone. The last repetition's store is kept.
 * Long ones are measured once: their ratio has room to spare.
 */
export async function firstCheckpoints(context: Context, treeOf: (kind: EngineKind) => string): Promise<Opened[]> {
  context.log('first checkpoint, git repository');
  const last = new Map<string, Opened>();
  const reps = context.options.only.includes('first') ? shortReps : 1;
  for (let rep = 0; rep < reps; rep += 1) {
    for (const kind of rotated(context.engines, rep)) {
      if (kind.slowFirst && rep !== reps - 1) continue;
      const before = last.get(kind.name);
      if (before !== undefined) {
        await before.engine.close();
        await rm(before.place.store, { recursive: true, force: true });
        last.delete(kind.name);
      }
      const place = { tree: treeOf(kind), store: join(context.scratch, 'stores', `${kind.name}-${rep}`) };
      const engine = new DrivenEngine(kind.name, place, context.bundles);
      if (await timedFirst(context, operations.first, kind, engine)) last.set(kind.name, { kind, place, engine });
    }
  }
  return context.engines.map((kind) => last.get(kind.name)).filter((opened) => opened !== undefined);
}

/** The same in a folder without git, for the engines that work there. One tree serves all: nothing in it changes. */
export async function plainFirstCheckpoints(context: Context): Promise<void> {
  context.log('first checkpoint, folder without git');
  const tree = join(context.scratch, 'plain');
  await plainCopy(context.template, tree);
  const able = context.engines.filter((kind) => kind.plainFolders);
  for (let rep = 0; rep < 2; rep += 1) {
    for (const kind of rotated(able, rep)) {
      const store = join(context.scratch, 'stores', `${kind.name}-plain`);
      const engine = new DrivenEngine(kind.name, { tree, store }, context.bundles);
      await timedFirst(context, operations.firstPlain, kind, engine);
      await engine.close();
      await rm(store, { recursive: true, force: true });
    }
  }
  await rm(tree, { recursive: true, force: true });
}

async function timedFirst(
  context: Context,
  operation: string,
  kind: EngineKind,
  engine: DrivenEngine,
): Promise<boolean> {
  await settleDisk();
  try {
    await context.ledger.time(operation, kind.name, () => engine.first(), engine);
    await engine.settle();
    return true;
  } catch (error) {
    context.ledger.fail(operation, kind.name, messageOf(error));
    await engine.close();
    return false;
  }
}
