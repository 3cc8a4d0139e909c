import { CheckpointsError } from '../core/errors';
import { sessionExists } from '../core/session-exists';
import type { ListedSession, SessionGateway } from '../core/sessions';
import type { BackupProblem, BackupReport } from './api';
import type { BackupFolder } from './folder';
import { folders, isSessionId } from './layout';
import type { Machine } from './machine';
import { Manifest, readManifests, type SessionRecord } from './manifest';
import { planRun } from './plan';
import { SessionSaver } from './saver';
import { BackupError, messageOf, troubleOf } from './trouble';

export interface RunContext {
  folder: BackupFolder;
  machine: Machine;
  gateway: SessionGateway;
  generations: number;
  /** Sessions that events named, and when. */
  touched: ReadonlyMap<string, number>;
  deleted: ReadonlySet<string>;
  signal?: AbortSignal;
  /** Throws when this process does not hold the lock any more. */
  confirm: () => Promise<void>;
  progress: (done: number, total: number) => void;
}

/** One run: list, read what changed, put it in place, set aside what was deleted. What could not be done is in the report. */
export async function backUp(context: RunContext): Promise<BackupReport> {
  const started = Date.now();
  const { folder, machine, gateway } = context;
  const manifest = await Manifest.open(folder, machine);
  const report = emptyReport(folder.path, null);
  try {
    const listed = (await gateway.listAll()).filter(({ session }) => isSessionId(session.id));
    const present = await filesOf(folder, manifest);
    const plan = planRun({
      known: manifest.sessions,
      listed,
      generation: gateway.generation,
      touched: context.touched,
      deleted: context.deleted,
      present: ({ file }) => !file.startsWith(`${folders.sessions}/`) || present.has(file),
    });
    report.sessions = listed.length;
    report.unchanged = plan.unchanged;
    report.kept = plan.kept.length;
    const saver = new SessionSaver({ folder, manifest, machine, generations: context.generations });
    await saveAll(context, saver, plan.read, report);
    report.deleted = await setAside(context, saver, [...plan.gone, ...interrupted(manifest)]);
  } catch (error) {
    report.problem = problemOf(error);
    if (CheckpointsError.is(error, 'cancelled')) throw error;
  } finally {
    await close(context, manifest, report);
  }
  if (report.problem === null && report.failed.length > 0) report.problem = ofFailures(report);
  report.durationMs = Date.now() - started;
  return report;
}

async function saveAll(
  { gateway, signal, progress }: RunContext,
  saver: SessionSaver,
  read: ListedSession[],
  report: BackupReport,
): Promise<void> {
  for (const [index, listed] of read.entries()) {
    progress(index, read.length);
    if (signal?.aborted) throw new CheckpointsError('cancelled', 'Cancelled', { cause: signal.reason });
    const { id } = listed.session;
    try {
      const readAt = Date.now();
      const [document, todos] = [await gateway.exportSession(id), await gateway.todos(id)];
      const bytes = await saver.save({ listed, document, todos, readAt });
      if (bytes > 0) report.written += 1;
      else report.unchanged += 1;
      report.bytes += bytes;
    } catch (error) {
      // Deleted since the list was read: the next run sees it.
      if (CheckpointsError.is(error, 'session-missing')) continue;
      if (isForAll(error)) throw error;
      report.failed.push({ id, message: messageOf(error) });
    }
  }
  progress(read.length, read.length);
}

/** Another session would fare no better. */
function isForAll(error: unknown): boolean {
  if (CheckpointsError.is(error, 'server-unreachable')) return true;
  return ['destination-missing', 'destination-full', 'destination-read-only'].includes(troubleOf(error));
}

/** Moves that a killed process left undone. */
function interrupted(manifest: Manifest): SessionRecord[] {
  return [...manifest.sessions.values()].filter(({ deletedAt, settled }) => deletedAt !== null && !settled);
}

async function setAside(
  { gateway, folder, machine }: RunContext,
  saver: SessionSaver,
  gone: SessionRecord[],
): Promise<number> {
  if (gone.length === 0) return 0;
  const { manifests } = await readManifests(folder);
  const shared = new Set(
    manifests
      .filter((one) => one.machine.id !== machine.id)
      .flatMap((one) => Object.values(one.sessions))
      .filter(({ deletedAt }) => deletedAt === null)
      .map(({ id }) => id),
  );
  let count = 0;
  for (const record of gone) {
    if (await sessionExists(gateway, record.id)) continue;
    await saver.setAside(record, shared.has(record.id));
    count += 1;
  }
  return count;
}

/** By reading folders, not files: a thousand sessions are a handful of calls. */
async function filesOf(folder: BackupFolder, manifest: Manifest): Promise<Set<string>> {
  const projects = new Set([...manifest.sessions.values()].map(({ project }) => project));
  const files = new Set<string>();
  for (const project of projects)
    for (const { name } of await folder.list(`${folders.sessions}/${project}`)) {
      const file = `${folders.sessions}/${project}/${name}`;
      files.add(file);
      await folder.sweep(file);
    }
  return files;
}

async function close({ confirm }: RunContext, manifest: Manifest, report: BackupReport): Promise<void> {
  if (!manifest.dirty) return;
  try {
    await confirm();
    await manifest.save();
  } catch (error) {
    // What was put in place is in the journal; the next run takes it from there.
    report.problem ??= problemOf(error);
  }
}

/** Nothing was done (yet). */
export function emptyReport(path: string, problem: BackupProblem | null): BackupReport {
  const counts = { sessions: 0, written: 0, unchanged: 0, deleted: 0, kept: 0, bytes: 0, durationMs: 0 };
  return { path, ...counts, failed: [], problem };
}

export function problemOf(error: unknown): BackupProblem {
  return { trouble: troubleOf(error), message: messageOf(error), at: new Date().toISOString() };
}

function ofFailures({ failed }: BackupReport): BackupProblem {
  const [first] = failed;
  const count = failed.length === 1 ? 'One session' : `${failed.length} sessions`;
  return problemOf(new BackupError('incomplete', `${count} could not be saved: ${first?.message ?? ''}`));
}
