import type {
  CreateOptions,
  DiffOptions,
  DiffResult,
  ListFilter,
  PlanOptions,
  RestoreOptions,
  Stats,
  WorkspaceApi,
} from './api';
import { CheckpointsError, type Reason } from './errors';
import { callersMetadata } from './marks';
import type { Checkpoint, CheckpointId, RestorePlan, RestoreResult } from './model';

/** What other programs can listen to. `error` also fires for what another call of this object rejected with. */
export interface ProgramEvents {
  created: { ids: CheckpointId[] };
  restored: { ids: CheckpointId[] };
  deleted: { ids: CheckpointId[] };
  pruned: { ids: CheckpointId[] };
  /** Renamed, pinned, described, or changed by another process. */
  changed: { ids: CheckpointId[] };
  error: CheckpointsError;
}

export interface SaveOptions extends Pick<
  CreateOptions,
  'description' | 'session' | 'task' | 'metadata' | 'pinned' | 'signal'
> {
  /** One line, at most 200 characters. */
  name?: string | null;
  trigger?: 'manual' | 'agent';
}

export type Restorability = { valid: true; plan: RestorePlan } | { valid: false; reason: Reason; message: string };

/** One workspace for other programs: extensions through `activate`, Node programs through `openWorkspace`. */
export interface CheckpointsApi {
  /** Opens the store, making it if need be, and finishes a restore that died. Every other call does so first, too. */
  initialize(): Promise<{ root: string; store: string }>;
  save(options?: string | SaveOptions): Promise<Checkpoint>;
  /** By id, prefix, name, `latest` or `latest~N`; null when there is none. */
  get(reference: string): Promise<Checkpoint | null>;
  /** Newest first. */
  list(filter?: ListFilter): Promise<Checkpoint[]>;
  /** `from` left out = latest, `to` left out = the working files. */
  diff(from?: string, to?: string, options?: DiffOptions): Promise<DiffResult>;
  /** Whether `restore` with the same options would be refused, and why; else what it would do. */
  canRestore(reference: string, options?: RestoreOptions): Promise<Restorability>;
  restore(reference: string, options?: RestoreOptions): Promise<RestoreResult>;
  undo(options?: RestoreOptions): Promise<RestoreResult>;
  redo(options?: RestoreOptions): Promise<RestoreResult>;
  delete(...references: string[]): Promise<CheckpointId[]>;
  stats(): Promise<Stats>;
  prune(options?: { dryRun?: boolean }): Promise<{ deleted: CheckpointId[]; freedBytes: number }>;
  /** Returns the function that ends it. */
  on<K extends keyof ProgramEvents>(event: K, listener: (payload: ProgramEvents[K]) => void): () => void;
  close(): Promise<void>;
}

/** What the VS Code extension's `activate` returns: the checkpoints of the window's first folder. `Uri` is `vscode.Uri`, which Node programs do not have. */
export interface ExtensionApi<Uri> extends CheckpointsApi {
  /** The checkpoints of one folder of a window with several. */
  folder(uri: Uri): CheckpointsApi;
}

type Listeners = { [K in keyof ProgramEvents]: Set<(payload: ProgramEvents[K]) => void> };

const eventOf = {
  created: 'created',
  restored: 'restored',
  deleted: 'deleted',
  pruned: 'pruned',
  updated: 'changed',
  external: 'changed',
} as const;

/** A narrow door onto WorkspaceApi, whose own shape may then change. `open` is called once, at the first use. */
export function programApi(open: () => Promise<WorkspaceApi>): CheckpointsApi {
  const listeners: Listeners = {
    created: new Set(),
    restored: new Set(),
    deleted: new Set(),
    pruned: new Set(),
    changed: new Set(),
    error: new Set(),
  };
  let opening: Promise<WorkspaceApi> | null = null;
  let unsubscribe: (() => void) | null = null;

  const emit = <K extends keyof ProgramEvents>(event: K, payload: ProgramEvents[K]): void => {
    for (const listener of [...listeners[event]])
      try {
        listener(payload);
      } catch (error) {
        // A fault of the listener's own program: it is thrown there, and what was done here stays done.
        setImmediate(() => {
          throw error;
        });
      }
  };
  const workspace = (): Promise<WorkspaceApi> => {
    opening ??= open().then(
      (opened) => {
        unsubscribe = opened.onDidChange(({ kind, ids }) => emit(eventOf[kind], { ids }));
        return opened;
      },
      (error: unknown) => {
        // The next call may succeed where this one did not: the folder may be there by then.
        opening = null;
        throw error;
      },
    );
    return opening;
  };
  const call = async <T>(work: (opened: WorkspaceApi) => Promise<T>): Promise<T> => {
    try {
      return await work(await workspace());
    } catch (error) {
      if (CheckpointsError.is(error)) emit('error', error);
      throw error;
    }
  };

  return {
    initialize: () => call((opened) => Promise.resolve({ root: opened.root, store: opened.folder })),
    save: (options = {}) =>
      call((opened) => {
        const given = typeof options === 'string' ? { name: options } : options;
        refuseMalformed(given);
        const metadata = callersMetadata(given.metadata);
        return opened.create({ ...given, metadata, trigger: given.trigger ?? 'manual' });
      }),
    get: async (reference) => {
      try {
        return await (await workspace()).resolve(reference);
      } catch (error) {
        if (CheckpointsError.is(error, 'unknown-reference')) return null;
        throw error;
      }
    },
    list: (filter) => call((opened) => opened.list(filter)),
    diff: (from, to, options) => call((opened) => opened.diff(from, to, options)),
    canRestore: async (reference, options = {}) => {
      try {
        const opened = await workspace();
        const plan = await opened.plan(reference, planOptions(options));
        await opened.refuseAtWork(reference, options);
        if (plan.massDelete && !options.allowMassDelete)
          return { valid: false, reason: 'mass-delete', message: 'It would delete more than a third of the files' };
        return { valid: true, plan };
      } catch (error) {
        if (CheckpointsError.is(error)) return { valid: false, reason: error.reason, message: error.message };
        throw error;
      }
    },
    restore: (reference, options) => call((opened) => opened.restore(reference, options)),
    undo: (options) => call((opened) => opened.undo(options)),
    redo: (options) => call((opened) => opened.redo(options)),
    delete: (...references) => call((opened) => opened.remove(references)),
    stats: () => call((opened) => opened.stats()),
    prune: (options) => call((opened) => opened.prune(options)),
    on: (event, listener) => {
      listeners[event].add(listener);
      return () => listeners[event].delete(listener);
    },
    close: async () => {
      const opened = await opening;
      opening = null;
      unsubscribe?.();
      unsubscribe = null;
      await opened?.close();
    },
  };
}

/** A program without types could write a record that nobody can read again, and that keeps the store from being cleaned up. */
function refuseMalformed({ description, session, task, metadata }: SaveOptions): void {
  const wrong = (field: string, kind: string): CheckpointsError =>
    new CheckpointsError('invalid-argument', `The ${field} of a checkpoint is ${kind}.`);
  if (typeof (description ?? '') !== 'string') throw wrong('description', 'a text');
  for (const [field, value] of Object.entries({ session, task, metadata }))
    if (typeof (value ?? {}) !== 'object' || Array.isArray(value)) throw wrong(field, 'an object');
}

const planOptions = ({ scope, paths, keepUserEdits, keep }: RestoreOptions): PlanOptions => ({
  scope,
  paths,
  keepUserEdits,
  keep,
});
