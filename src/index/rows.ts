import type { SqlValue } from 'sql.js';
import type { Checkpoint, TaskState } from '../core/model';
import { timeOf } from '../core/ulid';
import { columnNames, type Column } from './schema';

/**
 * A record as a row and back. Every common field has its column, read without parsing; `more` holds the rest as JSON: long lists, task and
 * restore, and whatever a newer version put into the record. A text that SQLite cannot give back as it was (a NUL, half a surrogate pair)
 * makes the whole record go into `more`; the columns then serve search and statistics only.
 */
type Row = Record<Column, SqlValue>;

interface More {
  whole?: Checkpoint;
  createdAt?: string;
  task?: TaskState;
  restore?: Checkpoint['restore'];
  session?: object;
  turn?: object;
  files?: object;
  git?: object;
  cause?: object;
  origin?: object;
  others?: object;
}

const position = Object.fromEntries(columnNames.map((name, i) => [name, i])) as Record<Column, number>;

/** Values in the order of the columns. `commit` is that of the ref, which a record cannot know of itself. */
export function toRow(record: Checkpoint, commit: string): SqlValue[] {
  const checkpoint: Checkpoint = { ...record, files: { ...record.files, commit } };
  const row = columnsOf(checkpoint);
  const exact = columnNames.every((name) => isExact(row[name]));
  row.more = exact ? moreOf(checkpoint) : JSON.stringify({ whole: checkpoint } satisfies More);
  return columnNames.map((name) => {
    const value = row[name];
    return exact || typeof value !== 'string' || isExact(value) ? value : readable(value);
  });
}

export function fromRow(row: SqlValue[]): Checkpoint {
  const json = orNull(row, 'more');
  const more = json === null ? none : (JSON.parse(json) as More);
  if (more.whole) return more.whole;
  const session = orNull(row, 'session_id');
  const turn = numberOrNull(row, 'turn');
  const tool = orNull(row, 'cause_tool');
  const dirty = numberOrNull(row, 'git_dirty');
  const machine = orNull(row, 'origin_machine');
  return {
    id: text(row, 'id'),
    name: orNull(row, 'name'),
    title: text(row, 'title'),
    description: orNull(row, 'description'),
    createdAt: more.createdAt ?? new Date(number(row, 'created_at')).toISOString(),
    trigger: text(row, 'trigger') as Checkpoint['trigger'],
    pinned: number(row, 'pinned') === 1,
    session:
      session === null
        ? null
        : {
            id: session,
            messageId: orNull(row, 'message_id'),
            messageCount: number(row, 'message_count'),
            title: orNull(row, 'session_title'),
            parent: orNull(row, 'session_parent'),
            ...more.session,
          },
    turn:
      turn === null
        ? null
        : {
            number: turn,
            prompt: text(row, 'prompt'),
            model: orNull(row, 'model'),
            agent: orNull(row, 'agent'),
            cost: numberOrNull(row, 'cost'),
            tokens: numberOrNull(row, 'tokens'),
            ...more.turn,
          },
    files: {
      tree: text(row, 'tree'),
      commit: text(row, 'commit_id'),
      lane: text(row, 'lane') as Checkpoint['files']['lane'],
      added: number(row, 'added'),
      modified: number(row, 'modified'),
      deleted: number(row, 'deleted'),
      paths: list(text(row, 'paths')),
      skipped: [],
      partial: [],
      emptyDirs: [],
      ...more.files,
    },
    git:
      dirty === null
        ? null
        : { commit: orNull(row, 'git_commit'), branch: orNull(row, 'git_branch'), dirty: dirty === 1, ...more.git },
    task: more.task ?? null,
    cause:
      tool === null
        ? null
        : { tool, callId: orNull(row, 'cause_call'), paths: list(orNull(row, 'cause_paths') ?? '[]'), ...more.cause },
    restore: more.restore ?? null,
    origin: machine === null ? null : { machine, user: text(row, 'origin_user'), ...more.origin },
    metadata: text(row, 'metadata') === '{}' ? {} : (JSON.parse(text(row, 'metadata')) as Checkpoint['metadata']),
    ...more.others,
  };
}

function text(row: SqlValue[], column: Column): string {
  return String(row[position[column]]);
}

function orNull(row: SqlValue[], column: Column): string | null {
  const value = row[position[column]];
  return typeof value === 'string' ? value : null;
}

function number(row: SqlValue[], column: Column): number {
  return Number(row[position[column]]);
}

function numberOrNull(row: SqlValue[], column: Column): number | null {
  const value = row[position[column]];
  return typeof value === 'number' ? value : null;
}

const none: More = {};

function columnsOf(checkpoint: Checkpoint): Row {
  const { session, turn, files, git, cause, task, restore, origin } = checkpoint;
  return {
    id: checkpoint.id,
    session_id: session?.id ?? null,
    name: checkpoint.name,
    description: checkpoint.description,
    message_count: session?.messageCount ?? 0,
    git_commit: git?.commit ?? null,
    created_at: createdAt(checkpoint),
    metadata: JSON.stringify(checkpoint.metadata),
    title: checkpoint.title,
    trigger: checkpoint.trigger,
    pinned: Number(checkpoint.pinned),
    message_id: session?.messageId ?? null,
    session_title: session?.title ?? null,
    session_parent: session?.parent ?? null,
    turn: turn?.number ?? null,
    prompt: turn?.prompt ?? null,
    model: turn?.model ?? null,
    agent: turn?.agent ?? null,
    cost: turn?.cost ?? null,
    tokens: turn?.tokens ?? null,
    tree: files.tree,
    commit_id: files.commit,
    lane: files.lane,
    added: files.added,
    modified: files.modified,
    deleted: files.deleted,
    paths: JSON.stringify(files.paths),
    git_branch: git?.branch ?? null,
    git_dirty: git ? Number(git.dirty) : null,
    cause_tool: cause?.tool ?? null,
    cause_call: cause?.callId ?? null,
    cause_paths: cause && cause.paths.length > 0 ? JSON.stringify(cause.paths) : null,
    task_title: task?.title ?? null,
    task_status: task?.status ?? null,
    restore_operation: restore?.operation ?? null,
    restore_target: restore?.target ?? null,
    origin_machine: origin?.machine ?? null,
    origin_user: origin?.user ?? null,
    more: null,
  };
}

/** Null when the columns say it all. */
function moreOf(checkpoint: Checkpoint): string | null {
  const { session, turn, files, git, task, cause, restore, origin } = checkpoint;
  const made = new Date(createdAt(checkpoint)).toISOString();
  const more: More = {
    createdAt: checkpoint.createdAt === made ? undefined : checkpoint.createdAt,
    task: task ?? undefined,
    restore: restore ?? undefined,
    session: beyond(session, ['id', 'messageId', 'messageCount', 'title', 'parent']),
    turn: beyond(turn, ['number', 'prompt', 'model', 'agent', 'cost', 'tokens']),
    files: beyond(files, ['tree', 'commit', 'lane', 'added', 'modified', 'deleted', 'paths'], emptyLists),
    git: beyond(git, ['commit', 'branch', 'dirty']),
    cause: beyond(cause, ['tool', 'callId', 'paths']),
    origin: beyond(origin, ['machine', 'user']),
    others: beyond(checkpoint, recordFields),
  };
  const text = JSON.stringify(more);
  return text === '{}' ? null : text;
}

/** Lists that `fromRow` puts there when nothing is said of them. */
const emptyLists = ['skipped', 'partial', 'emptyDirs'];
const recordFields = [
  ...['id', 'name', 'title', 'description', 'createdAt', 'trigger', 'pinned', 'metadata'],
  ...['session', 'turn', 'files', 'git', 'task', 'cause', 'restore', 'origin'],
];

/** The fields that have no column, without lists that are empty anyway. */
function beyond(value: object | null, known: readonly string[], lists: readonly string[] = []): object | undefined {
  if (value === null) return undefined;
  const rest = Object.entries(value).filter(
    ([key, field]) => !known.includes(key) && !(lists.includes(key) && Array.isArray(field) && field.length === 0),
  );
  return rest.length === 0 ? undefined : Object.fromEntries(rest);
}

function list(text: string): string[] {
  return text === '[]' ? [] : (JSON.parse(text) as string[]);
}

const lost = /[\0\p{Surrogate}]/gu;

function isExact(value: SqlValue): boolean {
  return typeof value !== 'string' || value.search(lost) === -1;
}

function readable(value: string): string {
  return value.replace(lost, '\uFFFD');
}

function createdAt(checkpoint: Checkpoint): number {
  const time = Date.parse(checkpoint.createdAt);
  return Number.isNaN(time) ? timeOf(checkpoint.id) : time;
}
