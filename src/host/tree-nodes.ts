import type { Change, Checkpoint } from '../core/model';
import type { TurnEnd } from '../core/turn-ends';
import { turnKey } from '../core/turns';
import type { Target } from './diff';
import type { Root } from './root';
import type { SessionGroup, TurnGroup } from './tree-model';

/** What a row of the tree stands for. Commands get these as arguments. */
export type TreeNode = RootNode | SessionNode | TurnNode | CheckpointNode | FolderNode | FileNode | MoreNode;

export type NodeType = TreeNode['type'];

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
  /** The turn that ended with it: below it is what all of that turn changed. */
  end?: TurnEnd | undefined;
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

/**
 * The point before a prompt stands alone until its turn has a second one, and becomes that turn then. It is the same row
 * to whoever is about to click it.
 */
const pointId = ({ root, checkpoint, parent }: CheckpointNode): string => {
  const turn = turnKey(checkpoint);
  const alone = checkpoint.trigger === 'turn' && !checkpoint.pinned && checkpoint.name === null;
  return alone && turn !== null && parent?.type !== 'turn' ? `turn:${root.api.root}:${turn}` : checkpoint.id;
};

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
      return pointId(node);
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

/** What a command of a multi-selection was given beside its row. */
export const selectedNodes = (selected: unknown): TreeNode[] =>
  Array.isArray(selected) ? selected.filter(isTreeNode) : [];

/** A turn stands for the point before it, a file for the checkpoint that it changed in. */
export const nodeTarget = (node: TreeNode): Target | undefined => {
  if (node.type === 'checkpoint' || node.type === 'file' || node.type === 'folder')
    return { root: node.root, checkpoint: node.checkpoint };
  return node.type === 'turn' ? { root: node.root, checkpoint: node.group.first } : undefined;
};

/** Those of the given types, each checkpoint once. */
export const nodeTargets = (nodes: readonly TreeNode[], types: readonly NodeType[]): Target[] => {
  const targets = nodes
    .filter(({ type }) => types.includes(type))
    .map(nodeTarget)
    .filter((target) => target !== undefined);
  return [...new Map(targets.map((target) => [`${target.root.api.root}:${target.checkpoint.id}`, target])).values()];
};
