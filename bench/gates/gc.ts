import { join } from 'node:path';
import type { Context } from '../context';
import { planEdits, planPaths } from '../edits';
import { git } from '../exec';
import type { Place } from '../engine';
import { Ours } from '../ours';
import type { WorkTree } from '../worktree';
import { missingObjects } from './store';
import { describe } from '../operations/cycle';

const gate = "checkpoints survive the user's reset and gc";

/**
 * The user stages work and amends a commit away, a checkpoint is taken of it (borrowing those objects), and then the user
 * throws it all out of their repository: `reset --hard`, `gc --prune=now`. Every checkpoint must stay whole, in the store
 * that was there before and in one that was new, and the files must come back byte for byte.
 */
export async function gcSurvival(context: Context, place: Place, tree: WorkTree): Promise<void> {
  context.log(gate);
  const { ledger, template } = context;
  const user = (args: readonly string[]): Promise<unknown> => git(args, { cwd: tree.root });

  await tree.apply(planEdits(template.editable, 3, 'amended', template.seed + 21));
  await user(['commit', '-q', '-a', '-m', 'Work to be amended']);
  const staged = planEdits(template.editable, 10, 'staged', template.seed + 22);
  const applied = await tree.apply(staged);
  await user(['add', '-A']);

  const engine = new Ours(place);
  await engine.open();
  const fresh = new Ours({ tree: tree.root, store: join(context.scratch, 'stores', 'ours-gc') });
  const old = await engine.checkpoint({ lane: 'scan', automatic: false });
  const young = await fresh.first();

  await user(['reset', '-q', '--hard', 'HEAD~1']);
  await user(['reflog', 'expire', '--expire=now', '--all']);
  await user(['gc', '-q', '--prune=now']);

  for (const [name, one, mark] of [
    ['old store', engine, old],
    ['new store', fresh, young],
  ] as const) {
    const missing = await missingObjects(one.api);
    ledger.gate(gate, missing.length === 0, `${name}: ${missing.length} objects are gone`);
    for (const { path, content } of applied.after) {
      if (content === null) continue;
      const kept = await one.api.cat(mark, path);
      ledger.gate(gate, content.equals(kept), `${name}: ${path} reads back differently`);
    }
  }
  await fresh.restore(young);
  const wrong = tree.check(true);
  ledger.gate(gate, wrong.length === 0, `after restoring ${planPaths(staged).length} paths: ${describe(wrong)}`);
  await fresh.close();
  await engine.close();
}
