import { CheckpointsError } from '../core/errors';
import { checkDocument, portable, type StoredSession, type StoredSessions } from '../core/session-document';
import type { Checkpoint } from '../core/model';
import { fetchedSessionRefs, type Fetched } from './fetched';
import type { ObjectReader } from './object-reader';
import type { PackWriter } from './pack-writer';
import { encodeCommit, parseCommit } from './records';
import type { Refs } from './refs';
import { formatTree, modes } from './tree-format';
import { Trees } from './trees';
import { isSessionId } from './untrusted-record';

/** The sessions of this workspace as they were pushed last. */
export const ownSessionRefs = 'refs/sessions/';

const maxMessages = 100_000;
const maxBytes = 512 << 20;

/**
 * A session as a commit: `info.json` and one file per message, so that a conversation that went on adds a few small objects. The
 * same session always becomes the same commit.
 */
export function addSession(writer: PackWriter, { generation, updatedAt, stamp, document }: StoredSession): string {
  const { info, messages } = portable(document);
  const blob = (value: unknown): string => writer.add('blob', Buffer.from(`${JSON.stringify(value)}\n`, 'utf8'));
  const file = (name: string, value: unknown) => ({ name, mode: modes.file, oid: blob(value) });
  const list = messages.map((message, i) => file(`${String(i).padStart(6, '0')}.json`, message));
  const folder = { name: 'messages', mode: modes.tree, oid: writer.add('tree', formatTree(list)) };
  const tree = writer.add('tree', formatTree([file('info.json', info), folder]));
  const facts = { session: info.id, generation, updatedAt, stamp, messages: messages.length };
  return writer.add('commit', encodeCommit(tree, `session ${info.id}\n\n${JSON.stringify(facts)}\n`, updatedAt));
}

export interface SessionFacts {
  session: string;
  generation: StoredSession['generation'];
  updatedAt: number;
  stamp: string;
}

/** null when the commit is no session of this id. */
export async function sessionFacts(
  reader: ObjectReader,
  commit: string,
  session: string,
): Promise<(SessionFacts & { tree: string }) | null> {
  const object = await reader.read(commit);
  if (object?.type !== 'commit' || object.data.length > 64 << 10) return null;
  const { tree, message } = parseCommit(object.data);
  let facts: Partial<SessionFacts>;
  try {
    facts = JSON.parse(message.split('\n')[2] ?? '') as Partial<SessionFacts>;
  } catch {
    return null; // not written by us
  }
  const { generation, updatedAt, stamp } = facts;
  if (facts.session !== session || (generation !== 'v1' && generation !== 'v2')) return null;
  const time = typeof updatedAt === 'number' && updatedAt >= 0 ? updatedAt : 0;
  return { session, generation, updatedAt: time, stamp: typeof stamp === 'string' ? stamp.slice(0, 64) : '', tree };
}

/** Throws `untrusted-tree` when it is not whole, or not a session. */
export async function readSession(reader: ObjectReader, commit: string, session: string): Promise<StoredSession> {
  const broken = (why: string): CheckpointsError =>
    new CheckpointsError('untrusted-tree', `The conversation of session ${session} cannot be used: ${why}.`);
  const facts = await sessionFacts(reader, commit, session);
  if (!facts) throw broken('it is not one');
  const trees = new Trees(reader, commit.length / 2);
  const top = await trees.entries(facts.tree);
  const info = top.find((entry) => entry.name === 'info.json');
  const folder = top.find((entry) => entry.name === 'messages');
  if (!info || folder?.mode !== modes.tree) throw broken('parts are missing');
  const files = await trees.entries(folder.oid);
  if (files.length > maxMessages) throw broken('it has too many messages');
  let bytes = 0;
  const parse = async (oid: string): Promise<unknown> => {
    const data = await reader.blob(oid);
    if ((bytes += data.length) > maxBytes) throw broken('it is too large');
    try {
      return JSON.parse(data.toString('utf8')) as unknown;
    } catch {
      throw broken('it is damaged');
    }
  };
  const messages: unknown[] = [];
  for (const file of files) messages.push(await parse(file.oid));
  const document = checkDocument({ info: await parse(info.oid), messages }, session);
  const { generation, updatedAt, stamp } = facts;
  return { generation, updatedAt, stamp, document };
}

/** The session that came with a fetched checkpoint, or was pushed with one of our own. */
export class SessionStore implements StoredSessions {
  constructor(
    private readonly refs: Refs,
    private readonly reader: ObjectReader,
    private readonly fetched: Fetched,
    private readonly isOwn: (id: string) => boolean,
  ) {}

  async read(checkpoint: Pick<Checkpoint, 'id' | 'session'>): Promise<StoredSession | null> {
    const session = checkpoint.session?.id;
    if (!isSessionId(session)) return null;
    const at = this.isOwn(checkpoint.id) ? null : this.fetched.find(checkpoint.id);
    const commit = this.refs.read(at ? `${fetchedSessionRefs}${at.origin}/${session}` : ownSessionRefs + session);
    return commit ? readSession(this.reader, commit, session) : null;
  }
}
