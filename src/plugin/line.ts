import { CheckpointsError } from '../core/errors';
import { all, knownLink, type Link, type SessionNode } from '../core/lineage';
import { LineageReader } from '../core/lineage-reader';
import type { Checkpoint } from '../core/model';
import { parseReference, resolveReference } from '../core/references';
import type { SessionGateway } from '../core/sessions';
import type { Toolbox } from './tool-spec';

/** The session a person speaks to and those it was forked from, each with the most messages that it shares with this one. */
export async function lineOf(box: Toolbox, session: string): Promise<Map<string, number>> {
  const root = await box.sessions.rootOf(session);
  const line = new Map([session, root].map((id) => [id, Infinity]));
  try {
    const { workspace } = await box.companion.open();
    const links = new Links(await box.companion.sessions(), workspace.root);
    let shared = Infinity;
    for (let link = await links.of(root); link && !line.has(link.origin); link = await links.of(link.origin)) {
      shared = Math.min(shared, link.count ?? Infinity);
      line.set(link.origin, shared);
    }
  } catch (error) {
    box.reporter.failed('The sessions this one comes from are not known', error);
  }
  return line;
}

/** Where sessions come from: asked one by one, for an origin may be of another project; the folder's sessions only where nothing says it. */
class Links {
  private nodes: SessionNode[] | null = null;

  constructor(
    private readonly gateway: SessionGateway,
    private readonly root: string,
  ) {}

  async of(session: string): Promise<Link | null> {
    try {
      const known = knownLink(await this.gateway.get(session));
      if (known) return known;
    } catch (error) {
      // Deleted: where it came from went with it.
      if (CheckpointsError.is(error, 'session-missing')) return null;
      throw error;
    }
    this.nodes ??= all(await new LineageReader(this.gateway).read(this.root));
    return this.nodes.find((node) => node.session.id === session)?.link ?? null;
  }
}

/** `latest` is counted within the conversation, and what people made outside of any: what other sessions did meanwhile is not meant. */
export async function resolveHere(box: Toolbox, session: string, reference: string): Promise<Checkpoint> {
  const { workspace } = await box.companion.open();
  if (parseReference(reference).kind !== 'latest') return workspace.resolve(reference);
  const line = await lineOf(box, session);
  const here = ({ session: anchor }: Checkpoint): boolean =>
    anchor === null || anchor.messageCount <= (line.get(anchor.id) ?? -1);
  return resolveReference(reference, (await workspace.list()).filter(here));
}
