import type { BackupStatus, SessionRestoreReport } from '../backup/api';
import { usualTiming } from '../backup/scheduler';
import { messageOf } from '../backup/trouble';
import { CheckpointsError } from '../core/errors';
import { flag } from './arguments';
import { input, type Toolbox, type ToolSpec } from './tool-spec';

/** How long an agent waits for another run to end. */
const patienceMs = 20_000;
const yes = { type: 'boolean' };
/** The words that the older plugin answers with, and the way out. */
const off = 'No backup path configured. The user can name a folder: OPENCODE_BACKUP_PATH, or the setting backup.path.';
const seconds = (ms: number): string => (ms / 1000).toFixed(1);
const secondsAgo = (iso: string): number => Math.max(0, Math.round((Date.now() - Date.parse(iso)) / 1000));

/** Names, arguments and answers are those of an older plugin, which agents and their users know. */
export function backupTools(box: Toolbox): ToolSpec[] {
  return [
    {
      name: 'session_backup_sync',
      core: false,
      description: "Save all sessions to the user's backup folder now.",
      input: input({ force: yes }),
      run: (args) => sync(box, flag(args, 'force')),
    },
    {
      name: 'session_backup_status',
      core: false,
      description: 'Where sessions are backed up, how many, and when last.',
      input: input(),
      run: () => status(box),
    },
    {
      name: 'session_backup_restore',
      core: false,
      description: 'Bring back sessions that are in the backup and not here; nothing is overwritten.',
      input: input({ confirm: yes }, ['confirm']),
      run: (args) => restore(box, flag(args, 'confirm')),
    },
  ];
}

async function sync({ backup }: Toolbox, force: boolean): Promise<string> {
  const { service } = backup;
  const now = await service.status();
  const { lastRunAt } = now;
  const wait = lastRunAt === null ? 0 : usualTiming.spacingMs / 1000 - secondsAgo(lastRunAt);
  if (lastRunAt !== null && !force && wait > 0 && hasEnded(now))
    return `Sync skipped - last sync ${secondsAgo(lastRunAt)}s ago. Wait ${wait}s or force=true.`;
  // One that began by itself is most likely under way: the sessions of this very conversation changed.
  const report = await service.run({ waitMs: patienceMs });
  if (report.problem?.trouble === 'busy')
    return 'Backup failed: another one is under way, and takes long. It saves what changed meanwhile, too; call session_backup_status to see how it ended.';
  if (report.problem?.trouble === 'off') return `Backup failed: ${off}`;
  if (report.problem) return `Backup failed: ${report.problem.message}`;
  const changed = report.written + report.deleted;
  const files = changed > 0 ? `, ${changed} files changed` : '';
  return `Backup complete in ${seconds(report.durationMs)}s${files}. Destination: ${report.path}`;
}

/** A run that died says nothing of how it went; nor does one that is under way. */
function hasEnded({ lastRunAt, lastSuccessAt, problem }: BackupStatus): boolean {
  return problem !== null || (lastRunAt !== null && lastSuccessAt !== null && lastSuccessAt >= lastRunAt);
}

function success(now: BackupStatus): string {
  if (now.lastRunAt === null) return 'never synced';
  if (now.problem !== null) return `no (${now.problem.message})`;
  return hasEnded(now) ? 'yes' : 'no (under way, or cut off)';
}

async function status({ backup }: Toolbox): Promise<string> {
  const now = await backup.service.status();
  const source = await backup.source();
  const last = now.lastSuccessAt;
  return [
    `Backup path: ${now.path ?? 'No backup path configured'}`,
    `Source path: ${source}`,
    `Sessions backed up: ${now.sessions}`,
    `Backup size: ${(now.bytes / 1e6).toFixed(2)} MB`,
    `Last backup: ${last ?? 'never'}`,
    `Last sync: ${now.lastRunAt === null ? 'never' : `${secondsAgo(now.lastRunAt)}s ago`}`,
    `Last sync success: ${success(now)}`,
    `Syncs this session: ${now.runs}`,
    `Sync pending: ${now.state === 'pending' || now.state === 'running' ? 'yes' : 'no'}`,
  ].join('\n');
}

/** It only adds what is missing: so the agent may do it when the user said so, without another question. */
async function restore({ backup }: Toolbox, confirmed: boolean): Promise<string> {
  if (!confirmed)
    return 'Restore requires confirm=true. Sessions of the backup that are missing here are added; nothing is overwritten.';
  try {
    return restored(await backup.service.restore());
  } catch (error) {
    const nowhere = CheckpointsError.is(error, 'no-backup') && error.details?.['path'] === undefined;
    return `Restore failed: ${nowhere ? off : messageOf(error)}`;
  }
}

function restored({ restored: added, skipped, failed, durationMs }: SessionRestoreReport): string {
  const lines = added.slice(0, 20).map(({ id, title }) => `  ${id} ${title ?? ''}`);
  const broken = failed.slice(0, 20).map(({ id, message }) => `  failed: ${id} (${message})`);
  const counts = `${added.length} sessions restored, ${skipped.length} left as they are, ${failed.length} failed.`;
  const first = `Restore complete in ${seconds(durationMs)}s. Restart OpenCode to see restored sessions.`;
  return [first, counts, ...lines, ...broken].join('\n');
}
