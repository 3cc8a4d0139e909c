import * as vscode from 'vscode';
import type { TaskState, TaskStatus } from '../core/model';
import type { TaskSnapshot } from '../core/task-service';
import { listNames, statusNames, textNames, type ListField, type TextField } from '../protocol/task-names';
import { commands, views } from './ids';
import { behind, firstLine } from './labels';
import type { Root } from './root';
import { saveDescription, saveLabel, saveTooltip } from './task-history';
import { TaskLook } from './task-look';
import { isStep, tickItem } from './task-model';
import { changeTask } from './task-save';
import { requireTrust } from './trust';
import type { Workspaces } from './workspaces';

/** A row of the task view; commands get these as arguments. */
export type TaskNode =
  | { type: 'taskRoot'; root: Root }
  | { type: 'taskStatus'; root: Root; status: TaskStatus | undefined }
  | { type: 'taskText'; root: Root; field: TextField; text: string }
  | { type: 'taskList'; root: Root; field: ListField; items: string[]; done?: string[] }
  | { type: 'taskItem'; root: Root; field: ListField; index: number; text: string; done?: boolean }
  | { type: 'taskHistory'; root: Root }
  | { type: 'taskSave'; root: Root; save: TaskSnapshot };

export const isTaskNode = (value: unknown): value is TaskNode =>
  typeof value === 'object' && value !== null && 'type' in value && String(value.type).startsWith('task');

const statusIcons: Record<TaskStatus, string> = {
  not_started: 'circle-large-outline',
  in_progress: 'play-circle',
  blocked: 'error',
  done: 'pass-filled',
};

const statusColors: Partial<Record<TaskStatus, string>> = {
  in_progress: 'charts.blue',
  blocked: 'charts.red',
  done: 'charts.green',
};

const fieldIcons: Record<TextField | ListField, string> = {
  title: 'target',
  objective: 'milestone',
  summary: 'output',
  currentPlan: 'list-ordered',
  nextSteps: 'tasklist',
  completedSteps: 'pass',
  blockers: 'error',
  filesTouched: 'files',
  notes: 'note',
};

const historyLimit = 50;

/** The live task state: what the agent is on, what is next, what is done. Edits are saved at once, each with a checkpoint. */
export class TaskView implements vscode.TreeDataProvider<TaskNode>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<TaskNode | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  readonly onDidChangeVisibility: vscode.TreeView<TaskNode>['onDidChangeVisibility'];
  private readonly view: vscode.TreeView<TaskNode>;
  private readonly subscriptions: vscode.Disposable[];
  private readonly look = new TaskLook(() => this.shown());
  private watchers: vscode.Disposable[] = [];
  /** The rows of the history that were asked for what is below them, and how old that read then. */
  private readonly histories = new Map<TaskNode, string>();

  constructor(
    private readonly workspaces: Workspaces,
    private readonly failed: (error: unknown) => void,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.view = vscode.window.createTreeView(views.task, { treeDataProvider: this, manageCheckboxStateManually: true });
    this.onDidChangeVisibility = this.view.onDidChangeVisibility;
    this.subscriptions = [
      this.view,
      this.changed,
      this.view.onDidChangeCheckboxState((event) => void this.tick(event.items).catch(this.failed)),
      workspaces.onDidChangeRoots(() => this.watch()),
      workspaces.onDidChange(() => void this.follow()),
    ];
  }

  refresh(): void {
    this.histories.clear();
    this.changed.fire(undefined);
  }

  /** Ages grow by themselves: where they read differently by now, the history alone is drawn anew. */
  async redraw(): Promise<void> {
    if (!this.view.visible) return;
    for (const [node, shown] of this.histories) if ((await this.ages(node)) !== shown) this.changed.fire(node);
  }

  private async ages(node: TaskNode): Promise<string> {
    return (await this.saves(node.root)).map((save) => `${saveLabel(save)} ${saveDescription(save)}`).join('\n');
  }

  private async saves(root: Root): Promise<TaskSnapshot[]> {
    return (await root.task.history(root.api)).slice(0, historyLimit);
  }

  /** Every checkpoint is a change of the store, and few are one of the task: rows that are drawn anew lose a click on its way. */
  private async follow(): Promise<void> {
    // A hidden one asks for its rows when it is shown.
    if (!this.view.visible) this.look.forget();
    else if (!(await this.look.changed())) return;
    this.refresh();
  }

  /** All that the rows are made of. */
  private async shown(): Promise<unknown> {
    const roots = await this.workspaces.all();
    return Promise.all(roots.map(async ({ api, task }) => [api.root, await task.read(), await task.history(api)]));
  }

  async getChildren(node?: TaskNode): Promise<TaskNode[]> {
    try {
      if (node === undefined) return await this.top();
      if (node.type === 'taskRoot') return await this.fields(node.root);
      if (node.type === 'taskList')
        return node.items.map((text, index) => ({
          type: 'taskItem',
          root: node.root,
          field: node.field,
          index,
          text,
          done: node.done?.includes(text),
        }));
      if (node.type === 'taskHistory') {
        this.histories.set(node, await this.ages(node));
        return (await this.saves(node.root)).map((save) => ({ type: 'taskSave', root: node.root, save }));
      }
      return [];
    } catch (error) {
      this.failed(error);
      return [];
    }
  }

  getTreeItem(node: TaskNode): vscode.TreeItem {
    const item = taskItem(node);
    item.contextValue = node.type === 'taskItem' || node.type === 'taskList' ? `${node.type}:${node.field}` : node.type;
    return item;
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions, ...this.watchers).dispose();
  }

  private async top(): Promise<TaskNode[]> {
    const roots = await this.workspaces.all();
    const states = await Promise.all(roots.map(async (root) => ({ root, task: await root.task.read() })));
    const present = states.filter(({ task }) => task !== null);
    const [only] = present;
    if (roots.length === 1) return only === undefined ? [] : this.fields(only.root);
    return present.map(({ root }) => ({ type: 'taskRoot', root }));
  }

  private async fields(root: Root): Promise<TaskNode[]> {
    const task: TaskState = (await root.task.read()) ?? {};
    const texts = (['title', 'objective', 'summary'] as const).map((field): TaskNode => ({
      type: 'taskText',
      root,
      field,
      text: task[field] ?? '',
    }));
    const [title, ...others] = texts;
    const lists = (Object.keys(listNames) as ListField[]).map((field): TaskNode => ({
      type: 'taskList',
      root,
      field,
      items: task[field] ?? [],
      done: task.completedSteps,
    }));
    // An empty list is worth a row only where people add things.
    const shown = lists.filter(
      (node) => node.type === 'taskList' && (node.items.length > 0 || addable.has(node.field)),
    );
    const head: TaskNode[] = title === undefined ? [] : [title];
    const blocked = (node: TaskNode): boolean =>
      node.type === 'taskList' && node.field === 'blockers' && node.items.length > 0;
    return [
      ...head,
      { type: 'taskStatus', root, status: task.status },
      ...others,
      // What stands in the way must not stand below hundreds of steps.
      ...shown.filter(blocked),
      ...shown.filter((node) => !blocked(node)),
      { type: 'taskHistory', root },
    ];
  }

  private async tick(items: ReadonlyArray<[TaskNode, vscode.TreeItemCheckboxState]>): Promise<void> {
    try {
      requireTrust();
      for (const [node, state] of items) {
        if (node.type !== 'taskItem') continue;
        const { root, field, index, text } = node;
        const done = state === vscode.TreeItemCheckboxState.Checked;
        await changeTask(root, (task) => tickItem(task, field, index, text, done), this.log);
      }
    } finally {
      // A tick that was refused or failed is taken back, too.
      this.refresh();
      // The box that has the keyboard is drawn anew: without this the next key would go nowhere.
      void vscode.commands.executeCommand(`${views.task}.focus`);
    }
  }

  /** The agent's plugin and the command line save the task too; other tools write into the exported files. */
  private watch(): void {
    vscode.Disposable.from(...this.watchers).dispose();
    this.watchers = this.workspaces.current.flatMap((root) =>
      [
        new vscode.RelativePattern(vscode.Uri.file(root.api.folder), 'task.json'),
        new vscode.RelativePattern(root.uri, '.opencode/state/checkpoint.json'),
      ].map((pattern) => {
        const watcher = vscode.workspace.createFileSystemWatcher(pattern);
        const refresh = () => void this.follow();
        return vscode.Disposable.from(
          watcher,
          watcher.onDidChange(refresh),
          watcher.onDidCreate(refresh),
          watcher.onDidDelete(refresh),
        );
      }),
    );
    this.refresh();
  }
}

const addable: ReadonlySet<ListField> = new Set(['nextSteps', 'blockers', 'notes']);

const icon = (id: string, color?: string): vscode.ThemeIcon =>
  new vscode.ThemeIcon(id, color === undefined ? undefined : new vscode.ThemeColor(color));

export const taskItem = (node: TaskNode): vscode.TreeItem => {
  const { None, Collapsed, Expanded } = vscode.TreeItemCollapsibleState;
  switch (node.type) {
    case 'taskRoot': {
      const item = new vscode.TreeItem(node.root.name, Expanded);
      item.iconPath = new vscode.ThemeIcon('root-folder');
      return item;
    }
    case 'taskStatus': {
      const item = new vscode.TreeItem(node.status === undefined ? 'No status' : statusNames[node.status], None);
      item.iconPath =
        node.status === undefined
          ? new vscode.ThemeIcon('circle-large-outline')
          : icon(statusIcons[node.status], statusColors[node.status]);
      item.description = 'Status';
      item.command = { command: commands.editTaskRow, title: 'Change Status', arguments: [node] };
      return item;
    }
    case 'taskText': {
      const text = firstLine(node.text);
      const name = textNames[node.field];
      // A title speaks for itself; of a long text in a narrow bar only its name would be cut off.
      const item = new vscode.TreeItem(node.field === 'title' && text !== '' ? text : name, None);
      item.description = node.field === 'title' ? (text === '' ? 'none' : name) : text || 'none';
      item.iconPath = new vscode.ThemeIcon(fieldIcons[node.field]);
      item.tooltip = node.text === '' ? `${name}: none` : node.text;
      item.accessibilityInformation = { label: `${name}: ${node.text === '' ? 'none' : node.text}` };
      item.command = { command: commands.editTaskRow, title: 'Edit', arguments: [node] };
      return item;
    }
    case 'taskList': {
      const open =
        node.items.length === 0
          ? None
          : node.field === 'filesTouched' || node.field === 'completedSteps'
            ? Collapsed
            : Expanded;
      const item = new vscode.TreeItem(listNames[node.field], open);
      // A row that had nothing below it stays closed when something comes: to VS Code the filled one is another row, and opens.
      item.id = `${node.root.api.root}:${node.field}:${open === None ? 'empty' : 'filled'}`;
      item.description = node.items.length === 0 ? 'none' : String(node.items.length);
      const alarming = node.field === 'blockers' && node.items.length > 0;
      item.iconPath = icon(fieldIcons[node.field], alarming ? 'charts.red' : undefined);
      return item;
    }
    case 'taskItem': {
      const text = node.text.trim();
      const line = firstLine(text);
      const label = line === text ? line : `${line} …`;
      const item = new vscode.TreeItem(label || '(empty)', None);
      item.tooltip = node.text;
      if (isStep(node.field))
        item.checkboxState =
          node.field === 'completedSteps'
            ? vscode.TreeItemCheckboxState.Checked
            : vscode.TreeItemCheckboxState.Unchecked;
      if (node.field === 'currentPlan') {
        item.iconPath = node.done === true ? icon('pass', 'charts.green') : icon('circle-large-outline');
        item.accessibilityInformation = { label: node.done === true ? `${text}, done` : text };
      }
      if (node.field === 'filesTouched') {
        const file = node.root.toUri(node.text);
        item.resourceUri = file;
        item.iconPath = vscode.ThemeIcon.File;
        item.command = { command: 'vscode.open', title: 'Open File', arguments: [file] };
      }
      return item;
    }
    case 'taskHistory': {
      const item = new vscode.TreeItem('History', Collapsed);
      item.iconPath = new vscode.ThemeIcon('history');
      return item;
    }
    case 'taskSave': {
      const { status } = node.save;
      const item = new vscode.TreeItem(saveLabel(node.save), None);
      item.description = behind(saveLabel(node.save), saveDescription(node.save));
      item.iconPath = status === null ? icon('circle-outline') : icon(statusIcons[status], statusColors[status]);
      item.tooltip = saveTooltip(node.save);
      // Its tooltip, which would be heard instead, does not tell the status.
      const heard = [saveLabel(node.save), saveDescription(node.save)].filter((words) => words !== '');
      item.accessibilityInformation = { label: heard.join(', ') };
      item.command = { command: commands.compareTask, title: 'Compare', arguments: [node] };
      return item;
    }
  }
};
