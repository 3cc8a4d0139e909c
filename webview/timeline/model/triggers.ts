import type { Trigger } from '../../../src/core/model';

/** What made a checkpoint, as people call it. The type sees to it that none is missing. */
const labels: Record<Trigger, string> = {
  manual: 'Made by you',
  agent: 'Made by the agent',
  task: 'Task saved',
  turn: 'Before a prompt',
  tool: 'Before a tool call',
  idle: 'After a turn',
  compaction: 'Before a compaction',
  interval: 'Every few messages',
  restore: 'Before a restore',
  import: 'Imported',
};

export const triggers = Object.keys(labels) as Trigger[];

export const triggerLabel = (trigger: Trigger): string => labels[trigger];
