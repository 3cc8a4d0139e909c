import * as vscode from 'vscode';
import { CheckpointsError } from '../core/errors';
import { all, type Link } from '../core/lineage';
import { LineageReader } from '../core/lineage-reader';
import { sessionExists } from '../core/session-exists';
import { watchSessions } from '../core/session-watch';
import type { SessionEvent, SessionGateway, SessionInfo } from '../core/sessions';
import type { KnownSession } from '../protocol/rows';
import { explain } from './notifications';
import type { Root } from './root';
import { lookAgainAfter, ServerLook } from './server-look';
import type { Workspaces } from './workspaces';

/** Events of a working agent come by the dozen. */
const settle = 250;
/** Only the newest can be at work, and a question costs a request each. */
const askedForBusy = 5;
/** Old sessions whose fate is not worth more requests. */
const askedForMissing = 100;

/** What a server said; it outlives the connection, but for who is at work. */
interface Facts {
  sessions: Map<string, SessionInfo>;
  /** Where forks come from. */
  links: Map<string, Link>;
  busy: Set<string>;
  missing: Set<string>;
  /** Whether a session that is not listed really is gone; asked once each. */
  asked: Set<string>;
}

interface Followed extends Facts {
  controller: AbortController;
  gateway: SessionGateway;
  lineage: LineageReader;
  timer: NodeJS.Timeout | undefined;
  /** Events tell who begins; who is at work already has to be asked for. */
  askBusy: boolean;
}

/**
 * What a running OpenCode says of the sessions that checkpoints belong to: at work, gone, renamed, forked from. Nothing
 * is started for it, and nothing is asked before a view shows a session.
 */
export class SessionStates implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;
  private readonly followed = new Map<Root, Followed>();
  private readonly facts = new Map<Root, Facts>();
  private readonly problems = new Map<Root, string>();
  private readonly wanted = new Map<Root, ReadonlySet<string>>();
  /** Their server went away: it is looked for until it, or another one, is there. */
  private readonly lost = new Set<Root>();
  private readonly subscriptions: vscode.Disposable[];
  private readonly server: ServerLook;

  constructor(
    private readonly workspaces: Workspaces,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.server = new ServerLook(
      workspaces,
      () => this.lookNow(),
      (error) => log.warn(`no server was asked for its sessions: ${String(error)}`),
    );
    this.subscriptions = [this.changed, this.server];
  }

  /** What is known now of these sessions and of their forks; what is not comes with `onDidChange`. */
  of(root: Root, ids: ReadonlySet<string>): KnownSession[] {
    const before = this.wanted.get(root);
    this.wanted.set(root, ids);
    const followed = this.followed.get(root);
    // A server that the window starts for itself is one to ask, too.
    if (before === undefined) this.subscriptions.push(root.sessions.onDidConnect(() => this.server.now()));
    if (ids.size > (before?.size ?? 0) && followed === undefined) this.server.now();
    if (followed !== undefined && [...ids].some((id) => !followed.sessions.has(id) && !followed.asked.has(id)))
      this.readSoon(root, followed);
    const facts = this.facts.get(root);
    return facts === undefined ? [] : [...withForks(ids, facts)].flatMap((id) => known(id, facts));
  }

  /** Why the server cannot be asked; null when nothing is wrong. */
  problemOf(root: Root): string | null {
    return this.problems.get(root) ?? null;
  }

  /** Another server may be meant from now on. */
  lookAnew(): void {
    for (const root of [...this.followed.keys()]) this.unfollow(root);
    this.server.now();
  }

  dispose(): void {
    for (const root of [...this.followed.keys()]) this.unfollow(root);
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private async lookNow(): Promise<void> {
    const roots = this.workspaces.current;
    for (const root of [...this.wanted.keys()]) if (!roots.includes(root)) this.forget(root);
    for (const [root, ids] of this.wanted) {
      if (ids.size === 0 || this.followed.has(root)) continue;
      const gateway = await this.gatewayOf(root);
      if (gateway !== null && this.workspaces.current.includes(root)) this.follow(root, gateway);
    }
    if (this.problems.size + this.lost.size > 0) this.server.later(lookAgainAfter);
  }

  private async gatewayOf(root: Root): Promise<SessionGateway | null> {
    const before = this.problemOf(root);
    try {
      const gateway = await root.sessions.running();
      // One whose answers cannot be read is of no use: better said now than lost again every few seconds.
      await gateway?.list(root.api.root);
      this.problems.delete(root);
      return gateway;
    } catch (error) {
      // A server that was named must answer, and one that answers must be understood; that it does not is worth a word where sessions are shown.
      if (!CheckpointsError.is(error)) throw error;
      this.problems.set(root, explain(error));
      return null;
    } finally {
      if (before !== this.problemOf(root)) this.changed.fire();
    }
  }

  private follow(root: Root, gateway: SessionGateway): void {
    const controller = new AbortController();
    const facts: Facts = {
      sessions: this.facts.get(root)?.sessions ?? new Map(),
      missing: this.facts.get(root)?.missing ?? new Set(),
      links: this.facts.get(root)?.links ?? new Map(),
      busy: new Set(),
      // Another server may have what the last one had not.
      asked: new Set(),
    };
    const lineage = new LineageReader(gateway);
    const followed: Followed = { ...facts, controller, gateway, lineage, timer: undefined, askBusy: true };
    this.facts.set(root, facts);
    this.followed.set(root, followed);
    this.lost.delete(root);
    this.log.debug(`asking ${gateway.url} for the sessions of ${root.api.root}`);
    watchSessions(gateway, root.api.root, (event) => this.hear(root, followed, event), controller.signal)
      .catch((error: unknown) => this.log.warn(`the sessions of ${gateway.url} are not followed: ${String(error)}`))
      .finally(() => this.unfollow(root, followed));
  }

  private hear(root: Root, followed: Followed, event: SessionEvent): void {
    if (event.type === 'lost') {
      // Nobody knows what it does now. The next look finds it again, or another one.
      this.unfollow(root, followed);
      this.lost.add(root);
      this.server.later();
    } else if (event.type === 'busy' || event.type === 'prompt') this.setBusy(followed, event.session, true);
    else if (event.type === 'idle') this.setBusy(followed, event.session, false);
    else if (event.type === 'session' || event.type === 'connected' || event.type === 'gap') {
      if (event.type === 'session' && event.change === 'deleted') followed.asked.delete(event.session);
      this.readSoon(root, followed);
    }
  }

  private setBusy(followed: Followed, session: string, busy: boolean): void {
    if (followed.busy.has(session) === busy) return;
    if (busy) followed.busy.add(session);
    else followed.busy.delete(session);
    this.changed.fire();
  }

  private readSoon(root: Root, followed: Followed): void {
    followed.timer ??= setTimeout(() => {
      followed.timer = undefined;
      this.read(root, followed).catch((error: unknown) =>
        this.log.warn(`the sessions of ${root.api.root} could not be read: ${String(error)}`),
      );
    }, settle);
  }

  private async read(root: Root, followed: Followed): Promise<void> {
    const { gateway, sessions, links, asked, missing } = followed;
    const ids = this.wanted.get(root) ?? new Set<string>();
    const before = snapshot(followed);
    const list = await gateway.list(root.api.root);
    sessions.clear();
    for (const info of list) sessions.set(info.id, info);
    const nodes = all(await followed.lineage.of(list, true));
    links.clear();
    for (const { session, link } of nodes) if (link !== null) links.set(session.id, link);
    for (const id of [...missing]) if (sessions.has(id)) missing.delete(id);
    if (followed.askBusy)
      for (const { id } of list.filter((info) => ids.has(info.id)).slice(0, askedForBusy))
        if ((await gateway.busy(id)) === 'busy') followed.busy.add(id);
    followed.askBusy = false;
    const unknown = [...ids].filter((id) => !sessions.has(id) && !asked.has(id)).slice(0, askedForMissing);
    // The other generation's server may have what this one has not: that is not gone.
    const others = unknown.length === 0 ? [] : await othersBeside(root, gateway);
    for (const id of unknown) {
      asked.add(id);
      if (await onAny([gateway, ...others], id)) missing.delete(id);
      else missing.add(id);
    }
    if (!followed.controller.signal.aborted && snapshot(followed) !== before) this.changed.fire();
  }

  private unfollow(root: Root, only?: Followed): void {
    const followed = this.followed.get(root);
    if (followed === undefined || (only !== undefined && only !== followed)) return;
    this.followed.delete(root);
    clearTimeout(followed.timer);
    followed.controller.abort();
    followed.busy.clear();
    this.changed.fire();
  }

  private forget(root: Root): void {
    this.wanted.delete(root);
    this.lost.delete(root);
    this.problems.delete(root);
    this.facts.delete(root);
    this.unfollow(root);
  }
}

const othersBeside = async (root: Root, { url }: SessionGateway): Promise<SessionGateway[]> =>
  (await root.sessions.allRunning()).filter((other) => other.url !== url);

const onAny = async (gateways: readonly SessionGateway[], id: string): Promise<boolean> => {
  for (const gateway of gateways) if (await sessionExists(gateway, id)) return true;
  return false;
};

/** These, and what was forked from them: a fork is shown before it has a checkpoint of its own. */
const withForks = (ids: ReadonlySet<string>, { sessions, links }: Facts): Set<string> => {
  const found = new Set(ids);
  // Parents are older than their forks.
  for (const { id, archived } of [...sessions.values()].sort((a, b) => a.createdAt - b.createdAt)) {
    const link = links.get(id);
    if (link?.kind === 'fork' && found.has(link.origin) && !archived) found.add(id);
  }
  return found;
};

const known = (id: string, { sessions, links, busy, missing }: Facts): KnownSession[] => {
  const info = sessions.get(id);
  if (info === undefined) return missing.has(id) ? [{ id, state: 'deleted' }] : [];
  const link = links.get(id);
  const fork = link?.kind === 'fork' ? link : undefined;
  return [
    {
      id,
      title: info.title,
      parent: fork?.origin ?? null,
      forkedFrom: fork?.checkpoint ?? null,
      shared: fork?.count ?? null,
      createdAt: info.createdAt,
      ...(busy.has(id) ? { state: 'busy' as const } : {}),
    },
  ];
};

const snapshot = (facts: Facts): string =>
  JSON.stringify([...facts.sessions.keys(), ...facts.missing].flatMap((id) => known(id, facts)));
