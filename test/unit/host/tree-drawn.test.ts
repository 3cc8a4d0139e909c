import { describe, expect, it } from 'vitest';
import type { Root } from '../../../src/host/root';
import { DrawnRows } from '../../../src/host/tree-drawn';
import { groupBySession, isGroup } from '../../../src/host/tree-model';
import { nodeId, nodeTarget, type TreeNode } from '../../../src/host/tree-nodes';
import { record } from './record';

const root = { api: { root: '/one' } } as unknown as Root;
const session = { id: 'ses', messageId: null, messageCount: 0, title: 'Session', parent: null };
const turn = { number: 1, prompt: 'p', model: null, agent: null, cost: null, tokens: null };

const point = (id: string, parent?: TreeNode): TreeNode => ({
  type: 'checkpoint',
  root,
  checkpoint: record(id),
  parent,
});
const sessionNode = (): TreeNode => {
  const [group] = groupBySession([record('a', { session })]);
  if (group === undefined) throw new Error('no session');
  return { type: 'session', root, group, parent: undefined, open: true };
};

/** A tree of one session, drawn whole. */
const drawnTree = async (points: string[]) => {
  const rows = new DrawnRows();
  const state = { points, words: new Map<string, string>(), sessions: [sessionNode()] };
  const children = async (node?: TreeNode): Promise<TreeNode[]> => {
    if (node === undefined) return rows.adopt(state.sessions.map((one) => ({ ...one })));
    return node.type === 'session' ? rows.adopt(state.points.map((id) => point(id, node))) : [];
  };
  const look = (node: TreeNode): string => state.words.get(nodeId(node)) ?? '';
  const drawAll = async (node?: TreeNode): Promise<TreeNode[]> => {
    const below = await children(node);
    rows.gave(node, below);
    for (const child of below) {
      rows.drew(child, look(child));
      await drawAll(child);
    }
    return below;
  };
  const [top] = await drawAll();
  if (top === undefined) throw new Error('nothing was drawn');
  return { rows, state, top, differing: () => rows.differing(children, look), points: () => children(top) };
};

describe('rows that are drawn', () => {
  it('are left alone while nothing differs', async () => {
    const { differing } = await drawnTree(['b', 'a']);
    expect(await differing()).toEqual([]);
  });

  it('are drawn again below what has other rows, by the object that VS Code has', async () => {
    const { state, top, differing } = await drawnTree(['b', 'a']);
    state.points = ['c', 'b', 'a'];
    const rows = await differing();
    expect(rows).toHaveLength(1);
    expect(rows[0]).toBe(top);
  });

  it('are drawn again where the words differ, and nowhere else', async () => {
    const { state, differing, points } = await drawnTree(['b', 'a']);
    const [newest] = await points();
    state.words.set('b', 'five minutes ago');
    const rows = await differing();
    expect(rows).toHaveLength(1);
    expect(rows[0]).toBe(newest);
  });

  it('are all drawn again when the first level has others', async () => {
    const { state, differing } = await drawnTree(['a']);
    state.sessions = [];
    expect(await differing()).toBe('all');
  });

  it('are all drawn when VS Code has asked for none', async () => {
    const { rows, differing } = await drawnTree(['a']);
    rows.forget();
    expect(await differing()).toBe('all');
  });

  it('keep what a command was called with up to date', async () => {
    const { rows } = await drawnTree(['a']);
    const [before] = rows.adopt([point('a')]);
    const [after] = rows.adopt([
      { ...point('a'), checkpoint: record('a', { name: 'Mine', pinned: true }) } as TreeNode,
    ]);
    expect(after).toBe(before);
    expect(before).toMatchObject({ checkpoint: { name: 'Mine' } });
  });
});

describe('the row of a prompt', () => {
  const first = record('a', { trigger: 'turn', session, turn });
  const rowOf = (checkpoints: Parameters<typeof groupBySession>[0]): TreeNode => {
    const [item] = groupBySession(checkpoints)[0]?.items ?? [];
    if (item === undefined) throw new Error('no row');
    const parent = sessionNode();
    return isGroup(item)
      ? { type: 'turn', root, group: item, parent }
      : { type: 'checkpoint', root, checkpoint: item, parent };
  };

  it('stays the same row, for the same checkpoint, when its turn gets a second point', () => {
    const alone = rowOf([first]);
    const grown = rowOf([record('b', { trigger: 'tool', session, turn }), first]);
    expect([alone.type, grown.type]).toEqual(['checkpoint', 'turn']);
    expect(nodeId(grown)).toBe(nodeId(alone));
    expect(nodeTarget(grown)?.checkpoint.id).toBe(nodeTarget(alone)?.checkpoint.id);
  });

  it('is another one than the point inside the turn', () => {
    const grown = rowOf([record('b', { trigger: 'tool', session, turn }), first]);
    expect(nodeId({ type: 'checkpoint', root, checkpoint: first, parent: grown })).toBe('a');
  });

  it('is not taken by a pinned point, which stands elsewhere', () => {
    const pinned = record('a', { trigger: 'turn', session, turn, pinned: true });
    expect(nodeId({ type: 'checkpoint', root, checkpoint: pinned, parent: sessionNode() })).toBe('a');
  });
});
