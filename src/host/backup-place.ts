import { homedir } from 'node:os';
import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { BackupStatus } from '../backup/api';
import { CheckpointsError } from '../core/errors';
import { section, settings } from './ids';

/** Asks where the backup shall be: folders of cloud clients that are there, or any other one. Sets it for this machine. */
export const chooseBackupFolder = async (status: BackupStatus): Promise<string | undefined> => {
  const path = await askFolder('Back Up Sessions: where to?', 'Back Up Here', status.suggestions);
  if (path === undefined) return undefined;
  if (vscode.workspace.getWorkspaceFolder(vscode.Uri.file(path)) !== undefined)
    throw new CheckpointsError(
      'invalid-argument',
      'A backup inside the folder that you work in goes when that goes, and would be a part of every checkpoint. Choose one outside of it.',
    );
  await vscode.workspace.getConfiguration(section).update(settings.backupPath, path, vscode.ConfigurationTarget.Global);
  return path;
};

/** A backup to restore from, also one of another machine or of an older OpenCode: nothing is set by that. */
export const chooseBackupToRead = ({ suggestions }: BackupStatus): Promise<string | undefined> =>
  askFolder('Restore Sessions: where from?', 'Restore from Here', suggestions);

const askFolder = async (
  title: string,
  openLabel: string,
  suggestions: readonly string[],
): Promise<string | undefined> => {
  const other = { label: '$(folder) Choose a Folder…', path: undefined };
  const items = [
    ...suggestions.map((path) => ({ label: `$(cloud) ${basename(path)}`, description: path, path })),
    other,
  ];
  const chosen =
    suggestions.length === 0
      ? other
      : await vscode.window.showQuickPick(items, {
          title,
          placeHolder: 'A folder that another program takes off this machine makes the best backup',
          ignoreFocusOut: true,
        });
  if (chosen === undefined || chosen.path !== undefined) return chosen?.path;
  const [folder] =
    (await vscode.window.showOpenDialog({
      title,
      openLabel,
      canSelectFolders: true,
      canSelectFiles: false,
      defaultUri: vscode.Uri.file(homedir()),
    })) ?? [];
  return folder?.fsPath;
};
