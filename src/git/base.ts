import type { Call, GitFacet } from '../core/model';
import type { Previous } from '../core/ports';
import { parseCommit } from './records';

/**
 * `refs/base`: what this workspace's files were at the last local capture or restore, and what the next capture
 * must know. It is a commit, because some git clients stumble over refs to trees.
 */
export interface Base {
  tree: string;
  commit: string;
  /** Counts captures; tells what was named before and after a scan began. */
  seq: number;
  /** The counter when the last scan began. */
  scanned: number;
  /** The last capture of the fast lane. */
  fast: number;
  /** Every path named since the last scan, or by a call of a turn under way, with the capture that named it: each is read again by the next one. */
  named: Record<string, number>;
  /** Ignored paths that a tool named: they belong to the workspace's files from then on. */
  forced: string[];
  /** Those of them that no tool named: a restore brought them in, to save what it was about to overwrite. */
  brought: string[];
  emptyDirs: string[];
  previous: Previous | null;
  /** See `CaptureFacts.calls`. */
  calls: Call[];
  newestId: string | null;
  git: GitFacet | null;
}

export type BaseState = Omit<Base, 'tree' | 'commit'>;

export const emptyBase: BaseState = {
  seq: 0,
  scanned: 0,
  fast: 0,
  named: {},
  forced: [],
  brought: [],
  emptyDirs: [],
  previous: null,
  calls: [],
  newestId: null,
  git: null,
};

export function baseMessage(state: BaseState): string {
  return `base\n\n${JSON.stringify(state)}\n`;
}

export function decodeBase(data: Buffer, commit: string): Base {
  const { tree, message } = parseCommit(data);
  const state = JSON.parse(message.split('\n')[2] ?? '{}') as Partial<BaseState>;
  return { ...emptyBase, ...state, tree, commit };
}
