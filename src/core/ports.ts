import type { ListFilter, LostCheckpoints } from './api';
import type {
  Call,
  Cause,
  Change,
  Checkpoint,
  CheckpointId,
  GitFacet,
  Lane,
  PathReason,
  RestoreRecord,
  RestoreScope,
} from './model';

/** One file or link of a snapshot. */
export interface FileVersion {
  mode: number;
  oid: string;
}

export interface FileChange {
  path: string;
  before: FileVersion | null;
  after: FileVersion | null;
}

/** The newest checkpoint of this workspace, as far as the next one needs to know it. */
export interface Previous {
  id: CheckpointId;
  tree: string;
  session: string | null;
  turn: number | null;
  trigger: string;
}

/** What a capture found, before it is decided whether and how it becomes a checkpoint. */
export interface CaptureFacts {
  tree: string;
  lane: Lane;
  /** Since the previous checkpoint: counts, and the first paths in git's order. */
  changes: { added: number; modified: number; deleted: number; paths: string[] };
  skipped: PathReason[];
  partial: PathReason[];
  emptyDirs: string[];
  /** The patterns of the settings that keep files out. */
  exclude: string[];
  /** Found changed by this scan though nobody named them since the last one. */
  uncertain: string[];
  git: GitFacet | null;
  previous: Previous | null;
  /** The tree of the last capture or restore before this one. */
  base: string | null;
  /** The calls of the turns under way, in their order; of those that named no path (a shell command) the last one of each session. */
  calls: Call[];
  /** The newest id in use, so that the next one is later. */
  newestId: CheckpointId | null;
}

export interface CaptureRequest {
  /** Known paths: the fast lane. */
  paths?: string[];
  /** Paths that must be read although ignore rules leave them out. */
  include?: string[];
  /** What is about to happen, and in which session; `begins` and `ends` a turn. */
  moment?: { session: string; call: Cause | null; turn: 'begins' | 'ends' | null };
  /** Longest wait for another process. */
  waitMs: number;
  signal?: AbortSignal;
  /** The caller holds the exclusive lease. */
  exclusive?: boolean;
  /** The tree that is restored next: what that needs can be read while the files are looked at. */
  target?: string;
}

/** The store of one workspace: the snapshots and their records. Implemented over git. */
export interface SnapshotStore {
  readonly root: string;
  readonly folder: string;

  /** Captures, lets `compose` decide, and publishes in one step; null from `compose` publishes nothing. */
  capture(
    request: CaptureRequest,
    compose: (facts: CaptureFacts) => Promise<Checkpoint | null> | Checkpoint | null,
  ): Promise<{ checkpoint: Checkpoint | null; facts: CaptureFacts }>;
  /** What is on disk now, without a checkpoint. */
  peek(signal?: AbortSignal): Promise<CaptureFacts>;

  /** Publishes checkpoints that hold given files instead of the workspace's; one whose id is here already is left as it is. */
  adopt(requests: readonly AdoptRequest[]): Promise<{ added: Checkpoint[]; known: Checkpoint[] }>;

  /** id -> commit of all local checkpoints. */
  refs(): Map<CheckpointId, string>;
  /** The same of those that came from elsewhere; one that is also local is not among them. */
  fetchedRefs(): Map<CheckpointId, string>;
  /** Local ones that nobody deleted and that cannot be shown. */
  lost(): LostCheckpoints;
  /** The ids of the checkpoint's own workspace, oldest first. */
  siblings(id: CheckpointId): CheckpointId[];
  /** Local and fetched ones; those that are not there are left out. */
  read(ids: CheckpointId[]): Promise<Checkpoint[]>;
  /** Replaces a record; `change` may run again when another process was faster. */
  update(
    id: CheckpointId,
    change: (checkpoint: Checkpoint) => Checkpoint,
    /** The caller holds the exclusive lease. */
    options?: { exclusive?: boolean },
  ): Promise<Checkpoint>;
  remove(ids: CheckpointId[]): Promise<void>;

  diff(from: string, to: string, paths?: string[]): Promise<FileChange[]>;
  /** With line counts and, on request, a patch. */
  changes(
    from: string,
    to: string,
    options?: { paths?: string[]; patch?: boolean },
  ): Promise<{ changes: Change[]; patch?: string }>;
  lookup(tree: string, path: string): Promise<FileVersion | null>;
  content(version: FileVersion): Promise<Uint8Array>;
  size(version: FileVersion): Promise<number>;
  /** From `enough` on it need not go on counting. */
  countFiles(tree: string, enough?: number): Promise<number>;
  /** Which of these paths are there on disk, whatever it is. */
  present(paths: string[]): string[];
  mergeFile(ours: Uint8Array, base: Uint8Array, theirs: Uint8Array): Promise<Uint8Array | null>;
  /** Puts new content into the store, for merged files. */
  addContent(data: Uint8Array): Promise<string>;

  /** Which of these changes no restore carries out, and why. `foreign`: they come from somebody else's tree. */
  refusals(changes: readonly FileChange[], foreign: boolean): Promise<Refusal[]>;

  /**
   * Which of these paths, which the checkpoint lacks, may have been there all the same: ignored or excluded then. Folders end with a
   * slash. The files were looked at before.
   */
  leftOut(checkpoint: Pick<Checkpoint, 'files'>, paths: string[]): Promise<Map<string, string>>;
  /** Files that were ignored at this checkpoint, and how they were when a tool first named them later. */
  firstNamed(checkpoint: Pick<Checkpoint, 'id' | 'files'>, paths: string[]): Promise<Map<string, FileVersion>>;

  /** Nobody else captures, restores or prunes while `work` runs. */
  exclusively<T>(purpose: string, waitMs: number, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>;
  /** What these changes overwrite or delete, and the tree knows, can really be read from the store; else it is written again. */
  secure(tree: string, changes: readonly FileChange[]): Promise<void>;
  /** Writes and deletes exactly these paths; journalled, verified. The caller holds the exclusive lease. */
  apply(request: ApplyRequest): Promise<ApplyResult>;
  /** The task of a restore with `keepJournal` is done, too. */
  closeJournal(): void;
  /** A restore is to fork the conversation, too; remembered until it has, so that a death in between is known. */
  forkBegins(safety: CheckpointId): void;
  forkEnded(): void;
  /** The safety checkpoint of the restore that died before `forkEnded`; null when there is none. */
  deadFork(): CheckpointId | null;
  /** Finishes or rolls back a restore that died; null when there was none. `rest`, with the lease held, finishes what is not files. */
  recover(rest: (report: RecoveryReport) => Promise<void>): Promise<RecoveryReport | null>;

  /** Bytes that only these commits need: what deleting them would free. What is lost takes none. */
  ownBytes(commits: string[], others: string[]): Promise<number>;
  /** Calls back soon after any process changed a checkpoint. Returns the function that ends it. */
  watch(listener: () => void): () => void;
  sizes(): { bytes: number; borrowedBytes: number };
  /** Frees what no checkpoint needs any more; not `whole` where the disk had too little room to free all of it. */
  collect(
    waitMs: number,
    /** `yielding`: stops, with the reason `cancelled`, as soon as somebody else needs the store. */
    options?: { yielding?: boolean; signal?: AbortSignal },
  ): Promise<{ freedBytes: number; whole: boolean }>;
  /** Makes one file of many small ones, where there are; nothing is freed, nobody waits. Tells whether it did. */
  pack(signal?: AbortSignal): Promise<boolean>;
  /** When the store was last looked after (0: never), and whether deleted checkpoints still take space. */
  tidied(): { at: number; garbage: boolean };
  /** What is left out stays as it was. */
  markTidied(change: { at?: number; garbage?: boolean }): void;
  doctor(repair: boolean): Promise<Array<{ reason: string; message: string; repaired: boolean }>>;
  close(): Promise<void>;
}

/** A file as another program kept it. Read when it is needed: there may be many, and most may be here already. */
export interface GivenFile {
  /** Relative to the root. */
  path: string;
  read(): Promise<Uint8Array>;
}

export interface AdoptRequest {
  files: readonly GivenFile[];
  compose(facts: AdoptedFiles): Checkpoint;
}

/** What of the given files is in the store, and what stayed out and why. */
export interface AdoptedFiles {
  tree: string;
  paths: string[];
  skipped: PathReason[];
}

export interface Refusal extends PathReason {
  /** No honest workspace has such a path. */
  hostile: boolean;
}

export interface ApplyRequest {
  /** The safety checkpoint. */
  safety: CheckpointId;
  /** The tree of the workspace now. */
  tree: string;
  changes: FileChange[];
  makeFolders: string[];
  removeFolders: string[];
  /** Becomes the safety checkpoint's `restore`, with the counts filled in, before the journal goes. */
  record: Omit<RestoreRecord, 'restored' | 'deleted' | 'skipped' | 'touched' | 'tree' | 'folders'>;
  /** A tree from elsewhere: links out of the root are refused. */
  foreign: boolean;
  /** The task follows: the journal stays until `closeJournal`, so that a death in between is finished, too. */
  keepJournal?: boolean;
  signal?: AbortSignal;
  onProgress?: (progress: { done: number; total: number }) => void;
}

export interface ApplyResult {
  restored: string[];
  deleted: string[];
  skipped: PathReason[];
  /** So many of `skipped` were to be changed, and could not be. */
  failed: number;
  /** All files as they are then; null where the store has lost what tells that. */
  tree: string | null;
}

export interface RecoveryReport {
  outcome: 'finished' | 'rolled-back';
  safety: CheckpointId;
  /** What the restore was to bring back, and where from. */
  target: CheckpointId | null;
  scope: RestoreScope[];
  restored: string[];
  deleted: string[];
  /** Edited after the crash: left as they are. */
  kept: PathReason[];
  /** The files are done, but the conversation was not forked: `finishFork` does. */
  forkMissing?: boolean;
}

/** List, search and statistics; derived from the records. */
export interface QueryIndex {
  sync(refs: Map<CheckpointId, string>, load: (ids: CheckpointId[]) => Promise<Checkpoint[]>): Promise<void>;
  query(filter: ListFilter): Checkpoint[];
  flush(): Promise<void>;
  close(): Promise<void>;
}
