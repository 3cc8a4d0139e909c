import type { BackupApi, BackedUpSession } from '../backup/api';
import { CheckpointsError } from '../core/errors';
import { belongsElsewhere } from './belonging';
import { alreadyHere, type ImportReport } from './model';

export interface SessionImportRequest {
  /** A backup of OpenCode's JSON folders. */
  path: string;
  /** By a person: then sessions of folders that are not on this machine come, too. Else only those of this workspace. */
  named: boolean;
  dryRun?: boolean;
  signal?: AbortSignal;
}

/** Sessions of an old backup go back into OpenCode; one that is there stays as it is. */
export async function importSessions(
  { path, named, dryRun, signal }: SessionImportRequest,
  root: string,
  backup: Pick<BackupApi, 'preview' | 'restore'>,
): Promise<ImportReport> {
  const preview = await backup.preview({ from: path, signal });
  if (preview.sessions.length + preview.unreadable.length === 0)
    throw new CheckpointsError('no-backup', `No session is at ${path}`, { details: { path } });
  const report: ImportReport = {
    from: 's4',
    path,
    dryRun: dryRun === true,
    imported: [],
    skipped: [],
    problems: preview.unreadable.map(({ file, message }) => ({ item: file, message })),
  };
  const wanted: BackedUpSession[] = [];
  for (const session of preview.sessions) {
    const elsewhere = belongsElsewhere(session.directory || null, root, named);
    const reason = elsewhere ?? (session.state === 'new' ? null : alreadyHere);
    if (reason === null) wanted.push(session);
    else report.skipped.push({ item: labelOf(session), reason });
  }
  if (dryRun) {
    report.imported = wanted.map((session) => ({
      id: session.id,
      title: session.title ?? session.id,
      createdAt: new Date(session.versions[0]?.updatedAt ?? 0).toISOString(),
    }));
    return report;
  }
  if (wanted.length === 0) return report;
  const labels = new Map(wanted.map((session) => [session.id, labelOf(session)]));
  const times = new Map(wanted.map((session) => [session.id, session.versions[0]?.updatedAt ?? 0]));
  const result = await backup.restore({
    from: path,
    sessions: wanted.map(({ id }) => id),
    existing: 'skip',
    directory: root,
    signal,
  });
  report.imported = result.restored.map(({ from, id, title }) => ({
    id,
    title: title ?? id,
    createdAt: new Date(times.get(from) ?? 0).toISOString(),
  }));
  for (const { id, reason } of result.skipped) report.skipped.push({ item: labels.get(id) ?? id, reason });
  for (const { id, message } of result.failed) report.problems.push({ item: labels.get(id) ?? id, message });
  return report;
}

const labelOf = ({ id, title }: BackedUpSession): string => (title === null ? id : `${title} (${id})`);
