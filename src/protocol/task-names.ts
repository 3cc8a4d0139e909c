import type { TaskStatus } from '../core/model';

/** What the fields of a task and its status are called, in the Task view and in the timeline. */

export type TextField = 'title' | 'objective' | 'summary';
export type ListField = 'currentPlan' | 'nextSteps' | 'completedSteps' | 'blockers' | 'filesTouched' | 'notes';

export const textNames: Record<TextField, string> = { title: 'Title', objective: 'Objective', summary: 'Summary' };

/** In the order in which they are shown. */
export const listNames: Record<ListField, string> = {
  currentPlan: 'Current Plan',
  nextSteps: 'Next Steps',
  completedSteps: 'Completed Steps',
  blockers: 'Blockers',
  filesTouched: 'Files Touched',
  notes: 'Notes',
};

export const statusNames: Record<TaskStatus, string> = {
  not_started: 'Not started',
  in_progress: 'In progress',
  blocked: 'Blocked',
  done: 'Done',
};
