import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, rotated, type Context } from '../context';
import type { Engine, EngineKind } from '../engine';
import { settleDisk } from '../exec';
import { operations } from '../names';
import { plainCopy } from '../repository';

/** Engines with a store that holds the first checkpoint, ready for the cycle. */
export interface Opened {
  kind: EngineKind;
  engine: Engine;
  mark: string;
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
  for (let rep = 0; rep < shortReps; rep += 1) {
    for (const kind of rotated(context.engines, rep)) {
      if (kind.slowFirst && rep !== shortReps - 1) continue;
      const store = join(context.scratch, 'stores', `${kind.name}-${rep}`);
      const engine = kind.open({ tree: treeOf(kind), store });
      const opened = await timedFirst(context, operations.first, kind, engine);
      const before = last.get(kind.name);
      if (before !== undefined) {
        await before.engine.close();
        await rm(join(context.scratch, 'stores', `${kind.name}-${rep - 1}`), { recursive: true, force: true });
        last.delete(kind.name);
      }
      if (opened !== null) last.set(kind.name, opened);
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
      const engine = kind.open({ tree, store });
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
  engine: Engine,
): Promise<Opened | null> {
  await settleDisk();
  try {
    const mark = await context.ledger.time(operation, kind.name, () => engine.first());
    await engine.settle();
    return { kind, engine, mark };
  } catch (error) {
    context.ledger.fail(operation, kind.name, messageOf(error));
    return null;
  }
}
