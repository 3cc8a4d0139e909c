import { access, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as vscode from 'vscode';
import { storeHome } from '../core/config';

/**
 * Whether a folder of this window has checkpoints already: a few looks at the file system, no git and no store
 * opened. Activation after the start costs no more than this in every other window.
 */
export const hasStore = async (): Promise<boolean> => {
  const { workspaceFolder } = await import('../git/roots');
  const home = storeHome();
  for (const folder of vscode.workspace.workspaceFolders ?? []) {
    if (folder.uri.scheme !== 'file') continue;
    let at = await realpath(folder.uri.fsPath);
    for (;;) {
      if (await exists(join(workspaceFolder(home, at), 'workspace.json'))) return true;
      if (dirname(at) === at) break;
      at = dirname(at);
    }
  }
  return false;
};

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
