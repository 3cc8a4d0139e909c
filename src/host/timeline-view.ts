import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import type { CheckpointId } from '../core/model';
import { connectTimeline, type TimelineBackend, type TimelineConnection } from '../protocol/connect';
import { timelineHtml } from '../protocol/timeline-html';
import { views } from './ids';

const panelType = 'opencodeCheckpoints.timelineEditor';

/** The timeline page as a view of the side bar or panel, and as an editor. */
export class TimelineView implements vscode.WebviewViewProvider, vscode.WebviewPanelSerializer, vscode.Disposable {
  private readonly subscriptions: vscode.Disposable[];
  private panel: vscode.WebviewPanel | undefined;
  private view: vscode.WebviewView | undefined;
  /** What is selected in the view. */
  private looked: { workspace: string; id: CheckpointId } | undefined;
  private readonly connections = new Map<vscode.Webview, TimelineConnection>();

  constructor(
    private readonly extension: vscode.Uri,
    private readonly backend: TimelineBackend,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.subscriptions = [
      vscode.window.registerWebviewViewProvider(views.timeline, this),
      vscode.window.registerWebviewPanelSerializer(panelType, this),
    ];
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    const disconnect = this.connect(view.webview, 'view');
    view.onDidDispose(() => {
      disconnect();
      if (this.view === view) this.view = undefined;
    });
  }

  /** After a reload VS Code hands the editor back. */
  async deserializeWebviewPanel(panel: vscode.WebviewPanel): Promise<void> {
    this.adopt(panel);
  }

  openEditor(): void {
    if (this.panel !== undefined) return this.panel.reveal();
    const panel = vscode.window.createWebviewPanel(panelType, 'Checkpoints Timeline', vscode.ViewColumn.Active, {});
    panel.iconPath = vscode.Uri.joinPath(this.extension, 'media', 'timeline.svg');
    this.adopt(panel);
    // Who leaves a narrow view for more room goes on where they were.
    if (this.view?.visible === true && this.looked !== undefined)
      this.connections.get(panel.webview)?.reveal(this.looked.workspace, this.looked.id);
  }

  /** In the timeline that is on the screen, else in the editor. */
  reveal(workspace: string, id: CheckpointId): void {
    const inView = this.view?.visible === true && this.panel?.visible !== true;
    if (!inView) this.openEditor();
    const webview = inView ? this.view?.webview : this.panel?.webview;
    if (webview !== undefined) this.connections.get(webview)?.reveal(workspace, id);
  }

  /** Wherever a timeline is on the screen; none is opened for it. */
  revealSession(workspace: string, session: string): void {
    for (const shown of [this.view, this.panel])
      if (shown?.visible === true) this.connections.get(shown.webview)?.revealSession(workspace, session);
  }

  dispose(): void {
    this.panel?.dispose();
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private adopt(panel: vscode.WebviewPanel): void {
    this.panel = panel;
    const disconnect = this.connect(panel.webview, 'editor');
    panel.onDidDispose(() => {
      disconnect();
      if (this.panel === panel) this.panel = undefined;
    });
  }

  private connect(webview: vscode.Webview, placement: 'view' | 'editor'): () => void {
    const dist = vscode.Uri.joinPath(this.extension, 'dist');
    const address = (...path: string[]): string => webview.asWebviewUri(vscode.Uri.joinPath(dist, ...path)).toString();
    webview.options = { enableScripts: true, localResourceRoots: [dist] };
    const connection = connectTimeline(
      {
        post: (message) => void webview.postMessage(message),
        listen: (listener) => {
          const subscription = webview.onDidReceiveMessage(listener);
          return () => subscription.dispose();
        },
      },
      this.backend,
      {
        onLook: (workspace, id) => {
          if (placement === 'view' && workspace !== null) this.looked = { workspace, id };
        },
        onError: (method, error) => {
          // What an action failed of is logged where it is shown.
          if (method !== 'act') this.log.error(`timeline ${method}: ${String(error)}`);
        },
      },
    );
    this.connections.set(webview, connection);
    webview.html = timelineHtml({
      cspSource: webview.cspSource,
      nonce: randomBytes(16).toString('base64url'),
      scriptUri: address('timeline.js'),
      styleUri: address('timeline.css'),
      codiconUri: address('codicons', 'codicon.css'),
      placement,
    });
    return () => {
      this.connections.delete(webview);
      connection.dispose();
    };
  }
}
