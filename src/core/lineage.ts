import type { SessionInfo, SessionMessage } from './sessions';

/** What we write into the metadata of a fork of ours. */
export interface ForkOrigin {
  /** The fork's own id: OpenCode copies metadata into forks of forks, where it is no longer true. */
  self: string;
  /** The session it was made from, and the last message it took from there (null for none). */
  session: string;
  message: string | null;
  count: number;
  checkpoint: string | null;
}

export const originKey = 'opencodeCheckpoints';

/** What our own metadata says about where a session comes from; null when it says nothing, or about another one. */
export function originOf(info: Pick<SessionInfo, 'id' | 'metadata'>): ForkOrigin | null {
  const origin = writtenOrigin(info);
  return origin?.self === info.id ? origin : null;
}

function writtenOrigin(info: Pick<SessionInfo, 'metadata'>): ForkOrigin | null {
  const origin = info.metadata[originKey] as Partial<ForkOrigin> | undefined;
  if (typeof origin?.self !== 'string' || typeof origin.session !== 'string') return null;
  return {
    self: origin.self,
    session: origin.session,
    message: origin.message ?? null,
    count: origin.count ?? 0,
    checkpoint: origin.checkpoint ?? null,
  };
}

export interface Link {
  kind: 'fork' | 'subagent';
  /** The session this one comes from. */
  origin: string;
  /** How many user and assistant messages both have; null when that is not known. */
  count: number | null;
  /** How it is known: OpenCode said so, we wrote it down, or the messages are the same. */
  by: 'opencode' | 'checkpoints' | 'comparison';
  checkpoint: string | null;
}

export interface SessionNode {
  session: SessionInfo;
  link: Link | null;
  children: SessionNode[];
}

/** A session's messages, only as good as needed to tell whether another session began as a copy of it. */
export type Fingerprint = readonly string[];

/** Forks get new ids, but keep the time of each message. */
export function fingerprint(messages: readonly SessionMessage[]): Fingerprint {
  return messages
    .filter((message) => message.role !== 'other')
    .map((message) => `${message.role}:${message.createdAt}:${message.text.length}`);
}

/** Sessions whose origin only a comparison of messages can tell, with those they may come from, likeliest first. */
export function suspects(sessions: readonly SessionInfo[]): Map<string, string[]> {
  const out = new Map<string, string[]>();
  for (const session of sessions) {
    if (session.parentId !== null || session.fork !== null || originOf(session) !== null) continue;
    const copiedFrom = writtenOrigin(session)?.self;
    const base = withoutForkNumber(session.title);
    if (copiedFrom === undefined && base === null) continue;
    const likely = (other: SessionInfo): number =>
      other.id === copiedFrom
        ? 0
        : base !== null && (other.title === base || withoutForkNumber(other.title) === base)
          ? 1
          : 2;
    const older = sessions
      .filter((other) => other.id !== session.id && other.createdAt < session.createdAt && other.parentId === null)
      .sort((a, b) => likely(a) - likely(b) || b.updatedAt - a.updatedAt);
    out.set(
      session.id,
      older.map((other) => other.id),
    );
  }
  return out;
}

/** OpenCode names a fork after its origin: "Title (fork #2)". */
function withoutForkNumber(title: string | null): string | null {
  const match = title === null ? null : /^(.*) \(fork #\d+\)$/s.exec(title);
  return match?.[1] ?? null;
}

/** Whether OpenCode itself made it out of that session, and nobody has said anything else of it. */
export function isBareFork(session: SessionInfo, origin: Pick<SessionInfo, 'id' | 'title'>): boolean {
  if (session.id === origin.id || session.parentId !== null || originOf(session) !== null) return false;
  if (session.fork !== null) return session.fork.session === origin.id;
  const base = withoutForkNumber(session.title);
  return base !== null && base === (withoutForkNumber(origin.title) ?? origin.title);
}

/** How many messages at the beginning of `later` are copies out of `earlier`. */
export function sharedMessages(earlier: Fingerprint, later: Fingerprint): number {
  let count = 0;
  while (count < later.length && later[count] === earlier[count]) count++;
  return count;
}

/** The tree of sessions; roots and children oldest first. */
export function lineage(
  sessions: readonly SessionInfo[],
  fingerprints: ReadonlyMap<string, Fingerprint> = new Map(),
): SessionNode[] {
  const candidates = suspects(sessions);
  const nodes = new Map<string, SessionNode>();
  for (const session of [...sessions].sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)))
    nodes.set(session.id, {
      session,
      link: knownLink(session) ?? comparedLink(session, candidates.get(session.id) ?? [], fingerprints),
      children: [],
    });
  const roots: SessionNode[] = [];
  for (const node of nodes.values()) {
    const origin = node.link && nodes.get(node.link.origin);
    if (origin && !comesFrom(nodes, origin, node)) origin.children.push(node);
    else roots.push(node);
  }
  return roots;
}

/** Metadata can be edited by hand: a session must not become its own ancestor. */
function comesFrom(nodes: ReadonlyMap<string, SessionNode>, node: SessionNode, ancestor: SessionNode): boolean {
  const seen = new Set<SessionNode>();
  for (
    let at: SessionNode | undefined = node;
    at && !seen.has(at);
    at = at.link ? nodes.get(at.link.origin) : undefined
  ) {
    if (at === ancestor) return true;
    seen.add(at);
  }
  return false;
}

/** What a session says itself about where it comes from. */
export function knownLink(session: SessionInfo): Link | null {
  if (session.parentId !== null)
    return { kind: 'subagent', origin: session.parentId, count: null, by: 'opencode', checkpoint: null };
  const ours = originOf(session);
  if (ours)
    return { kind: 'fork', origin: ours.session, count: ours.count, by: 'checkpoints', checkpoint: ours.checkpoint };
  if (session.fork)
    return { kind: 'fork', origin: session.fork.session, count: null, by: 'opencode', checkpoint: null };
  return null;
}

function comparedLink(
  session: SessionInfo,
  candidates: readonly string[],
  fingerprints: ReadonlyMap<string, Fingerprint>,
): Link | null {
  const own = fingerprints.get(session.id);
  if (!own) return null;
  let best: { origin: string; count: number } | null = null;
  for (const origin of candidates) {
    const other = fingerprints.get(origin);
    const count = other ? sharedMessages(other, own) : 0;
    if (count > (best?.count ?? 0)) best = { origin, count };
  }
  return best && { kind: 'fork', ...best, by: 'comparison', checkpoint: null };
}

/** The sessions a session comes from, nearest first: their checkpoints can be used from it. */
export function ancestors(roots: readonly SessionNode[], session: string): SessionNode[] {
  for (const root of roots) {
    if (root.session.id === session) return [];
    const below = ancestors(root.children, session);
    if (below.length > 0 || root.children.some((child) => child.session.id === session)) return [...below, root];
  }
  return [];
}

/** Forks of a session and their forks, nearest first; not its sub-agents. */
export function forksOf(roots: readonly SessionNode[], session: string): SessionNode[] {
  const start = find(roots, (node) => node.session.id === session);
  // A deleted session is in no tree, but its forks still name it.
  let level = start ? start.children : all(roots).filter((node) => node.link?.origin === session);
  const out: SessionNode[] = [];
  while (level.length > 0) {
    const forks = level.filter((node) => node.link?.kind === 'fork');
    out.push(...forks);
    level = forks.flatMap((node) => node.children);
  }
  return out;
}

/** Every session of a tree, ancestors first. */
export function all(roots: readonly SessionNode[]): SessionNode[] {
  return roots.flatMap((node) => [node, ...all(node.children)]);
}

function find(roots: readonly SessionNode[], test: (node: SessionNode) => boolean): SessionNode | undefined {
  return all(roots).find(test);
}
