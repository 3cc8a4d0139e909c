import { describe, expect, it } from 'vitest';
import type { Root } from '../../../src/host/root';
import { groupBySession, isGroup } from '../../../src/host/tree-model';
import { nodeTarget, nodeTargets, selectedNodes, type TreeNode } from '../../../src/host/tree-nodes';
import { record } from './record';

const rootAt = (path: string): Root => ({ api: { root: path } }) as unknown as Root;
const [one, two] = [rootAt('/one'), rootAt('/two')];
const change = { path: 'a.ts', status: 'modified' as const, additions: 1, deletions: 0, binary: false };

const point = (id: string, root = one): TreeNode => ({
  type: 'checkpoint',
  root,
  checkpoint: record(id),
  parent: undefined,
});
const file = (id: string): TreeNode => ({
  type: 'file',
  root: one,
  checkpoint: record(id),
  change,
  showFolder: true,
  parent: point(id),
});
const turn = (): TreeNode => {
  const facts = { number: 1, prompt: 'p', model: null, agent: null, cost: null, tokens: null };
  const [group] =
    groupBySession([
      record('c', { trigger: 'idle', turn: facts }),
      record('b', { trigger: 'tool', turn: facts }),
      record('a', { trigger: 'turn', turn: facts, pinned: true }),
    ])[0]?.items ?? [];
  if (group === undefined || !isGroup(group)) throw new Error('no turn');
  return { type: 'turn', root: one, group, parent: undefined };
};

const ids = (nodes: TreeNode[], types: Parameters<typeof nodeTargets>[1] = ['checkpoint']): string[] =>
  nodeTargets(nodes, types).map(({ root, checkpoint }) => `${root.api.root}/${checkpoint.id}`);

describe('rows of a multi-selection', () => {
  it('mean the checkpoints that are selected, not those of selected files', () => {
    expect(ids([point('b'), file('a')])).toEqual(['/one/b']);
  });

  it('mean each checkpoint once, and tell those of two folders apart', () => {
    expect(ids([point('a'), point('a'), point('a', two)])).toEqual(['/one/a', '/two/a']);
  });

  it('mean turns only where a turn can be meant', () => {
    expect(ids([point('x'), turn()])).toEqual(['/one/x']);
    expect(ids([point('x'), turn()], ['checkpoint', 'turn'])).toEqual(['/one/x', '/one/a']);
  });

  it('are told from other arguments', () => {
    expect(selectedNodes(undefined)).toEqual([]);
    expect(selectedNodes([point('a'), 'cp_a', null]).length).toBe(1);
  });
});

describe('a single row', () => {
  it('stands for its checkpoint, a turn for the point before it', () => {
    expect(nodeTarget(file('a'))?.checkpoint.id).toBe('a');
    expect(nodeTarget(turn())?.checkpoint.id).toBe('a');
    expect(nodeTarget({ type: 'root', root: one, parent: undefined })).toBeUndefined();
  });
});
