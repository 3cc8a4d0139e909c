import type { CreateOptions, WorkspaceApi } from './api';
import { CheckpointsError } from './errors';
import { handoff } from './handoff';
import { importedSave } from './imported-task';
import type { Checkpoint, CheckpointId, TaskState, TaskStatus, Trigger } from './model';
import type { TaskPort } from './restorer';
import {
  mergeTask,
  synthesizedTask,
  taskKey,
  taskOverview,
  withoutMadeUp,
  type Clamp,
  type TaskOverview,
} from './task';
import { stateFiles } from './task-files';
import { historyOf, isSave, savedAt, snapshotName } from './task-format';
import type { LoadedTask, TaskStore } from './task-store';
import { cleanName } from './titles';

export interface SaveTask {
  /** A named save outlives any number of automatic ones. */
  name?: string | null;
  trigger?: Extract<Trigger, 'task' | 'compaction' | 'interval'>;
  session?: CreateOptions['session'];
  turn?: CreateOptions['turn'];
  metadata?: CreateOptions['metadata'];
}

export interface SavedTask {
  task: TaskState;
  updatedAt: string;
  checkpoint: Checkpoint;
  clamped: Clamp[];
  warnings: string[];
}

export interface TaskSnapshot {
  id: CheckpointId;
  /** Its own, or `auto-<ms>`. */
  name: string;
  savedAt: string;
  trigger: Trigger;
  title: string | null;
  status: TaskStatus | null;
}

/** What the task needs of a workspace: every save is a checkpoint. */
export type SavesTo = Pick<WorkspaceApi, 'create' | 'list' | 'adopt'>;

/** The task of one workspace: every save merges, is a checkpoint, and is exported for other tools. */
export class TaskService implements TaskPort {
  constructor(private readonly store: TaskStore) {}

  async read(): Promise<TaskState | null> {
    return (await this.store.load()).live?.task ?? null;
  }

  load(): Promise<LoadedTask> {
    return this.store.load();
  }

  /** Exactly this state, nothing merged; null clears it. */
  async replace(task: TaskState | null): Promise<void> {
    await this.store.change(() => task);
  }

  async replaced(workspace: SavesTo): Promise<void> {
    // Where the state went, its history went with it.
    if ((await this.read()) !== null) await this.exportHistory(workspace);
  }

  save(workspace: SavesTo, patch: unknown, options: SaveTask = {}): Promise<SavedTask> {
    return this.saveChange(workspace, () => patch, options);
  }

  /**
   * A change of what is there: lists are replaced whole, and somebody else may save between a look at one and its change. `decide` is given the state
   * as it is and may run again; null, and nothing is saved, where there is nothing to change any more.
   */
  async edit(workspace: SavesTo, decide: (current: TaskState | null) => TaskState | null): Promise<SavedTask | null> {
    if (decide(await this.read()) === null) return null;
    return this.saveChange(workspace, (current) => decide(current) ?? {}, {});
  }

  private async saveChange(
    workspace: SavesTo,
    patchOf: (current: TaskState | null) => unknown,
    options: SaveTask,
  ): Promise<SavedTask> {
    // Refused before anything is changed: a state without its checkpoint could not be found again.
    const name = options.name === undefined || options.name === null ? null : cleanName(options.name);
    const trigger = options.trigger ?? 'task';
    const merge = (current: TaskState | null): ReturnType<typeof mergeTask> => {
      const known = trigger === 'task' ? withoutMadeUp(current) : current;
      return mergeTask(known, patchOf(known));
    };
    merge(await this.read());
    let clamped: Clamp[] = [];
    const changed = await this.store.change((current) => {
      const merged = merge(current);
      clamped = merged.clamped;
      return merged.task;
    });
    const task = changed.live?.task ?? {};
    // Not while the state is locked: a restore holds the store and waits for the state, so nobody holds the state and waits for the store.
    const checkpoint = await workspace.create({
      trigger,
      name,
      session: options.session ?? null,
      turn: options.turn ?? null,
      metadata: options.metadata ?? {},
      task,
    });
    const warnings = [...new Set([...changed.warnings, ...(await this.exportHistory(workspace))])];
    return { task, updatedAt: changed.live?.updatedAt ?? checkpoint.createdAt, checkpoint, clamped, warnings };
  }

  /** The state as it is, saved again. On compaction one is made up when there is none; else null, and nothing is saved. */
  async autosave(
    workspace: SavesTo,
    trigger: 'compaction' | 'interval',
    options: Omit<SaveTask, 'name' | 'trigger'> = {},
  ): Promise<SavedTask | null> {
    const task = await this.read();
    if (task === null && trigger === 'interval') return null;
    // Somebody may save meanwhile: what is made up must not take the place of that.
    const isMadeUp = trigger === 'compaction';
    const patchOf = (current: TaskState | null): TaskState => (isMadeUp && current === null ? synthesizedTask() : {});
    return this.saveChange(workspace, patchOf, { ...options, trigger });
  }

  /** The state goes; what it was is in a checkpoint, if need be in one that is made now. Says which exported files went. */
  async clear(workspace: SavesTo): Promise<{ cleared: true; details: string[]; warnings: string[] }> {
    const files = this.store.exports;
    const present: string[] = [];
    for (const file of ['state', 'history', 'page'] as const)
      if ((await files.read(file)) !== null) present.push(files.pathOf(file));
    const now = await this.load();
    // Where there is nothing, nothing is made.
    if (now.live === null && now.warnings.length === 0 && present.length === 0)
      return { cleared: true, details: [], warnings: [] };
    const { previous, warnings } = await this.store.change(() => null);
    if (previous !== null) {
      const key = taskKey(previous.task);
      const kept = (await this.saves(workspace)).some((save) => save.task !== null && taskKey(save.task) === key);
      if (!kept) await workspace.create({ trigger: 'task', task: previous.task });
    }
    return { cleared: true, details: present.map((file) => `${file} deleted`), warnings };
  }

  async overview(): Promise<TaskOverview> {
    const { live } = await this.store.load();
    return taskOverview(live?.task ?? null, live?.updatedAt ?? '');
  }

  /** Newest first. */
  async history(workspace: SavesTo): Promise<TaskSnapshot[]> {
    return (await this.saves(workspace)).map((save) => ({
      id: save.id,
      name: snapshotName(save),
      savedAt: savedAt(save),
      trigger: save.trigger,
      title: save.task?.title ?? null,
      status: save.task?.status ?? null,
    }));
  }

  /** The newest save with this name, `auto-<ms>` ones included; they are listed by it. */
  async findSave(workspace: SavesTo, name: string): Promise<Checkpoint> {
    const saves = await this.saves(workspace);
    const found = saves.find((save) => snapshotName(save) === name);
    if (found) return found;
    throw new CheckpointsError('unknown-reference', `No save of the task is named "${name}".`, {
      details: { available: saves.map(snapshotName) },
    });
  }

  async handoff(): Promise<string> {
    const { live } = await this.store.load();
    return handoff(live?.task ?? null, live?.updatedAt ?? null);
  }

  /** Newest first. */
  private async saves(workspace: SavesTo): Promise<Checkpoint[]> {
    return (await workspace.list()).filter(isSave);
  }

  /** What another program had put into the history file becomes checkpoints of its own, once. */
  private async exportHistory(workspace: SavesTo): Promise<string[]> {
    const saves = await this.saves(workspace);
    const { found, warnings } = await this.store.saveHistory(historyOf(saves));
    const known = new Set(saves.map((save) => `${savedAt(save)} ${snapshotName(save)}`));
    const foreign = found.filter((entry) => !known.has(`${entry.savedAt} ${entry.name}`));
    if (foreign.length === 0) return warnings;
    await workspace.adopt(foreign.map((entry) => importedSave(entry, stateFiles.history)));
    const again = await this.store.saveHistory(historyOf(await this.saves(workspace)));
    return [...warnings, ...again.warnings];
  }
}
