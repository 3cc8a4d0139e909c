import type { Trigger } from '../core/model';

/** What made a checkpoint, as people call it, in the tree and in the timeline. The type sees to it that none is missing. */
const labels: Record<Trigger, string> = {
  manual: 'Made by you',
  agent: 'Made by the agent',
  task: 'Task saved',
  turn: 'Before a prompt',
  tool: 'Before a tool call',
  idle: 'After a turn',
  compaction: 'At a compaction',
  interval: 'Every few messages',
  restore: 'Before a restore',
  import: 'Imported',
};

export const triggers = Object.keys(labels) as Trigger[];

/** What came from elsewhere was not made by you. */
export const triggerLabel = (trigger: Trigger, origin?: string): string =>
  origin !== undefined && trigger === 'manual' ? `Made by ${origin}` : labels[trigger];
