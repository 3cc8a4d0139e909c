import * as vscode from 'vscode';
import { pageScheme } from './ids';

/** Shows a text that somebody asked for once; `title` names its tab. */
export type ShowPage = (title: string, content: string) => Promise<void>;

const gone = 'This page was made for one look. Run its command again to see it anew.\n';

/**
 * Pages to read: statistics, what the doctor found. Readonly, so that nobody is asked to save them; they can be searched
 * and copied like any file.
 */
export class Pages implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly contents = new Map<string, string>();
  private readonly subscriptions: vscode.Disposable[];

  constructor() {
    this.subscriptions = [
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(pageScheme, this),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.contents.delete(uri.toString())),
    ];
  }

  /** The same title is the same page: it is brought up to date. */
  readonly show: ShowPage = async (title, content) => {
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(this.put(title, content)), {
      preview: true,
    });
  };

  /** For whoever shows it in a way of their own, beside another page for instance. */
  put(title: string, content: string): vscode.Uri {
    const name = title.replaceAll('/', '\u2215');
    const uri = vscode.Uri.from({ scheme: pageScheme, path: `/${name}.md` });
    this.contents.set(uri.toString(), content);
    this.changed.fire(uri);
    return uri;
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.contents.get(uri.toString()) ?? gone;
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions).dispose();
  }
}
