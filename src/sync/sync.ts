import { resolve } from 'node:path';
import { CheckpointsError } from '../core/errors';
import type { Checkpoint } from '../core/model';
import type {
  ExportOptions,
  ExportResult,
  FetchedCheckpoint,
  FetchResult,
  PushOptions,
  PushResult,
  SyncOptions,
  SyncService,
} from '../core/sync';
import { listBundle, writeBundle } from './bundle';
import type { SyncParts } from '../git/open';
import { emptyPush, knownOrigin, originOf, outgoingFor, Publisher } from './publisher';
import { compare, examine, take, type Examined, type Offer, type Taken } from './receive';
import { Scratch } from './scratch';
import { SessionSender } from './session-sender';
import { refuseOwn, resolveRemote, speak, type Address } from './transport';
import { checkpointRef, parseRefLines, sessionRef, wireRefs, type WireRef } from './wire';

/** Exchange with others over git: each exchange in a scratch repository of its own. */
export class GitSync implements SyncService {
  constructor(private readonly parts: SyncParts) {}

  push(remote: string, options: PushOptions = {}): Promise<PushResult> {
    const { store } = this.parts;
    return this.inScratch(false, async (scratch) => {
      const address = await resolveRemote(remote, options.cwd ?? store.root, store.root);
      await refuseOwn(address, store.root, store.layout.home);
      const some = store.refs().size + store.fetchedRefs().size > 0;
      const origin = some ? await originOf(store) : await knownOrigin(store);
      if (origin === null) return this.pushNothing(scratch, address, options);
      return new Publisher(this.parts, scratch, address, origin).run(options);
    });
  }

  /** Nothing is here, so nothing there is ours: it is only seen whether the remote can be reached. */
  private async pushNothing(scratch: Scratch, address: Address, options: PushOptions): Promise<PushResult> {
    for (const reference of options.references ?? []) await this.parts.resolve(reference);
    await listRemote(scratch, address, options);
    return emptyPush(address, null);
  }

  async fetch(remote: string, options: SyncOptions = {}): Promise<FetchResult> {
    const { store } = this.parts;
    const address = await resolveRemote(remote, options.cwd ?? store.root, store.root);
    const own = await knownOrigin(store);
    return this.again((alone) =>
      this.inScratch(alone, async (scratch) => {
        const { refs, strange } = parseRefLines(await listRemote(scratch, address, options));
        const offer = await compare(store, refs, own);
        const result = emptyFetch(address.shown, offer, strange);
        if (offer.wanted.length + offer.sessions.length === 0) return result;
        const common = await scratch.commitsHere([...new Set(refs.map(({ oid }) => oid))]);
        scratch.setRefs(new Map(common.map((oid) => [`refs/have/${oid}`, oid])));
        const origins = [...new Set([...offer.wanted, ...offer.sessions].map(({ origin }) => origin))];
        const bad = await this.bring(scratch, address, origins, common.length > 0, options);
        return this.letIn(scratch, withArrived(offer, await arrived(scratch), bad), result, bad, options);
      }),
    );
  }

  /** All origins at once; when something in it is damaged, each by itself, so that one does not keep the others away. */
  private async bring(
    scratch: Scratch,
    address: Address,
    origins: string[],
    common: boolean,
    options: SyncOptions,
  ): Promise<Map<string, string>> {
    const limit = this.parts.config().maxStoreSize;
    const tooMuch = (): string | null =>
      scratch.bytes() > limit ? `${address.shown}: it sends more than maxStoreSize allows.` : null;
    const one = async (some: string[]): Promise<void> => {
      const tip = common ? ['--negotiation-tip=refs/have/*'] : [];
      const input = some.map((origin) => `+${wireRefs}${origin}/*:refs/in/${origin}/*\n`).join('');
      await speak(
        ['fetch', '--no-tags', '--no-write-fetch-head', '--progress', '--stdin', ...tip, '--', address.url],
        address,
        {
          gitDir: scratch.gitDir,
          interactive: options.interactive === true,
          signal: options.signal,
          input,
          onProgress: (what, done, total) => {
            if (what.startsWith('Receiving')) options.onProgress?.({ phase: 'receiving', done, total });
          },
          guard: tooMuch,
        },
      );
      const why = tooMuch();
      if (why) throw new CheckpointsError('remote-failed', why, { details: { limit } });
    };
    const bad = new Map<string, string>();
    try {
      await one(origins);
    } catch (error) {
      if (!CheckpointsError.is(error, 'remote-failed') || error.details?.['limit']) throw error;
      // It may not be the remote: what is here and was counted on may have been cleaned up meanwhile.
      if (!scratch.alone) throw new CheckpointsError('conflict', error.message, { cause: error });
      if (origins.length < 2) throw error;
      for (const origin of origins)
        try {
          await one([origin]);
        } catch (reason) {
          if (!CheckpointsError.is(reason, 'remote-failed')) throw reason;
          bad.set(origin, reason.message);
        }
      // Not one came through: then it is the remote, not what somebody put there.
      if (bad.size === origins.length) throw error;
    }
    return bad;
  }

  async exportBundle(references: string[], file: string, options: ExportOptions = {}): Promise<ExportResult> {
    const { store } = this.parts;
    if (references.length === 0) throw new CheckpointsError('invalid-argument', 'No checkpoint was chosen.');
    const records = new Map<string, Checkpoint>();
    for (const reference of references) {
      const record = await this.parts.resolve(reference);
      records.set(record.id, record);
    }
    const own = await originOf(store);
    const path = resolve(options.cwd ?? store.root, file);
    return this.inScratch(false, async (scratch) => {
      const writer = scratch.newWriter();
      const outgoing = outgoingFor(this.parts, writer);
      const refs = new Map<string, string>();
      const owner = (id: string): string => (this.isOwn(id) ? own : (store.fetched.find(id)?.origin ?? own));
      for (const record of records.values())
        refs.set(checkpointRef(owner(record.id), record.id), await outgoing.checkpoint(record));
      const sender = new SessionSender(store, this.parts.conversation);
      const { commits, report } =
        options.sessions === false
          ? { commits: new Map<string, string>(), report: { sent: [], unchanged: [], skipped: [] } }
          : await sender.collect([...records.values()], writer, options);
      for (const { id, session } of records.values()) {
        const commit = session && commits.get(session.id);
        if (commit) refs.set(sessionRef(owner(id), session.id), commit);
      }
      await writer.flush();
      scratch.setRefs(refs);
      const bytes = await writeBundle(scratch, path, options);
      const checkpoints = [...records.keys()];
      const sessions = { ...report, sent: [...commits.keys()], unchanged: [] };
      return { file: path, bytes, checkpoints, sessions, filtered: outgoing.filtered };
    });
  }

  async importBundle(file: string, options: SyncOptions = {}): Promise<FetchResult> {
    const { store } = this.parts;
    const path = resolve(options.cwd ?? store.root, file);
    // A bundle holds all it needs.
    return this.inScratch(true, async (scratch) => {
      options.onProgress?.({ phase: 'receiving', done: 0, total: null });
      const { refs, strange } = await listBundle(scratch, path, options.signal);
      const offer = await compare(store, refs, null);
      const result = emptyFetch(path, offer, strange);
      if (offer.wanted.length + offer.sessions.length === 0) return result;
      return this.letIn(scratch, offer, result, new Map(), options);
    });
  }

  private async letIn(
    scratch: Scratch,
    offer: Offer,
    result: FetchResult,
    bad: ReadonlyMap<string, string>,
    options: SyncOptions,
  ): Promise<FetchResult> {
    const examined: Examined = await examine(scratch, offer, (done, total) =>
      options.onProgress?.({ phase: 'checking', done, total }),
    );
    if (options.signal?.aborted) throw new CheckpointsError('cancelled', 'Cancelled; nothing was taken in.');
    const some = examined.accepted.length + examined.sessions.length > 0;
    const taken = some ? await take(this.parts.store, scratch, examined, options.signal) : nothingTaken;
    const refused = [...bad].map(([origin, reason]) => ({ id: '*', origin, reason }));
    this.parts.changed([...taken.added, ...taken.updated].map(({ id }) => id));
    return {
      ...result,
      added: taken.added.map(brief),
      updated: taken.updated.map(brief),
      refused: [...result.refused, ...refused, ...examined.refused],
      sessions: taken.sessions,
    };
  }

  private async inScratch<T>(alone: boolean, work: (scratch: Scratch) => Promise<T>): Promise<T> {
    const { store } = this.parts;
    const scratch = Scratch.create(store.layout, store.file.objectFormat, alone);
    try {
      return await work(scratch);
    } finally {
      scratch.dispose();
    }
  }

  /** When the store was cleaned up in between: once more, and this time everything comes, leaning on nothing that is here. */
  private async again<T>(work: (alone: boolean) => Promise<T>): Promise<T> {
    try {
      return await work(false);
    } catch (error) {
      if (!CheckpointsError.is(error, 'conflict')) throw error;
      return work(true);
    }
  }

  private isOwn(id: string): boolean {
    return this.parts.store.refs().has(id);
  }
}

const nothingTaken: Taken = { added: [], updated: [], sessions: [] };

/** Everybody's refs there, as git prints them. */
async function listRemote(
  { gitDir }: Scratch,
  address: Address,
  { interactive = false, signal, onProgress }: SyncOptions,
): Promise<string> {
  onProgress?.({ phase: 'connecting', done: 0, total: null });
  const ask = ['ls-remote', '--refs', '--', address.url, `${wireRefs}*`];
  return (await speak(ask, address, { gitDir, interactive, signal })).stdout;
}

async function arrived(scratch: Scratch): Promise<WireRef[]> {
  return parseRefLines((await scratch.refLines('refs/in/')).replaceAll(' refs/in/', ` ${wireRefs}`)).refs;
}

/** What is looked at is what came, which may be later than what was offered. */
function withArrived(offer: Offer, came: WireRef[], bad: ReadonlyMap<string, string>): Offer {
  const now = new Map(came.map((ref) => [ref.ref, ref]));
  const those = (refs: WireRef[]): WireRef[] =>
    refs.flatMap((ref) => (bad.has(ref.origin) ? [] : (now.get(ref.ref) ?? [])));
  return { ...offer, wanted: those(offer.wanted), sessions: those(offer.sessions) };
}

function emptyFetch(remote: string, offer: Offer, strange: string[]): FetchResult {
  return {
    remote,
    added: [],
    updated: [],
    unchanged: offer.unchanged,
    refused: strange.map((name) => ({
      id: name.split('/').at(-1) ?? name,
      origin: name.split('/')[0] ?? '',
      reason: 'not a name that Checkpoints gives',
    })),
    deletedHere: offer.deletedHere,
    sessions: [],
  };
}

function brief({ id, title, origin }: Checkpoint): FetchedCheckpoint {
  return { id, title, origin: { machine: origin?.machine ?? '', user: origin?.user ?? '' } };
}
