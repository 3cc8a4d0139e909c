import { codeOf } from '../core/atomic-file';
import { CheckpointsError } from '../core/errors';
import type { BackupTrouble } from './api';

/** What stood in the way of a backup, in the words of the status. */
export class BackupError extends Error {
  constructor(
    readonly trouble: BackupTrouble,
    message: string,
    options: { cause?: unknown } = {},
  ) {
    super(message, options);
    this.name = 'BackupError';
  }
}

const byCode: Record<string, BackupTrouble> = {
  ENOENT: 'destination-missing',
  ENOTDIR: 'destination-missing',
  ENODEV: 'destination-missing',
  ENXIO: 'destination-missing',
  ESTALE: 'destination-missing',
  EIO: 'destination-missing',
  ETIMEDOUT: 'destination-missing',
  EHOSTDOWN: 'destination-missing',
  ENOSPC: 'destination-full',
  EDQUOT: 'destination-full',
  EFBIG: 'destination-full',
  EROFS: 'destination-read-only',
  EACCES: 'destination-read-only',
  EBUSY: 'destination-locked',
  EPERM: 'destination-locked',
  ETXTBSY: 'destination-locked',
  EAGAIN: 'destination-locked',
};

/** Held by another program for a moment: worth a second try. */
export function isPassing(error: unknown): boolean {
  return byCode[systemCode(error)] === 'destination-locked';
}

/** Also of an error that was given a reason of the store's on its way. */
function systemCode(error: unknown): string {
  const own = codeOf(error);
  if (own !== '' || !(error instanceof Error) || error.cause === undefined) return own;
  return systemCode(error.cause);
}

const sentences: Partial<Record<BackupTrouble, string>> = {
  'destination-missing': 'it is not there any more',
  'destination-full': 'there is no space left',
  'destination-read-only': 'it cannot be written',
  'destination-locked': 'another program holds it',
};

/** Errors of the destination; `path` is what was being read or written. */
export function folderError(error: unknown, path: string): BackupError {
  if (error instanceof BackupError) return error;
  const trouble = byCode[systemCode(error)] ?? 'failed';
  const why = sentences[trouble] ?? (error instanceof Error ? error.message : String(error));
  return new BackupError(trouble, `${path}: ${why}`, { cause: error });
}

const ofServer: readonly string[] = [
  'server-unreachable',
  'server-failed',
  'opencode-missing',
  'opencode-too-old',
  'timeout',
];

export function troubleOf(error: unknown): BackupTrouble {
  if (error instanceof BackupError) return error.trouble;
  if (CheckpointsError.is(error, 'busy')) return 'busy';
  if (CheckpointsError.is(error) && ofServer.includes(error.reason)) return 'server';
  return byCode[systemCode(error)] ?? 'failed';
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
