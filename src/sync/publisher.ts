import { CheckpointsError } from '../core/errors';
import type { Checkpoint } from '../core/model';
import { countsAsLatest } from '../core/references';
import type { PushOptions, PushResult } from '../core/sync';
import { Exclusions } from '../git/exclusions';
import { headCommit, Outgoing } from './outgoing';
import type { SyncParts } from '../git/open';
import type { PackWriter } from '../git/pack-writer';
import { lookAt, pushRefs, type PushJob, type RefMove } from './push';
import type { Scratch } from './scratch';
import { SessionSender } from './session-sender';
import { checkpointRefs } from '../git/lost-refs';
import { damagedObjects, neededBy } from '../git/damaged';
import { incomplete } from '../git/missing';
import type { GitStore } from '../git/store';
import { isVanished, type Address } from './transport';
import { checkpointRef, originName, placeOf, sessionRef, thisOrigin, type WireRef } from './wire';

/** So many parents tell git enough: what one checkpoint has, most of its neighbours have. */
const parentsKept = 500;
const attempts = 5;
/** What git says of a pack that could not be made, or could not be used there. */
const couldNotUnpack = /unpack|missing necessary objects|pack-objects|corrupt|inflate/i;

/** The name of this workspace's part of any remote; null: it has none yet, so nothing there is its own. */
export async function knownOrigin(store: GitStore): Promise<string | null> {
  const key = await store.syncState.knownKey(placeOf(store.root));
  return key === null ? null : originName(thisOrigin(), key);
}

/** The same, made when it is needed first. */
export async function originOf(store: GitStore): Promise<string> {
  const place = placeOf(store.root);
  const key = await store.sharing('sync', 15_000, undefined, () => store.syncState.keyFor(place));
  return originName(thisOrigin(), key);
}

export function outgoingFor({ store, config }: SyncParts, writer: PackWriter): Outgoing {
  return new Outgoing(store.trees, writer, new Exclusions(config().exclude), thisOrigin());
}

/** One push: brings this workspace's part of a remote up to date. */
export class Publisher {
  /** Commits of checkpoints that have lost content. */
  private readonly damaged = new Set<string>();
  /** What was in the way at the last attempt. */
  private locked: string | null = null;

  constructor(
    private readonly parts: SyncParts,
    private readonly scratch: Scratch,
    private readonly address: Address,
    private readonly origin: string,
  ) {}

  async run(options: PushOptions): Promise<PushResult> {
    let last: unknown;
    for (let attempt = 0; attempt < attempts; attempt++) {
      try {
        const result = await this.once(options);
        if (result) return result;
        const { shown } = this.address;
        last = this.locked
          ? new CheckpointsError(
              'remote-failed',
              `Somebody is writing to ${shown}, or died while doing so: ${this.locked} is there. If nobody is, delete that file.`,
            )
          : new CheckpointsError('busy', `Others keep changing this part of ${shown}. Try again.`);
      } catch (error) {
        // A checkpoint was deleted, and its content freed, while it was being sent: what is left is sent.
        const isGone = CheckpointsError.is(error, 'store-broken') || isVanished(error);
        // Or it has lost content, which makes the other side refuse all of it.
        const isDamaged =
          (isGone || CheckpointsError.is(error, 'remote-failed')) && (await this.leaveOutDamaged(String(error)));
        if (!isGone && !isDamaged) throw error;
        last = error;
      }
    }
    throw last;
  }

  /** False: nothing is known that was not known before. */
  private async leaveOutDamaged(message: string): Promise<boolean> {
    const { store } = this.parts;
    const before = this.damaged.size;
    for (const commit of await incomplete(store.layout.gitDir, [...store.refs().values()])) this.damaged.add(commit);
    // What is there may be damaged, which only reading all of it tells.
    if (this.damaged.size === before && couldNotUnpack.test(message))
      for (const commit of (await neededBy(store, await damagedObjects(store))).values()) this.damaged.add(commit);
    return this.damaged.size > before;
  }

  /** null when the remote changed between looking and pushing. */
  private async once(options: PushOptions): Promise<PushResult | null> {
    const { scratch, address, origin } = this;
    const { interactive = false, signal, onProgress } = options;
    this.locked = null;
    const job: PushJob = {
      scratch,
      address,
      origin,
      interactive,
      signal,
      onProgress: (done, total) => onProgress?.({ phase: 'sending', done, total }),
      onLocked: (lock) => (this.locked = lock),
    };
    onProgress?.({ phase: 'connecting', done: 0, total: null });
    const present = await lookAt(job);
    const { all, held } = await this.own();
    const writer = scratch.newWriter();
    const result = emptyPush(address, origin);
    result.damaged = [...this.parts.store.refs()].filter(([, commit]) => this.damaged.has(commit)).map(([id]) => id);
    const moves = await this.checkpoints(all, present, writer, result, options);
    if (!options.references) moves.push(...mirror(present, all, held, result));
    await writer.flush();
    return (await pushRefs(job, present, moves, (refs) => this.head(refs))) ? result : null;
  }

  /** Oldest first: what comes later leans on it. */
  private async own(): Promise<{ all: Checkpoint[]; held: Set<string> }> {
    const { store } = this.parts;
    const damaged: string[] = [];
    const ids = [...store.refsOf.list(checkpointRefs, (ref) => damaged.push(ref)).keys()].sort();
    // What cannot be read here is still held: its copy elsewhere may be the last.
    const held = new Set([
      ...ids,
      ...damaged.map((ref) => ref.slice(checkpointRefs.length)),
      ...store.lostRefs.all().keys(),
    ]);
    const all = await store.read([...store.refs().keys()].sort());
    return { all: all.filter(({ files }) => !this.damaged.has(files.commit)), held };
  }

  private async checkpoints(
    all: Checkpoint[],
    present: readonly WireRef[],
    writer: PackWriter,
    result: PushResult,
    options: PushOptions,
  ): Promise<RefMove[]> {
    const { origin } = this;
    const there = new Map(present.map(({ ref, oid }) => [ref, oid]));
    const chosen = new Set(await this.choose(all, options));
    const outgoing = outgoingFor(this.parts, writer);
    const moves: RefMove[] = [];
    const move = (ref: string, to: string): boolean => {
      const from = there.get(ref) ?? null;
      if (from !== to) moves.push({ ref, from, to });
      return from !== to;
    };
    // What was sent before is kept up to date, whatever is chosen now; and git has to have it to know what need not be sent.
    const records = all.filter((one) => chosen.has(one) || there.has(checkpointRef(origin, one.id)));
    const sending = new Set(options.references ? records.filter((one) => chosen.has(one)) : records);
    for (const [i, record] of records.entries()) {
      if (options.signal?.aborted) throw new CheckpointsError('cancelled', 'Cancelled; nothing was sent.');
      options.onProgress?.({ phase: 'preparing', done: i, total: records.length });
      const commit = await outgoing.checkpoint(record);
      const ref = checkpointRef(origin, record.id);
      if (!sending.has(record)) continue;
      if (!move(ref, commit)) result.unchanged += 1;
      else (there.has(ref) ? result.updated : result.added).push(record.id);
    }
    result.filtered = outgoing.filtered;
    if (options.sessions === false) return moves;
    const sender = new SessionSender(this.parts.store, this.parts.conversation);
    const { commits, report } = await sender.collect([...sending], writer, options);
    for (const [session, commit] of commits)
      (move(sessionRef(origin, session), commit) ? report.sent : report.unchanged).push(session);
    result.sessions = report;
    await sender.tidy(all);
    return moves;
  }

  private async choose(all: Checkpoint[], options: PushOptions): Promise<Checkpoint[]> {
    if (!options.references) return options.all ? all : all.filter(isWorthSending);
    const chosen = new Set<string>();
    for (const reference of options.references) {
      const { id, title, origin } = await this.parts.resolve(reference);
      if (origin !== null)
        throw new CheckpointsError(
          'invalid-argument',
          `"${title}" came from ${origin.user} on ${origin.machine}: only its owner pushes it.`,
        );
      chosen.add(id);
    }
    return all.filter(({ id }) => chosen.has(id));
  }

  private async head(refs: ReadonlyMap<string, string>): Promise<string | null> {
    if (refs.size === 0) return null;
    const commits = [...refs].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, oid]) => oid);
    const here = await this.scratch.commitsHere(commits);
    const writer = this.scratch.newWriter();
    const facts = JSON.stringify({ format: 1, origin: thisOrigin() });
    const head = headCommit(writer, here.slice(-parentsKept), `checkpoints\n\n${facts}\n`);
    await writer.flush();
    return head;
  }
}

/** What people and agents made, turns, imports, and whatever somebody gave a name, a description or a pin. */
function isWorthSending(one: Checkpoint): boolean {
  return countsAsLatest(one) || one.trigger === 'import' || one.pinned || one.name !== null || Boolean(one.description);
}

/** What is gone here goes there, in our own part. A session goes with its last checkpoint. */
function mirror(
  present: readonly WireRef[],
  all: readonly Checkpoint[],
  held: ReadonlySet<string>,
  result: PushResult,
): RefMove[] {
  const sessions = new Set(all.map(({ session }) => session?.id));
  const allRead = all.length === held.size;
  const gone = present.filter(
    ({ kind, id }) => (kind === 'checkpoint' && !held.has(id)) || (kind === 'session' && allRead && !sessions.has(id)),
  );
  result.deleted = gone.filter(({ kind }) => kind === 'checkpoint').map(({ id }) => id);
  return gone.map(({ ref, oid }) => ({ ref, from: oid, to: null }));
}

export function emptyPush(address: Address, origin: string | null): PushResult {
  return {
    remote: address.shown,
    origin,
    added: [],
    updated: [],
    deleted: [],
    unchanged: 0,
    damaged: [],
    sessions: { sent: [], unchanged: [], skipped: [] },
    filtered: 0,
  };
}
