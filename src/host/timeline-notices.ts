import * as vscode from 'vscode';
import type { Notice } from '../protocol/timeline';
import { explain } from './notifications';
import type { Workspaces } from './workspaces';

/** What stands in the way, for the top of the timeline. */
export const timelineNotices = (workspaces: Workspaces): Notice[] => [
  ...(vscode.workspace.isTrusted
    ? []
    : [
        {
          level: 'info' as const,
          text: 'This folder is not trusted: checkpoints can be looked at, not made or restored.',
        },
      ]),
  ...(vscode.workspace.isTrusted ? workspaces.failures : []).map((failure): Notice => ({
    level: 'error',
    text: explain(failure),
    action: { id: 'showLog', label: 'Show Log' },
  })),
];
