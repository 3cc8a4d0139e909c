import { type Command, Option } from 'commander';
import type { PlanOptions, RestoreOptions } from '../../core/api';
import { CheckpointsError } from '../../core/errors';
import type { RestorePlan, RestoreResult } from '../../core/model';
import { onDisk } from '../../git/inner-path';
import { covering } from '../../core/plan';
import { collect, define, type Invocation, type Reply, type Select } from '../command';
import { restoreAsShown } from '../restore-as-shown';
import { parseScope } from '../values';
import { planView, resultView } from '../views/restore';
import { workspacePaths } from '../workspace-path';
import { inAny } from './compare';

interface ApplyFlags {
  keepUserEdits?: boolean;
  allowMassDelete?: boolean;
}

interface RestoreFlags extends ApplyFlags {
  scope?: string[];
  path?: string[];
  dryRun?: boolean;
}

const keepUserEdits = (command: Command): Command =>
  command.option('--keep-user-edits', 'leave files alone that you changed by hand since');

const massDelete = (): Option =>
  new Option('--allow-mass-delete', 'even if it deletes more than 20 files and a third of the workspace');

const applyOptions = (command: Command): Command => keepUserEdits(command).addOption(massDelete());

export function registerRestoreCommands(program: Command, select: Select): void {
  define<[string], RestoreFlags>(program, select, {
    usage: 'restore <ref>',
    summary: 'bring the workspace back to a checkpoint',
    details:
      'A safety checkpoint of now is made first: `opencode-checkpoints undo` takes the restore back. Files that could not be changed are named; the exit status is then 1.',
    examples: [
      'opencode-checkpoints restore latest --dry-run',
      'opencode-checkpoints restore latest~2 --path src/parser --path README.md',
      'opencode-checkpoints restore "before the refactoring" --keep-user-edits --yes',
    ],
    options: (command) =>
      applyOptions(
        command
          .option('--scope <scopes>', 'files, conversation, task, joined by commas (default: files)', collect)
          .option('--path <path>', 'only this file or folder (repeatable)', collect)
          .option('--dry-run', 'show the plan, change nothing'),
      ),
    run: restore,
  });

  for (const [name, summary] of [
    ['undo', "take the last restore's files and task back"],
    ['redo', 'take the last undo back'],
  ] as const)
    define<[], ApplyFlags>(program, select, {
      usage: name,
      summary,
      examples: [`opencode-checkpoints ${name}`],
      // They need no confirmation: what they delete is what a restore had brought. Scripts may give the flag all the same.
      options: (command) => keepUserEdits(command).addOption(massDelete().hideHelp()),
      run: async (invocation, _args, flags) => {
        const workspace = await invocation.open();
        const result = await withMassDeletion(invocation, flags, (options) => workspace[name](options));
        return done(result, name === 'undo' ? 'redo' : 'undo');
      },
    });

  define<[string], ApplyFlags>(program, select, {
    usage: 'revert-turn <ref>',
    summary: 'undo what one turn of the agent changed, and keep everything after it',
    details: 'Merged file by file. Files with conflicts are named and left as they are; the exit status is then 1.',
    examples: ['opencode-checkpoints revert-turn latest~1'],
    options: applyOptions,
    run: async (invocation, [reference], flags) => {
      const workspace = await invocation.open();
      const { id } = await workspace.resolve(reference);
      const result = await withMassDeletion(invocation, flags, (options) => workspace.revertTurn(id, options));
      return done({ ...result, conflicts: result.conflicts ?? [] });
    },
  });
}

async function restore(invocation: Invocation, [reference]: [string], flags: RestoreFlags): Promise<Reply> {
  const scope = parseScope(flags.scope) ?? ['files'];
  const workspace = await invocation.open();
  const target = await workspace.resolve(reference);
  const inTree = inAny(workspace, [target.id]);
  const knows = async (path: string): Promise<boolean> =>
    (await inTree(path)) || target.files.emptyDirs.some(covering([path]));
  const paths = await workspacePaths(workspace.root, invocation.globals.cwd, flags.path, knows);
  for (const path of paths ?? [])
    if (!(await knows(path)) && !(await onDisk(workspace.root, path)))
      throw new CheckpointsError('not-in-checkpoint', `${path} is neither in ${target.id} nor in the workspace`);
  const planOptions: PlanOptions = { scope, paths, keepUserEdits: flags.keepUserEdits ?? false };
  if (flags.dryRun) {
    const plan = await workspace.plan(target.id, planOptions);
    return { json: { plan }, text: (output) => planView(plan, output) };
  }
  const apply = (allowMassDelete: boolean, shown: Pick<RestoreOptions, 'agreed' | 'keep'> = {}) =>
    withMassDeletion(invocation, { ...flags, allowMassDelete }, (given) =>
      workspace.restore(target.id, { ...given, ...planOptions, ...shown }),
    );
  if (!invocation.interactive || invocation.globals.yes) return done(await apply(flags.allowMassDelete ?? false));
  return done(
    await restoreAsShown(invocation, {
      plan: () => workspace.plan(target.id, planOptions),
      ask: async (plan) => {
        if (plan.massDelete && !flags.allowMassDelete) await confirmMassDeletion(invocation, deletions(plan));
        else if (changesSomething(plan)) await invocation.confirm(`Restore "${target.title}"?`);
      },
      restore: (agreed, plan) =>
        apply(flags.allowMassDelete === true || plan.massDelete, {
          agreed,
          // What was agreed to stays so, although a turn may end meanwhile.
          ...(flags.keepUserEdits ? { keep: kept(plan) } : {}),
        }),
    }),
  );
}

const kept = (plan: RestorePlan): string[] =>
  plan.entries.filter(({ action, yours, unsure }) => action === 'keep' && (yours || unsure)).map(({ path }) => path);

const deletions = (plan: RestorePlan): number => plan.entries.filter((entry) => entry.action === 'delete').length;

const changesSomething = (plan: RestorePlan): boolean =>
  plan.conversation !== undefined ||
  plan.task !== undefined ||
  plan.entries.some((entry) => entry.action === 'write' || entry.action === 'delete');

async function confirmMassDeletion(invocation: Invocation, count: number): Promise<void> {
  if (await invocation.confirmByWord(`This deletes ${count} files.`, 'delete')) return;
  throw new CheckpointsError('cancelled', 'Nothing was changed');
}

const partNames = {
  asking: 'Asking OpenCode…',
  safety: 'Making the safety checkpoint…',
  conversation: 'Making the new session…',
} as const;

/** At a terminal a refused mass deletion becomes a question of its own, which `--yes` does not answer; elsewhere it stays refused. */
async function withMassDeletion(
  invocation: Invocation,
  flags: ApplyFlags,
  apply: (options: RestoreOptions) => Promise<RestoreResult>,
): Promise<RestoreResult> {
  const options: RestoreOptions = {
    keepUserEdits: flags.keepUserEdits ?? false,
    allowMassDelete: flags.allowMassDelete ?? false,
    force: invocation.globals.force,
    signal: invocation.signal,
    onProgress: ({ done: count, total, part }) =>
      invocation.output.progress(part === undefined ? `${count} of ${total} files` : partNames[part]),
  };
  try {
    return await apply(options);
  } catch (error) {
    if (!CheckpointsError.is(error, 'mass-delete') || !invocation.interactive) throw error;
    invocation.output.note(error.message);
    if (!(await invocation.confirmByWord('This is a mass deletion.', 'delete'))) throw error;
    return apply({ ...options, allowMassDelete: true });
  }
}

/** What was asked for was not all done: a script that goes on from there must know. */
export function done(result: RestoreResult, back: 'undo' | 'redo' = 'undo'): Reply {
  return {
    json: { result },
    text: (output) => resultView(result, output, back),
    exitCode: result.conflicts?.length || result.failed ? 1 : 0,
  };
}
