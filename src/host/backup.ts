import * as vscode from 'vscode';
import type { BackupApi, BackupStatus } from '../backup/api';
import { loadConfig, storeHome } from '../core/config';
import { noFolder } from './notifications';
import type { Root } from './root';
import { ServerLook } from './server-look';
import type { Workspaces } from './workspaces';

/**
 * The session backup of this window. One server has the sessions of all folders, so one root speaks for the window. Runs by itself from the events of
 * a server that runs anyway, once a destination is set; the plugin may do the same, and a lock in the backup lets only one of them work.
 */
export class Backup implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  /** The status is another one. */
  readonly onDidChange = this.changed.event;
  private open: { root: Root; api: Promise<BackupApi> } | undefined;
  private following: AbortController | undefined;
  private readonly server: ServerLook;
  private readonly subscriptions: vscode.Disposable[];
  private last: BackupStatus | null = null;
  private asked = 0;

  constructor(
    private readonly workspaces: Workspaces,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.server = new ServerLook(
      workspaces,
      () => this.lookNow(),
      (error) => log.warn(`the backup follows no server: ${String(error)}`),
    );
    this.subscriptions = [this.changed, this.server];
  }

  /** As it was last seen; null before anybody looked. */
  get status(): BackupStatus | null {
    return this.last;
  }

  /** Somebody asked for a run and is told how it ends. */
  get isAsked(): boolean {
    return this.asked > 0;
  }

  /** For what somebody asked for. */
  async answering<T>(work: () => Promise<T>): Promise<T> {
    this.asked += 1;
    try {
      return await work();
    } finally {
      this.asked -= 1;
    }
  }

  /** Whether the events of a server are heard now. */
  get isFollowing(): boolean {
    return this.following !== undefined;
  }

  async api(): Promise<BackupApi> {
    const [root] = await this.workspaces.all();
    if (root === undefined) throw this.workspaces.failures[0] ?? noFolder();
    if (this.open?.root !== root) {
      // At once, so that whoever asks meanwhile gets the same one.
      const closed = this.close();
      this.open = { root, api: closed.then(() => this.load(root)) };
    }
    return this.open.api;
  }

  async root(): Promise<Root> {
    await this.api();
    if (this.open === undefined) throw noFolder();
    return this.open.root;
  }

  /** A setting changed, or a folder came or went. */
  look(): void {
    this.server.now();
  }

  /** Another server may be meant from now on. */
  lookAnew(): void {
    this.unfollow();
    this.look();
  }

  /** VS Code waits for deactivate: a run under way is finished there, and no timer is left. */
  async close(): Promise<void> {
    this.unfollow();
    const { open } = this;
    this.open = undefined;
    if (open !== undefined) await (await open.api).close();
  }

  dispose(): void {
    this.unfollow();
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private async load(root: Root): Promise<BackupApi> {
    const { BackupService } = await import('../backup/service');
    const api = new BackupService({
      root: root.api.root,
      home: storeHome(),
      config: () => loadConfig(root.api.root, root.api.folder).config,
      gateway: () => root.sessions.gateway(),
      log: (line) => this.log.info(`backup: ${line}`),
    });
    api.onDidChangeStatus((status) => {
      this.last = status;
      this.changed.fire();
    });
    return api;
  }

  private async lookNow(): Promise<void> {
    const [root] = this.workspaces.current;
    if (root === undefined || !vscode.workspace.isTrusted) return this.unfollow();
    const api = await this.api();
    this.last = await api.status();
    this.changed.fire();
    if (this.last.state === 'off') return this.unfollow();
    if (this.following !== undefined) return;
    const gateway = await root.sessions.running();
    if (gateway === null || this.open?.root !== root) return;
    const controller = new AbortController();
    this.following = controller;
    this.log.info(`sessions of ${gateway.url} are backed up to ${this.last.path ?? ''}`);
    gateway
      .events((event) => {
        api.noticed(event);
        // The next look finds the server again, or another one.
        if (event.type === 'lost') this.lostServer(controller);
      }, controller.signal)
      .catch((error: unknown) => this.log.warn(`following the server for the backup ended: ${String(error)}`))
      .finally(() => {
        if (this.following === controller) this.following = undefined;
      });
  }

  private lostServer(controller: AbortController): void {
    controller.abort();
    this.server.later();
  }

  private unfollow(): void {
    this.following?.abort();
    this.following = undefined;
  }
}
