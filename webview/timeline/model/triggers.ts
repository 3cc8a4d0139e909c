import type { Trigger } from '../../../src/core/model';

/** What made a checkpoint, as people call it. The type sees to it that none is missing. */
const texts: Record<Trigger, { label: string; hint: string }> = {
  manual: { label: 'Made by you', hint: 'made by you' },
  agent: { label: 'Made by the agent', hint: 'made by the agent' },
  task: { label: 'Task saved', hint: 'task saved' },
  turn: { label: 'Before a prompt', hint: 'before a prompt' },
  tool: { label: 'Before a tool call', hint: 'before a tool call' },
  idle: { label: 'After a turn', hint: 'after a turn' },
  compaction: { label: 'Before a compaction', hint: 'before a compaction' },
  interval: { label: 'Every few messages', hint: 'every few messages' },
  restore: { label: 'Before a restore', hint: 'before a restore' },
  import: { label: 'Imported', hint: 'brought in from elsewhere' },
};

export const triggers = Object.keys(texts) as Trigger[];

export const triggerLabel = (trigger: Trigger): string => texts[trigger].label;
export const triggerHint = (trigger: Trigger): string => texts[trigger].hint;
