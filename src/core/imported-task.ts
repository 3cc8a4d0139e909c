import type { ImportedCheckpoint } from './imported';
import { taskKey } from './task';
import type { HistoryEntry } from './task-format';
import { usableName } from './titles';

/** A save of the task that another program made: the same one, whether it is found in the history file or imported by hand. */
export function importedSave({ name, savedAt, task }: HistoryEntry, source: string): ImportedCheckpoint {
  return {
    key: JSON.stringify(['s2', savedAt, name, taskKey(task)]),
    madeAt: Date.parse(savedAt),
    name: /^(?:auto|pre-restore)-\d+$/.test(name) ? null : usableName(name),
    title: task.title === undefined ? 'Task saved' : `Task: ${task.title}`,
    task,
    // By these a save is known as one, here and in the history file that is exported.
    metadata: { savedAt, source },
  };
}
