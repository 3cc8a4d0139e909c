import * as vscode from 'vscode';
import { commands } from './ids';
import { recoveredText } from './restore-text';
import { showChanges } from './restore-run';
import type { Root } from './root';
import type { Workspaces } from './workspaces';

/** Files may have changed without anybody's asking: what became of a restore that had died is said, once, with the ways on. */
export class Recovery {
  private readonly told = new WeakSet<Root>();

  constructor(private readonly workspaces: Workspaces) {}

  async tell(): Promise<void> {
    for (const root of this.workspaces.current) {
      const { recovered } = root;
      // A fork that is missing has its own message, which tells of the files, too.
      if (recovered === null || recovered.forkMissing === true || this.told.has(root)) continue;
      this.told.add(root);
      const finished = recovered.outcome === 'finished';
      const buttons = finished ? ['Undo', 'Show Changes'] : recovered.target === null ? [] : ['Restore Again'];
      const answer = await vscode.window.showWarningMessage(recoveredText(recovered), ...buttons);
      if (answer === 'Undo') await vscode.commands.executeCommand(commands.undo, root);
      if (answer === 'Show Changes') await showChanges(root, recovered.safety);
      if (answer === 'Restore Again' && recovered.target !== null) {
        const checkpoint = await root.api.resolve(recovered.target);
        await vscode.commands.executeCommand(commands.restore, { root, checkpoint });
      }
    }
  }
}
