import { randomBytes } from 'node:crypto';
import { CheckpointsError } from '../core/errors';
import type { ObjectReader } from './object-reader';
import type { PackWriter } from './pack-writer';
import { encodeCommit, parseCommit } from './records';
import type { Refs } from './refs';

const syncRef = 'refs/sync';

export interface SyncFacts {
  /** Makes this store's part of a remote its own: random, made once. */
  key: string;
  /** The machine and the folder the key was made for: a copy of the store elsewhere makes a new one. */
  place: string;
  /** Fetched ones that were deleted here, as `<origin>/<id>`, and the commit they were: they come back only when changed. */
  deleted: Record<string, string>;
  /** Changes with every fetch, so that others who watch the store look again. */
  fetches: number;
}

const empty: SyncFacts = { key: '', place: '', deleted: {}, fetches: 0 };

/** What this store remembers of its dealings with others: one small commit at `refs/sync`, replaced by compare and swap. */
export class SyncState {
  constructor(
    private readonly refs: Refs,
    private readonly reader: ObjectReader,
    private readonly newWriter: () => PackWriter,
  ) {}

  async read(): Promise<SyncFacts> {
    return (await this.readAt(this.refs.read(syncRef))) ?? { ...empty };
  }

  private async readAt(commit: string | null): Promise<SyncFacts | null> {
    const object = commit ? await this.reader.read(commit) : null;
    if (object?.type !== 'commit') return null;
    const line = parseCommit(object.data).message.split('\n')[2] ?? '{}';
    return { ...empty, ...(JSON.parse(line) as Partial<SyncFacts>) };
  }

  async change(change: (facts: SyncFacts) => SyncFacts): Promise<SyncFacts> {
    for (let attempt = 0; attempt < 40; attempt++) {
      const commit = this.refs.read(syncRef);
      const next = change((await this.readAt(commit)) ?? { ...empty });
      const writer = this.newWriter();
      const tree = writer.add('tree', Buffer.alloc(0));
      const written = writer.add('commit', encodeCommit(tree, `sync\n\n${JSON.stringify(next)}\n`, Date.now()));
      await writer.flush();
      if (await this.refs.swap(syncRef, commit, written)) return next;
    }
    throw new CheckpointsError('busy', 'Another process keeps working on these checkpoints. Try again.');
  }

  /** The key that was made for this place; null: none yet. */
  async knownKey(place: string): Promise<string | null> {
    const known = await this.read();
    return known.key !== '' && known.place === place ? known.key : null;
  }

  /** The key, made when there is none for this place yet. */
  async keyFor(place: string): Promise<string> {
    const known = await this.knownKey(place);
    if (known !== null) return known;
    const fresh = randomBytes(5).toString('hex');
    const { key } = await this.change((facts) =>
      facts.key !== '' && facts.place === place ? facts : { ...facts, key: fresh, place },
    );
    return key;
  }
}
