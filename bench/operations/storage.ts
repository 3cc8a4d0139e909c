import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from '../context';
import { diskUse, missingObjects, presentObjects } from '../gates/store';
import { copies, operations, ours } from '../names';
import { Ours } from '../ours';
import { sample, seeded } from '../random';
import { cloneTemplate, type Template } from '../repository';
import { WorkTree } from '../worktree';

/** The files that an afternoon's work comes back to. */
const workedOn = 150;

/**
 * Many checkpoints of 1 to 20 edits each, then what the store takes after its maintenance, beside copies of each file as it
 * was before each edit; then all but a fifth deleted, and what it takes then.
 */
export async function storage(context: Context, small: Template): Promise<void> {
  const { ledger, options } = context;
  context.log(`${options.stored} checkpoints, stored`);
  const root = join(context.scratch, 'trees', 'storage');
  await cloneTemplate(small, root);
  const tree = new WorkTree(root, small.entries);
  const store = join(context.scratch, 'stores', 'ours-storage');
  const engine = new Ours({ tree: root, store });
  await engine.first();
  await engine.api.prune();
  const empty = diskUse(store);

  const random = seeded(small.seed + 31);
  const paths = sample(random, small.editable, workedOn);
  let copied = 0;
  const made: Array<{ id: string; commit: string }> = [];
  for (let number = 0; number < options.stored; number += 1) {
    const modify = sample(random, paths, 1 + random.below(20));
    for (const path of modify) copied += (await readFile(join(root, path))).length;
    await tree.apply({ modify, create: [], remove: [], tag: `stored-${number}` });
    // Every tenth begins a turn and looks at everything. Named ones are kept by retention, whatever its limits.
    const name = `Step ${number}`;
    const { id, files } = await engine.api.create(
      number % 10 === 0 ? { trigger: 'turn', name } : { trigger: 'tool', name, paths: modify },
    );
    made.push({ id, commit: files.commit });
  }
  ledger.size(operations.storageRaw, ours, diskUse(store) - empty);
  await ledger.time(operations.maintenance, ours, () => engine.api.prune());
  ledger.size(operations.storage, ours, diskUse(store) - empty);
  ledger.size(operations.storage, copies, copied);

  const drop = made.slice(0, Math.floor((made.length * 4) / 5));
  await ledger.time(operations.deletion, ours, async () => {
    await engine.api.remove(drop.map(({ id }) => id));
    await engine.api.prune();
  });
  ledger.size(operations.pruned, ours, diskUse(store) - empty);
  const left = await presentObjects(
    engine.api,
    drop.map(({ commit }) => commit),
  );
  ledger.gate('deleted checkpoints leave the disk', left === 0, `${left} of ${drop.length} commits are still there`);
  const missing = await missingObjects(engine.api);
  ledger.gate('pruning takes nothing that is needed', missing.length === 0, `${missing.length} objects are gone`);
  await engine.close();
  await rm(root, { recursive: true, force: true });
}
