import * as vscode from 'vscode';
import { CheckpointsError } from '../core/errors';
import { lossInWords } from '../core/lost';
import type { Change, Checkpoint } from '../core/model';
import { Calm } from './calm';
import { type PathFolder, filesBelow, pathTree } from './file-tree';
import type { Root } from './root';
import { TreeChanges } from './tree-changes';
import { DrawnRows, keyOf, top } from './tree-drawn';
import { lookOf, treeItem } from './tree-items';
import { groupBySession, isGroup, type SessionGroup, type TurnGroup } from './tree-model';
import type { CheckpointNode, FileNode, FolderNode, MoreNode, SessionNode, TreeNode, TurnNode } from './tree-nodes';
import type { SessionStates } from './session-states';
import { turnEndsOf } from './turn-ends-of';
import type { Workspaces } from './workspaces';

/**
 * VS Code forgets the rows below one that is drawn anew until it has asked for them again, and a click in that moment
 * reaches its command without a row. While an agent works there is something new all the time: what comes together is
 * drawn together, and the next drawing waits. In sum less than the second within which windows keep each other fresh.
 */
const gatherMs = 200;
const apartMs = 700;

/** VS Code asks for every child of an open node, so lists come in pages. */
const page = 50;

export interface TreeOptions {
  /** Changed files as a tree of folders instead of a list. */
  asTree: boolean;
}

export class CheckpointTree implements vscode.TreeDataProvider<TreeNode>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<TreeNode | TreeNode[] | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly listed = new vscode.EventEmitter<void>();
  /** The lists were read anew: how many checkpoints there are is known. */
  readonly onDidList = this.listed.event;

  private readonly groups = new Map<Root, Promise<SessionGroup[]>>();
  private readonly counts = new Map<Root, number>();
  private readonly changes = new TreeChanges();
  private readonly drawn = new DrawnRows();
  private readonly shown = new Map<string, number>();
  private readonly subscriptions: vscode.Disposable[] = [];
  private stale = false;
  /** What went wrong below which row, for as long as it does. */
  private readonly told = new Map<string, string>();
  private reloading: Promise<void> | undefined;
  private disposed = false;

  constructor(
    private readonly workspaces: Workspaces,
    private options: TreeOptions,
    private readonly failed: (error: unknown) => void,
    private readonly states?: Pick<SessionStates, 'of' | 'onDidChange'>,
  ) {
    const soon = new Calm(() => void this.refresh(), gatherMs, apartMs);
    if (states !== undefined) this.subscriptions.push(states.onDidChange(() => soon.ask()));
    this.subscriptions.push(
      soon,
      // What was done in this window is looked for at once.
      workspaces.onDidChange(({ event }) => (event.kind === 'external' ? soon.ask() : void this.refresh())),
      workspaces.onDidChangeRoots(() => void this.refresh()),
      this.changed,
      this.listed,
    );
  }

  /** Checkpoints of all roots as last read; undefined before the first time. */
  get total(): number | undefined {
    if (this.counts.size === 0) return undefined;
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** The lists could not be read: there are no rows, and that is not because there is nothing. */
  get broken(): boolean {
    return this.told.has(top);
  }

  /** Ends when the rows are drawn from what is there now. The lists are read before, so that the rows wait for nothing. */
  refresh(): Promise<void> {
    this.stale = true;
    this.reloading ??= this.readLists().finally(() => {
      this.reloading = undefined;
    });
    return this.reloading;
  }

  /** As `refresh`, and what is still wrong is told once more: somebody asked. */
  tryAgain(): Promise<void> {
    this.told.clear();
    return this.refresh();
  }

  private async readLists(): Promise<void> {
    while (this.stale) {
      this.stale = false;
      try {
        const roots = await this.workspaces.all();
        const lists = await Promise.allSettled(roots.map(async (root) => [root, await this.read(root)] as const));
        this.groups.clear();
        for (const list of lists)
          // What failed is asked for again, and told, when its rows are.
          if (list.status === 'fulfilled') this.groups.set(list.value[0], Promise.resolve(list.value[1]));
        this.forgetAllBut(roots);
      } catch {
        // Asked for again, and told, when the rows are.
        this.groups.clear();
        this.drawAll();
        continue;
      }
      await this.redraw();
    }
  }

  /** Every change of the store asks for the rows again; the same trouble is told once. */
  private tell(node: TreeNode | undefined, error: unknown): void {
    const [key, words] = [keyOf(node), String(error)];
    if (this.told.get(key) === words) return;
    this.told.set(key, words);
    this.failed(error);
    if (node === undefined && !this.disposed) this.listed.fire();
  }

  private drawAll(): void {
    this.drawn.forget();
    if (!this.disposed) this.changed.fire(undefined);
  }

  /** A folder that went away counts no more. */
  private forgetAllBut(roots: readonly Root[]): void {
    const gone = [...this.counts.keys()].filter((root) => !roots.includes(root));
    for (const root of gone) this.counts.delete(root);
    if (gone.length > 0 && !this.disposed) this.listed.fire();
  }

  /** Draws what does not look as it should any more: other rows, other words in them, times that moved on. */
  async redraw(): Promise<void> {
    try {
      const rows = await this.drawn.differing((node) => this.children(node), lookOf);
      if (rows === 'all') this.drawAll();
      else if (rows.length > 0 && !this.disposed) this.changed.fire(rows);
    } catch {
      // Asked for again, and told, when the rows are.
      this.drawAll();
    }
  }

  setOptions(options: TreeOptions): void {
    this.options = options;
    this.drawAll();
  }

  loadMore(node: MoreNode): void {
    this.shown.set(node.list, (this.shown.get(node.list) ?? page) + page * 4);
    this.changed.fire(node.parent);
  }

  getTreeItem(node: TreeNode): vscode.TreeItem {
    this.drawn.drew(node, lookOf(node));
    return treeItem(node);
  }

  getParent(node: TreeNode): TreeNode | undefined {
    return node.parent;
  }

  async getChildren(node?: TreeNode): Promise<TreeNode[]> {
    try {
      const children = await this.children(node);
      this.drawn.gave(node, children);
      if (this.told.delete(keyOf(node)) && node === undefined) this.listed.fire();
      return children;
    } catch (error) {
      this.tell(node, error);
      return [];
    }
  }

  /** Makes the pages long enough that the checkpoint has a row. */
  async show(id: string): Promise<void> {
    const grow = (root: Root, list: string, index: number): boolean => {
      const key = `${root.api.root}:${list}`;
      if (index >= (this.shown.get(key) ?? page)) this.shown.set(key, index + page);
      return index >= 0;
    };
    const within = (root: Root, group: SessionGroup): boolean => {
      const contents = [...group.kept, ...group.items];
      const at = contents.findIndex((item) =>
        isGroup(item) ? item.points.some((point) => point.id === id) : item.id === id,
      );
      const item = contents[at];
      if (item !== undefined && isGroup(item))
        grow(
          root,
          `turn:${item.key}`,
          item.points.findIndex((point) => point.id === id),
        );
      return grow(root, `session:${group.key}`, at) || group.forks.some((fork) => within(root, fork));
    };
    for (const root of await this.workspaces.all()) {
      const groups = await this.groupsOf(root);
      grow(
        root,
        'sessions',
        groups.findIndex((group) => within(root, group)),
      );
    }
    await this.redraw();
  }

  /** The row of a session, to reveal it; undefined while its page is not shown. */
  async findSession(id: string, among?: TreeNode[]): Promise<SessionNode | undefined> {
    for (const node of among ?? (await this.children())) {
      if (node.type === 'session' && node.group.id === id) return node;
      if (node.type !== 'root' && node.type !== 'session') continue;
      const found = await this.findSession(id, await this.children(node));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** The row of a checkpoint, to reveal it; undefined while its page is not shown. */
  async find(id: string, among?: TreeNode[]): Promise<CheckpointNode | undefined> {
    for (const node of among ?? (await this.children())) {
      if (node.type === 'checkpoint' && node.checkpoint.id === id) return node;
      if (node.type === 'root' || node.type === 'session' || node.type === 'turn') {
        const found = await this.find(id, await this.children(node));
        if (found !== undefined) return found;
      }
    }
    return undefined;
  }

  dispose(): void {
    this.disposed = true;
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private async children(node?: TreeNode): Promise<TreeNode[]> {
    return this.drawn.adopt(await this.childrenNow(node));
  }

  private async childrenNow(node?: TreeNode): Promise<TreeNode[]> {
    if (node === undefined) return this.top();
    switch (node.type) {
      case 'root':
        return this.rootChildren(node.root, node);
      case 'session':
        return this.sessionChildren(node);
      case 'turn':
        return this.paged(node, node.root, `turn:${node.group.key}`, node.group.points, (point) =>
          this.point(node, point),
        );
      case 'checkpoint':
        return this.fileNodes(node, await this.changes.of(node));
      case 'folder':
        return this.folderChildren(node);
      case 'file':
      case 'more':
        return [];
    }
  }

  private async top(): Promise<TreeNode[]> {
    const roots = await this.workspaces.all();
    const [only] = roots;
    if (roots.length === 1 && only !== undefined) return this.rootChildren(only, undefined);
    // A folder whose list cannot be read has a row, and says so below it: the others are not to suffer for it.
    const lists = await Promise.allSettled(roots.map((root) => this.groupsOf(root)));
    return roots
      .filter((_, index) => lists[index]?.status !== 'fulfilled' || lists[index].value.length > 0)
      .map((root) => ({ type: 'root', root, parent: undefined }));
  }

  private async rootChildren(root: Root, parent: TreeNode | undefined): Promise<TreeNode[]> {
    const groups = await this.groupsOf(root);
    const [only] = groups;
    // Before there is any session a level for it would only be in the way.
    if (groups.length === 1 && only !== undefined && only.id === null)
      return this.contents({ type: 'session', root, group: only, parent, open: true }, parent);
    return this.paged(parent, root, 'sessions', groups, (group): SessionNode => ({
      type: 'session',
      root,
      group,
      parent,
      // The latest is what one came for. Those without a session stood open before the first session came.
      open: group === only || group.id === null,
    }));
  }

  private sessionChildren(node: SessionNode): TreeNode[] {
    const { root, group } = node;
    const forks = group.forks.map((fork): SessionNode => ({
      type: 'session',
      root,
      group: fork,
      parent: node,
      open: false,
    }));
    const [kept, rest] = [this.contents(node, node), forks];
    const first = kept.findIndex((child) => child.type !== 'checkpoint' || !group.kept.includes(child.checkpoint));
    return first === -1 ? [...kept, ...rest] : [...kept.slice(0, first), ...rest, ...kept.slice(first)];
  }

  /** Kept ones first, then turns and points in time order. */
  private contents(node: SessionNode, parent: TreeNode | undefined): TreeNode[] {
    const items: Array<TurnGroup | Checkpoint> = [...node.group.kept, ...node.group.items];
    return this.paged(parent, node.root, `session:${node.group.key}`, items, (item) =>
      isGroup(item)
        ? ({ type: 'turn', root: node.root, group: item, parent } satisfies TurnNode)
        : this.point(parent, item, node.root),
    );
  }

  private point(parent: TreeNode | undefined, checkpoint: Checkpoint, root = parent?.root): CheckpointNode {
    if (root === undefined) throw new Error('a point needs a root');
    return { type: 'checkpoint', root, checkpoint, end: this.changes.endOf(root, checkpoint.id), parent };
  }

  private fileNodes(node: CheckpointNode, changes: Change[]): TreeNode[] {
    const { root, checkpoint } = node;
    if (this.options.asTree)
      return this.folderNodes(
        node,
        pathTree(changes, (change) => change.path),
      );
    return this.paged(node, root, `files:${checkpoint.id}`, changes, (change): FileNode => ({
      type: 'file',
      root,
      checkpoint,
      change,
      showFolder: true,
      parent: node,
    }));
  }

  private folderNodes(node: CheckpointNode | FolderNode, tree: PathFolder<Change>): TreeNode[] {
    const { root, checkpoint } = node;
    const folders = tree.folders.map((folder): FolderNode => ({
      type: 'folder',
      root,
      checkpoint,
      path: folder.path,
      label: folder.label,
      changes: filesBelow(folder),
      parent: node,
    }));
    const files = this.paged(node, root, `files:${checkpoint.id}:${tree.path}`, tree.files, (change): FileNode => ({
      type: 'file',
      root,
      checkpoint,
      change,
      showFolder: false,
      parent: node,
    }));
    return [...folders, ...files];
  }

  private folderChildren(node: FolderNode): TreeNode[] {
    const below = pathTree(node.changes, (change) => change.path.slice(node.path.length + 1));
    const rebase = (folder: PathFolder<Change>): PathFolder<Change> => ({
      ...folder,
      path: folder.path === '' ? node.path : `${node.path}/${folder.path}`,
      folders: folder.folders.map(rebase),
    });
    return this.folderNodes(node, rebase(below));
  }

  private paged<T>(
    parent: TreeNode | undefined,
    root: Root,
    list: string,
    items: readonly T[],
    node: (item: T) => TreeNode,
  ): TreeNode[] {
    const key = `${root.api.root}:${list}`;
    const size = this.shown.get(key) ?? page;
    const nodes = items.slice(0, size).map(node);
    if (items.length > size) nodes.push({ type: 'more', root, parent, list: key, remaining: items.length - size });
    return nodes;
  }

  private groupsOf(root: Root): Promise<SessionGroup[]> {
    const known = this.groups.get(root);
    if (known !== undefined) return known;
    const groups = this.read(root);
    this.groups.set(root, groups);
    // A list that failed once is asked for again next time.
    groups.catch(() => this.groups.delete(root));
    return groups;
  }

  private async read(root: Root): Promise<SessionGroup[]> {
    const checkpoints = await root.api.list();
    // Nothing is there, and not because nothing was: that is told, not that all is to come.
    const lost = checkpoints.length === 0 ? lossInWords(root.api.lost()) : null;
    if (lost !== null) throw new CheckpointsError('store-broken', lost);
    const ends = await turnEndsOf(root, checkpoints);
    this.counts.set(root, checkpoints.length);
    this.changes.list(root, checkpoints, ends);
    if (!this.disposed) this.listed.fire();
    return groupBySession(checkpoints, this.states?.of(root, sessionsOf(checkpoints)), ends);
  }
}

/** Those of this machine, and what restores made of them: OpenCode cannot know sessions that were fetched from another one. */
export const sessionsOf = (checkpoints: readonly Checkpoint[]): Set<string> =>
  new Set(
    checkpoints.flatMap(({ session, restore, origin }) =>
      origin === null ? [session?.id, restore?.session].filter((id) => typeof id === 'string') : [],
    ),
  );
