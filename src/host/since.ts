import { isWhole } from '../core/files-facet';
import type { Change, Checkpoint } from '../core/model';
import { ofOthers, turnStart } from '../core/turn-ends';
import { turnAround } from '../core/turn-revert';
import type { Target } from './diff';
import { originText } from './labels';
import { newestFirst } from './picker';
import type { Root } from './root';

/** What a checkpoint's changes are told against. */
export interface Since {
  /** undefined: there is nothing before it. */
  before: Checkpoint | undefined;
  /** It is the point before the turn that ended here, and not the one right before. */
  wholeTurn: boolean;
}

/** What holds single files, or none, has nothing before it; and everybody's checkpoints are a row of their own. */
const rowOf = async ({ root, checkpoint }: Target): Promise<Checkpoint[]> =>
  isWhole(checkpoint)
    ? (await root.api.list())
        .sort(newestFirst)
        .filter((other) => isWhole(other) && originText(other) === originText(checkpoint))
    : [];

const rightBefore = (checkpoint: Checkpoint, row: readonly Checkpoint[]): Checkpoint | undefined =>
  row[row.findIndex((other) => other.id === checkpoint.id) + 1];

/** The checkpoint right before this one in the same workspace: what its record counts is counted against that. */
export const previousOf = async (target: Target): Promise<Checkpoint | undefined> =>
  rightBefore(target.checkpoint, await rowOf(target));

/** At the end of a turn one looks for what the turn did, not for what its last call did. */
export const sinceOf = async (target: Target): Promise<Since> => {
  const row = await rowOf(target);
  const start = turnStart(target.checkpoint, row);
  return { before: start ?? rightBefore(target.checkpoint, row), wholeTurn: start !== undefined };
};

/** The turn that begins behind a prompt's point: with which point it had ended. Undefined for all others, and while nothing tells when. */
export const endOfTurn = async ({ root, checkpoint }: Target): Promise<Checkpoint | undefined> => {
  if (checkpoint.trigger !== 'turn' || checkpoint.session === null || checkpoint.turn === null) return undefined;
  const row = (await rowOf({ root, checkpoint })).reverse();
  const { before, after, openEnd } = turnAround(checkpoint, row);
  return before.id === checkpoint.id && openEnd === undefined ? (after ?? undefined) : undefined;
};

export const changesSince = async ({ root, checkpoint }: Target, { before, wholeTurn }: Since): Promise<Change[]> =>
  wholeTurn && before !== undefined
    ? (await changesOfTurn(root, before, checkpoint)).changes
    : root.api.changes(checkpoint.id);

/** What a turn changed, as far as it can be told from what other sessions changed meanwhile; `others`: how many paths are theirs alone. */
export const changesOfTurn = async (
  root: Root,
  before: Checkpoint,
  after: Checkpoint,
): Promise<{ changes: Change[]; others: number }> => {
  const row = await rowOf({ root, checkpoint: after });
  const isOther = ofOthers(
    before,
    row.filter(({ id }) => id > before.id && id <= after.id),
  );
  const { changes } = await root.api.diff(before.id, after.id);
  const own = changes.filter(({ path }) => !isOther(path));
  return { changes: own, others: changes.length - own.length };
};
