import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from './context';
import type { EngineKind } from './engine';
import { differences, fingerprint } from './gates/dotgit';
import { gcSurvival } from './gates/gc';
import { ours } from './names';
import { agentLatency } from './operations/agent';
import { cycles, type Rider } from './operations/cycle';
import { firstCheckpoints, plainFirstCheckpoints } from './operations/first';
import { freshProcesses } from './operations/fresh';
import { laneGrowth } from './operations/lane';
import { opencodeRedo } from './operations/redo';
import { scale } from './operations/scale';
import { storage } from './operations/storage';
import type { Group } from './options';
import { cloneTemplate, makeTemplate } from './repository';
import { WorkTree } from './worktree';

/** Runs the parts that were asked for, in the order in which they disturb each other least. */
export async function runCourse(context: Context): Promise<void> {
  const { options, scratch } = context;
  const wants = (...groups: Group[]): boolean => groups.some((group) => options.only.includes(group));
  if (wants('plain')) await plainFirstCheckpoints(context);
  if (wants('first', 'cycle', 'fresh', 'lane', 'gc')) await onClones(context, wants);
  if (wants('storage')) await storage(context, await smallTemplate(context, 'storage.git'));
  if (wants('scale')) await scale(context);
  if (wants('agent')) await agentLatency(context);
  await rm(join(scratch, 'trees'), { recursive: true, force: true });
}

async function onClones(context: Context, wants: (...groups: Group[]) => boolean): Promise<void> {
  const { scratch, template, ledger } = context;
  // Some parts are about ours alone; then nobody else needs a clone.
  const taking = wants('first', 'cycle', 'fresh')
    ? context.engines
    : context.engines.filter(({ name }) => name === ours);
  const treeOf = (kind: EngineKind): string => join(scratch, 'trees', kind.name);
  context.log('cloning');
  for (const kind of taking) await cloneTemplate(template, treeOf(kind));
  const userGit = join(scratch, 'trees', ours, '.git');
  const before = fingerprint(userGit);
  const opened = await firstCheckpoints({ ...context, engines: taking }, treeOf);
  const riders: Rider[] = opened.map((one) => ({ ...one, tree: new WorkTree(one.place.tree, template.entries) }));
  for (const rider of riders) rider.tree.trust();
  const own = riders.find(({ kind }) => kind.name === ours);
  try {
    if (wants('cycle')) await cycles(context, riders);
    if (wants('fresh')) await freshProcesses(context, riders);
    if (wants('cycle')) await opencodeRedo(context, riders);
    if (own === undefined) {
      ledger.gate('our engine takes its first checkpoint', false);
      return;
    }
    if (wants('lane')) await laneGrowth(context, own, await smallTemplate(context, 'small.git'));
    const changed = differences(before, fingerprint(userGit));
    ledger.gate("the user's .git is the same, byte for byte", changed.length === 0, changed.slice(0, 5).join(', '));
    if (wants('gc')) await gcSurvival(context, own.place, own.tree);
  } finally {
    for (const { engine } of riders) await engine.close();
  }
}

/** As large to the main one as 7,000 files are to 60,000. */
function smallTemplate(context: Context, name: string): ReturnType<typeof makeTemplate> {
  const files = Math.max(300, Math.round((context.options.files * 7) / 60));
  return makeTemplate(join(context.scratch, name), files, context.options.seed + 1);
}
