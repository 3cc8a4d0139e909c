/** The nouns of the product as plain data. Everything here is JSON. */

export type CheckpointId = string;

export const triggers = [
  'manual',
  'agent',
  'task',
  'turn',
  'tool',
  'idle',
  'compaction',
  'interval',
  'restore',
  'import',
] as const;
export type Trigger = (typeof triggers)[number];

export type Lane = 'scan' | 'paths';

/** Which moment of an OpenCode session a checkpoint belongs to. */
export interface SessionAnchor {
  id: string;
  /** The last message that belongs to the checkpoint; null for none. */
  messageId: string | null;
  messageCount: number;
  title: string | null;
  parent: string | null;
}

export interface TurnInfo {
  /** From 1; again used after OpenCode's own undo. 0: not known. */
  number: number;
  /** The prompt's message; older records have none. */
  messageId?: string;
  /** First 500 characters. */
  prompt: string;
  model: string | null;
  agent: string | null;
  cost: number | null;
  tokens: number | null;
}

/** A path that stayed out of a snapshot, or could not be read, and why. */
export interface PathReason {
  path: string;
  reason: string;
  size?: number;
}

export interface FilesFacet {
  tree: string;
  /** Not stored (a commit cannot name itself): filled in when a record is read. */
  commit: string;
  lane: Lane;
  added: number;
  modified: number;
  deleted: number;
  /** Changes since the previous checkpoint of this workspace, at most 500. */
  paths: string[];
  skipped: PathReason[];
  partial: PathReason[];
  emptyDirs: string[];
  /** The patterns of the settings that were in force, where there were any. */
  exclude?: string[];
  /** Paths a scan found changed though nobody had named them since the scan before; on a point of the fast lane, what the deleted scan after it had there. */
  uncertain?: string[];
  /** Calls of turns under way, in their order, each with the changes that it was the last to name; and commands, where nobody named one. */
  calls?: Call[];
  /** The tree holds these paths and says nothing about any other (imported ones; none: no files at all). Left out: it holds everything. */
  only?: string[];
}

export interface GitFacet {
  commit: string | null;
  branch: string | null;
  dirty: boolean;
}

export type TaskStatus = 'not_started' | 'in_progress' | 'blocked' | 'done';

export interface TaskState {
  title?: string;
  objective?: string;
  status?: TaskStatus;
  summary?: string;
  currentPlan?: string[];
  completedSteps?: string[];
  nextSteps?: string[];
  blockers?: string[];
  filesTouched?: string[];
  notes?: string[];
  /** Fields of a newer version are kept. */
  [other: string]: unknown;
}

export interface Cause {
  tool: string;
  callId: string | null;
  paths: string[];
}

/** A tool call of a turn under way. A point that equals the one before is not made: what its call named is known all the same. */
export interface Call extends Cause {
  session: string;
}

export type RestoreScope = 'files' | 'conversation' | 'task';
export const restoreScopes: readonly RestoreScope[] = ['files', 'conversation', 'task'];

/** On safety checkpoints: the restore that followed, filled in afterwards. */
export interface RestoreRecord {
  operation: 'restore' | 'undo' | 'redo' | 'revert-turn';
  target: CheckpointId | null;
  scope: RestoreScope[];
  session: string | null;
  restored: number;
  deleted: number;
  kept: number;
  skipped: number;
  /** The paths that were written or deleted, unless there were too many to keep. */
  touched: string[] | null;
  /** Where there were: the tree of the workspace right afterwards, which differs from the safety checkpoint's by these paths. */
  tree?: string;
  /** The empty folders that were made or removed. Records of older versions do not say. */
  folders?: string[];
}

export interface Origin {
  machine: string;
  user: string;
  /** Of one that was renamed, described or pinned here after it was fetched: what it was, and which fields are ours. */
  edited?: { commit: string; fields: Array<'name' | 'description' | 'pinned'> };
}

export interface Checkpoint {
  id: CheckpointId;
  name: string | null;
  title: string;
  description: string | null;
  createdAt: string;
  trigger: Trigger;
  pinned: boolean;
  session: SessionAnchor | null;
  turn: TurnInfo | null;
  files: FilesFacet;
  git: GitFacet | null;
  task: TaskState | null;
  cause: Cause | null;
  restore: RestoreRecord | null;
  origin: Origin | null;
  metadata: Record<string, unknown>;
}

export type ChangeStatus = 'added' | 'modified' | 'deleted' | 'typechange' | 'renamed';

export interface Change {
  path: string;
  from?: string;
  status: ChangeStatus;
  additions: number;
  deletions: number;
  binary: boolean;
  /** The store has lost its content, before or after: that it changed is known, what changed is not. */
  damaged?: true;
  /** Of a deleted one: the file is there all the same, and left out of the later side because it is excluded or too large by then. */
  leftOut?: true;
}

export type PlanAction = 'write' | 'delete' | 'keep' | 'skip';

export interface PlanEntry {
  path: string;
  action: PlanAction;
  /** Why it is kept or skipped; `yours` and `uncertain` also flag writes and deletes. */
  reason?: string;
  /** The user changed it by hand since the agent's last change. */
  yours?: boolean;
  /** It may be the user's: it changed while an agent was at work on other paths. */
  unsure?: boolean;
}

export interface ConversationPlan {
  session: string;
  messageCount: number;
  /** Messages of the session now; null when no server could tell. */
  currentCount: number | null;
  /** The last answer is not finished, but the server that was asked is not writing it: another process is, or one died. */
  unfinished?: boolean;
}

export interface RestorePlan {
  target: CheckpointId;
  scope: RestoreScope[];
  entries: PlanEntry[];
  /** Empty folders that would be made, and removed if they are still empty; left out where there are none. */
  folders?: { make: string[]; remove: string[] };
  conversation?: ConversationPlan;
  task?: TaskState | null;
  /** More than 20 files and more than a third of the workspace's would be deleted. */
  massDelete: boolean;
  /** Files in the workspace now. */
  fileCount: number;
}

export interface RestoreResult {
  restored: string[];
  deleted: string[];
  kept: PathReason[];
  skipped: PathReason[];
  /** So many of `skipped` were to be restored, and could not be: the files are not what was asked for. Absent: none. */
  failed?: number;
  session: { id: string } | null;
  /** The task state is that of then, too. Absent: it was left as it is. */
  task?: true;
  /** Of a fork before a prompt: all of its text, to be edited and sent again. */
  prompt?: string;
  /** So many todos belong to the new session and could not be written there. */
  todosLost?: number;
  /** An OpenCode server did not say in time whether an agent is at work here: files do not wait for it. */
  serverSilent?: true;
  /** As in the plan, which not everybody was shown. */
  unfinished?: true;
  /** Of an undo: the session that the restore had made. It stays. */
  fork?: { id: string };
  /** The safety checkpoint that `undo` goes back to; null where only a fork was made, which stays. */
  undo: CheckpointId | null;
  conflicts?: PathReason[];
}
