import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import type { Operation, WorkspaceEvent } from '../core/api';
import { CheckpointsError } from '../core/errors';
import { FolderRoots, type FailedFolder } from './folder-roots';
import type { OpenWorkspace } from './open';
import { Root } from './root';

export interface RootEvent {
  root: Root;
  event: WorkspaceEvent;
}

/**
 * The roots of the window. Each is opened when something first needs it, and once: two folders of one git
 * repository share a root. What could not be opened is kept with its folder and its reason.
 */
export class Workspaces implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<RootEvent>();
  private readonly operationChanged = new vscode.EventEmitter<void>();
  private readonly rootsChanged = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;
  readonly onDidChangeOperation = this.operationChanged.event;
  /** A root was opened, failed to open, or went away. */
  readonly onDidChangeRoots = this.rootsChanged.event;
  private readonly closed = new vscode.EventEmitter<Root>();
  /** A root is about to be closed: nothing can be asked of it any more. */
  readonly onDidClose = this.closed.event;

  private opening: Promise<Root[]> | undefined;
  private readonly folders: FolderRoots<vscode.WorkspaceFolder, Root>;
  private readonly subscriptions: vscode.Disposable[] = [];
  /** Opening and closing go one after the other. */
  private tail: Promise<unknown> = Promise.resolve();

  constructor(open: OpenWorkspace) {
    this.folders = new FolderRoots({
      key: ({ uri }) => uri.toString(),
      open: async (folder) => {
        const real = await realpath(folder.uri.fsPath);
        return new Root(await open(real), folder, real);
      },
      id: (root) => root.api.root,
      place: (root, folder) => root.place(folder),
      close: (root) => root.close(),
    });
    this.subscriptions.push(
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.update()),
      this.changed,
      this.operationChanged,
      this.rootsChanged,
      this.closed,
    );
  }

  /** Those that are open now, without waiting. */
  get current(): readonly Root[] {
    return this.folders.roots;
  }

  /** The folders that could not be opened, and why. */
  get failed(): ReadonlyArray<FailedFolder<vscode.WorkspaceFolder, CheckpointsError>> {
    return this.folders.failed.map(({ folder, error }) => ({ folder, error: asCheckpointsError(error) }));
  }

  get failures(): readonly CheckpointsError[] {
    return this.failed.map(({ error }) => error);
  }

  get operation(): Operation | null {
    return this.current.map((root) => root.api.operation).find((operation) => operation !== null) ?? null;
  }

  all(): Promise<Root[]> {
    if (this.opening !== undefined) return this.opening;
    const opening = this.inTurn(() => this.openAll());
    // One that could not be closed must not keep the others from being used.
    opening.catch(() => {
      if (this.opening === opening) this.opening = undefined;
    });
    this.opening = opening;
    return opening;
  }

  async forUri(uri: vscode.Uri): Promise<Root | undefined> {
    const roots = (await this.all()).filter((root) => root.toRelative(uri) !== undefined);
    // A root inside another one: the nearer owns the file.
    return roots.sort((a, b) => b.api.root.length - a.api.root.length)[0];
  }

  /** Why the folder that a file lies in could not be opened; undefined when it could. */
  failureFor(uri: vscode.Uri): CheckpointsError | undefined {
    const own = vscode.workspace.getWorkspaceFolder(uri)?.uri.toString();
    return this.failed.find(({ folder }) => folder.uri.toString() === own)?.error;
  }

  /** Folders came or went, or what could not be opened may be there by now. What is open and stays is not touched. */
  async update(): Promise<void> {
    this.opening = undefined;
    await this.all();
  }

  /** Opens everything anew: the store moved, or more is allowed now. */
  async reopen(): Promise<void> {
    await this.close();
    this.rootsChanged.fire();
  }

  /**
   * A store that was deleted while the window was open: what is remembered of it would be taken for what it holds, and everything would fail. Only when
   * somebody asks for something: a drive that is away for a moment must not get an empty one. Answers whether there was such a store.
   */
  async renew(): Promise<boolean> {
    const gone = this.current.filter(({ api }) => !existsSync(join(api.folder, 'workspace.json')));
    if (gone.length > 0) await this.reopen();
    return gone.length > 0;
  }

  /** VS Code waits for deactivate: the index is written and locks are given back there. */
  async close(): Promise<void> {
    this.opening = undefined;
    await this.inTurn(() => this.retire(this.folders.clear()));
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private async openAll(): Promise<Root[]> {
    const folders = vscode.workspace.workspaceFolders ?? [];
    const before = this.current;
    const gone = await this.folders.match(folders.filter(({ uri }) => uri.scheme === 'file'));
    for (const root of this.current) if (!before.includes(root)) this.listen(root);
    this.rootsChanged.fire();
    await this.retire(gone);
    return this.folders.roots;
  }

  private async retire(roots: readonly Root[]): Promise<void> {
    for (const root of roots) this.closed.fire(root);
    await Promise.all(roots.map((root) => root.close()));
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.tail.then(work, work);
    this.tail = done;
    return done;
  }

  private listen(root: Root): void {
    root.api.onDidChange((event) => this.changed.fire({ root, event }));
    root.api.onDidChangeOperation(() => this.operationChanged.fire());
  }
}

export const asCheckpointsError = (error: unknown): CheckpointsError =>
  error instanceof CheckpointsError
    ? error
    : new CheckpointsError('store-broken', error instanceof Error ? error.message : String(error), { cause: error });
