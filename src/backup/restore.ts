import { CheckpointsError } from '../core/errors';
import { newSessionId } from '../core/session-ids';
import type { ImportOptions, SessionGateway, SessionInfo } from '../core/sessions';
import type { RestoredSession, RestoreRequest, SessionRestoreReport, SessionState } from './api';
import type { Catalog, CatalogSession, LoadedVersion } from './catalog';
import { isPartOf, withDescendants } from './compare';
import { messageIds } from './document';
import type { LocalState } from './local-state';
import { Comparison, newestWhole } from './preview';
import { messageOf } from './trouble';

export interface RestoreContext {
  catalog: Catalog;
  gateway: SessionGateway;
  machine: string;
  state: LocalState;
  /** Its project takes the sessions. */
  directory: string;
  request: RestoreRequest;
  progress: (done: number, total: number) => void;
}

/**
 * Sessions of a backup onto the server. Nothing that is there is changed: a session that the server has is left alone, or comes in beside it under new
 * ids. Each one is read back and compared.
 */
export async function restoreSessions(context: RestoreContext): Promise<SessionRestoreReport> {
  const started = Date.now();
  const { catalog, gateway, request, progress } = context;
  const chosen = choose(catalog, request);
  const comparison = await Comparison.open(catalog, gateway, context.machine);
  const report: SessionRestoreReport = {
    path: catalog.folder.path,
    restored: [],
    skipped: [],
    failed: [],
    durationMs: 0,
  };
  const one = new OneRestore(context);
  for (const [index, session] of chosen.entries()) {
    progress(index, chosen.length);
    if (request.signal?.aborted)
      throw new CheckpointsError('cancelled', 'Cancelled', { details: { restored: report.restored.length } });
    try {
      const state = await one.stateOf(session, comparison);
      const why = refusal(session, state, request);
      if (why === null) report.restored.push(await one.restore(session, state));
      else report.skipped.push({ id: session.id, state, reason: why });
    } catch (error) {
      if (CheckpointsError.is(error, 'server-unreachable')) throw error;
      report.failed.push({ id: session.id, message: messageOf(error) });
    }
  }
  progress(chosen.length, chosen.length);
  report.durationMs = Date.now() - started;
  return report;
}

function choose(catalog: Catalog, { sessions, project }: RestoreRequest): CatalogSession[] {
  const unknown = (sessions ?? []).filter((id) => !catalog.sessions.has(id));
  if (unknown.length > 0)
    throw new CheckpointsError('session-missing', `Not in the backup: ${unknown.join(', ')}`, {
      details: { sessions: unknown },
    });
  const all = [...catalog.sessions.values()].filter((one) => sessions !== undefined || !one.deleted);
  const ids =
    sessions ?? all.filter(({ projectId }) => project === undefined || projectId === project).map(({ id }) => id);
  return withDescendants(catalog.sessions, ids);
}

function refusal(session: CatalogSession, state: SessionState, request: RestoreRequest): string | null {
  if (state === 'new') return null;
  if (request.existing !== 'copy') return 'The server has this session; it was left as it is';
  const named = request.sessions?.includes(session.id) === true;
  return state === 'same' && !named ? 'The server has exactly this' : null;
}

class OneRestore {
  /** Of sessions that came in under other ids: ties to them follow. */
  private readonly ids = new Map<string, string>();
  /** The session that an earlier restore left in part. */
  private torn: string | null = null;

  constructor(private readonly context: RestoreContext) {}

  /** A session whose import was cut off is there in part, and counts as not there. */
  async stateOf(session: CatalogSession, comparison: Comparison): Promise<SessionState> {
    const { state, gateway, catalog } = this.context;
    const { restoring } = await state.read();
    const compared = await comparison.stateOf(session);
    if (restoring?.id !== session.id) return compared;
    if (compared === 'same') await state.update({ restoring: null });
    if (compared === 'new' || compared === 'same') return compared;
    const whole = await newestWhole(catalog, session);
    const isTorn = whole !== null && isPartOf(await gateway.exportSession(session.id), whole.loaded.document);
    if (isTorn) this.torn = session.id;
    return isTorn ? 'new' : compared;
  }

  async restore(session: CatalogSession, state: SessionState): Promise<RestoredSession> {
    const { loaded, file, olderVersion } = await this.version(session);
    const copy = state !== 'new';
    if (copy) this.ids.set(session.id, newSessionId());
    const made = await this.bringIn(session, loaded, copy);
    if (made.id !== session.id) {
      this.ids.set(session.id, made.id);
      await this.context.gateway.update(made.id, { title: `${session.title ?? 'Untitled'} (from backup)` });
    }
    return {
      from: session.id,
      id: made.id,
      title: made.title,
      messages: loaded.document.messages.length,
      file,
      olderVersion,
      todos: await this.todos(made.id, loaded),
    };
  }

  private async version(
    session: CatalogSession,
  ): Promise<{ loaded: LoadedVersion; file: string; olderVersion: boolean }> {
    const { catalog, request } = this.context;
    const named = request.versions?.[session.id];
    if (named === undefined) {
      const whole = await newestWhole(catalog, session);
      const file = whole && session.versions[whole.index]?.file;
      if (!whole || !file)
        throw new CheckpointsError('backup-failed', `No version of session ${session.id} in the backup is whole`);
      return { loaded: whole.loaded, file, olderVersion: whole.index > 0 };
    }
    const index = session.versions.findIndex(({ file }) => file === named);
    const version = session.versions[index];
    if (!version)
      throw new CheckpointsError('unknown-reference', `There is no version ${named} of session ${session.id}`);
    const loaded = await catalog.load(session, version);
    if (typeof loaded === 'string') throw new CheckpointsError('backup-failed', `${named} is damaged (${loaded})`);
    return { loaded, file: named, olderVersion: index > 0 };
  }

  private async bringIn(session: CatalogSession, loaded: LoadedVersion, copy: boolean): Promise<SessionInfo> {
    const { state } = this.context;
    if (copy) return this.import(loaded, { copy: true });
    await state.update({ restoring: { id: session.id, sha256: loaded.sha256 } });
    let made: SessionInfo;
    try {
      made = await this.import(loaded, { resume: this.torn === session.id });
    } catch (error) {
      // The session's id is free, but some of its messages' ids are not: another copy of it is there.
      if (!CheckpointsError.is(error, 'server-failed') || (await this.isThere(session.id))) throw error;
      made = await this.import(loaded, { copy: true });
    }
    await state.update({ restoring: null });
    return made;
  }

  private async import(loaded: LoadedVersion, how: Pick<ImportOptions, 'copy' | 'resume'>): Promise<SessionInfo> {
    const { gateway, directory } = this.context;
    const { document } = loaded;
    const made = await gateway.importSession(document, { ...how, directory, ids: this.ids });
    const back = await gateway.exportSession(made.id);
    const [wanted, found] = [messageIds(document), messageIds(back)];
    if (wanted.length === found.length && (how.copy || wanted.every((id, at) => found[at] === id))) return made;
    await this.takeBack(made.id);
    throw new CheckpointsError(
      'server-failed',
      `OpenCode took ${found.length} of the ${wanted.length} messages of session ${document.info.id}`,
    );
  }

  /** OpenCode deletes a session's sub-agents with it: those of an earlier time must not go. */
  private async takeBack(id: string): Promise<void> {
    const { gateway } = this.context;
    const all = await gateway.listAll();
    if (!all.some(({ session }) => session.parentId === id)) await gateway.remove(id);
  }

  private async isThere(id: string): Promise<boolean> {
    return (await this.context.gateway.listAll()).some(({ session }) => session.id === id);
  }

  private async todos(id: string, { todos }: LoadedVersion): Promise<RestoredSession['todos']> {
    if (todos === null || todos.length === 0) return null;
    return (await this.context.gateway.writeTodos(id, todos)) ? 'restored' : 'not-restored';
  }
}
