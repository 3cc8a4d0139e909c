import type { CreateOptions } from './api';
import { names } from './attribution';
import type { Call, Checkpoint, FilesFacet, PathReason, RestoreRecord, Trigger } from './model';
import type { CaptureFacts } from './ports';
import { clampCharacters } from './text';
import { titleOf } from './titles';
import { promptLength } from './turns';
import { nextId } from './ulid';

export const pathsKept = 500;
const reasonsKept = 500;
/** More of them are found again by comparing trees. */
export const uncertainKept = 2000;

export interface RecordInput extends Omit<CreateOptions, 'paths' | 'automatic' | 'signal'> {
  /** The restore that is about to happen, for the title only: its record is filled in when it is done. */
  announced?: Pick<RestoreRecord, 'operation' | 'target'>;
  targetTitle?: string;
  targetTrigger?: Trigger | null;
}

/** The record of a new checkpoint from what its maker says and what the capture found. */
export function composeRecord(input: RecordInput, facts: CaptureFacts, now: number): Checkpoint {
  const trigger = input.trigger ?? 'manual';
  const turn = input.turn ? { ...input.turn, prompt: clampCharacters(input.turn.prompt, promptLength) } : null;
  const name = input.name ?? null;
  return {
    id: nextId(facts.newestId, now),
    name,
    title: titleOf({
      name,
      trigger,
      turn,
      cause: input.cause,
      task: input.task,
      restore: input.announced,
      targetTitle: input.targetTitle,
      targetTrigger: input.targetTrigger,
    }),
    description: input.description || null,
    createdAt: new Date(now).toISOString(),
    trigger,
    pinned: input.pinned === true,
    session: input.session ?? null,
    turn,
    files: filesFacet(facts),
    git: facts.git,
    task: input.task ?? null,
    cause: input.cause ?? null,
    restore: null,
    origin: null,
    metadata: input.metadata ?? {},
  };
}

function filesFacet(facts: CaptureFacts): FilesFacet {
  const calls = callsBehind(facts);
  return {
    tree: facts.tree,
    commit: '',
    lane: facts.lane,
    ...facts.changes,
    skipped: mostTelling(facts.skipped).slice(0, reasonsKept),
    partial: facts.partial,
    emptyDirs: facts.emptyDirs,
    ...(facts.exclude.length > 0 ? { exclude: facts.exclude } : {}),
    ...(facts.uncertain.length > 0 ? { uncertain: facts.uncertain.slice(0, uncertainKept) } : {}),
    ...(calls.length > 0 ? { calls } : {}),
  };
}

/** What the settings leave out they name themselves; of the rest only the record tells, and a restore asks it what it must not delete. */
function mostTelling(skipped: readonly PathReason[]): PathReason[] {
  const bySettings = ({ reason }: PathReason): boolean => reason === 'excluded';
  return [...skipped.filter((one) => !bySettings(one)), ...skipped.filter(bySettings)];
}

/** Who made the changes, or may have: later that tells the turns apart that were under way at the same time. */
function callsBehind({ previous, changes, calls }: CaptureFacts): Call[] {
  if (previous === null) return [];
  const last = changes.paths.map((path) => calls.findLastIndex((call) => names(call, path)));
  return calls.flatMap((call, i): Call[] => {
    if (call.paths.length === 0) return last.includes(-1) ? [call] : [];
    const paths = changes.paths.filter((_, at) => last[at] === i);
    return paths.length > 0 ? [{ ...call, paths }] : [];
  });
}
