import { join } from 'node:path';
import type { WorkspaceApi } from '../../src/core/api';
import type { Context } from '../context';
import { planEdits, planPaths } from '../edits';
import { DrivenEngine } from '../driven';
import { operations, ours } from '../names';
import { openOurs } from '../open';
import { cloneTemplate, type Template } from '../repository';
import { WorkTree } from '../worktree';
import type { Rider } from './cycle';

const reps = 20;

/** The tool lane in a large and in a small repository, alternating: its cost must hardly grow with the files. */
export async function laneGrowth(
  context: Context,
  large: Pick<Rider, 'engine' | 'place' | 'tree'>,
  small: Template,
): Promise<void> {
  context.log(`known paths, ${context.template.files} and ${small.files} files`);
  const root = join(context.scratch, 'trees', 'small');
  await cloneTemplate(small, root);
  const tree = new WorkTree(root, small.entries);
  const place = { tree: root, store: join(context.scratch, 'stores', 'ours-small') };
  const engine = new DrivenEngine(ours, place, context.bundles);
  await engine.first();
  // Whatever was edited before is seen, so that the lane starts from the files as they are.
  await large.engine.checkpoint({ lane: 'scan', automatic: false });
  const sides = [
    {
      ...large,
      template: context.template,
      operation: operations.laneLarge,
      api: await openOurs(large.place),
    },
    { engine, place, tree, template: small, operation: operations.laneSmall, api: await openOurs(place) },
  ];
  for (let rep = 0; rep < reps; rep += 1) {
    for (const side of rep % 2 === 0 ? sides : [...sides].reverse()) {
      const plan = planEdits(side.template.editable, 1, `lane-${rep}`, side.template.seed * 77 + rep);
      const applied = await side.tree.apply(plan);
      const paths = planPaths(plan);
      const work = (): Promise<string> => side.engine.checkpoint({ lane: 'paths', paths });
      const mark = await context.ledger.time(side.operation, ours, work, side.engine);
      for (const { path, content } of applied.after) {
        const kept = await side.api.cat(mark, path);
        context.ledger.gate('the tool lane holds the edit', content?.equals(kept) === true, path);
      }
    }
  }
  for (const { api } of sides) {
    await sameAsScan(context, api);
    await api.close();
  }
  await engine.close();
}

/** A full look right after must find the very tree that the tool lane had arrived at. */
async function sameAsScan(context: Context, api: WorkspaceApi): Promise<void> {
  const [newest] = await api.list({ limit: 1 });
  const scanned = await api.create({ trigger: 'manual' });
  const same = newest !== undefined && newest.files.tree === scanned.files.tree;
  context.ledger.gate('the tool lane equals a full scan', same, `${newest?.files.tree} and ${scanned.files.tree}`);
}
