import type { DiffOptions, DiffResult, ListFilter } from './api';
import { CheckpointsError } from './errors';
import { comparable, hasFiles, isWhole } from './files-facet';
import { matches } from './filter';
import type { Change, Checkpoint, CheckpointId, PathReason } from './model';
import type { QueryIndex, SnapshotStore } from './ports';
import { parseReference, resolveReference, type ParsedReference } from './references';

/** The checkpoints that are there, local and fetched, and what is in them. Changes nothing. */
export class History {
  constructor(
    private readonly store: SnapshotStore,
    /** Without it, lists are read from the store itself. */
    private readonly index: QueryIndex | null,
  ) {}

  async list(filter: ListFilter = {}): Promise<Checkpoint[]> {
    const { index } = this;
    if (index) {
      await this.fill(index);
      return index.query(filter);
    }
    const { limit, ...rest } = filter;
    // The newest few need not be looked for among all.
    if (Object.values(rest).every((value) => value === undefined)) return this.all(limit);
    const found = (await this.all()).filter((checkpoint) => matches(checkpoint, filter));
    return limit === undefined ? found : found.slice(0, limit);
  }

  fill(index: QueryIndex): Promise<void> {
    return index.sync(this.refs(), (ids) => this.store.read(ids));
  }

  /** Newest first. */
  private async all(limit?: number): Promise<Checkpoint[]> {
    const ids = [...this.refs().keys()].sort().reverse();
    return this.store.read(ids.slice(0, limit));
  }

  /** Local and fetched ones: every id once. */
  refs(): Map<CheckpointId, string> {
    return new Map([...this.store.fetchedRefs(), ...this.store.refs()]);
  }

  async resolve(reference: string): Promise<Checkpoint> {
    const parsed = parseReference(reference);
    if (parsed.kind === 'text' && parsed.fullId && parsed.idPrefix) {
      const [found] = await this.store.read([parsed.idPrefix]);
      if (found) return found;
    }
    try {
      return resolveReference(reference, await this.list());
    } catch (error) {
      throw CheckpointsError.is(error, 'unknown-reference') ? this.perhapsLost(parsed, error) : error;
    }
  }

  /** What is not found may be what is lost: then nobody is to believe that it never was there. */
  private perhapsLost(parsed: ParsedReference, error: CheckpointsError): CheckpointsError {
    const { refs, records } = this.store.lost();
    const prefix = parsed.kind === 'text' ? parsed.idPrefix : null;
    const lost = [...refs, ...records];
    const id = prefix === null ? undefined : lost.find((one) => one.startsWith(prefix));
    if (id !== undefined) {
      const what = refs.includes(id) ? 'has lost its ref' : 'cannot be read: its record is lost';
      return new CheckpointsError('store-broken', `The checkpoint ${id} ${what}.`);
    }
    if (lost.length === 0) return error;
    const may =
      lost.length === 1
        ? '1 checkpoint is lost, and may be it.'
        : `${lost.length} are lost, and it may be one of them.`;
    const details = { ...error.details, lost: lost.length };
    return new CheckpointsError(error.reason, `${error.message} ${may}`, { cause: error, details });
  }

  /** What is to be deleted: also, by its full id, one that is lost or whose record cannot be read. Else nobody could be rid of it. */
  async deletable(reference: string): Promise<Pick<Checkpoint, 'id' | 'title'>> {
    const parsed = parseReference(reference);
    const id = parsed.kind === 'text' && parsed.fullId ? parsed.idPrefix : null;
    if (id !== null && (await this.store.read([id])).length === 0) {
      const { refs, records } = this.store.lost();
      if (records.includes(id)) return { id, title: 'a checkpoint that cannot be read' };
      if (refs.includes(id)) return { id, title: 'a checkpoint that has lost its ref' };
    }
    return this.resolve(reference);
  }

  async diff(from?: string, to?: string, options: DiffOptions = {}): Promise<DiffResult> {
    const [left, right] = await Promise.all([
      this.resolve(from ?? 'latest'),
      to === undefined ? null : this.resolve(to),
    ]);
    const without = [left, right].find((one) => one !== null && !hasFiles(one));
    if (without) throw new CheckpointsError('no-files', `"${without.title}" comes from a program that kept no files.`);
    const later = right ? right.files : await this.store.peek();
    const paths = comparable(right ? [left, right] : [left], options.paths);
    const result =
      paths?.length === 0
        ? { changes: [], ...(options.patch ? { patch: '' } : {}) }
        : await naming(right ? [left, right] : [left], () =>
            this.store.changes(left.files.tree, later.tree, { ...options, paths }),
          );
    return { from: left.id, to: right?.id ?? null, ...result, changes: markLeftOut(result.changes, later.skipped) };
  }

  async changes(reference: string): Promise<Change[]> {
    const checkpoint = await this.resolve(reference);
    if (!hasFiles(checkpoint)) return [];
    // What holds single files has nothing before it: all of them are new.
    const previous = isWhole(checkpoint) ? await this.wholeBefore(checkpoint.id) : null;
    const compared = previous ? [previous, checkpoint] : [checkpoint];
    const { changes } = await naming(compared, () =>
      this.store.changes(previous?.files.tree ?? '', checkpoint.files.tree),
    );
    return markLeftOut(changes, checkpoint.files.skipped);
  }

  private async wholeBefore(id: CheckpointId): Promise<Checkpoint | null> {
    const older = this.store.siblings(id).filter((other) => other < id);
    for (const other of older.reverse()) {
      const [found] = await this.store.read([other]);
      if (found && isWhole(found)) return found;
    }
    return null;
  }

  async cat(reference: string, path: string): Promise<Uint8Array> {
    const checkpoint = await this.resolve(reference);
    return naming([checkpoint], async () => {
      const version = await this.store.lookup(checkpoint.files.tree, path);
      if (!version || version.mode === 0o40000)
        throw new CheckpointsError(
          'not-in-checkpoint',
          `${path} is not a file of the checkpoint "${checkpoint.title}".`,
        );
      return this.store.content(version);
    });
  }

  async stat(reference: string, path: string): Promise<{ size: number; kind: 'file' | 'link' | 'folder' } | null> {
    const checkpoint = await this.resolve(reference);
    if (path === '') return { size: 0, kind: 'folder' };
    const version = await this.store.lookup(checkpoint.files.tree, path);
    if (!version) return null;
    if (version.mode === 0o40000) return { size: 0, kind: 'folder' };
    return { size: await this.store.size(version), kind: version.mode === 0o120000 ? 'link' : 'file' };
  }
}

/** An object that is lost says nothing to anybody: whose it may be does. */
async function naming<T>(checkpoints: readonly Checkpoint[], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!CheckpointsError.is(error, 'store-broken')) throw error;
    const whose = checkpoints.map(({ id, title }) => `"${title}" (${id})`).join(' or ');
    throw new CheckpointsError('store-broken', `${whose} has lost content: ${error.message}`, { cause: error });
  }
}

/** A file that grew too large is gone from the tree, and nobody has deleted it. */
function markLeftOut(changes: Change[], skipped: PathReason[]): Change[] {
  const out = new Set(skipped.map(({ path }) => path));
  return changes.map((change) =>
    change.status === 'deleted' && out.has(change.path) ? { ...change, leftOut: true } : change,
  );
}
