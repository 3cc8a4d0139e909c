import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { ChangeStatus, PlanEntry, RestorePlan, RestoreScope } from '../core/model';
import { reasonInWords } from '../protocol/reason-words';
import { decorated } from './decorations';
import type { Target } from './diff';
import { pathTree, type PathFolder } from './file-tree';
import { views } from './ids';
import { shortTitle } from './labels';
import { tickedText } from './restore-text';
import { withEmptyFolders } from './ticked-paths';
import { nothingUri, snapshotUri } from './uris';

type PlanNode = PlanFolder | PlanFile;

interface PlanFolder {
  kind: 'folder';
  path: string;
  label: string;
  children: PlanNode[];
  /** The row of the first level that it is in; undefined when it is one. */
  top: PlanFolder | undefined;
}

interface PlanFile {
  kind: 'file';
  entry: PlanEntry;
  top: PlanFolder | undefined;
}

export interface FilesNow {
  /** Paths that exist, and what shows them; a write to any other adds a file. */
  shown: ReadonlyMap<string, vscode.Uri>;
  /** Those that the checkpoint does not have. */
  made: ReadonlySet<string>;
}

const acts = (entry: PlanEntry): boolean => entry.action === 'write' || entry.action === 'delete';

/** How the title of a single file's diff ends. */
const oneReview = '(Now ↔ After Restore)';

/**
 * One plan on the screen. The ticks are kept here and only drawn by VS Code: what is restored must be what is seen. A
 * view of its own for each plan: rows that one plan leaves to the next would answer clicks meant for the other.
 */
export class PlanChoice implements vscode.TreeDataProvider<PlanNode>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<PlanNode | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly view: vscode.TreeView<PlanNode>;
  private readonly nodes: PlanNode[];
  private readonly entries: PlanEntry[];
  private readonly ticked: Set<string>;

  /** `scope`: what was asked for, beside the files, too. */
  constructor(
    private readonly target: Target,
    plan: RestorePlan,
    private readonly now: FilesNow,
    private readonly scope: readonly RestoreScope[],
  ) {
    this.entries = plan.entries.filter((entry) => entry.action !== 'skip');
    this.ticked = new Set(this.entries.filter(acts).map((entry) => entry.path));
    this.nodes = childrenOf(
      pathTree(this.entries, (entry) => entry.path),
      undefined,
    );
    this.view = vscode.window.createTreeView(views.plan, { treeDataProvider: this, manageCheckboxStateManually: true });
    this.view.onDidChangeCheckboxState(({ items }) => this.tick(items));
    this.describe();
  }

  get paths(): string[] {
    return withEmptyFolders(
      this.entries.map((entry) => entry.path),
      this.ticked,
      this.target.checkpoint.files.emptyDirs,
    );
  }

  getChildren(node?: PlanNode): PlanNode[] {
    if (node === undefined) return this.nodes;
    return node.kind === 'folder' ? node.children : [];
  }

  getTreeItem(node: PlanNode): vscode.TreeItem {
    if (node.kind === 'file') return this.fileItem(node.entry);
    const item = new vscode.TreeItem(node.label, vscode.TreeItemCollapsibleState.Expanded);
    item.id = `${node.path}/`;
    item.iconPath = vscode.ThemeIcon.Folder;
    const files = filesOf(node);
    const ticked = files.filter((entry) => this.ticked.has(entry.path)).length;
    item.checkboxState = checkbox(ticked === files.length);
    // VS Code knows no half tick: a box that is not ticked would say that nothing below it is.
    if (ticked > 0 && ticked < files.length) item.description = `${ticked} of ${files.length}`;
    return item;
  }

  /** All that is ticked, as it is now and as it would be. */
  async review(): Promise<void> {
    const { root } = this.target;
    const rows = this.entries
      .filter((entry) => this.ticked.has(entry.path))
      .map((entry) => {
        const [left, right] = this.sides(entry);
        return [root.toUri(entry.path), left, right];
      });
    await vscode.commands.executeCommand('vscode.changes', this.reviewTitle, rows);
  }

  private get reviewTitle(): string {
    return `Now ↔ After Restoring ${shortTitle(this.target.checkpoint)}`;
  }

  /** What they compare is over; VS Code adds the number of files to the title of many. One with changes that are not saved is the user's. */
  private async closeReviews(): Promise<void> {
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    const over = tabs.filter(
      ({ label, isDirty }) => !isDirty && (label.endsWith(oneReview) || label.startsWith(this.reviewTitle)),
    );
    await vscode.window.tabGroups.close(over, true);
  }

  dispose(): void {
    void this.closeReviews();
    this.view.dispose();
    this.changed.dispose();
  }

  private fileItem(entry: PlanEntry): vscode.TreeItem {
    const { root, checkpoint } = this.target;
    const file = root.toUri(entry.path);
    const status = this.statusOf(entry);
    const item = new vscode.TreeItem(decorated(checkpoint.id, file, status));
    item.id = entry.path;
    item.label = basename(entry.path);
    item.checkboxState = checkbox(this.ticked.has(entry.path));
    item.description = noteOf(entry);
    const will = { deleted: 'will be deleted', added: 'will come back' }[status as string] ?? 'will be written';
    const yours =
      entry.yours === true
        ? '\nIt holds changes that you made yourself.'
        : entry.unsure === true
          ? '\nIt changed while an agent was at work on other files: the change may be yours.'
          : '';
    const fate = acts(entry) ? will : `is left as it is; ticked, it ${will}`;
    item.tooltip = `${entry.path} ${fate}${yours}`;
    // VS Code says itself whether it is ticked.
    const heard = [entry.path, fate, item.description].filter((words) => words !== '');
    item.accessibilityInformation = { label: heard.join(', ') };
    const [left, right] = this.sides(entry);
    item.command = {
      command: 'vscode.diff',
      title: 'Show What Would Change',
      arguments: [
        left ?? nothingUri(checkpoint.id, file),
        right ?? nothingUri(checkpoint.id, file),
        `${basename(entry.path)} ${oneReview}`,
        { preview: true, preserveFocus: true },
      ],
    };
    return item;
  }

  private tick(items: ReadonlyArray<[PlanNode, vscode.TreeItemCheckboxState]>): void {
    for (const [node, state] of items)
      for (const { path } of filesOf(node))
        if (state === vscode.TreeItemCheckboxState.Checked) this.ticked.add(path);
        else this.ticked.delete(path);
    // The folders above, and all below a folder, follow.
    const tops = items.map(([node]) => node.top ?? node);
    for (const top of new Set(tops)) this.changed.fire(top);
    this.describe();
    // The box that has the keyboard is drawn anew: without this the next key would go nowhere.
    void vscode.commands.executeCommand(`${views.plan}.focus`);
  }

  private describe(): void {
    this.view.description = shortTitle(this.target.checkpoint);
    this.view.message = tickedText(this.ticked.size, this.entries.length, this.scope);
  }

  private statusOf(entry: PlanEntry): ChangeStatus {
    const goes = entry.action === 'delete' || (entry.action === 'keep' && this.now.made.has(entry.path));
    if (goes) return 'deleted';
    return this.now.shown.has(entry.path) ? 'modified' : 'added';
  }

  private sides(entry: PlanEntry): [now: vscode.Uri | undefined, after: vscode.Uri | undefined] {
    const { root, checkpoint } = this.target;
    const file = root.toUri(entry.path);
    const status = this.statusOf(entry);
    return [
      status === 'added' ? undefined : (this.now.shown.get(entry.path) ?? file),
      status === 'deleted' ? undefined : snapshotUri(checkpoint.id, file),
    ];
  }
}

/** What one should know of it before ticking. */
export const noteOf = ({ yours, unsure, reason = '' }: PlanEntry): string => {
  const flag = yours === true ? 'your edit' : unsure === true ? 'maybe your edit' : '';
  const why = reason === 'yours' ? '' : reasonInWords(reason);
  return [flag, why].filter((words) => words !== '').join(' · ');
};

const checkbox = (on: boolean): vscode.TreeItemCheckboxState =>
  on ? vscode.TreeItemCheckboxState.Checked : vscode.TreeItemCheckboxState.Unchecked;

const childrenOf = (tree: PathFolder<PlanEntry>, top: PlanFolder | undefined): PlanNode[] => [
  ...tree.folders.map((folder) => folderOf(folder, top)),
  ...tree.files.map((entry): PlanFile => ({ kind: 'file', entry, top })),
];

const folderOf = (tree: PathFolder<PlanEntry>, top: PlanFolder | undefined): PlanFolder => {
  const folder: PlanFolder = { kind: 'folder', path: tree.path, label: tree.label, children: [], top };
  folder.children = childrenOf(tree, top ?? folder);
  return folder;
};

const filesOf = (node: PlanNode): PlanEntry[] => (node.kind === 'file' ? [node.entry] : node.children.flatMap(filesOf));
