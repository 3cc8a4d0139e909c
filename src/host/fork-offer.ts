import * as vscode from 'vscode';
import { commands } from './ids';
import { shortTitle, withoutLinks } from './labels';
import { showError } from './notifications';
import { withPatience } from './progress';
import type { Root } from './root';
import type { Workspaces } from './workspaces';

const fork = 'Fork Session';
const undo = 'Undo Restore';
const leave = 'Leave It';

/** A restore that died after its files: said when the folder is opened, with all the ways on. Closing the message leaves it for the next time. */
export class ForkOffer implements vscode.Disposable {
  private readonly offered = new WeakSet<Root>();
  private readonly subscription: vscode.Disposable;

  constructor(
    private readonly workspaces: Workspaces,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.subscription = workspaces.onDidChangeRoots(() => {
      for (const root of this.workspaces.current)
        this.offer(root).catch((error: unknown) => void showError(error, this.log));
    });
  }

  dispose(): void {
    this.subscription.dispose();
  }

  private async offer(root: Root): Promise<void> {
    if (this.offered.has(root) || !vscode.workspace.isTrusted) return;
    this.offered.add(root);
    const missing = await root.api.missingFork();
    if (missing === null) return;
    const title = shortTitle(missing.target);
    const files = missing.safety.restore?.scope.includes('files') === true;
    const answer = await vscode.window.showWarningMessage(
      `Restoring “${withoutLinks(title)}” was interrupted. ${files ? 'The files are restored, but the' : 'The'} conversation was not forked.`,
      fork,
      ...(files ? [undo] : []),
      leave,
    );
    if (answer === leave) root.api.forgetFork();
    if (answer === undo) await vscode.commands.executeCommand(commands.undo, root);
    if (answer !== fork) return;
    const session = await withPatience(`Forking at “${title}”`, () => root.api.finishFork());
    if (session !== null) await root.sessions.open(session.id, missing.target.title);
  }
}
