import { join } from 'node:path';
import { messageOf, rotated, type Context } from '../context';
import { planEdits } from '../edits';
import { run } from '../exec';
import { operations, ours } from '../names';
import type { Rider } from './cycle';

/** One edit, then a checkpoint from a new process: our command line, and each peer's sequence in a Node of its own. */
export async function freshProcesses(context: Context, riders: readonly Rider[]): Promise<void> {
  context.log('a checkpoint from a fresh process');
  const { ledger, template } = context;
  for (let rep = 0; rep < context.options.reps; rep += 1)
    for (const rider of rotated(riders, rep)) {
      const { name } = rider.kind;
      await rider.tree.apply(planEdits(template.editable, 1, `fresh-${rep}`, template.seed * 51 + rep));
      const { tree, store } = rider.place;
      try {
        await ledger.time(operations.freshProcess, name, () =>
          name === ours
            ? run(process.execPath, [join(context.bundles, 'cli.js'), 'create', '--cwd', tree, '--json'], {
                env: { ...process.env, OPENCODE_CHECKPOINTS_HOME: store },
              })
            : run(process.execPath, [join(context.bundles, 'fresh.js'), name, tree, store]),
        );
      } catch (error) {
        ledger.fail(operations.freshProcess, name, messageOf(error));
      }
      await rider.engine.settle();
    }
}
