import type { Change, Checkpoint } from '../core/model';
import type { Root } from './root';
import type { SessionGroup, TurnGroup } from './tree-model';

/** What a row of the tree stands for. Commands get these as arguments. */
export type TreeNode = RootNode | SessionNode | TurnNode | CheckpointNode | FolderNode | FileNode | MoreNode;

interface Base {
  root: Root;
  parent: TreeNode | undefined;
}

export interface RootNode extends Base {
  type: 'root';
}

export interface SessionNode extends Base {
  type: 'session';
  group: SessionGroup;
  /** Whether it opens by itself when it appears; VS Code remembers what the user does with it then. */
  open: boolean;
}

export interface TurnNode extends Base {
  type: 'turn';
  group: TurnGroup;
}

export interface CheckpointNode extends Base {
  type: 'checkpoint';
  checkpoint: Checkpoint;
}

/** A folder of changed files, single-child chains in one row. */
export interface FolderNode extends Base {
  type: 'folder';
  checkpoint: Checkpoint;
  path: string;
  label: string;
  changes: Change[];
}

export interface FileNode extends Base {
  type: 'file';
  checkpoint: Checkpoint;
  change: Change;
  /** In the tree of folders the folder is not repeated. */
  showFolder: boolean;
}

export interface MoreNode extends Base {
  type: 'more';
  /** Identifies the list that grows. */
  list: string;
  remaining: number;
}

export const nodeId = (node: TreeNode): string => {
  const root = node.root.api.root;
  switch (node.type) {
    case 'root':
      return `root:${root}`;
    case 'session':
      return `session:${root}:${node.group.key}`;
    case 'turn':
      return `turn:${root}:${node.group.key}`;
    case 'checkpoint':
      return node.checkpoint.id;
    case 'folder':
      return `${node.checkpoint.id}:${node.path}/`;
    case 'file':
      return `${node.checkpoint.id}:${node.change.path}`;
    case 'more':
      return `more:${node.list}`;
  }
};

const nodeTypes: ReadonlySet<string> = new Set(['root', 'session', 'turn', 'checkpoint', 'folder', 'file', 'more']);

export const isTreeNode = (value: unknown): value is TreeNode =>
  typeof value === 'object' &&
  value !== null &&
  'root' in value &&
  'type' in value &&
  nodeTypes.has(String(value.type));
