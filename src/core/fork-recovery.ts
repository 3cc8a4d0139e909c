import type { ConversationPort, RestoredFiles } from './conversation';
import { CheckpointsError } from './errors';
import type { Checkpoint } from './model';
import type { SnapshotStore } from './ports';

const lockWaitMs = 30_000;

/** A restore whose files are done, and whose conversation was not forked because the process died. */
export interface MissingFork {
  safety: Checkpoint;
  target: Checkpoint;
}

/**
 * The files of such a restore are finished by themselves; the fork is offered. Making it unasked could open a conversation long after
 * anybody wanted it, and would start a server for every command.
 */
export class ForkRecovery {
  constructor(
    private readonly store: SnapshotStore,
    private readonly conversation: ConversationPort | null,
  ) {}

  async missing(): Promise<MissingFork | null> {
    const id = this.store.deadFork();
    if (id === null) return null;
    const [safety] = await this.store.read([id]);
    const [target] = safety?.restore?.target ? await this.store.read([safety.restore.target]) : [];
    const wanted = safety?.restore?.scope?.includes('conversation') === true && safety.restore.session === null;
    if (safety && target && wanted) return { safety, target };
    // Nothing was restored, or all of it was, or what it was about is deleted: there is nothing left to do.
    this.store.forkEnded();
    return null;
  }

  /** Null when nothing is missing (any more): another window may have been faster. */
  finish(): Promise<{ id: string } | null> {
    return this.store.exclusively('restore', lockWaitMs, undefined, async () => {
      const missing = await this.missing();
      if (!missing) return null;
      if (!this.conversation)
        throw new CheckpointsError('server-unreachable', 'There is no way to OpenCode from here.');
      const { safety, target } = missing;
      const since = Date.parse(safety.createdAt);
      const session = await this.conversation.resumeFork(target, since, await this.filesOf(missing));
      await this.store.update(
        safety.id,
        ({ restore, ...rest }) => ({ ...rest, restore: restore && { ...restore, session: session.id } }),
        { exclusive: true },
      );
      this.store.forkEnded();
      return session;
    });
  }

  forget(): void {
    this.store.forkEnded();
  }

  private async filesOf({ safety, target }: MissingFork): Promise<RestoredFiles | null> {
    const { restore } = safety;
    if (!restore?.scope.includes('files')) return null;
    const touched = restore.touched ? new Set(restore.touched) : null;
    const changes = (await this.store.diff(safety.files.tree, target.files.tree)).filter(
      ({ path }) => touched === null || touched.has(path),
    );
    return {
      restored: changes.filter(({ after }) => after !== null).map(({ path }) => path),
      deleted: changes.filter(({ after }) => after === null).map(({ path }) => path),
    };
  }
}
