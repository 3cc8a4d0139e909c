import type { BackupTrouble } from '../backup/api';
import { CheckpointsError, type Reason } from '../core/errors';
import type { RecoveryReport } from '../core/ports';
import { asSentence } from '../core/text';
import { UsageError } from './usage';

/** What the command line itself can find wrong, beside the reasons of the core. */
export type CliReason = Reason | 'usage' | 'internal';

/** For every reason the way out. What happened is said by the error's own message. */
export const waysOut: Record<CliReason, string> = {
  'unknown-reference': '`opencode-checkpoints list` shows ids and names.',
  'ambiguous-reference': '`opencode-checkpoints list` shows the full ids.',
  'invalid-argument': 'Nothing was changed. `--help` after the command shows what it takes.',
  'refused-root': 'Run it in a project folder, or name one with `--cwd DIR`.',
  'git-missing': 'Install git 2.31 or newer and see that it is on PATH.',
  'git-failed': '`opencode-checkpoints doctor` looks for what is wrong in the store.',
  'store-broken': '`opencode-checkpoints doctor --repair` mends what can be mended.',
  'store-readonly': 'Make the store writable, or set OPENCODE_CHECKPOINTS_HOME to a folder that is.',
  'workspace-readonly':
    'Nothing was changed. Look at the permissions of the folder, and whether its volume can be written.',
  'disk-full':
    'Free some space on that disk, then try again. `opencode-checkpoints stats` tells what the checkpoints take, `delete` and `prune` give it back, on a full disk, too.',
  busy: 'Another process is working on this workspace. Try again when it is done.',
  timeout: 'Try again when the machine is less busy.',
  cancelled: '`opencode-checkpoints list` shows the present state.',
  conflict: 'Something changed it meanwhile. Look again, then repeat.',
  'mass-delete': 'Look at `restore REF --dry-run`; if all of these shall go, add `--allow-mass-delete`.',
  'nothing-to-undo':
    '`opencode-checkpoints list --trigger restore` shows the safety checkpoints; any of them can be restored.',
  'nothing-to-redo': 'What `undo` took back can be redone until the next restore.',
  'no-conversation': 'Make it with `create --session ID`, or restore without the conversation: `--scope files`.',
  'no-task': 'Restore without the task: `--scope files`.',
  'no-files': 'Restore without the files, for example `--scope conversation`.',
  'not-in-checkpoint': '`opencode-checkpoints show REF` and `diff REF` name the paths that changed.',
  'untrusted-tree': 'Nothing was written. Restore the other files one by one with `--path`.',
  'untrusted-folder': 'Nothing was changed. Trust the folder in VS Code first.',
  'remote-failed': 'Nothing here was changed. See that `git ls-remote` reaches it, then try again.',
  'server-unreachable': 'Start `opencode serve`, or name a running one with `--server URL`.',
  'server-failed': "Look into the OpenCode server's log, then try again.",
  'opencode-missing':
    '`--server URL` takes one that is running. Files and task work without: leave out `--session`, restore with `--scope files`.',
  'opencode-too-old': 'Update OpenCode.',
  'session-missing':
    'Look whether the id is right and the server is the right one. What a backup has is told by `backup restore --dry-run`; files, where the checkpoint has any, need no session: `--scope files`.',
  'session-busy': 'Stop it first, or go on all the same with `--force`.',
  'message-missing': 'Look whether the id is right; files need no conversation: `--scope files`.',
  'fork-mismatch': 'The original session is as it was. Try again, or restore only the files: `--scope files`.',
  'needs-confirmation': 'Add `--yes` to go ahead without being asked.',
  'not-supported': 'Nothing was changed.',
  'no-backup':
    'Set OPENCODE_BACKUP_PATH, or `backup.path` in the global configuration; `opencode-checkpoints backup status` suggests folders.',
  'backup-failed': 'Nothing that was saved is harmed. `opencode-checkpoints backup status` tells how it stands.',
  usage: 'See `opencode-checkpoints --help`.',
  internal: 'This is a fault of opencode-checkpoints, not of yours. Set OPENCODE_CHECKPOINTS_DEBUG=1 to see where.',
};

/** For every trouble of a backup the way out: they are too different for one. */
export const backupWaysOut: Record<BackupTrouble, string> = {
  off: waysOut['no-backup'],
  'destination-missing':
    'Connect the drive, or name another folder. Where that backup is gone for good, `opencode-checkpoints backup run --init` begins a new one.',
  'destination-full': 'Free some space there, or name another folder.',
  'destination-read-only': 'Make the folder writable, or name another one.',
  'destination-locked': 'Another program holds some files there. Try again in a moment.',
  busy: 'Another process is at it; what changed meanwhile is saved next.',
  server: 'Start OpenCode, or name a running server with `--server URL`.',
  incomplete: 'The others were saved. Run it again for these.',
  failed: '`sync.log` in the folder tells what happened; `opencode-checkpoints backup verify` reads every file.',
};

const isTrouble = (value: unknown): value is BackupTrouble =>
  typeof value === 'string' && Object.hasOwn(backupWaysOut, value);

/** Said before anything else, since files may have changed without anybody's asking. */
export function recoverySentence({ outcome, restored, deleted, kept, forkMissing }: RecoveryReport): string {
  const fork = forkMissing
    ? ' Its conversation was not forked: `opencode-checkpoints doctor --repair` forks it, `opencode-checkpoints undo` takes the files back.'
    : '';
  if (forkMissing && restored.length + deleted.length + kept.length === 0)
    return `A restore was interrupted after its files were done.${fork}`;
  const done = outcome === 'finished' ? 'was finished' : 'was rolled back';
  const left = kept.length
    ? ` ${kept.length} ${kept.length === 1 ? 'was left as it is' : 'were left as they are'}: ${kept.map(({ path, reason }) => `${path} (${reason})`).join(', ')}.`
    : '';
  return `A restore that had been interrupted ${done}: ${restored.length} ${restored.length === 1 ? 'file' : 'files'} written, ${deleted.length} deleted.${left}${fork}`;
}

export interface Complaint {
  reason: CliReason;
  /** What happened. */
  message: string;
  wayOut: string;
}

export const sentence = asSentence;

/** A server that was reached and is of no use: its log would not help. */
function serverAdvice({ details }: CheckpointsError): string | null {
  if (details?.['unauthorized'])
    return 'Set OPENCODE_SERVER_PASSWORD to its password, or write it into the address: `http://opencode:PASSWORD@HOST:PORT`.';
  if (details?.['foreign'])
    return 'Look at the address in `--server`, OPENCODE_SERVER_URL or the setting opencode.serverUrl; `opencode serve` prints its own.';
  if (details?.['unreadable'])
    return 'Update OpenCode and opencode-checkpoints; where a proxy answers for the server, name the server itself with `--server URL`. Files need none: `--scope files`.';
  return null;
}

/** What the reason alone does not tell. */
function otherAdvice({ reason, details }: CheckpointsError): string | null {
  if (details?.['lost'])
    return '`opencode-checkpoints doctor --repair` brings back what can be brought back; `opencode-checkpoints list` shows what there is.';
  if (reason === 'unknown-reference' && details?.['none'])
    return '`opencode-checkpoints create` makes one; `opencode-checkpoints list` shows what there is.';
  if (reason === 'invalid-argument' && details?.['noTurn'])
    return '`opencode-checkpoints list --trigger turn` shows the turns.';
  if (reason === 'not-in-checkpoint' && details?.['original']) return '`opencode-checkpoints originals` names them.';
  if (reason === 'mass-delete' && details?.['operation'] === 'revert-turn')
    return 'If all of these shall go, add `--allow-mass-delete`; `opencode-checkpoints undo` brings them back.';
  if (reason === 'conflict' && details?.['notOurs']) return 'Nothing was changed.';
  if (reason === 'no-backup' && details?.['path'])
    return 'Look whether the path is right and its drive is connected, or name the folder that holds the backup.';
  return null;
}

export function complain(error: unknown): Complaint {
  if (error instanceof UsageError) return { reason: 'usage', message: sentence(error.message), wayOut: error.wayOut };
  if (error instanceof CheckpointsError) {
    const trouble = error.reason === 'backup-failed' ? error.details?.['trouble'] : undefined;
    return {
      reason: error.reason,
      message: sentence(error.message),
      wayOut: isTrouble(trouble)
        ? `Nothing that was saved is harmed. ${backupWaysOut[trouble]}`
        : (serverAdvice(error) ?? otherAdvice(error) ?? waysOut[error.reason]),
    };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { reason: 'internal', message: sentence(message || 'An unexpected error'), wayOut: waysOut.internal };
}
