import * as vscode from 'vscode';
import type { RestorePlan, RestoreScope } from '../core/model';
import type { Target } from './diff';
import { commands, contextKeys, views } from './ids';
import { PlanChoice, type FilesNow } from './plan-choice';
import type { FileChooser } from './restore-flow';
import { workingSide } from './working-side';

interface Open {
  choice: PlanChoice;
  done(paths: string[] | undefined): void;
}

/** "Restore Plan": every file that a restore would touch, with a tick. It is there only while the user chooses. */
export class PlanView implements FileChooser, vscode.Disposable {
  private readonly subscriptions: vscode.Disposable[];
  private open: Open | undefined;

  constructor() {
    this.subscriptions = [
      vscode.commands.registerCommand(commands.applyPlan, () => this.close(this.open?.choice.paths)),
      vscode.commands.registerCommand(commands.cancelPlan, () => this.close(undefined)),
      vscode.commands.registerCommand(commands.reviewPlan, () => this.open?.choice.review()),
    ];
  }

  async choose(target: Target, plan: RestorePlan, scope: readonly RestoreScope[]): Promise<string[] | undefined> {
    await this.cancel();
    const choice = new PlanChoice(target, plan, await filesNow(target, plan), scope);
    const chosen = new Promise<string[] | undefined>((done) => (this.open = { choice, done }));
    await vscode.commands.executeCommand('setContext', contextKeys.planning, true);
    await vscode.commands.executeCommand(`${views.plan}.focus`);
    return chosen;
  }

  async cancel(): Promise<void> {
    if (this.open !== undefined) await this.close(undefined);
  }

  dispose(): void {
    this.open?.choice.dispose();
    this.open?.done(undefined);
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private async close(paths: string[] | undefined): Promise<void> {
    const { open } = this;
    this.open = undefined;
    await vscode.commands.executeCommand('setContext', contextKeys.planning, false);
    open?.choice.dispose();
    // The tree takes the place of the plan, and the keyboard with it.
    if (open !== undefined) await vscode.commands.executeCommand(`${views.tree}.focus`);
    open?.done(paths);
  }
}

export const filesNow = async ({ root, checkpoint }: Target, plan: RestorePlan): Promise<FilesNow> => {
  const { changes } = await root.api.diff(checkpoint.id);
  // Seen from the checkpoint, what is "deleted" now does not exist now.
  const gone = new Set(
    changes.flatMap((change) => (change.status === 'deleted' ? [change.path] : (change.from ?? []))),
  );
  const made = changes.filter(({ status }) => status === 'added' || status === 'renamed').map(({ path }) => path);
  const paths = plan.entries.map((entry) => entry.path).filter((path) => !gone.has(path));
  const shown = new Map(
    await Promise.all(
      paths.map(async (path): Promise<[string, vscode.Uri]> => {
        const file = root.toUri(path);
        return [path, (await workingSide(file)) ?? file];
      }),
    ),
  );
  return { shown, made: new Set(made) };
};
