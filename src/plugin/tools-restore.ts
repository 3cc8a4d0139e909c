import { agreedTo } from '../core/agreed';
import { CheckpointsError } from '../core/errors';
import type { Checkpoint, RestorePlan, RestoreResult, RestoreScope } from '../core/model';
import { oneLine, shorten } from '../core/text';
import type { Workspace } from '../core/workspace';
import { optionalScope, optionalText, refused, requiredText, type Arguments } from './arguments';
import { firstVersion, pathIn } from './first-version';
import { resolveHere } from './line';
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
      // The agent is at work on this very session: that is no reason to refuse. Others are, and nobody is asked in vain.
      const exempt = await box.sessions.rootOf(call.session);
      let changed = '';
      for (let tries = 1; ; tries += 1) {
        const plan = await planned(workspace, wanted);
        if (plan === null) return byHand(wanted, await withoutServer(workspace, wanted));
        refuseMassDelete(wanted, plan);
        await workspace.refuseAtWork(target.id, { scope, exempt });
        const summary = changed + question(wanted, plan);
        const permission = await call.ask({ permission: 'checkpoint_restore', resource: target.id, summary });
        if (permission === 'unavailable') return byHand(wanted, plan);
        if (permission === 'rejected')
          throw new CheckpointsError('cancelled', 'The user did not allow this restore. Nothing was changed.');
        try {
          const result = await workspace.restore(target.id, { scope, paths, exempt, agreed: agreedTo(plan) });
          if (result.session) await call.openSession(result.session.id, result.prompt ?? null);
          return restoredText(wanted, result, exempt !== call.session);
        } catch (error) {
          // The question may have stood there for hours: what came meanwhile is the user's, and is asked about, too.
          if (!CheckpointsError.is(error, 'needs-confirmation') || tries === mostQuestions) throw error;
          changed = `${error.message} Asked anew: `;
        }
      }
    },
  };
}

/** Files that change faster than anybody answers are not restored. */
const mostQuestions = 5;

const promptShown = 10_000;

/** null: OpenCode's server, which a fork needs, cannot be reached from here. */
async function planned(workspace: Workspace, { target, scope, paths }: Wanted): Promise<RestorePlan | null> {
  try {
    return await workspace.plan(target.id, { scope, paths });
  } catch (error) {
    if (scope.includes('conversation') && CheckpointsError.is(error, 'server-unreachable')) return null;
    throw error;
  }
}

/** What can be said of the plan all the same. */
async function withoutServer(workspace: Workspace, { target, scope, paths }: Wanted): Promise<RestorePlan> {
  const rest = scope.filter((one) => one !== 'conversation');
  const plan =
    rest.length > 0
      ? await workspace.plan(target.id, { scope: rest, paths })
      : { target: target.id, entries: [], massDelete: false, fileCount: 0 };
  const { id = '', messageCount = 0 } = target.session ?? {};
  return { ...plan, scope, conversation: { session: id, messageCount, currentCount: null } };
}

/** Only the user can confirm that, and not by this question: so it is not asked. */
function refuseMassDelete(wanted: Wanted, plan: RestorePlan): void {
  if (!plan.massDelete) return;
  const deletions = plan.entries.filter(({ action }) => action === 'delete').length;
  throw new CheckpointsError(
    'mass-delete',
    `This would delete ${deletions} of ${plan.fileCount} files. Only the user can confirm that: ask them to run \`${commandFor(wanted, plan)}\` or to restore it in VS Code.`,
  );
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
    const target = await resolveHere(box, call.session, named ?? requiredText(args, 'checkpoint', 'latest'));
    return { target, scope: given ?? (target.session ? ['files', 'conversation'] : ['files']) };
  }
  if (given && (given.length !== 1 || given[0] !== 'files'))
    throw refused('With "path" only files come back: leave "scope" out.');
  if (named === undefined) {
    const original = await firstVersion(box, call.session, path);
    return { target: await workspace.resolve(original.checkpoint), scope: ['files'], paths: [original.path] };
  }
  const target = await resolveHere(box, call.session, named);
  return { target, scope: ['files'], paths: [await pathIn(box, [target.id], path)] };
}

function question({ target, paths }: Wanted, plan: RestorePlan): string {
  const count = (action: string): number => plan.entries.filter((entry) => entry.action === action).length;
  const yours = plan.entries.filter((one) => (one.action === 'write' || one.action === 'delete') && one.yours).length;
  const parts: string[] = [];
  if (plan.scope.includes('files'))
    parts.push(
      `write ${count('write')} and delete ${count('delete')} files${yours > 0 ? ` (${yours} with changes of your own)` : ''}`,
    );
  if (plan.conversation)
    parts.push(
      `continue in a new session with ${plan.conversation.messageCount} of ${plan.conversation.currentCount ?? '?'} messages`,
    );
  if (plan.scope.includes('task')) parts.push('restore the task');
  // A turn is called after the prompt that it lies before.
  const before = target.trigger === 'turn' && target.name === null ? 'before ' : '';
  const what = [...(paths ?? []).map((path) => `${oneLine(path)} of `), `${before}"${oneLine(target.title)}"`].join('');
  return `Restore ${what}: ${parts.join(', ')}`;
}

/** Where OpenCode cannot ask, the user's own command line does. */
function byHand(wanted: Wanted, plan: RestorePlan): string {
  return [
    'Nothing was changed: the user cannot be asked from here.',
    question(wanted, plan),
    'Ask the user to run this in a terminal, in the project folder, or to restore it in VS Code:',
    `  ${commandFor(wanted, plan)}`,
  ].join('\n');
}

function commandFor({ target, scope, paths = [] }: Wanted, { massDelete }: RestorePlan): string {
  const only = paths.map((path) => ` --path '${path.replaceAll("'", `'\\''`)}'`).join('');
  const allowed = massDelete ? ' --allow-mass-delete' : '';
  return `opencode-checkpoints restore ${target.id} --scope ${scope.join(',')}${only}${allowed}`;
}

/** `delegated`: asked for by a sub-agent, whose answer is all that the agent above it gets to know. */
function restoredText({ target, scope, paths }: Wanted, result: RestoreResult, delegated: boolean): string {
  const { session, prompt, todosLost = 0 } = result;
  const withFiles = scope.includes('files');
  const what = paths
    ? `${paths.map(oneLine).join(', ')} restored from`
    : session
      ? 'Session restored to'
      : `${withFiles ? 'Files' : 'Task'} restored from`;
  const lines = [`${what} checkpoint: ${oneLine(target.title)}`, ''];
  if (result.restored.length + result.deleted.length > 0)
    lines.push(`Files: ${result.restored.length} restored, ${result.deleted.length} deleted.`);
  if (result.task) lines.push('Task: brought back.');
  if (result.failed) lines.push(`${result.failed} could not be restored: not everything is as it was then.`);
  for (const { path, reason } of [...result.kept, ...result.skipped].slice(0, 20))
    lines.push(`Left as it is: ${path} (${reason})`);
  if (result.undo)
    lines.push(`Undo: opencode-checkpoints undo, or Undo Last Restore in VS Code (safety checkpoint ${result.undo})`);
  if (session)
    lines.push(
      '',
      `A new session has been created with ${target.session?.messageCount ?? 0} messages.`,
      `New session ID: ${session.id}`,
      '',
      'Switch to the new session to continue from the checkpoint.',
      'The current session remains unchanged.',
      'Stop now: change no more files in this session; the work goes on in the new one.',
      ...(delegated ? ['Say all of this to the agent that you work for: it has to stop, too.'] : []),
    );
  if (todosLost > 0)
    lines.push(
      '',
      `Its ${todosLost} todos could not be carried over: that takes OpenCode 1's own command line, on the same data. Write them again there.`,
    );
  if (prompt !== undefined)
    lines.push(
      '',
      'The prompt that was taken back, for the user to edit and send again:',
      shorten(prompt, promptShown),
    );
  if (session) return lines.join('\n');
  if (withFiles) lines.push('Read files again before you change them: they are not as you remember them.');
  else lines.push('The task state is not as you remember it.');
  return lines.join('\n');
}
