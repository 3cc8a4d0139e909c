import type { Operation, WorkspaceEvent } from './api';
import { Emitter } from './emitter';
import type { CheckpointId } from './model';
import type { SnapshotStore } from './ports';

export interface ActivitySource {
  store: Pick<SnapshotStore, 'watch'>;
  refs(): Map<CheckpointId, string>;
  now(): number;
}

/** What happens in a workspace, by this process and by others, for those who listen. */
export class Activity {
  private readonly changed = new Emitter<WorkspaceEvent>();
  private readonly operations = new Emitter<Operation | null>();
  private readonly running: Operation[] = [];
  private unwatch: (() => void) | null = null;
  private seen = new Map<CheckpointId, string>();

  constructor(private readonly source: ActivitySource) {}

  get operation(): Operation | null {
    return this.running.at(-1) ?? null;
  }

  onDidChange(listener: (event: WorkspaceEvent) => void): () => void {
    if (!this.unwatch) {
      this.seen = this.source.refs();
      this.unwatch = this.source.store.watch(() => this.lookOutside());
    }
    const end = this.changed.on(listener);
    return () => {
      end();
      if (this.changed.size === 0) {
        this.unwatch?.();
        this.unwatch = null;
      }
    };
  }

  /** Tells changes of other processes from our own, which were announced already. */
  private lookOutside(): void {
    const now = this.source.refs();
    const ids = [...now].filter(([id, commit]) => this.seen.get(id) !== commit).map(([id]) => id);
    for (const id of this.seen.keys()) if (!now.has(id)) ids.push(id);
    this.seen = now;
    if (ids.length > 0) this.changed.fire({ kind: 'external', ids });
  }

  announce(kind: WorkspaceEvent['kind'], ids: CheckpointId[]): void {
    if (this.unwatch) this.seen = this.source.refs();
    this.changed.fire({ kind, ids });
  }

  onDidChangeOperation(listener: (operation: Operation | null) => void): () => void {
    return this.operations.on(listener);
  }

  async during<T>(kind: Operation['kind'], title: string, work: () => Promise<T>): Promise<T> {
    const operation: Operation = { kind, title, startedAt: this.source.now() };
    this.running.push(operation);
    this.operations.fire(this.operation);
    try {
      return await work();
    } finally {
      this.running.splice(this.running.indexOf(operation), 1);
      this.operations.fire(this.operation);
    }
  }

  close(): void {
    this.unwatch?.();
    this.unwatch = null;
  }
}
