/** OpenCode's sessions as both of its generations have them, and the port through which they are reached. */

export type Generation = 'v1' | 'v2';

export interface SessionInfo {
  id: string;
  title: string | null;
  /** The folder the session works in. */
  directory: string;
  projectId: string | null;
  /** The session whose agent started this one as its sub-agent. */
  parentId: string | null;
  /** Where OpenCode itself says that this session was forked (OpenCode 2 only; see lineage.ts for the rest). */
  fork: { session: string; boundary: 'before' | 'through'; messageId: string } | null;
  /** Milliseconds. */
  createdAt: number;
  updatedAt: number;
  archived: boolean;
  model: string | null;
  agent: string | null;
  cost: number;
  tokens: number;
  metadata: Record<string, unknown>;
  /** The first message that the user took back with OpenCode's own undo, while that can still be redone. */
  revertedFrom: string | null;
}

export type ToolStatus = 'pending' | 'running' | 'completed' | 'error';

export interface ToolCall {
  id: string;
  /** As the generation names it: `bash` in OpenCode 1 is `shell` in OpenCode 2. */
  tool: string;
  input: Record<string, unknown>;
  status: ToolStatus;
  /** The session of the sub-agent that this call started. */
  childSession: string | null;
  startedAt: number | null;
  endedAt: number | null;
}

export interface SessionMessage {
  id: string;
  /** `other` is what OpenCode 2 keeps between messages: idle marks, notices, compactions, agent switches. */
  role: 'user' | 'assistant' | 'other';
  /** The generation's own word: `user`, `assistant`, `idle`, `synthetic`, `compaction`, ... */
  type: string;
  createdAt: number;
  /** null while an answer is being written, and for ever when its process died. */
  completedAt: number | null;
  text: string;
  /** Put there by a program: a compaction, "continue", a note of ours. */
  synthetic: boolean;
  /** OpenCode 1: the prompt that an answer belongs to. */
  parentId: string | null;
  model: string | null;
  agent: string | null;
  cost: number;
  tokens: number;
  error: string | null;
  /** Taken back with OpenCode's own undo, and still listed. */
  reverted: boolean;
  calls: ToolCall[];
  /** Files that OpenCode itself saw change in this step; relative to the session's folder where they are inside it. */
  files: string[];
}

/** One answer of the model and the tools it called. */
export interface Step {
  messageId: string;
  startedAt: number;
  endedAt: number | null;
  model: string | null;
  agent: string | null;
  cost: number;
  tokens: number;
  error: string | null;
  calls: ToolCall[];
  files: string[];
}

/** One prompt and all that the agent did for it. */
export interface Turn {
  /** From 1, in the session's order. */
  number: number;
  /** The prompt's message. */
  messageId: string;
  prompt: string;
  startedAt: number;
  /** null while it is under way. */
  endedAt: number | null;
  model: string | null;
  agent: string | null;
  cost: number;
  tokens: number;
  error: string | null;
  reverted: boolean;
  steps: Step[];
  /** Sub-agents' sessions. */
  children: string[];
}

export interface Todo {
  content: string;
  status: string;
  priority: string;
}

/** OpenCode's own export document; only the generation that made it reads it. */
export interface SessionExport {
  info: { id: string } & Record<string, unknown>;
  messages: unknown[];
}

/**
 * `busy`: this server works on it. `unfinished`: the last answer is not finished, but this server is not writing it:
 * another process is, or one died. Neither generation tells which.
 */
export type BusyState = 'idle' | 'busy' | 'unfinished';

/** Few and coarse on purpose: events say what to read again, not what is in it. */
export type SessionEvent =
  | { type: 'connected' }
  /** The stream broke; reconnecting goes on by itself. */
  | { type: 'lost'; reason: string }
  /** Something may have been missed, and no server replays it: read again and compare. Also soon after a connection. */
  | { type: 'gap' }
  | { type: 'session'; change: 'created' | 'updated' | 'deleted'; session: string; directory: string | null }
  /** A person's (or program's) message arrived. */
  | { type: 'prompt'; session: string; messageId: string }
  | { type: 'message'; session: string }
  | { type: 'busy'; session: string }
  | { type: 'idle'; session: string }
  | { type: 'compacted'; session: string }
  | { type: 'todos'; session: string };

export interface GatewayCapabilities {
  /** OpenCode 2 has none; OpenCode 1 writes them through its command line only. */
  todos: 'none' | 'read' | 'write';
  /** `message`: a note is in the conversation at once. `inbox`: it is put before the next prompt. */
  notes: 'message' | 'inbox';
  import: boolean;
}

export interface ForkedSession {
  session: SessionInfo;
  /** Id in the origin -> id in the fork, of every copied message. */
  ids: ReadonlyMap<string, string>;
  messages: SessionMessage[];
}

/** A session as the server's list has it. */
export interface ListedSession {
  session: SessionInfo;
  /** Another one when anything that the list says of the session has changed; OpenCode 2 does not tell the end of a turn by `updatedAt`. */
  stamp: string;
}

export interface ImportOptions {
  directory: string;
  /** Under new ids. */
  copy?: boolean;
  /** An import of this very session was cut off: what is missing is added where the generation can do that. */
  resume?: boolean;
  /** Sessions that are called otherwise here: ties to them follow, and a copy takes its own new id from here. */
  ids?: ReadonlyMap<string, string>;
}

export interface SessionGateway {
  readonly generation: Generation;
  readonly version: string;
  readonly url: string;
  readonly capabilities: GatewayCapabilities;

  /** Sessions that work in this folder or below it, newest first; sub-agents' and archived ones too. */
  list(directory: string): Promise<SessionInfo[]>;
  /** Those of all projects: all or an error, never a part. */
  listAll(): Promise<ListedSession[]>;
  /** Throws `session-missing`. */
  get(session: string): Promise<SessionInfo>;
  /** All of them, oldest first. Throws `session-missing`. */
  messages(session: string): Promise<SessionMessage[]>;
  /**
   * A copy of everything before a message, or of everything when that is null. Throws `message-missing` for an unknown
   * one, and `fork-mismatch` (the wrong copy is deleted) when the copy does not hold exactly that. It works where its
   * origin does, unless that is not in the given folder: then in that one.
   */
  fork(session: string, before: string | null, directory?: string): Promise<ForkedSession>;
  busy(session: string): Promise<BusyState>;
  /** Those that this server works on in this folder or below it; of sub-agents only those whose parents rest: others stop with them. */
  working(directory: string): Promise<string[]>;
  /** Stops the agent and returns when it has stopped. */
  interrupt(session: string): Promise<void>;
  /** Tells the agent something without asking for an answer. */
  note(session: string, text: string): Promise<void>;
  /** `metadata` is merged key by key; null removes a key. */
  update(session: string, change: { title?: string; metadata?: Record<string, unknown> }): Promise<void>;
  /** null where the generation has none. */
  todos(session: string): Promise<Todo[] | null>;
  /** False when they could not be written. */
  writeTodos(session: string, todos: Todo[]): Promise<boolean>;
  exportSession(session: string): Promise<SessionExport>;
  /**
   * Throws `conflict` when the session is there already, unless it may come in as a copy under new ids. `not-supported`
   * when the document is of the other generation, or this server cannot take one.
   */
  importSession(document: SessionExport, options: ImportOptions): Promise<SessionInfo>;
  remove(session: string): Promise<void>;
  /** Until `signal` is aborted: reconnects by itself. Resolves when it has ended. */
  events(listener: (event: SessionEvent) => void, signal: AbortSignal): Promise<void>;
}

/** Begins every note to the agent; such a message is not a prompt. */
export const notePrefix = '[Checkpoints]';

export function isNote(message: Pick<SessionMessage, 'text'>): boolean {
  return message.text.startsWith(notePrefix);
}
