import { CheckpointsError } from '../core/errors';
import type { Checkpoint, RestorePlan, RestoreResult, RestoreScope } from '../core/model';
import { oneLine } from '../core/text';
import { optionalScope, optionalText, refused, requiredText, type Arguments } from './arguments';
import { firstVersion, pathIn } from './first-version';
import { input, text, type CallContext, type Toolbox, type ToolSpec } from './tool-spec';
import { reference } from './tools-points';

/** Going back is the user's decision: they are asked by OpenCode's own permission prompt. */
export function restoreTool(box: Toolbox): ToolSpec {
  return {
    name: 'checkpoint_restore',
    core: true,
    description:
      'Take files and conversation back to a checkpoint; the user is asked first. The conversation continues in a new session. With "path" only that file or folder, here; with "path" alone the first version of that file in this session.',
    input: input({
      checkpoint: text('id, name, latest, latest~N'),
      scope: text('of files,conversation,task; default files,conversation'),
      path: text('file or folder'),
    }),
    run: async (args, call) => {
      const wanted = await wantedOf(box, args, call);
      const { workspace } = await box.companion.open();
      const { target, scope, paths } = wanted;
      const plan = await workspace.plan(target.id, { scope, paths });
      // The agent is at work on this very session: that is no reason to refuse. Others are, and nobody is asked in vain.
      const exempt = await box.sessions.rootOf(call.session);
      await workspace.refuseAtWork(target.id, { scope, exempt });
      const permission = await call.askToRestore({ checkpoint: target.id, summary: question(wanted, plan) });
      if (permission === 'unavailable') return byHand(wanted, plan);
      if (permission === 'rejected')
        throw new CheckpointsError('cancelled', 'The user did not allow this restore. Nothing was changed.');
      const result = await workspace.restore(target.id, { scope, paths, exempt });
      if (result.session) await call.openSession(result.session.id);
      return restoredText(wanted, result);
    },
  };
}

interface Wanted {
  target: Checkpoint;
  scope: RestoreScope[];
  paths?: string[];
}

async function wantedOf(box: Toolbox, args: Arguments, call: CallContext): Promise<Wanted> {
  const { workspace } = await box.companion.open();
  const given = optionalScope(args, 'scope');
  const path = optionalText(args, 'path');
  const named = optionalText(reference(args), 'checkpoint');
  if (path === undefined) {
    const target = await workspace.resolve(named ?? requiredText(args, 'checkpoint', 'latest'));
    return { target, scope: given ?? (target.session ? ['files', 'conversation'] : ['files']) };
  }
  if (given && (given.length !== 1 || given[0] !== 'files'))
    throw refused('With "path" only files come back: leave "scope" out.');
  if (named === undefined) {
    const original = await firstVersion(box, call.session, path);
    return { target: await workspace.resolve(original.checkpoint), scope: ['files'], paths: [original.path] };
  }
  const target = await workspace.resolve(named);
  return { target, scope: ['files'], paths: [await pathIn(box, [target.id], path)] };
}

function question({ target, paths }: Wanted, plan: RestorePlan): string {
  const count = (action: string): number => plan.entries.filter((entry) => entry.action === action).length;
  const parts: string[] = [];
  if (plan.scope.includes('files')) parts.push(`write ${count('write')} and delete ${count('delete')} files`);
  if (plan.conversation)
    parts.push(
      `continue in a new session with ${plan.conversation.messageCount} of ${plan.conversation.currentCount ?? '?'} messages`,
    );
  if (plan.scope.includes('task')) parts.push('restore the task');
  const what = [...(paths ?? []).map((path) => `${oneLine(path)} of `), `"${oneLine(target.title)}"`].join('');
  return `Restore ${what}: ${parts.join(', ')}`;
}

/** Where OpenCode cannot ask, the user's own command line does. */
function byHand(wanted: Wanted, plan: RestorePlan): string {
  const { target, scope, paths = [] } = wanted;
  const only = paths.map((path) => ` --path '${path.replaceAll("'", `'\\''`)}'`).join('');
  return [
    'Nothing was changed: the user cannot be asked from here.',
    question(wanted, plan),
    'Ask the user to run this in a terminal, in the project folder, or to restore it in VS Code:',
    `  opencode-checkpoints restore ${target.id} --scope ${scope.join(',')}${only}`,
  ].join('\n');
}

function restoredText({ target, paths }: Wanted, result: RestoreResult): string {
  const { session } = result;
  const what = paths ? `${paths.map(oneLine).join(', ')} restored from` : 'Session restored to';
  const lines = [`${what} checkpoint: ${oneLine(target.title)}`, ''];
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
