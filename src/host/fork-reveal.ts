import type * as vscode from 'vscode';
import type { TimelineView } from './timeline-view';
import type { CheckpointTree } from './tree';
import type { TreeNode } from './tree-nodes';
import type { RootEvent, Workspaces } from './workspaces';

/** Where a restore made a new session, the views that are on the screen go there: it is what one works in from now on. */
export class ForkReveal implements vscode.Disposable {
  private readonly subscription: vscode.Disposable;

  constructor(
    workspaces: Workspaces,
    private readonly tree: CheckpointTree,
    private readonly treeView: vscode.TreeView<TreeNode>,
    private readonly timeline: Pick<TimelineView, 'revealSession'>,
    log: vscode.LogOutputChannel,
  ) {
    this.subscription = workspaces.onDidChange((event) => {
      this.restored(event).catch((error: unknown) => log.warn(`the new session was not shown: ${String(error)}`));
    });
  }

  dispose(): void {
    this.subscription.dispose();
  }

  private async restored({ root, event }: RootEvent): Promise<void> {
    const safety = event.kind === 'restored' ? event.ids.at(-1) : undefined;
    if (safety === undefined) return;
    const session = (await root.api.resolve(safety)).restore?.session;
    if (!session) return;
    this.timeline.revealSession(root.api.root, session);
    if (!this.treeView.visible) return;
    await this.tree.refresh();
    const node = await this.tree.findSession(session);
    if (node !== undefined) await this.treeView.reveal(node, { select: true, focus: false });
  }
}
