import { names } from '../core/attribution';
import { CheckpointsError } from '../core/errors';
import type { Call, Checkpoint } from '../core/model';
import type { CaptureFacts, CaptureRequest, Previous } from '../core/ports';
import { baseMessage, decodeBase, emptyBase, type Base, type BaseState } from './base';
import type { ObjectReader } from './object-reader';
import type { PackWriter } from './pack-writer';
import { encodeCommit } from './records';
import type { Refs } from './refs';
import type { Snapshot } from './snapshots';

const baseRef = 'refs/base';

/** The base as the store keeps it. Between processes it decides which capture came first. */
export class BaseRef {
  constructor(
    private readonly refs: Refs,
    private readonly reader: ObjectReader,
    private readonly newWriter: () => PackWriter,
  ) {}

  /** What this process made or read last: most often that is still the one. */
  private last: Base | null = null;
  /** A ref whose commit is lost: the next base takes its place. */
  private unreadable: string | null = null;

  async read(): Promise<Base | null> {
    const commit = this.refs.read(baseRef);
    this.unreadable = null;
    if (!commit) return null;
    if (this.last?.commit === commit) return this.last;
    const object = await this.reader.read(commit);
    // A lost base only costs a full scan.
    this.last = object?.type === 'commit' ? decodeBase(object.data, commit) : null;
    if (!this.last) this.unreadable = commit;
    return this.last;
  }

  /** It is the base once its ref is moved. */
  add(writer: PackWriter, tree: string, state: BaseState): string {
    const commit = writer.add('commit', encodeCommit(tree, baseMessage(state), Date.now()));
    this.last = { ...state, tree, commit };
    return commit;
  }

  /** From what was read to what follows it: somebody else may be first. */
  move(from: Base | null, to: string): { ref: string; from: string | null; to: string } {
    return { ref: baseRef, from: from?.commit ?? this.unreadable, to };
  }

  /**
   * After a restore the workspace is known exactly: that is the next base. After one that died others may have captured before it was finished: what
   * they named stays named, and `unsure`, of which the tree does not know what became, is read again, too.
   */
  async set(tree: string, emptyDirs: (before: string[]) => string[], unsure: string[] = []): Promise<void> {
    for (let attempt = 0; attempt < 40; attempt++) {
      const base = await this.read();
      const { tree: _tree, commit: _commit, ...old } = base ?? { ...emptyBase, tree, commit: '' };
      const seq = old.seq + 1;
      const named = { ...old.named, ...Object.fromEntries(unsure.map((path) => [path, seq])) };
      const state: BaseState = { ...old, seq, named, emptyDirs: emptyDirs(old.emptyDirs) };
      const writer = this.newWriter();
      const commit = this.add(writer, tree, state);
      await writer.flush();
      if ((await this.refs.swapInOrder([this.move(base, commit)])) === null) return;
    }
    throw new CheckpointsError('busy', 'Another process keeps capturing. Try again.');
  }
}

/**
 * A scan that began later was faster. It forgot names, and took ignored files in, by what it saw itself: with the older look as the base they would
 * be lost to the fast lane.
 */
export function isOvertaken(snapshot: Snapshot, base: Base | null): boolean {
  return snapshot.lane === 'scan' && base !== null && base.scanned > snapshot.startedAtSeq;
}

/** What the next capture must know after this one. */
export function nextBase(
  base: Base | null,
  snapshot: Snapshot,
  facts: CaptureFacts,
  checkpoint: Checkpoint | null,
  named: string[],
  moment?: CaptureRequest['moment'],
): BaseState {
  const old = base ?? { ...emptyBase };
  const seq = old.seq + 1;
  const calls = nextCalls(old.calls, moment);
  // What a call of a turn under way named may be written only now: a user is asked first, and takes all the time in the world.
  const mayChange = ([path, at]: [string, number]): boolean =>
    snapshot.lane === 'paths' || at > snapshot.startedAtSeq || calls.some((call) => names(call, path));
  const kept = Object.entries(old.named).filter(mayChange);
  // A scan on behalf of named paths read them too, but the tool changes them right afterwards.
  const fresh = named.map((path): [string, number] => [path, seq]);
  return {
    seq,
    scanned: snapshot.lane === 'scan' ? snapshot.startedAtSeq : old.scanned,
    fast: snapshot.lane === 'paths' ? seq : old.fast,
    named: Object.fromEntries([...kept, ...fresh]),
    forced: snapshot.forced,
    brought: snapshot.brought,
    emptyDirs: snapshot.emptyDirs,
    previous: checkpoint
      ? previousFrom({ ...checkpoint, files: { ...checkpoint.files, tree: snapshot.tree } })
      : facts.previous,
    calls,
    newestId: checkpoint?.id ?? facts.newestId,
    git: snapshot.git,
  };
}

/** So many calls of turns under way are remembered: with more, the first ones' files may be taken for the user's. */
const callsKept = 64;

function nextCalls(calls: Call[], moment: CaptureRequest['moment']): Call[] {
  if (!moment) return calls;
  const { session, call, turn } = moment;
  const others = turn === null ? calls : calls.filter((one) => one.session !== session);
  if (!call) return others;
  // Calls run side by side: what was named may still be written, and a command goes on until the session's next one at least.
  const isOver = (one: Call): boolean =>
    one.session === session &&
    (one.paths.length + call.paths.length === 0 || (one.callId !== null && one.callId === call.callId));
  return [...others.filter((one) => !isOver(one)), { ...call, session }].slice(-callsKept);
}

export function previousFrom(record: Checkpoint): Previous {
  return {
    id: record.id,
    tree: record.files.tree,
    session: record.session?.id ?? null,
    turn: record.turn?.number ?? null,
    trigger: record.trigger,
  };
}
