import type { Checkpoint, CheckpointId } from '../core/model';
import { turnEnds, withoutPassing, type TurnEnd } from '../core/turn-ends';
import type { Root } from './root';

/** Whether a checkpoint has a path: that does not change. */
const known = new WeakMap<Root, Map<string, Promise<boolean>>>();

/** The ends of turns as people see them: counted without what was made and removed again. */
export const turnEndsOf = (root: Root, checkpoints: readonly Checkpoint[]): Promise<Map<CheckpointId, TurnEnd>> => {
  const answers = known.get(root) ?? new Map<string, Promise<boolean>>();
  known.set(root, answers);
  return withoutPassing(turnEnds(checkpoints), (id, path) => {
    const key = `${id}:${path}`;
    const answer = answers.get(key) ?? has(root, id, path);
    answers.set(key, answer);
    return answer;
  });
};

const has = async ({ api }: Root, id: CheckpointId, path: string): Promise<boolean> => {
  try {
    return (await api.stat(id, path)) !== null;
  } catch {
    // Lost, or deleted meanwhile: the row is counted as its records count it, and says what is wrong when it is opened.
    return true;
  }
};
