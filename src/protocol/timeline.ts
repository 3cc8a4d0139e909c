import type { Change, Checkpoint, CheckpointId, RestoreScope, TaskStatus, Trigger } from '../core/model';
import type { TaskChange } from './task-changes';

/**
 * What the timeline page and its host say to each other. The page holds one small row for every checkpoint (thousands
 * of them) and asks for the rest when a person looks at one. Events only say that something changed.
 */
export interface TimelineMethods {
  /** `known` is the revision the page has: the answer may then be only what differs. */
  timeline: { params: { workspace: string | null; known: number | null }; result: TimelineReply };
  details: { params: { workspace: string | null; id: CheckpointId }; result: TimelineDetails };
  /** What rows cannot answer: prompts, descriptions, changed paths. */
  find: { params: { workspace: string | null; query: FindQuery }; result: { ids: CheckpointId[] } };
  act: { params: { workspace: string | null; action: TimelineAction }; result: ActionResult };
}

/** Reads answer soon or not at all; an action waits for a person. */
export const timelineTimeouts = { timeline: 30_000, details: 20_000, find: 20_000, act: null } as const;

export type TimelineEvent =
  | { type: 'changed' }
  /** Another view asks to show this one. */
  | { type: 'reveal'; workspace: string; id: CheckpointId }
  | { type: 'revealSession'; workspace: string; session: string };

export interface TimelineRow {
  id: CheckpointId;
  /** Start of the record's commit: another one whenever anything in the record changes, also what no row shows. */
  v: string;
  /** Milliseconds since the epoch. */
  t: number;
  trigger: Trigger;
  /** Cut to `titleLimit`; the details have all of it. Is the name when `named`. */
  title: string;
  named?: true;
  pinned?: true;
  session?: string;
  turn?: number;
  /** Files added, modified, deleted; left out when nothing changed. */
  changes?: [added: number, modified: number, deleted: number];
  /** At the end of a turn that changed files by several calls: how many it changed in all. */
  turnFiles?: number;
  /** Letters of `facets`, in its order. */
  facets: string;
  status?: TaskStatus;
  /** Made elsewhere: "user@machine". */
  origin?: string;
  /** Something could not be read: the snapshot is not whole. */
  partial?: true;
  /** Made for a sub-agent, that worked for the session's turn. */
  subagent?: true;
}

export const facetLetters = { files: 'f', conversation: 'c', task: 't', git: 'g' } as const;

export type SessionState = 'busy' | 'deleted';

export interface TimelineSession {
  id: string;
  title: string | null;
  parent: string | null;
  /** The checkpoint it was forked at, when one is known. */
  forkedFrom: CheckpointId | null;
  state?: SessionState;
  /** When it began, in milliseconds: of a fork that has no checkpoint of its own yet, so that no row tells. */
  begun?: number;
}

export interface WorkspaceRef {
  id: string;
  name: string;
}

export const noticeActions = [
  'installPlugin',
  'startServer',
  'openSettings',
  'showLog',
  'runDoctor',
  'manageTrust',
] as const;
export type NoticeAction = (typeof noticeActions)[number];

export interface Notice {
  level: 'info' | 'warning' | 'error';
  text: string;
  action?: { id: NoticeAction; label: string };
}

/** All but the rows. */
export interface TimelineFrame {
  revision: number;
  workspaces: WorkspaceRef[];
  /** null: no folder is open. */
  workspace: string | null;
  sessions: TimelineSession[];
  /** What is under way, for people. */
  operation: string | null;
  notices: Notice[];
}

export interface TimelineWindow extends TimelineFrame {
  /** Newest first. */
  rows: TimelineRow[];
}

export type TimelineReply =
  | ({ kind: 'full' } & TimelineWindow)
  | ({ kind: 'delta'; base: number; changed: TimelineRow[]; removed: CheckpointId[] } & TimelineFrame);

export interface ChangeTotals {
  files: number;
  additions: number;
  deletions: number;
}

export interface TimelineDetails {
  checkpoint: Checkpoint;
  /** At most `changesLimit`. */
  changes: Change[];
  totals: ChangeTotals;
  /** Of a prompt: what its turn changed; null while it has not ended, and of all others. */
  turn: { changes: Change[]; totals: ChangeTotals; end: CheckpointId } | null;
  /** The checkpoint the changes and the task are compared with. */
  previous: CheckpointId | null;
  /** That is the point before the turn which ended here: what is told is what the turn did. */
  wholeTurn: boolean;
  /** Empty when the previous checkpoint had no task: then all of it is new. */
  taskChanges: TaskChange[];
  taskIsNew: boolean;
}

export interface FindQuery {
  text?: string;
  /** Part of a path, or a pattern with `*`. */
  file?: string;
}

/** What a person asks the host to do; dialogs, progress and errors are the host's own. */
export type TimelineAction =
  | { type: 'restore'; id: CheckpointId; scope?: RestoreScope[]; paths?: string[] }
  | { type: 'revertTurn'; id: CheckpointId }
  | { type: 'compareWorking'; id: CheckpointId }
  | { type: 'comparePrevious'; id: CheckpointId }
  | { type: 'compareSessionStart'; id: CheckpointId }
  | { type: 'compareTurn'; id: CheckpointId }
  /** Change bars in the editors, against this one. */
  | { type: 'showInGutter'; id: CheckpointId }
  | { type: 'compare'; from: CheckpointId; to: CheckpointId }
  /** `turn`: what the turn of a prompt did with it. */
  | { type: 'openDiff'; id: CheckpointId; path: string; from?: string; against: 'previous' | 'working' | 'turn' }
  | { type: 'openFile'; path: string }
  | { type: 'rename'; id: CheckpointId }
  | { type: 'describe'; id: CheckpointId }
  | { type: 'pin'; id: CheckpointId; pinned: boolean }
  | { type: 'delete'; ids: CheckpointId[] }
  | { type: 'copyId'; id: CheckpointId }
  | { type: 'fork'; id: CheckpointId }
  | { type: 'openSession'; session: string }
  | { type: 'create' }
  /** Show it in the tree of checkpoints. */
  | { type: 'reveal'; id: CheckpointId }
  | { type: 'openFolder' }
  | { type: 'notice'; action: NoticeAction };

export interface ActionResult {
  outcome: 'done' | 'cancelled';
}
