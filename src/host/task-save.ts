import * as vscode from 'vscode';
import type { TaskState } from '../core/model';
import type { Root } from './root';

/** Saves a change of the task, each with a checkpoint, and says what had to be shortened. */
export const saveTask = async (
  root: Root,
  patch: Record<string, unknown>,
  log: vscode.LogOutputChannel,
): Promise<TaskState> => {
  if (Object.keys(patch).length === 0) return (await root.task.read()) ?? {};
  const { task, clamped, warnings } = await root.task.save(root.api, patch);
  for (const warning of warnings) log.warn(warning);
  if (clamped.length > 0)
    vscode.window.showWarningMessage(`Too long, and shortened: ${clamped.map(({ field }) => field).join(', ')}.`);
  return task;
};
