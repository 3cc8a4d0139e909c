import { CheckpointsError } from '../core/errors';
import { taskStatuses } from '../core/task';
import { snapshotName, toStateFile } from '../core/task-format';
import { optionalText, requiredText } from './arguments';
import { input, placeOf, text, texts, type Toolbox, type ToolSpec } from './tool-spec';

const json = (value: unknown): string => JSON.stringify(value, null, 2);

const fields = {
  title: text(),
  objective: text(),
  status: { type: 'string', enum: taskStatuses },
  summary: text(),
  currentPlan: texts,
  completedSteps: texts,
  nextSteps: texts,
  blockers: texts,
  filesTouched: texts,
  notes: texts,
  snapshotName: text(),
};

/** The task's memory, with the names, arguments and answers that agents know from checkpoint-orchestrator. */
export function taskTools(box: Toolbox): ToolSpec[] {
  const open = () => box.companion.open();
  return [
    {
      name: 'checkpoint_save',
      core: false,
      description:
        'Save what the task is and how far it is. Fields left out keep their value, "" and [] clear them, lists are replaced.',
      input: input(fields),
      run: async (args, call) => {
        // The version is the file format's, not the agent's to set.
        const { snapshotName: _, version: __, ...given } = args;
        const name = optionalText(args, 'snapshotName');
        const { workspace, task } = await open();
        const moment = await placeOf(box, call);
        const saved = await task.save(workspace, given, { ...(name === undefined ? {} : { name }), ...moment });
        box.memory.saved();
        const remarks = [
          ...saved.warnings,
          ...saved.clamped.map(({ field, given: long, kept }) => `${field} was cut from ${long} to ${kept}.`),
        ];
        // First: OpenCode cuts the end of a long answer off.
        return json({ ...(remarks.length > 0 ? { warnings: remarks } : {}), ...toStateFile(saved) });
      },
    },
    {
      name: 'checkpoint_load',
      core: false,
      description: 'The saved task state.',
      input: input(),
      run: async () => {
        const { live, warnings } = await (await open()).task.load();
        return json({
          ...(warnings.length > 0 ? { warnings } : {}),
          ...(live ? toStateFile(live) : { exists: false }),
        });
      },
    },
    {
      name: 'checkpoint_status',
      core: false,
      description: 'The task state in short.',
      input: input(),
      run: async () => json(await (await open()).task.overview()),
    },
    {
      name: 'checkpoint_clear',
      core: false,
      description: 'Clear the task state; its saved snapshots stay.',
      input: input(),
      run: async () => {
        const { workspace, task } = await open();
        const { cleared, details, warnings } = await task.clear(workspace);
        return json({ cleared, details, ...(warnings.length > 0 ? { warnings } : {}) });
      },
    },
    {
      name: 'checkpoint_load_snapshot',
      core: false,
      description: 'A named task snapshot, without restoring it.',
      input: input({ name: text() }, ['name']),
      run: async (args) => {
        const name = requiredText(args, 'name', 'before-migration');
        const { workspace, task } = await open();
        const found = await task.findSave(workspace, name).catch(missing(name));
        if ('error' in found) return json(found);
        return json(toStateFile({ task: found.task ?? {}, updatedAt: found.createdAt }));
      },
    },
    {
      name: 'checkpoint_restore_snapshot',
      core: false,
      description: 'Make a named task snapshot the task state again, exactly.',
      input: input({ name: text() }, ['name']),
      run: async (args) => {
        const name = requiredText(args, 'name', 'before-migration');
        const { workspace, task } = await open();
        const found = await task.findSave(workspace, name).catch(missing(name));
        if ('error' in found) return json(found);
        const had = (await task.read()) !== null;
        const { undo } = await workspace.restore(found.id, { scope: ['task'] });
        const safety = undo && had ? await workspace.resolve(undo) : null;
        return json({ restored: true, name, undoSnapshot: safety && snapshotName(safety) });
      },
    },
  ];
}

interface NotFound {
  error: string;
  name: string;
  available: string[];
  /** How many there are besides. */
  more?: number;
}

const missing =
  (name: string) =>
  (error: unknown): NotFound => {
    if (!CheckpointsError.is(error, 'unknown-reference')) throw error;
    return { error: 'Snapshot not found', name, ...shownOf((error.details?.['available'] ?? []) as string[]) };
  };

const mostShown = 50;

/** Those that were given a name first: the others are many, and called after their time. */
function shownOf(names: readonly string[]): Pick<NotFound, 'available' | 'more'> {
  const isNamed = (name: string): boolean => !/^(auto|pre-restore)-\d+$/.test(name);
  const ordered = [...names.filter(isNamed), ...names.filter((name) => !isNamed(name))];
  const more = ordered.length - mostShown;
  return { available: ordered.slice(0, mostShown), ...(more > 0 ? { more } : {}) };
}
