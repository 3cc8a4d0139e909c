import type { Config } from '../core/config';
import type { SessionEvent, SessionGateway } from '../core/sessions';

/** What hosts see of the session backup. `BackupService` in service.ts implements it; nothing here speaks to a person. */

/** Why nothing, or not everything, could be saved. Each is tried again. */
export type BackupTrouble =
  /** No destination is set: backup is off. */
  | 'off'
  /** The folder is not there: a drive that is not connected, a folder that was moved or renamed. */
  | 'destination-missing'
  | 'destination-full'
  | 'destination-read-only'
  /** Some files are held by another program, a cloud client mostly. */
  | 'destination-locked'
  /** Somebody else is at it: the plugin, another window, the command line. */
  | 'busy'
  /** OpenCode could not be asked. */
  | 'server'
  /** Single sessions could not be read or written; the others were. */
  | 'incomplete'
  | 'failed';

export interface BackupProblem {
  trouble: BackupTrouble;
  /** One sentence. */
  message: string;
  /** ISO 8601. */
  at: string;
}

export interface BackupProgress {
  operation: 'backup' | 'restore' | 'verify';
  done: number;
  total: number;
}

export interface BackupStatus {
  /** null: backup is off. */
  path: string | null;
  /** Where the path was set. */
  source: 'setting' | 'environment' | 'opencode.json' | null;
  /** `pending`: something changed and will be saved soon. `problem`: see `problem`; it is tried again by itself. */
  state: 'off' | 'idle' | 'pending' | 'running' | 'problem';
  running: BackupProgress | null;
  /** What is wrong now; null when the last run went well, or there was none. */
  problem: BackupProblem | null;
  /** Sessions in the backup, of all machines; those in `deleted/` do not count. */
  sessions: number;
  /** Of those: saved by this machine. */
  ownSessions: number;
  deletedSessions: number;
  /** Bytes of everything, older versions too. */
  bytes: number;
  machines: number;
  /** ISO 8601; of any process on this machine. null: never. */
  lastRunAt: string | null;
  lastSuccessAt: string | null;
  /** Runs of this process. */
  runs: number;
  /** Folders of cloud clients that are on this machine; only while backup is off. */
  suggestions: string[];
}

export interface BackupReport {
  path: string;
  /** Sessions on the server. */
  sessions: number;
  written: number;
  unchanged: number;
  /** Moved to `deleted/`. */
  deleted: number;
  /** In the backup, not on this server, and not known to be deleted: kept. */
  kept: number;
  failed: Array<{ id: string; message: string }>;
  /** Bytes written. */
  bytes: number;
  durationMs: number;
  /** null when all went well. */
  problem: BackupProblem | null;
}

/** How a session in the backup stands to the one on the server. */
export type SessionState =
  /** Not on the server: will be added. */
  | 'new'
  /** The server has exactly this. */
  | 'same'
  /** The server has gone on since. */
  | 'older'
  /** The backup has more than the server. */
  | 'newer'
  /** Each has something that the other has not. */
  | 'different';

export interface BackupVersion {
  /** Names it in `restore`: its path in the backup. */
  file: string;
  /** ISO 8601. */
  savedAt: string;
  /** Milliseconds: the session's own time of its last change. */
  updatedAt: number;
  messages: number | null;
  bytes: number;
  machine: string | null;
  /** The file is not what was written. Only known when it was read: in `verify`, `versions` and `restore`. */
  damaged?: boolean;
}

export interface BackedUpSession {
  id: string;
  title: string | null;
  projectId: string;
  /** The folder it worked in, on the machine that saved it. */
  directory: string;
  /** The session whose agent started this one; it travels with it. */
  parentId: string | null;
  generation: 'v1' | 'v2';
  /** In `deleted/`. */
  deleted: boolean;
  /** From an old backup of OpenCode's JSON folders. */
  legacy: boolean;
  state: SessionState;
  /** Newest first; the first one is what a restore takes unless another is named or it is damaged. */
  versions: BackupVersion[];
}

export interface RestorePreview {
  path: string;
  /** Newest first. */
  sessions: BackedUpSession[];
  /** Files that are no sessions, or cannot be read. */
  unreadable: Array<{ file: string; message: string }>;
}

export interface RestoreRequest {
  /** Left out: all that are not in `deleted/`. Sub-agents' sessions come with those who started them. */
  sessions?: readonly string[];
  /** Only those of one project. */
  project?: string;
  /** A certain version of a session, by its `file`. */
  versions?: Readonly<Record<string, string>>;
  /** What to do with sessions that the server has: nothing is ever overwritten. */
  existing?: 'skip' | 'copy';
  /** Another backup, or an old one of OpenCode's JSON folders. */
  from?: string;
  /** The folder whose project takes them; the workspace's unless given. */
  directory?: string;
  signal?: AbortSignal;
}

export interface RestoredSession {
  /** In the backup. */
  from: string;
  /** On the server: the same one where it was free. */
  id: string;
  title: string | null;
  messages: number;
  /** The file it came from. */
  file: string;
  /** The newest version was damaged: this is an older one. */
  olderVersion: boolean;
  /** null: there were none. */
  todos: 'restored' | 'not-restored' | null;
}

export interface SessionRestoreReport {
  path: string;
  restored: RestoredSession[];
  skipped: Array<{ id: string; state: SessionState; reason: string }>;
  failed: Array<{ id: string; message: string }>;
  durationMs: number;
}

export interface VerifyReport {
  path: string;
  /** Files that were read. */
  checked: number;
  bytes: number;
  damaged: Array<{
    file: string;
    session: string | null;
    problem: 'changed' | 'truncated' | 'missing' | 'unreadable';
    /** Whole older versions, newest first. */
    older: BackupVersion[];
  }>;
}

export interface BackupApi {
  status(): Promise<BackupStatus>;
  /** What `status` found last, and what runs now, without waiting: for a tooltip. */
  readonly lastStatus: BackupStatus | null;
  /** Now. Never throws for what `BackupTrouble` names: the report has it. Throws `cancelled`. */
  run(options?: RunOptions): Promise<BackupReport>;
  /** Throws `no-backup` when there is nothing to look at. */
  preview(options?: { from?: string; deleted?: boolean; signal?: AbortSignal }): Promise<RestorePreview>;
  restore(request?: RestoreRequest): Promise<SessionRestoreReport>;
  verify(options?: { signal?: AbortSignal }): Promise<VerifyReport>;
  /** A session changed: it is saved 5 s later, at most every 30 s. Events that mean nothing to a backup are ignored. */
  noticed(event: SessionEvent): void;
  /** Any change of `lastStatus`. Returns the function that ends it. */
  onDidChangeStatus(listener: (status: BackupStatus) => void): () => void;
  /** Ends timers, and a run that began by itself; waits for it to be put down safely. */
  close(): Promise<void>;
}

export interface RunOptions {
  /** Begins a new backup although the one that was in this place before is gone. */
  startAnew?: boolean;
  /** How long to wait for one that is under way, so that this one has what changed meanwhile; else it is `busy` at once. */
  waitMs?: number;
  signal?: AbortSignal;
}

/** What `new BackupService(options)` takes. One per host is enough: it saves the sessions of all projects of its server. */
export interface BackupOptions {
  /** The folder whose project takes restored sessions. */
  root: string;
  /** `storeHome()`: this machine's identity, locks and last results are kept there. */
  home: string;
  /** Asked at each use: a changed setting counts from then on. */
  config: () => Config | Promise<Config>;
  gateway: () => Promise<SessionGateway>;
  env?: NodeJS.ProcessEnv;
  log?: (line: string) => void;
}
