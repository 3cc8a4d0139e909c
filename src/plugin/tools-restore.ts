import type { WorkspaceApi } from '../core/api';
import { CheckpointsError } from '../core/errors';
import type { Checkpoint, RestorePlan, RestoreResult, RestoreScope } from '../core/model';
import { oneLine } from '../core/text';
import { optionalScope, requiredText } from './arguments';
import { input, text, type CallContext, type Toolbox, type ToolSpec } from './tool-spec';
import { reference } from './tools-points';

/** Going back is the user's decision: they are asked by OpenCode's own permission prompt. */
export function restoreTool(box: Toolbox): ToolSpec {
  return {
    name: 'checkpoint_restore',
    core: true,
    description:
      'Take files and conversation back to a checkpoint; the user is asked first. The conversation continues in a new session.',
    input: input(
      {
        checkpoint: text('id, name, latest, latest~N'),
        scope: text('of files,conversation,task; default files,conversation'),
      },
      ['checkpoint'],
    ),
    run: async (args, call) => {
      const named = requiredText(reference(args), 'checkpoint', 'latest');
      const given = optionalScope(args, 'scope');
      const { workspace } = await box.companion.open();
      const target = await workspace.resolve(named);
      const scope = given ?? (target.session ? ['files', 'conversation'] : ['files']);
      const plan = await workspace.plan(target.id, { scope });
      const permission = await call.askToRestore({ checkpoint: target.id, summary: question(target, plan) });
      if (permission === 'unavailable') return byHand(target, scope, plan);
      if (permission === 'rejected')
        throw new CheckpointsError('cancelled', 'The user did not allow this restore. Nothing was changed.');
      return perform(workspace, target, scope, call);
    },
  };
}

async function perform(
  workspace: WorkspaceApi,
  target: Checkpoint,
  scope: RestoreScope[],
  call: CallContext,
): Promise<string> {
  // The agent is at work on this very session: that is no reason to refuse.
  const result = await workspace.restore(target.id, { scope, force: true });
  if (result.session) await call.openSession(result.session.id);
  return restoredText(target, result);
}

function question(target: Checkpoint, plan: RestorePlan): string {
  const count = (action: string): number => plan.entries.filter((entry) => entry.action === action).length;
  const parts: string[] = [];
  if (plan.scope.includes('files')) parts.push(`write ${count('write')} and delete ${count('delete')} files`);
  if (plan.conversation)
    parts.push(
      `continue in a new session with ${plan.conversation.messageCount} of ${plan.conversation.currentCount ?? '?'} messages`,
    );
  if (plan.scope.includes('task')) parts.push('restore the task');
  return `Restore "${oneLine(target.title)}": ${parts.join(', ')}`;
}

/** Where OpenCode cannot ask, the user's own command line does. */
function byHand(target: Checkpoint, scope: RestoreScope[], plan: RestorePlan): string {
  return [
    'Nothing was changed: the user cannot be asked from here.',
    question(target, plan),
    'Ask the user to run this in a terminal, in the project folder, or to restore it in VS Code:',
    `  opencode-checkpoints restore ${target.id} --scope ${scope.join(',')}`,
  ].join('\n');
}

function restoredText(target: Checkpoint, result: RestoreResult): string {
  const { session } = result;
  const lines = [`Session restored to checkpoint: ${oneLine(target.title)}`, ''];
  if (result.restored.length + result.deleted.length > 0)
    lines.push(`Files: ${result.restored.length} restored, ${result.deleted.length} deleted.`);
  for (const { path, reason } of [...result.kept, ...result.skipped].slice(0, 20))
    lines.push(`Left as it is: ${path} (${reason})`);
  if (result.undo) lines.push(`Undo: opencode-checkpoints undo (safety checkpoint ${result.undo})`);
  if (session)
    lines.push(
      '',
      `A new session has been created with ${target.session?.messageCount ?? 0} messages.`,
      `New session ID: ${session.id}`,
      '',
      'Switch to the new session to continue from the checkpoint.',
      'The current session remains unchanged.',
      'Stop now: change no more files in this session; the work goes on in the new one.',
    );
  else lines.push('Read files again before you change them: they are not as you remember them.');
  return lines.join('\n');
}
