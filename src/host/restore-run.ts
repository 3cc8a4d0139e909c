import * as vscode from 'vscode';
import type { Agreed } from '../core/agreed';
import type { RestoreOptions } from '../core/api';
import { CheckpointsError } from '../core/errors';
import type { Checkpoint, CheckpointId, RestoreResult } from '../core/model';
import { shorten } from '../core/text';
import { forkTitle } from '../core/titles';
import { compareWithWorking } from './diff';
import { commands } from './ids';
import { firstLine, plural } from './labels';
import { showError } from './notifications';
import type { ShowPage } from './pages';
import { withCancel, withPatience } from './progress';
import { resultPage, resultText, stillWorking, type Done } from './restore-text';
import type { Root } from './root';
import { listed } from './unsaved';

export interface RestoreJob {
  root: Root;
  /** What the progress says. */
  title: string;
  done: Done;
  /** What is restored, for what its session offers afterwards. */
  target?: Checkpoint;
  options: RestoreOptions;
  operation(options: RestoreOptions): Promise<RestoreResult>;
}

export interface RestoreTools {
  log: vscode.LogOutputChannel;
  show: ShowPage;
}

/** Runs a restore with progress and cancel, asks for what needs its own confirmation, and reports once. */
export const runRestore = async (job: RestoreJob, { log, show }: RestoreTools): Promise<boolean> => {
  const result = await attempt(job, {});
  if (result === undefined) return false;
  for (const [what, paths] of [
    ['kept', result.kept],
    ['skipped', result.skipped],
    ['conflict', result.conflicts ?? []],
  ] as const)
    for (const { path, reason } of paths) log.info(`${what}: ${path} (${reason})`);
  if (result.session !== null) await openFork(job, result.session.id, log);
  // Not awaited: the message stays until somebody reads it.
  report(job, result, show).catch((error: unknown) => showError(error, log));
  return true;
};

const partNames = {
  asking: 'asking OpenCode',
  safety: 'making the safety checkpoint',
  conversation: 'making the new session',
} as const;

/** `stopped`: how often agents were stopped for it, as the user wants it. */
const attempt = async (job: RestoreJob, allowed: RestoreOptions, stopped = 0): Promise<RestoreResult | undefined> => {
  try {
    return await withCancel(job.title, ({ signal, report: show }) => {
      // Copying a long conversation takes longer than the files, and a server may be slow to say who is at work.
      const onProgress: RestoreOptions['onProgress'] = ({ done, total, part }) =>
        show(part === undefined ? { done, total } : { done: 0, total: null, what: partNames[part] });
      return job.operation({ ...job.options, ...allowed, signal, onProgress });
    });
  } catch (error) {
    const more = await permission(job, error, allowed, stopped);
    if (more === undefined) throw error;
    if (more === 'stopped') return attempt(job, allowed, stopped + 1);
    return more === 'no' ? undefined : attempt(job, { ...allowed, ...more });
  }
};

/** What the core refuses until it is asked for by name; undefined for everything else. */
const permission = async (
  { root, target, options }: RestoreJob,
  error: unknown,
  allowed: RestoreOptions,
  stopped: number,
): Promise<RestoreOptions | 'no' | 'stopped' | undefined> => {
  if (CheckpointsError.is(error, 'mass-delete') && allowed.allowMassDelete !== true) {
    const answer = await vscode.window.showWarningMessage(
      'This would delete a large part of the workspace.',
      { modal: true, detail: `${error.message}\n\nA safety checkpoint is made first: you can undo this.` },
      'Delete and Restore',
    );
    return answer === undefined ? 'no' : { allowMassDelete: true };
  }
  const others = changedSince(error);
  if (others !== undefined) {
    const { paths, deleted, agreed } = others;
    const named = paths.map((path) => (deleted.includes(path) ? `${path} (would be deleted)` : path));
    const [too, out] = paths.length === 1 ? ['Restore It Too', 'Leave It Out'] : ['Restore Them Too', 'Leave Them Out'];
    const answer = await vscode.window.showWarningMessage(
      `${plural(paths.length, 'file')} changed after you were shown what would be restored.`,
      { modal: true, detail: `${listed(named)}\n\nNothing has been restored yet.` },
      // First, and with it the one of the Enter key, is what takes nothing away.
      out,
      too,
    );
    if (answer === undefined) return 'no';
    return answer === too ? { agreed } : { keep: [...(options.keep ?? []), ...(allowed.keep ?? []), ...paths] };
  }
  if (CheckpointsError.is(error, 'session-busy') && allowed.force !== true) {
    const sessions = atWork(error);
    const here = sessions.includes(target?.session?.id ?? '');
    // One that rests may be woken when its sub-agent in the background is stopped: that was not meant to go on either.
    const again = stopped > 0 && stopped < stopsAtMost;
    const answer = again
      ? stopFirst
      : await vscode.window.showWarningMessage(
          stillWorking(here, sessions.length, await titlesOf(root, sessions)),
          { modal: true, detail: 'Stop it first, or it may change the files again while they are restored.' },
          stopFirst,
          'Restore Anyway',
        );
    if (answer === stopFirst) {
      for (const session of sessions) await stop(root, session);
      return 'stopped';
    }
    return answer === undefined ? 'no' : { force: true };
  }
  return undefined;
};

/** The files, and what it would be to agree to them as they are now. */
const changedSince = (error: unknown): { paths: string[]; deleted: string[]; agreed: Agreed } | undefined => {
  if (!CheckpointsError.is(error, 'needs-confirmation')) return undefined;
  const { paths, deleted, agreed } = error.details ?? {};
  if (!Array.isArray(paths) || !Array.isArray(deleted) || !(agreed instanceof Map)) return undefined;
  return { paths: paths.map(String), deleted: deleted.map(String), agreed };
};

const atWork = ({ details }: CheckpointsError): string[] => {
  const { session, sessions = [session] } = details ?? {};
  return Array.isArray(sessions) ? sessions.map(String) : [];
};

/** A session that made no checkpoint yet is not known by a title. */
const titlesOf = async (root: Root, sessions: readonly string[]): Promise<string[]> => {
  const newest = await Promise.all(sessions.map((session) => root.api.list({ session, limit: 1 })));
  return newest.flatMap(([point]) =>
    point?.session?.title ? [`“${shorten(firstLine(point.session.title), 60)}”`] : [],
  );
};

const stopFirst = 'Stop the Agent and Restore';
const stopsAtMost = 4;

/** Asks the server to end what the session does, and waits until it has. */
const stop = (root: Root, session: string): Promise<void> =>
  withPatience('Stopping the agent', async () => {
    try {
      await root.sessions.interrupt(session);
    } catch (error) {
      if (!CheckpointsError.is(error, 'timeout')) throw error;
      throw new CheckpointsError('session-busy', 'The agent did not stop. Nothing was restored.', { cause: error });
    }
  });

/** One message: what was done, and the ways on. */
const report = async ({ root, done, target }: RestoreJob, result: RestoreResult, show: ShowPage): Promise<void> => {
  const text = resultText(done, result);
  const changed = result.restored.length + result.deleted.length > 0;
  const again = done === 'Undone' ? 'Redo' : 'Undo';
  const detailed = result.skipped.length + (result.conflicts?.length ?? 0) > 0;
  const troubled = detailed || result.todosLost !== undefined || result.serverSilent === true;
  const { prompt } = result;
  const buttons = [
    // A fork leaves everything as it was: there is nothing to take back.
    ...(result.undo === null || done === 'Forked' ? [] : [again]),
    ...(changed && result.undo !== null ? ['Show Changes'] : []),
    ...(detailed ? ['Show Details'] : []),
    ...(result.session === null ? [] : ['Open Session']),
    ...(prompt === undefined ? [] : ['Copy Prompt']),
  ];
  const answer = await (troubled
    ? vscode.window.showWarningMessage(text, ...buttons)
    : vscode.window.showInformationMessage(text, ...buttons));
  if (answer === again) await vscode.commands.executeCommand(done === 'Undone' ? commands.redo : commands.undo, root);
  if (answer === 'Show Changes' && result.undo !== null) await showChanges(root, result.undo);
  if (answer === 'Show Details') await show('Restore Details', resultPage(result));
  if (answer === 'Open Session' && result.session !== null)
    await root.sessions.open(result.session.id, target === undefined ? result.session.id : forkTitle(target));
  if (answer === 'Copy Prompt' && prompt !== undefined) await vscode.env.clipboard.writeText(prompt);
};

/** The user asked for this conversation, so it is shown. The files are restored either way. */
const openFork = async ({ root, target }: RestoreJob, session: string, log: vscode.LogOutputChannel): Promise<void> => {
  try {
    await root.sessions.open(session, target === undefined ? session : forkTitle(target));
  } catch (error) {
    void showError(error, log);
  }
};

export const showChanges = async (root: Root, safety: CheckpointId): Promise<void> => {
  const checkpoint = await root.api.resolve(safety);
  if (!(await compareWithWorking({ root, checkpoint })))
    vscode.window.showInformationMessage('The files are the same as before the restore again.');
};
