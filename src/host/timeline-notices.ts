import * as vscode from 'vscode';
import { lossInWords } from '../core/lost';
import type { Checkpoint } from '../core/model';
import type { Notice } from '../protocol/timeline';
import type { Root } from './root';
import type { Services } from './services';
import { failedFolders } from './view-state';

const install = { id: 'installPlugin', label: 'Install Plugin' } as const;

/** What stands in the way, for the top of the timeline. */
export const timelineNotices = async (
  { workspaces, plugin, watch, states }: Pick<Services, 'workspaces' | 'plugin' | 'watch' | 'states'>,
  root: Root | undefined,
  checkpoints: readonly Checkpoint[],
): Promise<Notice[]> => {
  if (!vscode.workspace.isTrusted)
    return [{ level: 'info', text: 'This folder is not trusted: checkpoints can be looked at, not made or restored.' }];
  const notices = failedFolders(workspaces).map((text): Notice => ({
    level: 'error',
    text,
    action: { id: 'showLog', label: 'Show Log' },
  }));
  const silent = root === undefined ? null : states.problemOf(root);
  if (silent !== null)
    notices.push({
      level: 'warning',
      text: silent,
      action: { id: 'openSettings', label: 'Open Settings' },
    });
  if (root === undefined) return notices;
  const lost = lossInWords(root.api.lost());
  if (lost !== null) notices.push({ level: 'warning', text: lost, action: { id: 'runDoctor', label: 'Run Doctor' } });
  const absent = (await plugin.stateOf(root)) === 'absent';
  if (watch.active.includes(root))
    notices.push(
      absent
        ? {
            level: 'warning',
            text: 'The OpenCode plugin is not installed: checkpoints are made from the server’s events, and may be late.',
            action: install,
          }
        : {
            level: 'warning',
            text: 'Restart OpenCode: the plugin is installed, but the OpenCode that runs has not loaded it. Until then checkpoints are made from the server’s events, and may be late.',
          },
    );
  // Whoever has automatic checkpoints has the plugin somewhere, and whoever has none need not be told twice a day.
  else if (absent && !checkpoints.some(({ trigger }) => trigger === 'turn' || trigger === 'tool'))
    notices.push({
      level: 'info',
      text: 'With its plugin, OpenCode makes a checkpoint before every prompt and every change.',
      action: install,
    });
  return notices;
};
