import type {
  BackedUpSession,
  BackupProblem,
  BackupReport,
  BackupStatus,
  BackupTrouble,
  SessionRestoreReport,
  SessionState,
} from '../backup/api';
import { plural } from './labels';

/** The sentences of the session backup: plain functions, so that every case can be read in a test. No vscode here. */

export type Ago = (iso: string) => string;

/** What a person can do about a problem; nothing where it passes by itself. */
export const waysOut: Record<BackupTrouble, string> = {
  off: 'Name a folder for the backup.',
  'destination-missing': 'Connect the drive, or choose another folder. It is tried again by itself.',
  'destination-full': 'Free some space there, or choose another folder.',
  'destination-read-only': 'Make the folder writable, or choose another one.',
  'destination-locked': 'Another program holds some files; it is tried again by itself.',
  busy: 'Another process is at it; what changed meanwhile is saved next.',
  server: 'Start OpenCode; it is tried again with its next change.',
  incomplete: 'The others were saved; these are tried again.',
  failed: 'The log has the details.',
};

/** Wants somebody's attention: what passes by itself does not. */
export const isTrouble = ({ problem, state }: BackupStatus): boolean =>
  state === 'problem' && problem !== null && problem.trouble !== 'busy' && problem.trouble !== 'server';

export const problemText = ({ trouble, message }: BackupProblem): string => `${message} ${waysOut[trouble]}`;

/** One line for the status bar's tooltip; null: backup is off, and nobody needs to be told all day. */
export const statusLine = (status: BackupStatus, ago: Ago): string | null => {
  if (status.state === 'off') return null;
  if (status.running !== null && status.running.operation === 'backup')
    return `Backup: saving ${status.running.done} of ${plural(status.running.total, 'session')}`;
  if (status.problem !== null && status.state === 'problem') return `Backup: ${problemText(status.problem)}`;
  const saved = status.lastSuccessAt === null ? 'nothing saved yet' : `last saved ${ago(status.lastSuccessAt)}`;
  return `Backup: ${plural(status.sessions, 'session')}, ${saved}${status.state === 'pending' ? ', changes are waiting' : ''}`;
};

export const reportText = (report: BackupReport): string => {
  const parts = [
    `${plural(report.sessions, 'session')}: ${report.written} saved`,
    report.unchanged > 0 ? `${report.unchanged} unchanged` : '',
    report.deleted > 0 ? `${report.deleted} moved to “deleted”` : '',
    report.failed.length > 0 ? `${report.failed.length} failed` : '',
  ].filter((part) => part !== '');
  return `Backed up ${parts.join(', ')}.`;
};

const stateWords: Record<SessionState, string> = {
  new: 'new',
  newer: 'the backup has more',
  older: 'older than what is there',
  different: 'both went on',
  same: 'the same',
};

/** What the user looks for first stands first. */
export const stateOrder: readonly SessionState[] = ['new', 'newer', 'different', 'older', 'same'];

export const stateTitles: Record<SessionState, string> = {
  new: 'Not in OpenCode',
  newer: 'The backup has more than OpenCode',
  older: 'OpenCode has gone on since',
  different: 'Both have gone on, differently',
  same: 'The same in OpenCode',
};

export const sessionDescription = (session: BackedUpSession, ago: Ago): string => {
  const [version] = session.versions;
  return [
    session.deleted ? 'deleted' : stateWords[session.state],
    version === undefined ? '' : ago(new Date(version.updatedAt).toISOString()),
    version?.messages === null || version === undefined ? '' : plural(version.messages, 'message'),
    version?.machine ?? '',
  ]
    .filter((part) => part !== '')
    .join(' · ');
};

export const restoreReportText = ({ restored, skipped, failed }: SessionRestoreReport): string => {
  const older = restored.filter(({ olderVersion }) => olderVersion).length;
  const todos = restored.filter((session) => session.todos === 'not-restored').length;
  const parts = [
    `${plural(restored.length, 'session')} restored`,
    older > 0 ? `${older} from an older version because the newest is damaged` : '',
    todos > 0 ? `${todos} without their todos` : '',
    skipped.length > 0 ? `${skipped.length} left out` : '',
    failed.length > 0 ? `${failed.length} failed: ${failed[0]?.message ?? ''}` : '',
  ].filter((part) => part !== '');
  return `${parts.join(', ')}${failed.length > 0 && /[.!?]$/.test(failed[0]?.message ?? '') ? '' : '.'}`;
};
