import { nodeId, type TreeNode } from './tree-nodes';

/** Above the rows of the first level. */
export const top = '';

export const keyOf = (node: TreeNode | undefined): string => (node === undefined ? top : nodeId(node));

const sameIds = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((id, index) => id === other[index]);

/**
 * The rows that VS Code has: which stand where, and how they look. When a whole tree is drawn anew VS Code forgets every
 * row of it, and a click in that moment reaches its command without saying which row it was. So only what differs is.
 */
export class DrawnRows {
  private readonly nodes = new Map<string, TreeNode>();
  private readonly children = new Map<string, readonly string[]>();
  private readonly looks = new Map<string, string>();

  /** One object for a row as long as it is there: VS Code knows it by that. */
  adopt(nodes: readonly TreeNode[]): TreeNode[] {
    return nodes.map((node) => {
      const id = nodeId(node);
      const known = this.nodes.get(id);
      if (known !== undefined) return Object.assign(known, node);
      this.nodes.set(id, node);
      return node;
    });
  }

  gave(parent: TreeNode | undefined, nodes: readonly TreeNode[]): void {
    this.children.set(keyOf(parent), nodes.map(nodeId));
  }

  drew(node: TreeNode, look: string): void {
    this.looks.set(nodeId(node), look);
  }

  /** All of it is asked for anew. */
  forget(): void {
    this.nodes.clear();
    this.children.clear();
    this.looks.clear();
  }

  /** The uppermost rows that are not as VS Code has them; `all` when the rows of the first level are others. */
  async differing(
    childrenOf: (node?: TreeNode) => Promise<TreeNode[]>,
    lookOf: (node: TreeNode) => string,
  ): Promise<TreeNode[] | 'all'> {
    const changed: TreeNode[] = [];
    const stands = async (parent: TreeNode | undefined): Promise<boolean> => {
      const given = this.children.get(keyOf(parent));
      if (given === undefined) return parent !== undefined;
      const now = await childrenOf(parent);
      if (!sameIds(given, now.map(nodeId))) return false;
      for (const node of now) {
        const look = this.looks.get(nodeId(node));
        if (look !== lookOf(node) || !(await stands(node))) changed.push(node);
      }
      return true;
    };
    return (await stands(undefined)) ? changed : 'all';
  }
}
