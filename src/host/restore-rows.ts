import { CheckpointsError } from '../core/errors';
import type { Services } from './services';
import { sinceOf } from './since';
import { selectedNodes, type FileNode, type FolderNode } from './tree-nodes';

type PathNode = FileNode | FolderNode;

/** The files and folders of a multi-selection; rows of other kinds in it are not meant. */
export const selectedPaths = (selected: unknown): PathNode[] =>
  selectedNodes(selected).filter((node) => node.type === 'file' || node.type === 'folder');

const pathOf = (node: PathNode): string => (node.type === 'file' ? node.change.path : node.path);

const isGone = (node: PathNode): boolean =>
  (node.type === 'file' ? [node.change] : node.changes).every(({ status }) => status === 'deleted');

/** Several rows at once: one restore, so that one undo takes it back. It can come from one checkpoint only. */
export const restoreRows = async ({ flow }: Services, nodes: readonly PathNode[]): Promise<boolean> => {
  const [first] = nodes;
  if (first === undefined) return false;
  if (nodes.some(({ root, checkpoint }) => root !== first.root || checkpoint.id !== first.checkpoint.id))
    throw new CheckpointsError(
      'invalid-argument',
      'These files were selected below different checkpoints: restore those of one checkpoint at a time.',
    );
  const gone = nodes.filter(isGone).length;
  if (gone > 0 && gone < nodes.length)
    throw new CheckpointsError(
      'invalid-argument',
      'What this checkpoint has deleted comes back from the one before it: restore the deleted files apart from the others.',
    );
  const before = gone > 0 ? (await sinceOf(first)).before : undefined;
  const checkpoint = before ?? first.checkpoint;
  return flow.restorePaths({ root: first.root, checkpoint }, [...new Set(nodes.map(pathOf))]);
};
