import * as vscode from 'vscode';
import { anchorBefore, anchorNow } from '../core/anchors';
import type { CreateOptions } from '../core/api';
import { atRest } from '../core/at-rest';
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
  /** Since when nothing is heard of their server: it is looked for until it, or another one, is there. */
  private readonly lost = new Map<Root, number>();
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
    for (const root of [...this.lost.keys()]) if (!roots.includes(root)) this.lost.delete(root);
    for (const root of roots) {
      try {
        await this.lookFor(root);
      } catch (error) {
        // A server that was named and is silent, or died while it was asked: it may come back.
        this.log.warn(`no server is followed for ${root.api.root}: ${String(error)}`);
        if (!this.lost.has(root)) this.lost.set(root, Date.now());
      }
    }
    if (this.lost.size > 0) this.server.later(lookAgainAfter);
  }

  private async lookFor(root: Root): Promise<void> {
    const installed = (await this.plugin.stateOf(root)) !== 'absent';
    // Only where the file has come since can a server that is followed have loaded it.
    if (this.following.has(root) && !installed) return;
    const gateway = await root.sessions.runningWithoutPlugin(installed);
    if (gateway === null) {
      this.unfollow(root);
      // Where the plugin is, it makes the points, in whatever server comes next.
      if (installed) this.lost.delete(root);
    }
    // Asked again: the server may have taken its time, and the folder may be gone.
    else if (!this.following.has(root) && this.workspaces.current.includes(root)) this.follow(root, gateway);
    // It may only be slow to load it; from then on each point would be made twice.
    if (installed && this.following.has(root)) this.server.later(lookAgainAfter);
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
    const since = this.lost.get(root);
    this.lost.delete(root);
    this.changed.fire();
    this.log.info(`following the server at ${gateway.url} for ${root.api.root}: it has not loaded the plugin`);
    let heardAt = Date.now();
    gateway
      .events((event) => {
        if (event.type === 'connected' && since !== undefined) this.make(() => missedPoints(root, gateway, since));
        if (event.type === 'lost') this.lost.set(root, heardAt);
        else heardAt = Date.now();
        this.hear(root, gateway, event, controller);
      }, controller.signal)
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
    } else if (event.type === 'prompt' || event.type === 'idle') this.make(() => makePoint(root, gateway, event));
  }

  /** One after the other, in the order of the events. */
  private make(points: () => Promise<void>): void {
    this.tail = this.tail.then(async () => {
      try {
        await points();
      } catch (error) {
        this.log.warn(`a point from the server's events was not made: ${String(error)}`);
      }
    });
  }
}

/** Each costs the reading of a conversation; the newest come first. */
const caughtUp = 10;

/**
 * What ended while nobody listened: no server tells it again. How the files were before is lost; but what was changed then is the
 * agents', and not the user's who goes on now.
 */
const missedPoints = async (root: Root, gateway: SessionGateway, since: number): Promise<void> => {
  const sessions = (await gateway.list(root.api.root)).filter(({ parentId }) => parentId === null);
  for (const { id } of sessions.slice(0, caughtUp).reverse())
    if ((await gateway.busy(id)) === 'idle') await makePoint(root, gateway, { type: 'idle', session: id }, since);
};

const makePoint = async (
  root: Root,
  gateway: SessionGateway,
  event: Extract<SessionEvent, { type: 'prompt' | 'idle' }>,
  /** Only for a turn of its own, no copied one, that ended later than this. */
  endedAfter?: number,
): Promise<void> => {
  const trigger = event.type === 'prompt' ? 'turn' : 'idle';
  const { config } = loadConfig(root.api.root, root.api.folder);
  if (!isWanted(config.automatic, trigger)) return;
  const info = await gateway.get(event.session);
  // One server serves many folders; a sub-agent works for its parent's turn.
  if (info.parentId !== null || !isInside(root, info.directory)) return;
  const read = async () => ({ messages: await gateway.messages(event.session) });
  const { messages } = event.type === 'idle' ? await atRest(read) : await read();
  const turns = turnsOf(messages);
  const turn = event.type === 'prompt' ? turnAt(turns, event.messageId) : turns.at(-1);
  if (turn === null || turn === undefined) return;
  if (endedAfter !== undefined && ((turn.endedAt ?? 0) <= endedAfter || turn.startedAt < info.createdAt)) return;
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
