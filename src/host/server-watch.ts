import * as vscode from 'vscode';
import { anchorBefore, anchorNow } from '../core/anchors';
import type { CreateOptions } from '../core/api';
import { loadConfig } from '../core/config';
import type { SessionEvent, SessionGateway } from '../core/sessions';
import { isWanted } from '../core/triggers';
import { turnAt, turnInfo, turnsOf } from '../core/turns';
import type { Plugin } from './plugin';
import type { Root } from './root';
import { lookAgainAfter, ServerLook } from './server-look';
import type { Workspaces } from './workspaces';

/**
 * Points without the plugin: from the events of a server that runs anyway. They may be late, since nobody waits for
 * them; the timeline says so. Nothing is started for it, and where the server has loaded the plugin nothing is done.
 */
export class ServerWatch implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  /** A server is followed, or not any more, or for another reason. */
  readonly onDidChange = this.changed.event;
  private readonly following = new Map<Root, AbortController>();
  private readonly subscriptions: vscode.Disposable[];
  private readonly server: ServerLook;
  private tail: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly workspaces: Workspaces,
    private readonly plugin: Plugin,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.server = new ServerLook(
      workspaces,
      () => this.lookNow(),
      (error) => log.warn(`no server is followed: ${String(error)}`),
    );
    const installed = plugin.onDidInstall(() => {
      this.changed.fire();
      this.server.now();
    });
    this.subscriptions = [this.changed, this.server, installed];
  }

  /** Roots whose points come this way now. */
  get active(): readonly Root[] {
    return [...this.following.keys()];
  }

  /** Another server may be meant from now on. */
  lookAnew(): void {
    for (const root of this.active) this.unfollow(root);
    this.server.now();
  }

  dispose(): void {
    for (const controller of this.following.values()) controller.abort();
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private async lookNow(): Promise<void> {
    const roots = vscode.workspace.isTrusted ? this.workspaces.current : [];
    for (const root of this.active) if (!roots.includes(root)) this.unfollow(root);
    for (const root of roots) {
      const installed = (await this.plugin.stateOf(root)) !== 'absent';
      // Only where the file has come since can a server that is followed have loaded it.
      if (this.following.has(root) && !installed) continue;
      const gateway = await root.sessions.runningWithoutPlugin();
      if (gateway === null) this.unfollow(root);
      // Asked again: the server may have taken its time, and the folder may be gone.
      else if (!this.following.has(root) && this.workspaces.current.includes(root)) this.follow(root, gateway);
      // It may only be slow to load it; from then on each point would be made twice.
      if (installed && this.following.has(root)) this.server.later(lookAgainAfter);
    }
  }

  private unfollow(root: Root): void {
    const controller = this.following.get(root);
    if (controller === undefined) return;
    this.following.delete(root);
    controller.abort();
    this.changed.fire();
  }

  private follow(root: Root, gateway: SessionGateway): void {
    const controller = new AbortController();
    this.following.set(root, controller);
    this.changed.fire();
    this.log.info(`following the server at ${gateway.url} for ${root.api.root}: it has not loaded the plugin`);
    gateway
      .events((event) => this.hear(root, gateway, event, controller), controller.signal)
      .catch((error: unknown) => this.log.warn(`following the server ended: ${String(error)}`))
      .finally(() => {
        if (this.following.get(root) !== controller) return;
        this.following.delete(root);
        this.changed.fire();
      });
  }

  private hear(root: Root, gateway: SessionGateway, event: SessionEvent, controller: AbortController): void {
    if (event.type === 'lost') {
      // The next look finds the server again, or another one.
      controller.abort();
      this.server.later();
      return;
    }
    if (event.type !== 'prompt' && event.type !== 'idle') return;
    this.tail = this.tail.then(async () => {
      try {
        await makePoint(root, gateway, event);
      } catch (error) {
        this.log.warn(`a point from the server's events was not made: ${String(error)}`);
      }
    });
  }
}

const makePoint = async (
  root: Root,
  gateway: SessionGateway,
  event: Extract<SessionEvent, { type: 'prompt' | 'idle' }>,
): Promise<void> => {
  const trigger = event.type === 'prompt' ? 'turn' : 'idle';
  const { config } = loadConfig(root.api.root, root.api.folder);
  if (!isWanted(config.automatic, trigger)) return;
  const info = await gateway.get(event.session);
  // One server serves many folders; a sub-agent works for its parent's turn.
  if (info.parentId !== null || !isInside(root, info.directory)) return;
  const messages = await gateway.messages(event.session);
  const turns = turnsOf(messages);
  const turn = event.type === 'prompt' ? turnAt(turns, event.messageId) : turns.at(-1);
  if (turn === null || turn === undefined) return;
  const point: CreateOptions = {
    trigger,
    session: event.type === 'prompt' ? anchorBefore(info, messages, event.messageId) : anchorNow(info, messages),
    turn: turnInfo(turn),
    metadata: { late: true },
  };
  await root.api.create({ ...point, automatic: true });
};

const isInside = (root: Root, directory: string): boolean =>
  directory === root.api.root || root.toRelative(vscode.Uri.file(directory)) !== undefined;
