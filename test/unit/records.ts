import type { Checkpoint, FilesFacet, RestoreRecord, Trigger } from '../../src/core/model';
import { nextId } from '../../src/core/ulid';

/** Records for tests of pure policy: whole, with what a test does not care about left plain. */
export interface RecordInput extends Partial<Omit<Checkpoint, 'files' | 'session' | 'turn' | 'restore'>> {
  at?: number;
  session?: Checkpoint['session'] | string;
  turn?: Checkpoint['turn'] | number;
  files?: Partial<FilesFacet>;
  restore?: Partial<RestoreRecord> | null;
}

export class Records {
  private newest: string | null = null;
  private clock: number;

  constructor(start = Date.UTC(2026, 0, 1)) {
    this.clock = start;
  }

  next(trigger: Trigger, input: RecordInput = {}): Checkpoint {
    const at = input.at ?? (this.clock += 1000);
    this.clock = Math.max(this.clock, at);
    const { at: _at, session, turn, files, restore, ...rest } = input;
    this.newest = nextId(this.newest, at);
    return {
      id: this.newest,
      name: null,
      title: trigger,
      description: null,
      createdAt: new Date(at).toISOString(),
      trigger,
      pinned: false,
      session: typeof session === 'string' ? anchor(session) : (session ?? null),
      turn:
        typeof turn === 'number'
          ? { number: turn, prompt: `Prompt ${turn}`, model: null, agent: null, cost: null, tokens: null }
          : (turn ?? null),
      files: filesFacet(files),
      git: null,
      task: null,
      cause: null,
      restore: restore ? restoreRecord(restore) : null,
      origin: null,
      metadata: {},
      ...rest,
    };
  }
}

export function anchor(id: string): NonNullable<Checkpoint['session']> {
  return { id, messageId: 'msg_1', messageCount: 2, title: `Session ${id}`, parent: null };
}

export function filesFacet(files: Partial<FilesFacet> = {}): FilesFacet {
  const paths = files.paths ?? [];
  return {
    tree: 'a'.repeat(40),
    commit: 'b'.repeat(40),
    lane: 'scan',
    added: 0,
    modified: paths.length,
    deleted: 0,
    skipped: [],
    partial: [],
    emptyDirs: [],
    ...files,
    paths,
  };
}

export function restoreRecord(record: Partial<RestoreRecord> = {}): RestoreRecord {
  return {
    operation: 'restore',
    target: null,
    scope: ['files'],
    session: null,
    restored: 1,
    deleted: 0,
    kept: 0,
    skipped: 0,
    touched: null,
    ...record,
  };
}
