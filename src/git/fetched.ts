import { CheckpointsError } from '../core/errors';
import type { Checkpoint, CheckpointId, Origin } from '../core/model';
import { isId } from '../core/ulid';
import { isDamaged, type ObjectReader } from './object-reader';
import type { PackWriter } from './pack-writer';
import { checkpointMessage, decodeCheckpoint, encodeCommit } from './records';
import type { Refs } from './refs';
import type { SyncState } from './sync-state';
import { cleanRecord, maxRecordBytes } from './untrusted-record';

const fetchedRefs = 'refs/remote-checkpoints/';
export const fetchedSessionRefs = 'refs/remote-sessions/';

/** The part of a ref's name that says whose checkpoint it is. */
export const originPattern = /^(?!.*\.\.)(?!.*\.lock$)[a-z0-9][a-z0-9._-]{0,99}$/;

export interface FetchedRef {
  origin: string;
  id: CheckpointId;
  commit: string;
}

interface Parts {
  refs: Refs;
  reader: ObjectReader;
  state: SyncState;
  newWriter: () => PackWriter;
  log: (message: string) => void;
}

/**
 * Checkpoints that came from elsewhere, each at `refs/remote-checkpoints/<origin>/<id>`. The commits are kept as they came, so
 * that it is known what is new; their records are cleaned whenever they are read. What is renamed, described or pinned here
 * replaces the commit and says which fields are ours: those stay when its owner changes the rest.
 */
export class Fetched {
  constructor(private readonly parts: Parts) {}

  all(): FetchedRef[] {
    const found: FetchedRef[] = [];
    for (const [name, commit] of this.parts.refs.list(fetchedRefs, (ref) => this.parts.log(`damaged ref ${ref}`))) {
      const [origin = '', id = '', ...more] = name.split('/');
      if (more.length === 0 && originPattern.test(origin) && isId(id)) found.push({ origin, id, commit });
    }
    return found.sort((a, b) => (a.origin < b.origin ? -1 : a.origin > b.origin ? 1 : a.id < b.id ? -1 : 1));
  }

  /** One per id: this workspace's own hides all others, and of two origins the first in order is shown. */
  visible(own: (id: CheckpointId) => boolean): Map<CheckpointId, FetchedRef> {
    const out = new Map<CheckpointId, FetchedRef>();
    for (const one of this.all()) if (!out.has(one.id) && !own(one.id)) out.set(one.id, one);
    return out;
  }

  find(id: CheckpointId): FetchedRef | null {
    return this.all().find((one) => one.id === id) ?? null;
  }

  /** Checkpoints of the same owner, oldest first. */
  siblings(origin: string): CheckpointId[] {
    return this.all()
      .filter((one) => one.origin === origin)
      .map(({ id }) => id);
  }

  /** null when the commit is lost, or is none of ours. */
  async read({ origin, id, commit }: FetchedRef): Promise<Checkpoint | null> {
    try {
      const object = await this.parts.reader.read(commit);
      if (object?.type === 'commit' && object.data.length <= maxRecordBytes)
        return readForeign(object.data, commit, id, origin);
      this.parts.log(`lost commit of ${origin}/${id}`);
      return null;
    } catch (error) {
      if (!CheckpointsError.is(error, 'untrusted-tree') && !isDamaged(error)) throw error;
      // One bad record must not hide all others.
      this.parts.log(`${origin}/${id} is no checkpoint: ${String(error)}`);
      return null;
    }
  }

  async update(at: FetchedRef, change: (checkpoint: Checkpoint) => Checkpoint): Promise<Checkpoint> {
    for (let attempt = 0; attempt < 40; attempt++) {
      const commit = this.parts.refs.read(refOf(at));
      const record = commit ? await this.read({ ...at, commit }) : null;
      if (!commit || !record) throw new CheckpointsError('unknown-reference', `There is no checkpoint ${at.id}.`);
      const next = withEdits(record, change(record));
      const written = await this.write(next);
      if (await this.parts.refs.swap(refOf(at), commit, written))
        return { ...next, files: { ...next.files, commit: written } };
    }
    throw new CheckpointsError('busy', 'Another process keeps changing this checkpoint. Try again.');
  }

  /** What its owner changed, with what was edited here on top. Returns what the ref becomes. */
  async merged(incoming: Checkpoint, present: Checkpoint | null): Promise<string> {
    const edited = present?.origin?.edited;
    if (!present || !edited || edited.fields.length === 0) return incoming.files.commit;
    const commit = incoming.files.commit;
    return this.write({
      ...incoming,
      ...(edited.fields.includes('name') ? { name: present.name, title: present.title } : {}),
      ...(edited.fields.includes('description') ? { description: present.description } : {}),
      ...(edited.fields.includes('pinned') ? { pinned: present.pinned } : {}),
      origin: { ...(incoming.origin ?? { machine: '', user: '' }), edited: { commit, fields: edited.fields } },
    });
  }

  private async write(record: Checkpoint): Promise<string> {
    const writer = this.parts.newWriter();
    const time = Date.parse(record.createdAt);
    const commit = writer.add('commit', encodeCommit(record.files.tree, checkpointMessage(record), time));
    await writer.flush();
    return commit;
  }

  /** Remembered first: a death in between leaves the checkpoint, not a deletion that the next fetch takes back. */
  async remove(refs: FetchedRef[]): Promise<void> {
    if (refs.length === 0) return;
    const gone = new Map<string, string>();
    for (const one of refs) gone.set(`${one.origin}/${one.id}`, sourceOf(await this.read(one)) ?? one.commit);
    await this.parts.state.change((state) => ({
      ...state,
      deleted: { ...state.deleted, ...Object.fromEntries(gone) },
    }));
    await this.parts.refs.remove(refs.map(refOf));
    await this.removeSessions(new Set(refs.map(({ origin }) => origin)));
  }

  /** A session stays for as long as one checkpoint of its owner needs it. */
  private async removeSessions(origins: ReadonlySet<string>): Promise<void> {
    const sessions = [...this.parts.refs.list(fetchedSessionRefs).keys()].filter((name) =>
      origins.has(name.split('/')[0] ?? ''),
    );
    if (sessions.length === 0) return;
    const rest = this.all().filter(({ origin }) => origins.has(origin));
    const needed = new Set<string>();
    for (const one of rest) needed.add(`${one.origin}/${(await this.read(one))?.session?.id ?? ''}`);
    await this.parts.refs.remove(sessions.filter((name) => !needed.has(name)).map((name) => fetchedSessionRefs + name));
  }
}

export function refOf({ origin, id }: Pick<FetchedRef, 'origin' | 'id'>): string {
  return `${fetchedRefs}${origin}/${id}`;
}

/** The commit that its owner wrote. */
export function sourceOf(record: Checkpoint | null): string | null {
  return record ? (record.origin?.edited?.commit ?? record.files.commit) : null;
}

/** A record by somebody else. null when it is none; throws when it pretends to be another checkpoint. */
export function readForeign(data: Buffer, commit: string, id: CheckpointId, origin: string): Checkpoint | null {
  const decoded = decodeCheckpoint(data, commit);
  return decoded && cleanRecord(decoded, id, nameOf(origin));
}

/** Where the record itself does not say. */
function nameOf(origin: string): Origin {
  return { machine: origin, user: 'unknown' };
}

function withEdits(before: Checkpoint, after: Checkpoint): Checkpoint {
  const fields = new Set(before.origin?.edited?.fields ?? []);
  for (const field of ['name', 'description', 'pinned'] as const) if (before[field] !== after[field]) fields.add(field);
  const commit = sourceOf(before) ?? before.files.commit;
  const origin = before.origin ?? { machine: '', user: '' };
  return { ...after, origin: fields.size === 0 ? origin : { ...origin, edited: { commit, fields: [...fields] } } };
}
