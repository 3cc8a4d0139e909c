import type { WorkspaceApi } from './api';
import { endOfTurn, names } from './attribution';
import { CheckpointsError } from './errors';
import { isWhole } from './files-facet';
import type { Call, Change, Checkpoint, CheckpointId, Trigger } from './model';

/** The first version of a file that a session changed: it is in `checkpoint`, or was not there at all when the session made it. */
export interface Original {
  path: string;
  checkpoint: CheckpointId;
  createdAt: string;
  existed: boolean;
  size: number | null;
  /** From then to the working files; null when they are the same again. */
  change: Change | null;
}

export interface Originals {
  /** null: no session is known, so all that changed in this workspace. */
  session: string | null;
  originals: Original[];
}

/** A checkpoint with everything that changed since the one before it; the last step are the working files. */
export interface Step {
  checkpoint: Pick<Checkpoint, 'id' | 'trigger' | 'session' | 'cause' | 'metadata'> | null;
  changed: readonly string[];
  /** What was called meanwhile, also by calls that left no point of their own. */
  calls?: readonly Call[];
}

/** In the metadata of the point from which a session's originals are counted anew. */
const clearedMark = { originals: 'cleared' };

/** Only on a point of ours: others' metadata were once free to say so, too. */
const isCleared = ({ trigger, metadata }: NonNullable<Step['checkpoint']>): boolean =>
  trigger === 'idle' && metadata['originals'] === clearedMark.originals;

/**
 * Which checkpoint holds the first version of each path. `steps` is oldest first. A change belongs to the session whose tool call
 * named the path, else to the only one that ran a command in its turn, else to the one at work: from its first point until its turn
 * ended. What a restore changed belongs to nobody.
 */
export function traceOriginals(steps: readonly Step[], session: string | null): Map<string, CheckpointId> {
  const first = new Map<string, CheckpointId>();
  const sessions = new SessionsAtWork();
  let before: Step['checkpoint'] = null;
  for (const { checkpoint, changed, calls = [] } of steps) {
    if (before && before.trigger !== 'restore')
      for (const path of changed) {
        const owner = sessions.ownerOf(path, calls);
        if ((session === null || owner === session) && !first.has(path)) first.set(path, before.id);
      }
    if (!checkpoint) break;
    const own = checkpoint.session?.id ?? null;
    if (isCleared(checkpoint) && own === session) first.clear();
    sessions.follow(checkpoint);
    before = checkpoint;
  }
  return first;
}

type Point = NonNullable<Step['checkpoint']>;

/** Only an agent at work makes these; others hold a conversation that may be at rest. */
const ofAgent: ReadonlySet<Trigger> = new Set<Trigger>(['turn', 'tool', 'agent', 'task']);

class SessionsAtWork {
  /** By the turns under way: the paths they named, whether they ran a command, and the checkpoint at which they are over, if that is known. */
  private readonly turns = new Map<string, { named: Set<string>; command: boolean; end: CheckpointId | null }>();
  private last: string | null = null;

  ownerOf(path: string, calls: readonly Call[]): string | null {
    const call = calls.findLast((one) => names(one, path));
    if (call) return call.session;
    const all = [...this.turns];
    const named = all.findLast(([, turn]) => turn.named.has(path));
    if (named) return named[0];
    const runs = (session: string): boolean => calls.some((one) => one.session === session && one.paths.length === 0);
    const commanding = all.filter(([session, turn]) => turn.command || runs(session));
    return (commanding.length === 1 ? commanding[0]?.[0] : null) ?? this.last;
  }

  follow(point: Point): void {
    const { trigger, session, cause } = point;
    if (trigger === 'idle') this.end(session?.id ?? null);
    else if (session && ofAgent.has(trigger)) {
      const before = trigger === 'turn' ? undefined : this.turns.get(session.id);
      const named = new Set([...(before?.named ?? []), ...(cause?.paths ?? [])]);
      const command = before?.command === true || cause?.paths.length === 0;
      // The last one that named a path is the last of them.
      this.turns.delete(session.id);
      this.turns.set(session.id, { named, command, end: endOfTurn(point) });
      this.last = session.id;
    }
    for (const [id, { end }] of this.turns) if (end !== null && end <= point.id) this.end(id);
  }

  /** null: all of them. */
  private end(session: string | null): void {
    if (session === null) this.turns.clear();
    else this.turns.delete(session);
    if (session === null || session === this.last) this.last = null;
  }
}

/** Not in the checkpoint before, but in the next one, which was made for the first call that names it: an ignored file, which nobody had looked at. */
function isFirstSeen({ checkpoint, calls = [] }: Step, path: string): boolean {
  const byCall = calls.some((call) => call.paths.length === 0 || names(call, path));
  return checkpoint?.trigger === 'tool' && checkpoint.cause?.paths.includes(path) === true && !byCall;
}

/** Without a session: the newest one that made a checkpoint here. */
export async function findOriginals(workspace: WorkspaceApi, wanted?: string): Promise<Originals> {
  const newestFirst = (await workspace.list()).filter((one) => one.origin === null && isWhole(one));
  const session = wanted ?? newestFirst.find((one) => one.session)?.session?.id ?? null;
  if (wanted !== undefined && !newestFirst.some((one) => one.session?.id === wanted))
    throw new CheckpointsError('session-missing', `No checkpoint of session ${wanted} is here`);
  const oldestFirst = [...newestFirst].reverse();
  const steps: Step[] = [];
  for (const checkpoint of oldestFirst)
    steps.push({ checkpoint, changed: await changedPaths(workspace, checkpoint), calls: checkpoint.files.calls });
  const last = oldestFirst.at(-1);
  if (last) steps.push({ checkpoint: null, changed: bothEnds((await workspace.diff(last.id)).changes) });
  const found = traceOriginals(steps, session);
  for (const [path, id] of found) {
    const next = steps[steps.findIndex(({ checkpoint }) => checkpoint?.id === id) + 1];
    if (!next?.checkpoint || !isFirstSeen(next, path) || (await workspace.stat(id, path)) !== null) continue;
    if ((await workspace.stat(next.checkpoint.id, path)) !== null) found.set(path, next.checkpoint.id);
  }
  const times = new Map(oldestFirst.map((one) => [one.id, one.createdAt]));
  const changes = await changesSince(workspace, found);
  const originals: Original[] = [];
  for (const [path, checkpoint] of found) {
    const stat = await workspace.stat(checkpoint, path);
    originals.push({
      path,
      checkpoint,
      createdAt: times.get(checkpoint) ?? '',
      existed: stat !== null,
      size: stat?.size ?? null,
      change: changes.get(path) ?? null,
    });
  }
  originals.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { session, originals };
}

/** Counts anew from now: a point that is no one's name and no `latest`, and goes with the automatic ones. */
export async function clearOriginals(workspace: WorkspaceApi, { session }: Originals): Promise<Checkpoint> {
  const last = session === null ? null : (await workspace.list({ session, limit: 1 }))[0]?.session;
  return workspace.create({ trigger: 'idle', session: last ?? null, metadata: { ...clearedMark } });
}

const bothEnds = (changes: readonly Change[]): string[] =>
  changes.flatMap(({ path, from }) => (from === undefined ? [path] : [from, path]));

async function changedPaths(workspace: WorkspaceApi, { id, files }: Checkpoint): Promise<string[]> {
  const complete = files.added + files.modified + files.deleted <= files.paths.length;
  return complete ? files.paths : bothEnds(await workspace.changes(id));
}

/** One comparison per checkpoint, however many files have their first version there. */
async function changesSince(workspace: WorkspaceApi, found: Map<string, CheckpointId>): Promise<Map<string, Change>> {
  const groups = new Map<CheckpointId, string[]>();
  for (const [path, id] of found) groups.set(id, [...(groups.get(id) ?? []), path]);
  const changes = new Map<string, Change>();
  for (const [id, paths] of groups)
    for (const change of (await workspace.diff(id, undefined, { paths })).changes) changes.set(change.path, change);
  return changes;
}
