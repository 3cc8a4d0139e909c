import * as vscode from 'vscode';
import type { BackupStatus, BackupTrouble } from '../backup/api';
import { isTrouble, problemText } from './backup-text';
import { commands, section, settings } from './ids';

export interface Watched {
  readonly status: BackupStatus | null;
  readonly onDidChange: vscode.Event<void>;
  /** Somebody asked for a run and is told how it ends. */
  readonly isAsked: boolean;
}

/** A backup that fails unseen is none: said once for each kind of trouble, and again when it comes back after all was well. */
export class BackupWarning implements vscode.Disposable {
  private readonly told = new Set<BackupTrouble>();
  private readonly subscription: vscode.Disposable;

  constructor(private readonly backup: Watched) {
    this.subscription = backup.onDidChange(() => void this.look());
  }

  dispose(): void {
    this.subscription.dispose();
  }

  private async look(): Promise<void> {
    const { status, isAsked } = this.backup;
    if (status === null || status.state === 'running' || status.state === 'pending') return;
    const { problem } = status;
    if (problem === null) return this.told.clear();
    if (!isTrouble(status)) return;
    if (this.told.has(problem.trouble)) return;
    this.told.add(problem.trouble);
    if (isAsked) return;
    const show = 'Show Status';
    const other = 'Choose Another Folder';
    const answer = await vscode.window.showWarningMessage(
      `Sessions are not backed up. ${problemText(problem)}`,
      show,
      other,
    );
    if (answer === show) await vscode.commands.executeCommand(commands.showBackupStatus);
    if (answer === other)
      await vscode.commands.executeCommand('workbench.action.openSettings', `${section}.${settings.backupPath}`);
  }
}
