import { realpath } from 'node:fs/promises';
import * as vscode from 'vscode';
import type { Operation, WorkspaceEvent } from '../core/api';
import { CheckpointsError } from '../core/errors';
import type { OpenWorkspace } from './open';
import { Root } from './root';

export interface RootEvent {
  root: Root;
  event: WorkspaceEvent;
}

/**
 * The roots of the window. Each is opened when something first needs it, and once: two folders of one git
 * repository share a root. What could not be opened is kept with its reason, for the welcome views.
 */
export class Workspaces implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<RootEvent>();
  private readonly operationChanged = new vscode.EventEmitter<void>();
  private readonly rootsChanged = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;
  readonly onDidChangeOperation = this.operationChanged.event;
  /** A root was opened, failed to open, or went away. */
  readonly onDidChangeRoots = this.rootsChanged.event;

  private opening: Promise<Root[]> | undefined;
  private opened: Root[] = [];
  private problems: CheckpointsError[] = [];
  private readonly subscriptions: vscode.Disposable[] = [];
  private closing: Promise<unknown> = Promise.resolve();

  constructor(private readonly open: OpenWorkspace) {
    this.subscriptions.push(
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.reopen()),
      this.changed,
      this.operationChanged,
      this.rootsChanged,
    );
  }

  /** Those that are open now, without waiting. */
  get current(): readonly Root[] {
    return this.opened;
  }

  get failures(): readonly CheckpointsError[] {
    return this.problems;
  }

  get operation(): Operation | null {
    return this.opened.map((root) => root.api.operation).find((operation) => operation !== null) ?? null;
  }

  all(): Promise<Root[]> {
    this.opening ??= this.openAll();
    return this.opening;
  }

  async forUri(uri: vscode.Uri): Promise<Root | undefined> {
    const roots = (await this.all()).filter((root) => root.toRelative(uri) !== undefined);
    // A root inside another one: the nearer owns the file.
    return roots.sort((a, b) => b.api.root.length - a.api.root.length)[0];
  }

  /** Opens everything anew: folders came or went, or the store moved. */
  async reopen(): Promise<void> {
    await this.closeAll();
    this.rootsChanged.fire();
  }

  /** VS Code waits for deactivate: the index is written and locks are given back there. */
  async close(): Promise<void> {
    await this.closeAll();
    await this.closing;
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private async openAll(): Promise<Root[]> {
    const roots: Root[] = [];
    const problems: CheckpointsError[] = [];
    await this.closing;
    for (const folder of vscode.workspace.workspaceFolders ?? []) {
      if (folder.uri.scheme !== 'file') continue;
      try {
        const real = await realpath(folder.uri.fsPath);
        const root = new Root(await this.open(real), folder, real);
        if (roots.some((other) => other.api.root === root.api.root)) await root.close();
        else roots.push(this.listen(root));
      } catch (error) {
        problems.push(asCheckpointsError(error));
      }
    }
    this.opened = roots;
    this.problems = problems;
    this.rootsChanged.fire();
    return roots;
  }

  private listen(root: Root): Root {
    root.api.onDidChange((event) => this.changed.fire({ root, event }));
    root.api.onDidChangeOperation(() => this.operationChanged.fire());
    return root;
  }

  private async closeAll(): Promise<void> {
    const before = this.opening;
    this.opening = undefined;
    if (before === undefined) return;
    this.closing = before.then((roots) => Promise.all(roots.map((root) => root.close())));
    await this.closing;
    this.opened = [];
  }
}

export const asCheckpointsError = (error: unknown): CheckpointsError =>
  error instanceof CheckpointsError
    ? error
    : new CheckpointsError('store-broken', error instanceof Error ? error.message : String(error), { cause: error });
