import { anchorAtCount } from '../core/anchors';
import { CheckpointsError } from '../core/errors';
import type { ImportedCheckpoint } from '../core/imported';
import type { SessionAnchor } from '../core/model';
import type { SessionGateway, SessionInfo, SessionMessage } from '../core/sessions';
import type { Found } from './model';

type Known = { info: SessionInfo; messages: SessionMessage[] } | null;

/**
 * A count of messages becomes a message, as long as its session is there. Without a server, or without the session, the count stays: a restore looks
 * again by then.
 */
export async function withAnchors(
  items: readonly ImportedCheckpoint[],
  needs: { gateway?: () => Promise<SessionGateway | null> },
  found: Found,
): Promise<ImportedCheckpoint[]> {
  const gateway = await needs.gateway?.();
  if (!gateway) return [...items];
  const sessions = new Map<string, Known>();
  const out: ImportedCheckpoint[] = [];
  for (const item of items) {
    if (!item.session) {
      out.push(item);
      continue;
    }
    const { id } = item.session;
    const known = sessions.has(id) ? (sessions.get(id) ?? null) : await lookUp(gateway, id);
    sessions.set(id, known);
    out.push({ ...item, session: anchorIn(known, item, item.session, found) });
  }
  return out;
}

async function lookUp(gateway: SessionGateway, session: string): Promise<Known> {
  try {
    return { info: await gateway.get(session), messages: await gateway.messages(session) };
  } catch (error) {
    if (CheckpointsError.is(error, 'session-missing')) return null;
    throw error;
  }
}

function anchorIn(known: Known, item: ImportedCheckpoint, anchor: SessionAnchor, found: Found): SessionAnchor {
  if (known === null) return anchor;
  const exact = anchorAtCount(known.info, known.messages, anchor.messageCount);
  if (exact) return exact;
  found.problems.push({
    item: item.name ?? item.key,
    message: `Session ${anchor.id} has fewer than the ${anchor.messageCount} messages it had then: its conversation cannot be restored from it.`,
  });
  return { ...anchor, title: known.info.title };
}
