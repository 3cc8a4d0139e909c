import type { Checkpoint } from './model';

/** How many of the newest checkpoints are asked who changed a path last, and who works. */
export const attributionWindow = 200;

const inTurn: ReadonlyArray<Checkpoint['trigger']> = ['turn', 'tool', 'idle'];
/** Each costs a request. */
const askedForWork = 5;

/** Sessions that were in a turn when they were last seen, newest first: only these can be at work. */
export function lastWorking(checkpoints: readonly Checkpoint[]): string[] {
  const last = new Map<string, Checkpoint>();
  for (const checkpoint of checkpoints)
    if (checkpoint.session && checkpoint.origin === null && inTurn.includes(checkpoint.trigger)) {
      last.delete(checkpoint.session.id);
      last.set(checkpoint.session.id, checkpoint);
    }
  const open = [...last].filter(([, { trigger }]) => trigger !== 'idle').map(([id]) => id);
  return open.reverse().slice(0, askedForWork);
}
