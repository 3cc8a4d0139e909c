import { messageIdOf, type StoredSession, type StoredSessions } from '../core/session-document';
import { Catalog, type CatalogSession } from './catalog';
import { factsOf } from './document';
import { BackupFolder } from './folder';

interface Wanted {
  id: string;
  session: { id: string; messageId?: string | null } | null;
}

/** Conversations that OpenCode does not have any more: what came with the checkpoints, else the backup. */
export class BackedUpConversations implements StoredSessions {
  constructor(
    private readonly first: StoredSessions,
    /** The backup's folder; null when backup is off. */
    private readonly destination: () => string | null,
  ) {}

  async read(checkpoint: Wanted): Promise<StoredSession | null> {
    const stored = await this.first.read(checkpoint);
    if (stored && has(stored, checkpoint.session?.messageId)) return stored;
    return (await this.fromBackup(checkpoint)) ?? stored;
  }

  private async fromBackup({ session }: Wanted): Promise<StoredSession | null> {
    const path = session && this.destination();
    const folder = path ? await BackupFolder.look(path) : null;
    if (!session || !folder) return null;
    const catalog = await Catalog.open(folder);
    const found = catalog.sessions.get(session.id);
    return found ? newestWith(catalog, found, session.messageId) : null;
  }
}

/** A session that was cut back since is there in its older versions. */
async function newestWith(
  catalog: Catalog,
  session: CatalogSession,
  messageId: string | null | undefined,
): Promise<StoredSession | null> {
  for (const version of session.versions) {
    const loaded = await catalog.load(session, version);
    if (typeof loaded === 'string') continue;
    const { document } = loaded;
    const { generation, updatedAt } = factsOf(document);
    // What a list said of it is known to the manifest alone; nothing is compared with this one.
    const stored = { generation, updatedAt, stamp: '', document };
    if (has(stored, messageId)) return stored;
  }
  return null;
}

function has({ document }: StoredSession, messageId: string | null | undefined): boolean {
  return !messageId || document.messages.some((message) => messageIdOf(message) === messageId);
}
