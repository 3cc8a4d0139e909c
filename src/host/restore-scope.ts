import * as vscode from 'vscode';
import { hasFiles } from '../core/files-facet';
import { type Checkpoint, type RestoreScope, restoreScopes } from '../core/model';
import { plural, withoutIcons } from './labels';

/** What a restore begins with: the files, or what an imported checkpoint has instead. */
export const firstScope = (checkpoint: Checkpoint): RestoreScope[] => {
  if (hasFiles(checkpoint)) return ['files'];
  if (checkpoint.session !== null) return ['conversation'];
  return checkpoint.task === null ? ['files'] : ['task'];
};

/** Which facets to bring back. Without a choice to make nothing is asked. */
export const chooseScope = async (
  checkpoint: Checkpoint,
  preset: readonly RestoreScope[],
): Promise<RestoreScope[] | undefined> => {
  const facets: Array<vscode.QuickPickItem & { scope: RestoreScope }> = [];
  if (hasFiles(checkpoint))
    facets.push({ scope: 'files', label: '$(files) Files', description: 'the next step lets you leave some out' });
  if (checkpoint.session !== null)
    facets.push({
      scope: 'conversation',
      label: '$(comment-discussion) Conversation',
      description: `a new session with ${plural(checkpoint.session.messageCount, 'message')}; the old one stays`,
    });
  if (checkpoint.task !== null)
    facets.push({ scope: 'task', label: '$(checklist) Task', description: withoutIcons(checkpoint.task.title ?? '') });
  const [only] = facets;
  if (facets.length <= 1) return only === undefined ? undefined : [only.scope];
  const chosen = await vscode.window.showQuickPick(
    facets.map((facet) => ({ ...facet, picked: preset.includes(facet.scope) })),
    {
      canPickMany: true,
      title: 'Restore: what to bring back',
      placeHolder: 'Tick what to restore',
      ignoreFocusOut: true,
    },
  );
  if (chosen === undefined || chosen.length === 0) return undefined;
  return restoreScopes.filter((scope) => chosen.some((facet) => facet.scope === scope));
};
