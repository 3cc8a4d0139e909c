import { anchorNow, counted } from './anchors';
import { unlessCancelled } from './cancelling';
import { discard } from './discard';
import { CheckpointsError } from './errors';
import { adoptFork, forkAt, locateAnchor, type ForkOutcome, type ForkRequest } from './fork';
import { originOf } from './lineage';
import type { Checkpoint, ConversationPlan, RestoreResult, SessionAnchor } from './model';
import { sessionExists } from './session-exists';
import { Patience } from './patience';
import { messageIdOf, stampOf, type StoredSession, type StoredSessions } from './session-document';
import { isNote, notePrefix, type SessionGateway, type SessionInfo, type SessionMessage } from './sessions';
import { asSentence } from './text';
import { forkTitle } from './titles';
import { promptTakenBack } from './turns';

/** What a restore does with the conversation; a host that has no way to OpenCode has none. */
export interface ConversationPort {
  /** Throws when the checkpoint's messages are nowhere any more. */
  plan(target: Checkpoint): Promise<ConversationPlan>;
  /** Throws `session-busy` while the server works on it; never for the `exempt` one, whose own agent goes back. */
  refuseBusy(target: Checkpoint, exempt?: string): Promise<void>;
  /** The same for files, of these sessions and of all in this folder, where a server runs anyway: none is started for it, and one that does not answer forbids nothing. Whether all answered in time. */
  refuseAtWork(sessions: readonly string[], exempt?: string): Promise<boolean>;
  /** All that belongs to the session by now; null when no running server can tell: none is started for it. */
  anchorNow(session: string): Promise<SessionAnchor | null>;
  /** Those of these sessions that a running server works on; empty where none can be asked. */
  atWork(sessions: readonly string[]): Promise<ReadonlySet<string>>;
  /** The last step of a restore: it leaves the original session alone, and either the whole fork is there or none. */
  fork(target: Checkpoint, done: RestoredFiles | null, signal?: AbortSignal): Promise<NewSession>;
  /** A fork of a restore that died: the one it had made already, since `since`, else a new one. */
  resumeFork(target: Checkpoint, since: number, done: RestoredFiles | null): Promise<{ id: string }>;
  /** A session to be kept or sent elsewhere; null when it surely is as it was with this stamp. Throws `session-missing`. */
  exportSession(session: string, stamp: string | null): Promise<StoredSession | null>;
}

/** A fork that was made for a restore, with what there is to say about it. */
export interface NewSession extends Pick<RestoreResult, 'prompt' | 'todosLost'> {
  id: string;
}

/** What happened to the files before the conversation was forked; null when they were left out. */
export interface RestoredFiles {
  restored: readonly string[];
  deleted: readonly string[];
}

const namedPaths = 20;
/** A session that somebody may be working in is read again whatever its stamp says. */
const settledMs = 60 * 60_000;

/** Files do not wait longer for a server that hangs: who is at work in this folder is known at once where it is. */
const patienceMs = 5000;

export class GatewayConversation implements ConversationPort {
  private readonly patience: Patience;

  constructor(
    private readonly directory: string,
    private readonly gateway: () => Promise<SessionGateway>,
    /** Sessions that OpenCode does not have (yet, or any more). */
    private readonly stored: StoredSessions | null = null,
    /** Servers that run already, the one in use first: where none is named there may be one of each generation. */
    private readonly running: () => Promise<SessionGateway[]> = () => Promise.resolve([]),
    waitMs = patienceMs,
  ) {
    this.patience = new Patience(waitMs);
  }

  async plan(target: Checkpoint): Promise<ConversationPlan> {
    const anchor = anchorOf(target);
    const { gateway, place, missing } = await this.look(target);
    if (place) {
      const { session, point, messages } = place;
      // What is not finished is left out, unless the checkpoint was made in it.
      const unfinished = point.before !== null && (await gateway.busy(session)) === 'unfinished';
      const found = { session, messageCount: point.count, currentCount: counted(messages).length };
      return unfinished ? { ...found, unfinished } : found;
    }
    // It is brought in by the restore itself; whether that will work is known before.
    await this.storedFor(target, gateway, missing);
    return { session: anchor.id, messageCount: anchor.messageCount, currentCount: null };
  }

  /** Where the checkpoint's messages are: on the server in use, unless only another one that runs has them. */
  private async look(target: Checkpoint): Promise<Look> {
    const gateway = await this.gateway();
    const first = await lookOn(gateway, this.request(target));
    if (first.place) return first;
    const asked = [gateway];
    for (const other of await this.running()) {
      if (other.url === gateway.url) continue;
      const [there] = await orNothing(lookOn(other, this.request(target)).then((found) => [found]));
      if (there?.place) return there;
      asked.push(other);
    }
    return { ...first, missing: nowhere(first.missing, asked) };
  }

  private request(target: Checkpoint): Pick<ForkRequest, 'anchor' | 'at' | 'byCount' | 'directory'> {
    return {
      anchor: anchorOf(target),
      at: Date.parse(target.createdAt),
      byCount: target.trigger === 'import',
      directory: this.directory,
    };
  }

  /** The session that came with the checkpoint and has its messages; throws `missing`, which says that OpenCode has not, when there is none. */
  private async storedFor(
    target: Checkpoint,
    gateway: SessionGateway,
    missing: CheckpointsError,
  ): Promise<StoredSession> {
    const found = await this.stored?.read(target);
    if (!found) throw missing;
    if (found.generation !== gateway.generation)
      throw new CheckpointsError(
        'not-supported',
        `The conversation was held in OpenCode ${found.generation.slice(1)}; OpenCode ${gateway.generation.slice(1)} cannot go on with it.`,
      );
    const { messageId } = anchorOf(target);
    if (messageId !== null && !found.document.messages.some((message) => messageIdOf(message) === messageId))
      throw missing;
    return found;
  }

  async exportSession(session: string, stamp: string | null): Promise<StoredSession | null> {
    const gateway = await this.having(session);
    const info = await gateway.get(session);
    const now = stampOf(info);
    if (now === stamp && Date.now() - info.updatedAt > settledMs) return null;
    const document = await gateway.exportSession(session);
    return { generation: gateway.generation, updatedAt: info.updatedAt, stamp: now, document };
  }

  /** The one in use, unless only another one that runs has the session. */
  private async having(session: string): Promise<SessionGateway> {
    const gateway = await this.gateway();
    if (await sessionExists(gateway, session)) return gateway;
    const others = (await orNothing(this.running())).filter(({ url }) => url !== gateway.url);
    const found = others.map((other) => orNothing(sessionExists(other, session).then((yes) => (yes ? [other] : []))));
    return (await Promise.all(found)).flat()[0] ?? gateway;
  }

  async refuseBusy(target: Checkpoint, exempt?: string): Promise<void> {
    const { id } = anchorOf(target);
    const gateway = await this.gateway();
    const others = (await orNothing(this.running())).filter(({ url }) => url !== gateway.url);
    const busy = await Promise.all([busyOn(gateway, id), ...others.map((other) => orNothing(busyOn(other, id)))]);
    if (busy.flat().length > 0) refuse([id], exempt);
  }

  async refuseAtWork(sessions: readonly string[], exempt?: string): Promise<boolean> {
    const asked = [
      this.ofRunning((gateway) => busyAmong(gateway, sessions)),
      this.ofRunning((gateway) => gateway.working(this.directory)),
    ];
    const answers = await Promise.all(asked);
    refuse([...new Set(answers.flatMap(({ found }) => found))], exempt);
    return answers.every(({ isWhole }) => isWhole);
  }

  async anchorNow(session: string): Promise<SessionAnchor | null> {
    const [having] = (await this.ofRunning((gateway) => wholeOf(gateway, session))).found;
    return having ? anchorNow(having.info, having.messages) : null;
  }

  async atWork(sessions: readonly string[]): Promise<ReadonlySet<string>> {
    if (sessions.length === 0) return new Set();
    return new Set((await this.ofRunning((gateway) => busyAmong(gateway, sessions))).found);
  }

  /** What the servers that run say, each as far as it answers in time. */
  private async ofRunning<T>(
    ask: (gateway: SessionGateway) => Promise<T[]>,
  ): Promise<{ found: T[]; isWhole: boolean }> {
    const gateways = await this.patience.inTime('', orNothing(this.running()));
    const answers = (gateways ?? []).map((one) => this.patience.inTime(one.url, orNothing(ask(one))));
    const found = await Promise.all(answers);
    return { found: found.flatMap((one) => one ?? []), isWhole: gateways !== null && !found.includes(null) };
  }

  async fork(target: Checkpoint, done: RestoredFiles | null, signal?: AbortSignal): Promise<NewSession> {
    const { gateway, place, missing } = await unlessCancelled(this.look(target), signal);
    const about = { title: forkTitle(target), checkpoint: target.id, note: restoreNote(target, done), signal };
    const request = { ...this.request(target), ...about };
    if (place) return newSession(target, await forkAt(gateway, request));
    const anchor = await this.bringIn(target, gateway, await this.storedFor(target, gateway, missing));
    try {
      return newSession(target, await forkAt(gateway, { ...request, anchor }));
    } catch (reason) {
      return discard((id) => gateway.remove(id), anchor.id, reason);
    }
  }

  async resumeFork(target: Checkpoint, since: number, done: RestoredFiles | null): Promise<{ id: string }> {
    const { gateway, place } = await this.look(target);
    const made = (await gateway.list(this.directory)).find(
      (info) => originOf(info)?.checkpoint === target.id && info.createdAt >= since,
    );
    if (!made && place) {
      const about = { title: forkTitle(target), checkpoint: target.id, note: restoreNote(target, done) };
      const begun = await adoptFork(gateway, { ...this.request(target), ...about }, since);
      if (begun) return begun.session;
    }
    if (!made) return this.fork(target, done);
    // It died before it had told the agent, or after: to be told twice is better than not at all.
    if (!(await gateway.messages(made.id)).some(isNote)) await gateway.note(made.id, restoreNote(target, done));
    return { id: made.id };
  }

  /** Under its own ids where they are free, else as a copy, in which the messages have other ids but the same order. */
  private async bringIn(target: Checkpoint, gateway: SessionGateway, stored: StoredSession): Promise<SessionAnchor> {
    const { document } = stored;
    const anchor = anchorOf(target);
    const into = { directory: this.directory };
    try {
      await gateway.importSession(document, into);
      return anchor;
    } catch (error) {
      if (!CheckpointsError.is(error, 'conflict')) throw error;
    }
    const copy = await gateway.importSession(document, { ...into, copy: true });
    const at = document.messages.findIndex((message) => messageIdOf(message) === anchor.messageId);
    const messageId = at < 0 ? null : ((await gateway.messages(copy.id))[at]?.id ?? null);
    return { ...anchor, id: copy.id, messageId };
  }
}

type Place = Awaited<ReturnType<typeof locateAnchor>>;

type Look =
  | { gateway: SessionGateway; place: Place; missing?: undefined }
  | { gateway: SessionGateway; place: null; missing: CheckpointsError };

async function lookOn(gateway: SessionGateway, request: Parameters<typeof locateAnchor>[1]): Promise<Look> {
  try {
    return { gateway, place: await locateAnchor(gateway, request) };
  } catch (error) {
    if (CheckpointsError.is(error, 'session-missing') || CheckpointsError.is(error, 'message-missing'))
      return { gateway, place: null, missing: error };
    throw error;
  }
}

/** Which servers were asked: the right one may not be among them. */
function nowhere(error: CheckpointsError, asked: readonly SessionGateway[]): CheckpointsError {
  const { reason, message, details } = error;
  const names = asked.map(({ version, url }) => `OpenCode ${version} at ${url}`).join(' and ');
  return new CheckpointsError(reason, `${asSentence(message)} Asked: ${names}.`, { cause: error, details });
}

function newSession(target: Checkpoint, { session, rest, todos }: ForkOutcome): NewSession {
  const prompt = promptTakenBack(target, rest);
  return {
    id: session.id,
    ...(prompt === null ? {} : { prompt }),
    ...(todos.lost > 0 ? { todosLost: todos.lost } : {}),
  };
}

/** Nothing where the server does not have it. */
async function wholeOf(
  gateway: SessionGateway,
  session: string,
): Promise<Array<{ info: SessionInfo; messages: SessionMessage[] }>> {
  try {
    const [info, messages] = await Promise.all([gateway.get(session), gateway.messages(session)]);
    return [{ info, messages }];
  } catch (error) {
    if (CheckpointsError.is(error, 'session-missing')) return [];
    throw error;
  }
}

/** Whoever cannot be asked forbids nothing and knows nothing: files can be restored without any OpenCode. An agent at work is an answer. */
async function orNothing<T>(answer: Promise<T[]>): Promise<T[]> {
  try {
    return await answer;
  } catch (error) {
    if (!CheckpointsError.is(error) || CheckpointsError.is(error, 'session-busy')) throw error;
    return [];
  }
}

const busyAmong = async (gateway: SessionGateway, sessions: readonly string[]): Promise<string[]> =>
  (await Promise.all(sessions.map((id) => orNothing(busyOn(gateway, id))))).flat();

/** The session, if this server works on it. */
async function busyOn(gateway: SessionGateway, id: string): Promise<string[]> {
  try {
    return (await gateway.busy(id)) === 'busy' ? [id] : [];
  } catch (error) {
    // A session that is gone is not at work; a fork of it may still have the messages.
    if (CheckpointsError.is(error, 'session-missing')) return [];
    throw error;
  }
}

function refuse(atWork: readonly string[], exempt?: string): void {
  const busy = atWork.filter((id) => id !== exempt);
  if (busy.length === 0) return;
  const message = busy.length === 1 ? `Session ${busy[0]} is at work` : `Sessions ${busy.join(', ')} are at work`;
  throw new CheckpointsError('session-busy', message, { details: { session: busy[0], sessions: busy } });
}

function anchorOf(target: Checkpoint): SessionAnchor {
  if (target.session) return target.session;
  throw new CheckpointsError('no-conversation', `The checkpoint "${target.title}" has no conversation.`);
}

/** What the agent is told, since its memory of the files may be of another time. */
function restoreNote(target: Pick<Checkpoint, 'title' | 'id' | 'trigger'>, done: RestoredFiles | null): string {
  // A prompt that was taken back must not be read as what is to be done.
  const to =
    target.trigger === 'turn'
      ? `the checkpoint before the prompt "${target.title}" (${target.id})`
      : `the checkpoint "${target.title}" (${target.id})`;
  if (!done)
    return `${notePrefix} This conversation was taken back to ${to}. The files were left as they are: read them again.`;
  const lines = [...done.restored.map((path) => `- ${path}`), ...done.deleted.map((path) => `- ${path} (deleted)`)];
  const rest = lines.length - namedPaths;
  const list = [...lines.slice(0, namedPaths), ...(rest > 0 ? [`- and ${rest} more`] : [])];
  const what =
    lines.length === 0 ? 'No file had to be changed for it.' : `These files were restored:\n${list.join('\n')}`;
  return `${notePrefix} Files and conversation were taken back to ${to}. ${what}`;
}
