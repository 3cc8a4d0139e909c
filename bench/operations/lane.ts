import { join } from 'node:path';
import type { Context } from '../context';
import { planEdits, planPaths } from '../edits';
import { operations, ours } from '../names';
import { Ours } from '../ours';
import { cloneTemplate, type Template } from '../repository';
import { WorkTree } from '../worktree';

const reps = 20;

/** The tool lane in a large and in a small repository, alternating: its cost must hardly grow with the files. */
export async function laneGrowth(
  context: Context,
  large: { engine: Ours; tree: WorkTree },
  small: Template,
): Promise<void> {
  context.log(`known paths, ${context.template.files} and ${small.files} files`);
  const root = join(context.scratch, 'trees', 'small');
  await cloneTemplate(small, root);
  const tree = new WorkTree(root, small.entries);
  const engine = new Ours({ tree: root, store: join(context.scratch, 'stores', 'ours-small') });
  await engine.first();
  // Whatever was edited before is seen, so that the lane starts from the files as they are.
  await large.engine.checkpoint({ lane: 'scan', automatic: false });
  const sides = [
    { engine: large.engine, tree: large.tree, template: context.template, operation: operations.laneLarge },
    { engine, tree, template: small, operation: operations.laneSmall },
  ];
  for (let rep = 0; rep < reps; rep += 1) {
    for (const side of rep % 2 === 0 ? sides : [...sides].reverse()) {
      const plan = planEdits(side.template.editable, 1, `lane-${rep}`, side.template.seed * 77 + rep);
      const applied = await side.tree.apply(plan);
      const paths = planPaths(plan);
      const mark = await context.ledger.time(side.operation, ours, () =>
        side.engine.checkpoint({ lane: 'paths', paths }),
      );
      for (const { path, content } of applied.after) {
        const kept = await side.engine.api.cat(mark, path);
        context.ledger.gate('the tool lane holds the edit', content?.equals(kept) === true, path);
      }
    }
  }
  await sameAsScan(context, large.engine);
  await sameAsScan(context, engine);
  await engine.close();
}

/** A full look right after must find the very tree that the tool lane had arrived at. */
async function sameAsScan(context: Context, engine: Ours): Promise<void> {
  const [newest] = await engine.api.list({ limit: 1 });
  const scanned = await engine.api.create({ trigger: 'manual' });
  const same = newest !== undefined && newest.files.tree === scanned.files.tree;
  context.ledger.gate('the tool lane equals a full scan', same, `${newest?.files.tree} and ${scanned.files.tree}`);
}
