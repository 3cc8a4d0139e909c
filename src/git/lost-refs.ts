import type { CheckpointId } from '../core/model';
import { isDamaged, type ObjectReader } from './object-reader';
import { decodeOwn } from './records';
import type { Refs } from './refs';

export const checkpointRefs = 'refs/checkpoints/';
export const idPattern = /^cp_[0-9a-z]{26}$/;
/** Each holds what a lost ref named, so that nothing frees it. */
const heldRefs = 'refs/lost/';

/** Ids and commits. */
export type Commits = Map<CheckpointId, string>;

/**
 * Checkpoints that nobody deleted and that cannot be shown: their ref is lost, and brought back as long as their content is there; or the ref
 * is there and what it names cannot be read.
 */
export class LostRefs {
  constructor(
    private readonly refs: Refs,
    private readonly reader: ObjectReader,
  ) {}

  /** Those without a ref, with what each was last. Looks at names only. */
  all(): Commits {
    // The log may have been lost, too, since a clean-up held them.
    const known: Commits = new Map([...this.refs.list(heldRefs), ...this.refs.logged().living]);
    for (const id of this.refs.names(checkpointRefs)) known.delete(id);
    if (known.size === 0) return known;
    // Who was deleted meanwhile was noted before.
    const { living, removed } = this.refs.logged();
    const held = this.refs.names(heldRefs);
    return new Map([...known].filter(([id]) => !removed.has(id) && (living.has(id) || held.has(id))));
  }

  /** The same, by whether the checkpoint is there. */
  async sorted(): Promise<{ found: Commits; gone: Commits }> {
    const [found, gone]: [Commits, Commits] = [new Map(), new Map()];
    for (const [id, commit] of this.all()) ((await this.isReadable(id, commit)) ? found : gone).set(id, commit);
    return { found, gone };
  }

  /** What the log says that a checkpoint's ref was last, if that is there. */
  async lastReadable(id: CheckpointId): Promise<string | null> {
    const commit = this.refs.logged().living.get(id);
    return commit !== undefined && (await this.isReadable(id, commit)) ? commit : null;
  }

  /** Checkpoints whose ref is there and whose record is not. */
  async unreadable(): Promise<Commits> {
    const out: Commits = new Map();
    for (const [id, commit] of this.refs.list(checkpointRefs))
      if (idPattern.test(id) && !(await this.isReadable(id, commit))) out.set(id, commit);
    return out;
  }

  /** Whatever it is. */
  async isThere(oid: string): Promise<boolean> {
    try {
      return (await this.reader.read(oid)) !== null;
    } catch (error) {
      if (isDamaged(error)) return false;
      throw error;
    }
  }

  async isReadable(id: CheckpointId, commit: string): Promise<boolean> {
    try {
      const object = await this.reader.read(commit);
      return object?.type === 'commit' && decodeOwn(object.data, commit, id) !== null;
    } catch (error) {
      if (isDamaged(error)) return false;
      throw error;
    }
  }

  /** Before anything is freed: what is lost is held, what has its ref again or was deleted is not held any more. */
  async hold(found: Commits): Promise<void> {
    for (const [id, commit] of found) {
      const held = this.refs.read(heldRefs + id);
      if (held !== commit) await this.refs.swap(heldRefs + id, held, commit);
    }
    await this.refs.remove([...this.refs.names(heldRefs)].filter((id) => !found.has(id)).map((id) => heldRefs + id));
  }

  /** Whether each that is lost is held: what is freed next is what nobody needs. */
  isHeld(): boolean {
    const held = this.refs.names(heldRefs);
    return [...this.all().keys()].every((id) => held.has(id));
  }

  /** What holds them goes last: whoever dies before has lost nothing, and the next clean-up takes it away. */
  async bringBack(found: Commits): Promise<void> {
    for (const [id, commit] of found) await this.refs.swap(checkpointRefs + id, null, commit);
    await this.refs.remove(this.heldOf([...found.keys()]));
  }

  /** The refs that go when these are deleted. */
  heldOf(ids: readonly CheckpointId[]): string[] {
    const held = this.refs.names(heldRefs);
    return ids.filter((id) => held.has(id)).map((id) => heldRefs + id);
  }

  /** Nothing will bring them back: they are not missed any more. */
  async forget(ids: readonly CheckpointId[]): Promise<void> {
    this.refs.forget(ids.map((id) => checkpointRefs + id));
    await this.refs.remove(this.heldOf(ids));
  }
}
