import * as vscode from 'vscode';
import { commands, views } from './ids';
import { counts, countsInWords, firstLine } from './labels';
import { explain } from './notifications';
import { relativeTime, shortAge } from './relative-time';
import type { CheckpointTree } from './tree';
import type { Workspaces } from './workspaces';

/** The age of the last checkpoint, a spinner while something runs, a warning with its reason. Hidden before the first one. */
export class StatusBar implements vscode.Disposable {
  private readonly item: vscode.StatusBarItem;
  private readonly subscriptions: vscode.Disposable[];
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly workspaces: Workspaces,
    private readonly tree: CheckpointTree,
  ) {
    this.item = vscode.window.createStatusBarItem('opencodeCheckpoints.status', vscode.StatusBarAlignment.Left, 0);
    this.item.name = 'Checkpoints';
    this.item.command = `${views.tree}.focus`;
    this.subscriptions = [
      this.item,
      tree.onDidList(() => this.draw()),
      workspaces.onDidChangeOperation(() => this.draw()),
      workspaces.onDidChangeRoots(() => this.draw()),
    ];
    this.timer = setInterval(() => this.draw(), 30_000);
    this.draw();
  }

  dispose(): void {
    clearInterval(this.timer);
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private draw(): void {
    const { operation } = this.workspaces;
    const [failure] = this.workspaces.failures;
    const newest = this.tree.newest();
    this.item.backgroundColor = undefined;
    this.item.command = `${views.tree}.focus`;
    if (operation !== null) {
      this.item.text = `$(sync~spin) ${operation.title}`;
      this.item.tooltip = `Checkpoints: ${operation.title}`;
    } else if (failure !== undefined && this.workspaces.current.length === 0) {
      this.item.text = '$(warning) Checkpoints';
      this.item.tooltip = explain(failure);
      this.item.backgroundColor = new vscode.ThemeColor('statusBarItem.warningBackground');
      this.item.command = commands.showLog;
    } else if (newest !== undefined) {
      const partial = newest.files.partial.length > 0;
      this.item.text = `$(${partial ? 'warning' : 'history'}) ${shortAge(newest.createdAt, Date.now())}`;
      const tooltip = new vscode.MarkdownString('', true);
      tooltip.appendMarkdown('**Last checkpoint:** ').appendText(firstLine(newest.title));
      tooltip.appendText(
        `\n${relativeTime(newest.createdAt, Date.now(), vscode.env.language)}, ${countsInWords(newest.files)}`,
      );
      if (partial) tooltip.appendText('\nNot whole: some files could not be read.');
      this.item.tooltip = tooltip;
      this.item.accessibilityInformation = {
        label: `Last checkpoint ${relativeTime(newest.createdAt, Date.now(), vscode.env.language)} ${counts(newest.files)}`,
      };
    } else {
      this.item.hide();
      return;
    }
    this.item.show();
  }
}
