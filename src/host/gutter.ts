import * as vscode from 'vscode';
import type { WorkspaceEvent } from '../core/api';
import { CheckpointsError } from '../core/errors';
import type { Target } from './diff';
import { commands, contextKeys } from './ids';
import { momentTitle, withoutIcons } from './labels';
import { snapshotUri } from './uris';
import { workingKind } from './working-side';
import type { Workspaces } from './workspaces';

/**
 * The gutter's change bars against one chosen checkpoint. A source control entry adds rows to the SCM view, so it
 * exists only while the user compares.
 */
export class Gutter implements vscode.Disposable {
  private source: vscode.SourceControl | undefined;
  private chosen: Target | undefined;
  private item: vscode.StatusBarItem | undefined;
  private readonly subscription: vscode.Disposable;

  constructor(private readonly workspaces: Workspaces) {
    // Bars of a folder that was closed could not be drawn any more, and would say that they are.
    this.subscription = vscode.Disposable.from(
      workspaces.onDidClose((root) => {
        if (this.chosen?.root === root) void this.hide();
      }),
      workspaces.onDidChange(({ root, event }) => {
        if (this.chosen?.root === root && mayDelete.has(event.kind)) void this.hideIfGone(this.chosen);
      }),
    );
  }

  get target(): Target | undefined {
    return this.chosen;
  }

  async show(target: Target): Promise<void> {
    this.clear();
    this.chosen = target;
    const { root, checkpoint } = target;
    const label = `Checkpoint: ${momentTitle(checkpoint)}`;
    // With git's own root it comes before git in the inline change view: it is what was asked for just now.
    const source = vscode.scm.createSourceControl('opencodeCheckpoints', label, vscode.Uri.file(root.api.root));
    source.inputBox.visible = false;
    source.quickDiffProvider = {
      provideOriginalResource: async (uri) => {
        const path =
          uri.scheme === 'file' && (await this.workspaces.forUri(uri)) === root ? root.toRelative(uri) : undefined;
        if (path === undefined || (await root.api.stat(checkpoint.id, path))?.kind !== 'file') return undefined;
        // The editor shows what a link leads to, which is another file.
        if ((await workingKind(uri)) === 'link') return undefined;
        return snapshotUri(checkpoint.id, uri);
      },
    };
    this.source = source;
    this.item = statusItem(momentTitle(checkpoint, 24));
    await vscode.commands.executeCommand('setContext', contextKeys.gutter, true);
  }

  async hide(): Promise<void> {
    this.clear();
    this.chosen = undefined;
    await vscode.commands.executeCommand('setContext', contextKeys.gutter, false);
  }

  /** The checkpoint's side of a file, for the commands of the inline change view. */
  original(uri: vscode.Uri): vscode.Uri {
    if (this.chosen === undefined)
      throw new CheckpointsError(
        'invalid-argument',
        'Choose a checkpoint for the gutter first: “Show Changes in Gutter”.',
      );
    return snapshotUri(this.chosen.checkpoint.id, uri);
  }

  private async hideIfGone(target: Target): Promise<void> {
    try {
      await target.root.api.resolve(target.checkpoint.id);
    } catch (error) {
      // A store that cannot be read for a moment has lost nothing.
      if (CheckpointsError.is(error, 'unknown-reference') && this.chosen === target) await this.hide();
    }
  }

  dispose(): void {
    this.subscription.dispose();
    this.clear();
  }

  private clear(): void {
    this.source?.dispose();
    this.source = undefined;
    this.item?.dispose();
    this.item = undefined;
  }
}

/** After which the checkpoint of the gutter may be gone; another process says of what it did only that there was something. */
const mayDelete: ReadonlySet<WorkspaceEvent['kind']> = new Set(['deleted', 'pruned', 'external']);

/** Without a file open nothing else would tell that it is on, and nothing how to be rid of it. */
const statusItem = (title: string): vscode.StatusBarItem => {
  const item = vscode.window.createStatusBarItem('opencodeCheckpoints.gutter', vscode.StatusBarAlignment.Left, -1);
  item.name = 'Checkpoint in Gutter';
  item.text = `$(diff-single) ${withoutIcons(title)}`;
  item.tooltip = `The gutter of each editor shows what changed since this checkpoint: ${title}. Click to hide it again.`;
  item.command = commands.stopGutter;
  item.show();
  return item;
};
