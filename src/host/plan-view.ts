import { basename, dirname } from 'node:path';
import * as vscode from 'vscode';
import type { ChangeStatus, PlanEntry, RestorePlan } from '../core/model';
import { decorated } from './decorations';
import type { Target } from './diff';
import { filesBelow, pathTree, type PathFolder } from './file-tree';
import { commands, contextKeys, views } from './ids';
import { plural, shortTitle } from './labels';
import type { FileChooser } from './restore-flow';
import { nothingUri, snapshotUri } from './uris';

type PlanNode = { kind: 'folder'; folder: PathFolder<PlanEntry> } | { kind: 'file'; entry: PlanEntry };

interface Open {
  target: Target;
  plan: RestorePlan;
  tree: PathFolder<PlanEntry>;
  checked: Set<string>;
  /** Paths that exist now: a write to any other adds a file. */
  now: Set<string>;
  done(paths: string[] | undefined): void;
}

const acts = (entry: PlanEntry): boolean => entry.action === 'write' || entry.action === 'delete';

/** "Restore plan": every file that a restore would touch, with a tick. It is there only while the user chooses. */
export class PlanView implements vscode.TreeDataProvider<PlanNode>, FileChooser, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<PlanNode | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly view: vscode.TreeView<PlanNode>;
  private readonly subscriptions: vscode.Disposable[];
  private open: Open | undefined;

  constructor() {
    this.view = vscode.window.createTreeView(views.plan, { treeDataProvider: this, showCollapseAll: false });
    this.subscriptions = [
      this.view,
      this.changed,
      this.view.onDidChangeCheckboxState((event) => this.tick(event.items)),
      vscode.commands.registerCommand(commands.applyPlan, () => this.close([...(this.open?.checked ?? [])])),
      vscode.commands.registerCommand(commands.cancelPlan, () => this.close(undefined)),
      vscode.commands.registerCommand(commands.reviewPlan, () => this.review()),
    ];
  }

  async choose(target: Target, plan: RestorePlan): Promise<string[] | undefined> {
    await this.cancel();
    const entries = plan.entries.filter((entry) => entry.action !== 'skip');
    const now = await existing(target, entries);
    const chosen = new Promise<string[] | undefined>((done) => {
      this.open = {
        target,
        plan,
        tree: pathTree(entries, (entry) => entry.path),
        checked: new Set(entries.filter(acts).map((entry) => entry.path)),
        now,
        done,
      };
    });
    // Before the view shows: rows that are drawn a second time swallow the first click.
    this.changed.fire(undefined);
    this.describe();
    await vscode.commands.executeCommand('setContext', contextKeys.planning, true);
    await vscode.commands.executeCommand(`${views.plan}.focus`);
    return chosen;
  }

  async cancel(): Promise<void> {
    if (this.open !== undefined) await this.close(undefined);
  }

  getTreeItem(node: PlanNode): vscode.TreeItem {
    if (this.open === undefined) return new vscode.TreeItem('');
    return node.kind === 'folder' ? this.folderItem(node.folder, this.open) : this.fileItem(node.entry, this.open);
  }

  getChildren(node?: PlanNode): PlanNode[] {
    if (this.open === undefined || node?.kind === 'file') return [];
    const folder = node?.folder ?? this.open.tree;
    return [
      ...folder.folders.map((child): PlanNode => ({ kind: 'folder', folder: child })),
      ...folder.files.map((entry): PlanNode => ({ kind: 'file', entry })),
    ];
  }

  dispose(): void {
    this.open?.done(undefined);
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private folderItem(folder: PathFolder<PlanEntry>, open: Open): vscode.TreeItem {
    const item = new vscode.TreeItem(folder.label, vscode.TreeItemCollapsibleState.Expanded);
    item.id = `${folder.path}/`;
    item.iconPath = vscode.ThemeIcon.Folder;
    item.checkboxState = checkbox(filesBelow(folder).every((entry) => open.checked.has(entry.path)));
    return item;
  }

  private fileItem(entry: PlanEntry, open: Open): vscode.TreeItem {
    const { root, checkpoint } = open.target;
    const status = statusOf(entry, open);
    const item = new vscode.TreeItem(decorated(checkpoint.id, root.toUri(entry.path), status));
    item.id = entry.path;
    item.label = basename(entry.path);
    item.checkboxState = checkbox(open.checked.has(entry.path));
    const words = [
      entry.yours === true ? 'your edit' : '',
      entry.reason === undefined || entry.reason === 'yours' ? '' : entry.reason,
    ];
    item.description = words.filter((word) => word !== '').join(' · ');
    const will = status === 'deleted' ? 'will be deleted' : status === 'added' ? 'will come back' : 'will be written';
    item.tooltip = `${entry.path} ${acts(entry) ? will : 'is left as it is unless ticked'}${entry.yours === true ? '\nIt holds changes that you made yourself.' : ''}`;
    item.accessibilityInformation = {
      label: `${basename(entry.path)} in ${dirname(entry.path)}, ${will}`,
    };
    const file = root.toUri(entry.path);
    item.command = {
      command: 'vscode.diff',
      title: 'Show What Would Change',
      arguments: [
        status === 'added' ? nothingUri(file) : file,
        status === 'deleted' ? nothingUri(file) : snapshotUri(checkpoint.id, file),
        `${basename(entry.path)} (Now ↔ After Restore)`,
        { preview: true, preserveFocus: true },
      ],
    };
    return item;
  }

  private tick(items: ReadonlyArray<[PlanNode, vscode.TreeItemCheckboxState]>): void {
    for (const [node, state] of items)
      for (const entry of node.kind === 'folder' ? filesBelow(node.folder) : [node.entry])
        if (state === vscode.TreeItemCheckboxState.Checked) this.open?.checked.add(entry.path);
        else this.open?.checked.delete(entry.path);
    this.describe();
  }

  private describe(): void {
    if (this.open === undefined) return;
    const { target, checked, plan } = this.open;
    const total = plan.entries.filter((entry) => entry.action !== 'skip').length;
    this.view.description = shortTitle(target.checkpoint);
    this.view.message = `${checked.size} of ${plural(total, 'file')} will be restored. ✓ above restores them, ✕ cancels.`;
  }

  private async review(): Promise<void> {
    if (this.open === undefined) return;
    const { target, plan, checked } = this.open;
    const { root, checkpoint } = target;
    const open = this.open;
    const rows = plan.entries
      .filter((entry) => checked.has(entry.path))
      .map((entry) => {
        const file = root.toUri(entry.path);
        const status = statusOf(entry, open);
        return [
          file,
          status === 'added' ? undefined : file,
          status === 'deleted' ? undefined : snapshotUri(checkpoint.id, file),
        ];
      });
    await vscode.commands.executeCommand('vscode.changes', `Now ↔ After Restoring ${shortTitle(checkpoint)}`, rows);
  }

  private async close(paths: string[] | undefined): Promise<void> {
    const { open } = this;
    this.open = undefined;
    this.changed.fire(undefined);
    await vscode.commands.executeCommand('setContext', contextKeys.planning, false);
    open?.done(paths);
  }
}

const checkbox = (on: boolean): vscode.TreeItemCheckboxState =>
  on ? vscode.TreeItemCheckboxState.Checked : vscode.TreeItemCheckboxState.Unchecked;

const statusOf = (entry: PlanEntry, open: Open): ChangeStatus =>
  entry.action === 'delete' ? 'deleted' : open.now.has(entry.path) ? 'modified' : 'added';

const existing = async ({ root, checkpoint }: Target, entries: readonly PlanEntry[]): Promise<Set<string>> => {
  const { changes } = await root.api.diff(checkpoint.id);
  // Seen from the checkpoint, what is "deleted" now does not exist now.
  const gone = new Set(
    changes.flatMap((change) => (change.status === 'deleted' ? [change.path] : (change.from ?? []))),
  );
  return new Set(entries.map((entry) => entry.path).filter((path) => !gone.has(path)));
};
