/** One moment of the workspace, in whatever form the engine remembers it. */
export type Mark = string;

/** What an engine works on: one work tree of its own and a folder for what it stores. */
export interface Place {
  /** The user's work tree. */
  tree: string;
  /** Empty at first, outside the work tree. */
  store: string;
}

/**
 * How a checkpoint is asked for: by looking at everything, or for paths that the caller names. `automatic` ones need not be
 * made when nothing changed.
 */
export type Lane = { lane: 'scan'; automatic: boolean } | { lane: 'paths'; paths: string[] };

/**
 * A checkpoint engine as the bench drives it: the peers' command sequences and ours. Each call is one timed operation,
 * so nothing is done in it that the engine's users do not wait for.
 */
export interface Engine {
  readonly name: string;
  /** Everything from an empty store to the first checkpoint. */
  first(): Promise<Mark>;
  checkpoint(lane: Lane): Promise<Mark>;
  /** The paths that differ, with the contents of both sides read. */
  diff(from: Mark, to: Mark): Promise<string[]>;
  /** Brings the work tree back to `target`. `changed` are the paths that were changed since, for engines that keep such a list. */
  restore(target: Mark, changed: readonly string[]): Promise<void>;
  /** Brings every file back, changed or not, where the engine has such a way. */
  restoreAll?(target: Mark): Promise<void>;
  /** Waits for what the engine left running in the background; not timed. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

export interface EngineKind {
  readonly name: string;
  /** Works in a folder that is no git repository. */
  readonly plainFolders: boolean;
  /** Each checkpoint looks at all files. */
  readonly scans: boolean;
  /** A first checkpoint that takes long is measured once. */
  readonly slowFirst: boolean;
  open(place: Place): Engine;
}
