import { messageOf, type Context } from '../context';
import { planEdits } from '../edits';
import { operations } from '../names';
import { opencode } from '../peers/opencode';
import { describe, type Rider } from './cycle';

/**
 * OpenCode's full restore, used by its redo: every file is written again and files made later stay. Measured once and
 * last, because all change times differ afterwards and its next snapshot names every path.
 */
export async function opencodeRedo(context: Context, riders: readonly Rider[]): Promise<void> {
  const rider = riders.find(({ kind }) => kind === opencode);
  if (rider === undefined) return;
  const { engine, tree, kind } = rider;
  try {
    const mark = await engine.checkpoint({ lane: 'scan', automatic: false });
    const applied = await tree.apply(planEdits(context.template.editable, 10, 'redo', context.template.seed + 7));
    await context.ledger.time(operations.restoreAll, kind.name, () => engine.restoreAll(mark), engine);
    tree.expect(applied.before);
    const wrong = tree.check();
    if (wrong.length > 0) context.ledger.fail(operations.restoreAll, kind.name, describe(wrong));
  } catch (error) {
    context.ledger.fail(operations.restoreAll, kind.name, messageOf(error));
  }
}
