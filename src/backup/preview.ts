import { CheckpointsError } from '../core/errors';
import type { ListedSession, SessionGateway } from '../core/sessions';
import type { BackedUpSession, SessionState } from './api';
import type { Catalog, CatalogSession, LoadedVersion } from './catalog';
import { compareDocuments } from './compare';

/** The newest version that is whole, and which of them that is; null when none is. */
export async function newestWhole(
  catalog: Catalog,
  session: CatalogSession,
): Promise<{ loaded: LoadedVersion; index: number } | null> {
  for (const [index, version] of session.versions.entries()) {
    const loaded = await catalog.load(session, version);
    if (typeof loaded !== 'string') return { loaded, index };
    version.damaged = true;
  }
  return null;
}

/** How each session of a backup stands to the server's. Conversations are read only where the list does not tell. */
export class Comparison {
  private constructor(
    private readonly catalog: Catalog,
    private readonly gateway: SessionGateway,
    private readonly machine: string,
    private readonly listed: ReadonlyMap<string, ListedSession>,
  ) {}

  static async open(catalog: Catalog, gateway: SessionGateway, machine: string): Promise<Comparison> {
    const listed = await gateway.listAll();
    return new Comparison(catalog, gateway, machine, new Map(listed.map((one) => [one.session.id, one])));
  }

  async stateOf(session: CatalogSession): Promise<SessionState> {
    const there = this.listed.get(session.id);
    if (!there) return 'new';
    const [newest] = session.versions;
    if (newest?.machine === this.machine && session.stamps.get(this.machine) === there.stamp) return 'same';
    const whole = await newestWhole(this.catalog, session);
    if (!whole) return 'different';
    try {
      return compareDocuments(whole.loaded.document, await this.gateway.exportSession(session.id));
    } catch (error) {
      if (CheckpointsError.is(error, 'session-missing')) return 'new';
      throw error;
    }
  }

  async describe(session: CatalogSession): Promise<BackedUpSession> {
    const { stamps: _stamps, ...facts } = session;
    return { ...facts, state: await this.stateOf(session), versions: session.versions };
  }
}
