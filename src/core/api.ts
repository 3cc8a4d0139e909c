import type { Agreed } from './agreed';
import type { ConfigProblem } from './config';
import type { MissingFork } from './fork-recovery';
import type { ImportedCheckpoint } from './imported';
import type {
  Cause,
  Change,
  Checkpoint,
  CheckpointId,
  RestorePlan,
  RestoreResult,
  RestoreScope,
  SessionAnchor,
  TaskState,
  Trigger,
  TurnInfo,
} from './model';
import type { RecoveryReport } from './ports';
import type { SyncService } from './sync';

/** What the three hosts do with one workspace. Implemented by `core/workspace.ts`. */
export interface WorkspaceApi {
  /** Real path of the workspace root. */
  readonly root: string;
  /** The folder `workspaces/<id>` of the store. */
  readonly folder: string;

  /** A new checkpoint; null when an automatic one had nothing to say. */
  create(options: CreateOptions & { automatic: true }): Promise<Checkpoint | null>;
  create(options?: CreateOptions): Promise<Checkpoint>;

  /** Checkpoints that another program made, with their own times; one that is here already stays as it is and is named in `known`. */
  adopt(imports: readonly ImportedCheckpoint[]): Promise<{ added: Checkpoint[]; known: Checkpoint[] }>;

  /** Newest first. */
  list(filter?: ListFilter): Promise<Checkpoint[]>;
  /** What is lost, as far as that is known without a look at everything: `doctor` takes that. */
  lost(): LostCheckpoints;
  /** Full id, unique prefix, exact name, `latest`, `latest~N`. Throws `unknown-reference` or `ambiguous-reference`. */
  resolve(reference: string): Promise<Checkpoint>;
  /** What `remove` would delete. */
  deletable(reference: string): Promise<Pick<Checkpoint, 'id' | 'title'>>;

  /** `to` left out = the working files; `from` left out = latest. References or ids. */
  diff(from?: string, to?: string, options?: DiffOptions): Promise<DiffResult>;
  /** The changes of a checkpoint since the previous one of this workspace. */
  changes(reference: string): Promise<Change[]>;
  /** A file's bytes as the checkpoint has them. Throws `not-in-checkpoint`. */
  cat(reference: string, path: string): Promise<Uint8Array>;
  /** Size and kind without reading it; null when it is not there. */
  stat(reference: string, path: string): Promise<{ size: number; kind: 'file' | 'link' | 'folder' } | null>;

  plan(reference: string, options?: PlanOptions): Promise<RestorePlan>;
  /** What `restore` refuses for while an agent works, told before anybody is asked: throws `session-busy`. */
  refuseAtWork(reference: string, options?: RestoreOptions): Promise<void>;
  restore(reference: string, options?: RestoreOptions): Promise<RestoreResult>;
  undo(options?: RestoreOptions): Promise<RestoreResult>;
  redo(options?: RestoreOptions): Promise<RestoreResult>;
  /** What `undo`, `redo` and `revertTurn` would do with the same options. */
  planUndo(options?: PlanOptions): Promise<RestorePlan>;
  planRedo(options?: PlanOptions): Promise<RestorePlan>;
  planRevertTurn(reference: string, options?: PlanOptions): Promise<RestorePlan>;
  /** What undo and redo would go back to, without doing it. */
  undoState(): Promise<{ undo: Checkpoint | null; redo: Checkpoint | null }>;
  revertTurn(reference: string, options?: RestoreOptions): Promise<RestoreResult>;

  rename(reference: string, name: string): Promise<Checkpoint>;
  describe(reference: string, description: string): Promise<Checkpoint>;
  pin(reference: string, pinned: boolean): Promise<Checkpoint>;
  remove(references: string[]): Promise<CheckpointId[]>;
  clear(session?: string): Promise<CheckpointId[]>;

  stats(): Promise<Stats>;
  prune(options?: { dryRun?: boolean }): Promise<{ deleted: CheckpointId[]; freedBytes: number }>;
  /**
   * What `prune` does, by itself and without being in anybody's way: at most once an hour, and given up as soon as somebody
   * needs the store. null when there was nothing to do.
   */
  tidy(options?: { signal?: AbortSignal }): Promise<Tidied | null>;
  doctor(options?: { repair?: boolean }): Promise<Problem[]>;
  /** What of the settings was not understood, and therefore does not count. */
  configProblems(): ConfigProblem[];
  /** What a restore that had died became, at the last start; null when there was none. */
  readonly recovered: RecoveryReport | null;
  /** A restore that died after its files, before its fork; null when there is none. */
  missingFork(): Promise<MissingFork | null>;
  /** Makes that fork, or finds it made; null when nothing is missing any more. */
  finishFork(): Promise<{ id: string } | null>;
  /** It is not wanted any more. */
  forgetFork(): void;

  /** To and from other machines and people. */
  readonly sync: SyncService;

  /** Fires after anything changed in the store, by this process or another one. Returns the unsubscribe function. */
  onDidChange(listener: (event: WorkspaceEvent) => void): () => void;
  /** What is under way, for spinners: the same data for every view. */
  readonly operation: Operation | null;
  onDidChangeOperation(listener: (operation: Operation | null) => void): () => void;

  close(): Promise<void>;
}

export interface CreateOptions {
  trigger?: Trigger;
  name?: string | null;
  description?: string | null;
  session?: SessionAnchor | null;
  turn?: TurnInfo | null;
  task?: TaskState | null;
  cause?: Cause | null;
  metadata?: Record<string, unknown>;
  pinned?: boolean;
  /** Known paths of a tool call, relative to the root or absolute: the fast lane. */
  paths?: string[];
  /** Makes none when nothing changed in this turn. */
  automatic?: boolean;
  signal?: AbortSignal;
}

export interface ListFilter {
  session?: string;
  search?: string;
  trigger?: Trigger;
  limit?: number;
  /** ISO times, inclusive. */
  since?: string;
  until?: string;
  path?: string;
}

export interface DiffOptions {
  paths?: string[];
  patch?: boolean;
}

export interface DiffResult {
  from: CheckpointId;
  /** null: the working files. */
  to: CheckpointId | null;
  changes: Change[];
  /** Bytes that are not UTF-8 are lone surrogates (U+DC80 to U+DCFF), as in paths. */
  patch?: string;
}

export interface PlanOptions {
  scope?: RestoreScope[];
  /** Files or folders, relative to the root; left out: all, an empty list: none. */
  paths?: string[];
  keepUserEdits?: boolean;
  /** Exact paths that stay as they are: what a plan that was agreed to kept, whoever is said to have changed it by now. */
  keep?: string[];
}

/** Files, unless `part` says what is waited for: OpenCode is asked who is at work, the safety checkpoint or the new session is being made. */
export interface RestoreProgress {
  done: number;
  total: number;
  part?: 'asking' | 'safety' | 'conversation';
}

export interface RestoreOptions extends PlanOptions {
  /** What was shown and agreed to (`agreedTo` of its plan). Anything else that would be written or deleted is refused: `needs-confirmation`. */
  agreed?: Agreed;
  allowMassDelete?: boolean;
  /** Go on although the session is busy. */
  force?: boolean;
  /** The session whose own agent goes back: it is at work by nature; others are refused all the same. */
  exempt?: string;
  signal?: AbortSignal;
  onProgress?: (progress: RestoreProgress) => void;
}

/** Checkpoints of this workspace that nobody deleted, and that are not there or not whole. */
export interface LostCheckpoints {
  /** No ref names them any more; `doctor` brings back those whose content is there. */
  refs: CheckpointId[];
  /** Their record cannot be read, as far as it was asked for. */
  records: CheckpointId[];
  /** They have lost some of their content, as far as it was asked for. */
  content: CheckpointId[];
}

export interface Stats {
  checkpoints: number;
  sessions: number;
  bytes: number;
  borrowedBytes: number;
  store: string;
  perSession: Array<{ session: string | null; title: string | null; checkpoints: number; bytes: number }>;
}

export interface Tidied {
  deleted: CheckpointId[];
  freedBytes: number;
  /** Many small files of the store became one. */
  packed: boolean;
}

export interface Problem {
  reason: string;
  message: string;
  repaired: boolean;
}

export interface WorkspaceEvent {
  kind: 'created' | 'updated' | 'deleted' | 'restored' | 'pruned' | 'external';
  ids: CheckpointId[];
}

export interface Operation {
  kind: 'capture' | 'import' | 'restore' | 'undo' | 'redo' | 'revert-turn' | 'prune' | 'doctor' | 'sync';
  startedAt: number;
  title: string;
}
