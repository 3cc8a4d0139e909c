import * as vscode from 'vscode';
import { CheckpointsError } from '../core/errors';

/** `enablement` greys what is clicked; programs, buttons of ours and ticks do not ask it. */
export const requireTrust = (): void => {
  if (!vscode.workspace.isTrusted)
    throw new CheckpointsError(
      'untrusted-folder',
      'This folder is not trusted: checkpoints can be looked at, not made or restored.',
    );
};
