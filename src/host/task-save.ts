import * as vscode from 'vscode';
import type { TaskState } from '../core/model';
import type { SavedTask } from '../core/task-service';
import type { Root } from './root';

type Patch = Record<string, unknown>;

/** Saves a change of the task, each with a checkpoint, and says what had to be shortened. */
export const saveTask = async (root: Root, patch: Patch, log: vscode.LogOutputChannel): Promise<void> =>
  tell(await root.task.save(root.api, patch), log);

/**
 * The same for a change of what is there: an agent may save between the look at a row and its change, and lists are replaced whole. Answers null
 * where the change finds nothing to change any more; nothing is saved then.
 */
export const changeTask = async (
  root: Root,
  change: (task: TaskState | null) => Partial<TaskState>,
  log: vscode.LogOutputChannel,
): Promise<TaskState | null> => {
  const saved = await root.task.edit(root.api, (task) => {
    const patch = change(task);
    return Object.keys(patch).length === 0 ? null : patch;
  });
  if (saved !== null) tell(saved, log);
  return saved?.task ?? null;
};

const tell = ({ clamped, warnings }: SavedTask, log: vscode.LogOutputChannel): void => {
  for (const warning of warnings) log.warn(warning);
  if (clamped.length > 0)
    vscode.window.showWarningMessage(`Too long, and shortened: ${clamped.map(({ field }) => field).join(', ')}.`);
};
