import { homedir } from 'node:os';
import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { BackupStatus } from '../backup/api';
import { CheckpointsError } from '../core/errors';
import { section, settings } from './ids';

/** Asks where the backup shall be: folders of cloud clients that are there, or any other one. Sets it for this machine. */
export const chooseBackupFolder = async (status: BackupStatus): Promise<string | undefined> => {
  const other = { label: '$(folder) Choose a Folder…', path: undefined };
  const items = [
    ...status.suggestions.map((path) => ({
      label: `$(cloud) ${basename(path)}`,
      description: path,
      path,
    })),
    other,
  ];
  const chosen =
    items.length === 1
      ? other
      : await vscode.window.showQuickPick(items, {
          title: 'Back Up Sessions: where to?',
          placeHolder: 'A folder that another program takes off this machine makes the best backup',
          ignoreFocusOut: true,
        });
  if (chosen === undefined) return undefined;
  const path = chosen.path ?? (await openFolder());
  if (path === undefined) return undefined;
  if (vscode.workspace.getWorkspaceFolder(vscode.Uri.file(path)) !== undefined)
    throw new CheckpointsError(
      'invalid-argument',
      'A backup inside the folder that you work in goes when that goes, and would be a part of every checkpoint. Choose one outside of it.',
    );
  await vscode.workspace.getConfiguration(section).update(settings.backupPath, path, vscode.ConfigurationTarget.Global);
  return path;
};

const openFolder = async (): Promise<string | undefined> => {
  const [folder] =
    (await vscode.window.showOpenDialog({
      canSelectFolders: true,
      canSelectFiles: false,
      defaultUri: vscode.Uri.file(homedir()),
      openLabel: 'Back Up Here',
      title: 'Back Up Sessions: where to?',
    })) ?? [];
  return folder?.fsPath;
};
