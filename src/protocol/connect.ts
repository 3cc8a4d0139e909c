import type { Change, Checkpoint, CheckpointId, TaskState } from '../core/model';
import { WindowSender } from './delta';
import type { Port } from './envelope';
import { readParams } from './requests';
import { Responder } from './responder';
import { toRows, toSessions, type KnownSession, type TurnEnds } from './rows';
import { taskChanges } from './task-changes';
import type {
  ActionResult,
  ChangeTotals,
  FindQuery,
  Notice,
  TimelineAction,
  TimelineDetails,
  TimelineEvent,
  TimelineMethods,
  WorkspaceRef,
} from './timeline';

export const changesLimit = 1000;

/** What a host does for a timeline page. Everything thrown reaches the page as a failure with its reason. */
export interface TimelineBackend {
  timeline(workspace: string | null, signal: AbortSignal): Promise<TimelineSource>;
  details(workspace: string | null, id: CheckpointId, signal: AbortSignal): Promise<DetailsSource>;
  find(workspace: string | null, query: FindQuery, signal: AbortSignal): Promise<CheckpointId[]>;
  /** Not cancelled when the page goes: hiding a view must not stop a restore half way. */
  act(workspace: string | null, action: TimelineAction): Promise<ActionResult['outcome']>;
  /** Anything a page shows changed: checkpoints, sessions, the running operation, notices. */
  onDidChange(listener: () => void): () => void;
}

export interface TimelineSource {
  workspaces: readonly WorkspaceRef[];
  /** The one these checkpoints are of; null when no folder is open. */
  workspace: string | null;
  checkpoints: readonly Checkpoint[];
  ends?: TurnEnds;
  sessions?: readonly KnownSession[];
  operation?: { title: string } | null;
  notices?: readonly Notice[];
}

export interface DetailsSource {
  checkpoint: Checkpoint;
  /** Since `previous`. */
  changes: readonly Change[];
  previous: { id: CheckpointId; task: TaskState | null } | null;
  /** `previous` is the point before the turn that ended here, not the one right before. */
  wholeTurn?: boolean;
  /** Of a prompt whose turn has ended. */
  turn?: { changes: readonly Change[]; end: CheckpointId } | null;
}

export interface TimelineConnection {
  /** Scrolls to it and selects it, once the page is there. */
  reveal(workspace: string, id: CheckpointId): void;
  /** The same for a session: its newest checkpoint, or where it begins. For a page that is on the screen. */
  revealSession(workspace: string, session: string): void;
  dispose(): void;
}

export interface ConnectOptions {
  /** The page shows the details of this one. */
  onLook?: (workspace: string | null, id: CheckpointId) => void;
  onError?: (method: string, error: unknown) => void;
}

/** Wires one page to a backend; the same connection serves all incarnations of the page over its port. */
export function connectTimeline(
  port: Port,
  backend: TimelineBackend,
  options: ConnectOptions = {},
): TimelineConnection {
  const sender = new WindowSender();
  let revision = 0;
  // A hidden page hears nothing and is loaded anew when shown: what it was to show is said again, once, to the new one.
  let wanted: Extract<TimelineEvent, { type: 'reveal' }> | null = null;
  let loaded = false;

  const responder = new Responder<TimelineMethods, TimelineEvent>(
    port,
    {
      timeline: {
        read: readParams.timeline,
        handle: async ({ workspace, known }, signal) => {
          const source = await backend.timeline(workspace, signal);
          const window = {
            revision: ++revision,
            workspaces: [...source.workspaces],
            workspace: source.workspace,
            sessions: toSessions(source.checkpoints, source.sessions),
            operation: source.operation?.title ?? null,
            notices: [...(source.notices ?? [])],
            rows: toRows(source.checkpoints, source.ends),
          };
          const reply = sender.reply(window, known);
          if (wanted !== null && !loaded) {
            responder.emit(wanted);
            wanted = null;
          }
          loaded = true;
          return reply;
        },
      },
      details: {
        read: readParams.details,
        handle: async ({ workspace, id }, signal) => {
          if (id === wanted?.id) wanted = null;
          options.onLook?.(workspace, id);
          return toDetails(await backend.details(workspace, id, signal));
        },
      },
      find: {
        read: readParams.find,
        handle: async ({ workspace, query }, signal) => ({ ids: await backend.find(workspace, query, signal) }),
      },
      act: {
        read: readParams.act,
        handle: async ({ workspace, action }) => ({ outcome: await backend.act(workspace, action) }),
      },
    },
    { onReady, ...(options.onError ? { onError: options.onError } : {}) },
  );

  function onReady(): void {
    sender.reset();
    loaded = false;
  }

  const unsubscribe = backend.onDidChange(() => responder.emit({ type: 'changed' }));
  return {
    reveal: (workspace, id) => {
      wanted = { type: 'reveal', workspace, id };
      responder.emit(wanted);
    },
    revealSession: (workspace, session) => responder.emit({ type: 'revealSession', workspace, session }),
    dispose: () => {
      unsubscribe();
      responder.dispose();
    },
  };
}

export function toDetails(source: DetailsSource): TimelineDetails {
  const { checkpoint, changes, previous, wholeTurn = false, turn } = source;
  return {
    checkpoint,
    ...bounded(changes),
    turn: turn ? { ...bounded(turn.changes), end: turn.end } : null,
    previous: previous?.id ?? null,
    wholeTurn,
    taskChanges: previous?.task ? taskChanges(previous.task, checkpoint.task) : [],
    taskIsNew: checkpoint.task !== null && !previous?.task,
  };
}

function bounded(changes: readonly Change[]): { changes: Change[]; totals: ChangeTotals } {
  return {
    changes: changes.slice(0, changesLimit),
    totals: {
      files: changes.length,
      additions: changes.reduce((sum, change) => sum + change.additions, 0),
      deletions: changes.reduce((sum, change) => sum + change.deletions, 0),
    },
  };
}
