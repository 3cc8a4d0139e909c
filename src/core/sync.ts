import type { CheckpointId, Origin } from './model';

/**
 * Checkpoints between machines and people: over a git remote, or in one file. What came from elsewhere lives apart from this
 * workspace's own checkpoints, so neither side can undo what the other did with its own.
 */
export interface SyncService {
  /**
   * Sends this workspace's own checkpoints to a git remote: an address, a folder, or the name of a remote of the user's
   * repository. What was deleted here since the last time is deleted there, in this workspace's own part of the remote only.
   */
  push(remote: string, options?: PushOptions): Promise<PushResult>;
  /** Takes in what others have pushed there. */
  fetch(remote: string, options?: SyncOptions): Promise<FetchResult>;
  /** One file with the chosen checkpoints and their sessions; it appears whole or not at all. */
  exportBundle(references: string[], file: string, options?: ExportOptions): Promise<ExportResult>;
  /** As `fetch`, from such a file. */
  importBundle(file: string, options?: SyncOptions): Promise<FetchResult>;
}

export type SyncPhase = 'preparing' | 'sessions' | 'connecting' | 'sending' | 'receiving' | 'checking';

export interface SyncProgress {
  phase: SyncPhase;
  done: number;
  /** null while nobody knows. */
  total: number | null;
}

export interface SyncOptions {
  signal?: AbortSignal;
  onProgress?: (progress: SyncProgress) => void;
  /** Relative folders and files are read from here; the workspace's root when left out. */
  cwd?: string;
  /** Somebody sits at a terminal: git and ssh may ask for a password there. */
  interactive?: boolean;
}

export interface ExportOptions extends SyncOptions {
  /** False leaves the conversations here. */
  sessions?: boolean;
}

export interface PushOptions extends ExportOptions {
  /** Only these; nothing is deleted on the remote then. */
  references?: string[];
  /** Also the automatic points of tools, tasks and restores. */
  all?: boolean;
}

/** A session that did not travel, and why. */
export interface SessionReason {
  session: string;
  reason: string;
}

export interface SentSessions {
  sent: string[];
  unchanged: string[];
  /** Their checkpoints travel all the same, without the conversation. */
  skipped: SessionReason[];
}

export interface PushResult {
  /** The address it went to, without a password. */
  remote: string;
  /** The name of this workspace's part of the remote; null: it has none, for there was never anything to send. */
  origin: string | null;
  added: CheckpointId[];
  updated: CheckpointId[];
  deleted: CheckpointId[];
  unchanged: number;
  /** Not sent, for they have lost content; what was sent of them before stays. */
  damaged: CheckpointId[];
  sessions: SentSessions;
  /** How many files stayed here because they are excluded, over all checkpoints that were sent. */
  filtered: number;
}

export interface FetchedCheckpoint {
  id: CheckpointId;
  title: string;
  origin: Origin;
}

export interface FetchResult {
  /** The address or file it came from, without a password. */
  remote: string;
  added: FetchedCheckpoint[];
  /** Renamed, pinned or described by their owner since. */
  updated: FetchedCheckpoint[];
  unchanged: number;
  /** Not taken: damaged, or holding what no workspace may write. */
  refused: Array<{ id: string; origin: string; reason: string }>;
  /** Deleted here before, and not changed since by their owner. */
  deletedHere: number;
  /** Sessions that came along. */
  sessions: string[];
}

export interface ExportResult {
  file: string;
  bytes: number;
  checkpoints: CheckpointId[];
  sessions: SentSessions;
  filtered: number;
}
