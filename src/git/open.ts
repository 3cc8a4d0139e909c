import type { ConversationPort } from '../core/conversation';
import { loadConfig, storeHome, type Config } from '../core/config';
import { CheckpointsError } from '../core/errors';
import type { Checkpoint } from '../core/model';
import type { QueryIndex } from '../core/ports';
import type { TaskPort } from '../core/restorer';
import type { StoredSessions } from '../core/session-document';
import type { SyncService } from '../core/sync';
import { Workspace } from '../core/workspace';
import { ensureStore, hasStore, layoutOf, newWorkspaceFile } from './layout';
import type { HashName } from './pack-writer';
import { resolveRoot } from './roots';
import { SessionStore } from './session-store';
import { GitStore } from './store';
import { findUserRepo, globalExcludes } from './user-repo';

/** What an exchange with others works on. */
export interface SyncParts {
  store: GitStore;
  config: () => Config;
  conversation: ConversationPort | null;
  /** By reference, local and fetched. */
  resolve: (reference: string) => Promise<Checkpoint>;
  /** After others have come in. */
  changed: (ids: string[]) => void;
}

export interface OpenOptions {
  /** Any folder inside the workspace. */
  directory: string;
  /** The folder of all stores; found by environment and configuration when left out. */
  home?: string;
  /** Given the workspace's folder in the store, an index for lists; without one they are read from the store. */
  index?: (folder: string) => Promise<QueryIndex>;
  /** The same, made at the end: lists are read from the store, and the file is there all the same. Null where it is up to date. */
  indexAtEnd?: (folder: string, refs: Map<string, string>) => Promise<QueryIndex | null>;
  /** `ready` is to be called before anything is written to the folder. */
  task?: (folder: string, root: string, ready: () => void) => TaskPort;
  conversation?: (folder: string, root: string, stored: StoredSessions) => ConversationPort;
  /** The exchange with others; without it there is none. */
  sync?: (parts: SyncParts) => SyncService;
  /** False leaves a restore that died as it is: nothing in the folder is changed. */
  recover?: boolean;
  /** Where there is no store yet: false makes none, and it is read as an empty one; `late` makes it when something is about to be written. */
  create?: boolean | 'late';
  env?: NodeJS.ProcessEnv;
  log?: (message: string) => void;
}

/** Opens the workspace a folder belongs to, making its store if need be, and finishes a restore that died. */
export async function openWorkspace(options: OpenOptions): Promise<Workspace> {
  const env = options.env ?? process.env;
  const home = options.home ?? storeHome(env);
  const root = await resolveRoot(options.directory, home);
  const layout = layoutOf(home, root);
  // Who only reads looks at no files, and needs no rules for them.
  const reads = options.create === false;
  const [repo, excludesFile] = await Promise.all([findUserRepo(root), reads ? undefined : globalExcludes(root)]);
  const format = (): HashName => repo?.objectFormat ?? 'sha1';
  let made = (options.create ?? true) === true || hasStore(layout);
  const file = made ? ensureStore(layout, root, format) : newWorkspaceFile(root, format());
  const ready = (): void => {
    if (made) return;
    if (ensureStore(layout, root, format).objectFormat !== file.objectFormat)
      throw new CheckpointsError('conflict', 'Another process has made the store of this workspace. Try again.');
    made = true;
  };
  const config = (): Config => loadConfig(root, layout.folder, env).config;
  const store = new GitStore(root, layout, file, config, options.log, ready);
  store.expect({ repo, ...(excludesFile === undefined ? {} : { excludesFile }) });
  const index = options.index && made ? await options.index(layout.folder) : null;
  const stored = new SessionStore(store.refsOf, store.reader, store.fetched, (id) => store.checkpoints.isOwn(id));
  const conversation = options.conversation?.(layout.folder, root, stored) ?? null;
  const workspace = new Workspace({
    store,
    config,
    configProblems: () => loadConfig(root, layout.folder, env).problems,
    index,
    indexAtEnd: options.indexAtEnd ? async (refs) => (made ? options.indexAtEnd!(layout.folder, refs) : null) : null,
    onIndexProblem: (error) => options.log?.(`the index could not be written: ${String(error)}`),
    task: options.task?.(layout.folder, root, ready) ?? null,
    conversation,
    sync: options.sync
      ? ({ resolve, changed }) => options.sync!({ store, config, conversation, resolve, changed })
      : null,
  });
  if (options.recover !== false) await workspace.recover();
  return workspace;
}
