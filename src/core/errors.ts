/** Errors carry a reason out of a closed list; hosts turn reasons into sentences with a way out. */

export const reasons = [
  'unknown-reference',
  'ambiguous-reference',
  'invalid-argument',
  'refused-root',
  'git-missing',
  'git-failed',
  'store-broken',
  'store-readonly',
  'workspace-readonly',
  'disk-full',
  'busy',
  'timeout',
  'cancelled',
  'conflict',
  'mass-delete',
  'nothing-to-undo',
  'nothing-to-redo',
  'no-conversation',
  'no-task',
  'no-files',
  'not-in-checkpoint',
  'untrusted-tree',
  'untrusted-folder',
  'remote-failed',
  'server-unreachable',
  'server-failed',
  'opencode-missing',
  'opencode-too-old',
  'session-missing',
  'session-busy',
  'message-missing',
  'fork-mismatch',
  'needs-confirmation',
  'not-supported',
  'no-backup',
  'backup-failed',
] as const;
export type Reason = (typeof reasons)[number];

export class CheckpointsError extends Error {
  readonly reason: Reason;
  /** Candidates, paths and the like: JSON. */
  readonly details: Record<string, unknown> | undefined;

  constructor(reason: Reason, message: string, options: { cause?: unknown; details?: Record<string, unknown> } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'CheckpointsError';
    this.reason = reason;
    this.details = options.details;
  }

  static is(error: unknown, reason?: Reason): error is CheckpointsError {
    return error instanceof CheckpointsError && (reason === undefined || error.reason === reason);
  }
}
