import * as vscode from 'vscode';
import { lossInWords } from '../core/lost';
import type { Checkpoint } from '../core/model';
import { automaticOff } from './automatic';
import type { Backup } from './backup';
import { isTrouble, statusLine } from './backup-text';
import { commands, section, settings, views } from './ids';
import { countsInWords, firstLine, withoutIcons } from './labels';
import { explain } from './notifications';
import { appendPlain } from './plain-text';
import { relativeTime, shortAge } from './relative-time';
import { failedFolders } from './view-state';
import type { Workspaces } from './workspaces';

/** The newest ones may have come from another machine; among so many one of this machine is enough. */
const fetchedTogether = 20;

const ago = (iso: string): string => relativeTime(iso, Date.now(), vscode.env.language);

/** The age of the last checkpoint, a spinner while something runs, a warning with its reason. Hidden before the first one. */
export class StatusBar implements vscode.Disposable {
  private readonly item: vscode.StatusBarItem;
  private readonly subscriptions: vscode.Disposable[];
  private readonly timer: NodeJS.Timeout;
  private newest: Checkpoint | undefined;
  /** What is lost, in words. */
  private lost: string[] = [];
  private reading: Promise<void> | undefined;
  private again = false;

  constructor(
    private readonly workspaces: Workspaces,
    private readonly backup: Backup,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.item = vscode.window.createStatusBarItem('opencodeCheckpoints.status', vscode.StatusBarAlignment.Left, 0);
    this.item.name = 'Checkpoints';
    this.item.command = `${views.tree}.focus`;
    this.subscriptions = [
      this.item,
      workspaces.onDidChange(() => this.read()),
      workspaces.onDidChangeOperation(() => this.draw()),
      workspaces.onDidChangeRoots(() => this.read()),
      backup.onDidChange(() => this.draw()),
    ];
    this.timer = setInterval(() => this.draw(), 30_000);
    this.draw();
  }

  dispose(): void {
    clearInterval(this.timer);
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  /** By itself: the tree, hidden, reads nothing. One at a time, and once more when something came in between. */
  private read(): void {
    this.again = true;
    this.reading ??= this.readNow()
      .catch((error: unknown) => this.log.warn(`the newest checkpoint could not be read: ${String(error)}`))
      .finally(() => (this.reading = undefined));
    this.draw();
  }

  private async readNow(): Promise<void> {
    while (this.again) {
      this.again = false;
      const lists = await Promise.all(this.workspaces.current.map((root) => root.api.list({ limit: fetchedTogether })));
      this.lost = this.workspaces.current.flatMap((root) => lossInWords(root.api.lost()) ?? []);
      this.newest = lists
        .flatMap((list) => list.find(({ origin, trigger }) => origin === null && trigger !== 'import') ?? [])
        .sort((a, b) => b.createdAt.localeCompare(a.createdAt))[0];
    }
    this.draw();
  }

  private draw(): void {
    const { operation } = this.workspaces;
    const [failure] = this.workspaces.failures;
    const { newest } = this;
    const missing = failedFolders(this.workspaces);
    this.item.backgroundColor = undefined;
    this.item.accessibilityInformation = undefined;
    this.item.command = `${views.tree}.focus`;
    if (operation !== null) {
      this.item.text = `$(sync~spin) ${withoutIcons(operation.title)}`;
      this.item.tooltip = `Checkpoints: ${operation.title}`;
    } else if (failure?.reason === 'untrusted-folder' && this.workspaces.current.length === 0) {
      // VS Code says it beside us, and there is nothing to warn of.
      this.item.hide();
      return;
    } else if (failure !== undefined && this.workspaces.current.length === 0) {
      this.item.text = '$(warning) Checkpoints';
      this.item.tooltip = explain(failure);
      this.item.backgroundColor = new vscode.ThemeColor('statusBarItem.warningBackground');
    } else if (newest === undefined && this.lost.length > 0) {
      this.item.text = '$(warning) Checkpoints';
      this.item.tooltip = `${[...this.lost, ...missing].join('\n')}\nRun the doctor: it brings back what can be brought back.`;
      this.item.command = commands.doctor;
    } else if (newest === undefined && missing.length > 0) {
      this.item.text = '$(warning) Checkpoints';
      this.item.tooltip = missing.join('\n');
    } else if (newest !== undefined) {
      const partial = newest.files.partial.length > 0 ? ['Not whole: some files could not be read.'] : [];
      const { status } = this.backup;
      const unsaved = status !== null && isTrouble(status);
      const trouble = [...partial, ...missing, ...this.lost];
      const warn = unsaved || trouble.length > 0;
      this.item.text = `$(${warn ? 'warning' : 'history'}) ${shortAge(newest.createdAt, Date.now())}`;
      const tooltip = new vscode.MarkdownString('', true);
      appendPlain(tooltip.appendMarkdown('**Last checkpoint:** '), firstLine(newest.title));
      const when = ago(newest.createdAt);
      appendPlain(tooltip, `\n${when}, ${countsInWords(newest.files)}`);
      for (const text of partial) appendPlain(tooltip, `\n${text}`);
      // Whoever has forgotten it relies on points that do not come.
      if (automaticOff(this.workspaces.current)) addOff(tooltip);
      for (const text of [...missing, ...this.lost]) appendPlain(tooltip, `\n${text}`);
      this.addBackup(tooltip);
      if (this.lost.length > 0) this.addDoctor(tooltip);
      this.item.tooltip = tooltip;
      if (unsaved) this.item.command = commands.showBackupStatus;
      // Who cannot see the sign of a warning hears what it is about.
      const backup = unsaved ? (statusLine(status, ago) ?? '') : '';
      const heard = [`Last checkpoint ${when}, ${countsInWords(newest.files)}.`, ...trouble, backup];
      this.item.accessibilityInformation = { label: heard.filter((words) => words !== '').join(' ') };
    } else {
      this.item.hide();
      return;
    }
    this.item.show();
  }

  private addDoctor(tooltip: vscode.MarkdownString): void {
    tooltip.appendMarkdown(`\n\n[Run Doctor](command:${commands.doctor})`);
    trustCommands(tooltip);
  }

  private addBackup(tooltip: vscode.MarkdownString): void {
    const { status } = this.backup;
    const line = status && statusLine(status, ago);
    if (status === null || line === null) return;
    appendPlain(tooltip.appendMarkdown(`\n\n$(${isTrouble(status) ? 'warning' : 'cloud-upload'}) `), line);
    tooltip.appendMarkdown(` [Show](command:${commands.showBackupStatus})`);
    trustCommands(tooltip);
  }
}

const openSettings = 'workbench.action.openSettings';

const trustCommands = (tooltip: vscode.MarkdownString): void => {
  tooltip.isTrusted = { enabledCommands: [commands.doctor, commands.showBackupStatus, openSettings] };
};

const addOff = (tooltip: vscode.MarkdownString): void => {
  const setting = encodeURIComponent(JSON.stringify([`${section}.${settings.automatic}`]));
  tooltip.appendMarkdown('\n\nAutomatic checkpoints are off: only those that somebody asks for are made. ');
  tooltip.appendMarkdown(`[Change](command:${openSettings}?${setting})`);
  trustCommands(tooltip);
};
