import type { Command } from 'commander';
import type { Agreed } from '../../core/agreed';
import { CheckpointsError } from '../../core/errors';
import { clearOriginals, findOriginals, type Original } from '../../core/originals';
import type { PlanOptions, WorkspaceApi } from '../../core/api';
import type { RestoreResult } from '../../core/model';
import { wellFormed } from '../../core/text';
import { define, type Invocation, type Select } from '../command';
import type { Output } from '../output';
import { paintPatch } from '../views/changes';
import { when } from '../views/checkpoint';
import { tellLost } from '../views/lost';
import { plural } from '../views/plural';
import { restoreAsShown } from '../restore-as-shown';
import { done } from './restore';
import { size } from '../views/size';
import { visible } from '../visible';
import { workspacePath } from '../workspace-path';
import { parseSession } from '../values';

interface SessionFlag {
  session?: string;
}

const sessionOption = (command: Command): Command =>
  command.option('--session <id>', 'of this OpenCode session (default: the newest one with a checkpoint here)');

export function registerOriginalsCommands(program: Command, select: Select): void {
  const group = define<[], SessionFlag>(program, select, {
    usage: 'originals',
    summary: 'the first version of each file that a session changed',
    details: 'Where no session is known: of each file that changed since the first checkpoint.',
    examples: ['opencode-checkpoints originals', 'opencode-checkpoints originals restore src/main.ts'],
    options: sessionOption,
    run: async (invocation, _args, { session }) => {
      const workspace = await invocation.open();
      const found = await findOriginals(workspace, parseSession(session));
      tellLost(invocation, workspace);
      return { json: found, text: (output) => originalsTable(found.originals, output) };
    },
  }).enablePositionalOptions();

  define<[string], SessionFlag>(group, select, {
    usage: 'diff <path>',
    summary: 'what became of a file since its first version',
    examples: ['opencode-checkpoints originals diff src/main.ts'],
    options: sessionOption,
    run: async (invocation, [given], { session }) => {
      const workspace = await invocation.open();
      const original = await originalOf(invocation, workspace, given, session);
      const diff = await workspace.diff(original.checkpoint, undefined, { paths: [original.path], patch: true });
      return {
        json: { ...diff, patch: wellFormed(diff.patch ?? '') },
        text: (output) => (diff.patch ? paintPatch(diff.patch, output.style, output.isTerminal) : 'No changes.\n'),
      };
    },
  });

  define<[string], SessionFlag>(group, select, {
    usage: 'restore <path>',
    summary: 'bring the first version of a file back',
    details: 'A file that the session made is deleted. `opencode-checkpoints undo` takes it back.',
    examples: ['opencode-checkpoints originals restore src/main.ts --yes'],
    options: sessionOption,
    run: async (invocation, [given], { session }) => {
      const workspace = await invocation.open();
      const original = await originalOf(invocation, workspace, given, session);
      const what: PlanOptions = { scope: ['files'], paths: [original.path] };
      const restore = (agreed?: Agreed): Promise<RestoreResult> =>
        workspace.restore(original.checkpoint, {
          ...what,
          agreed,
          force: invocation.globals.force,
          signal: invocation.signal,
        });
      if (!invocation.interactive || invocation.globals.yes) return done(await restore());
      const result = await restoreAsShown(invocation, {
        plan: () => workspace.plan(original.checkpoint, what),
        ask: () => invocation.confirm(`Restore the first version of ${visible(original.path)}?`),
        restore,
      });
      return done(result);
    },
  });

  define<[], SessionFlag>(group, select, {
    usage: 'clear',
    summary: 'forget the first versions: count from now on',
    details: 'No checkpoint is deleted.',
    examples: ['opencode-checkpoints originals clear'],
    options: sessionOption,
    run: async (invocation, _args, { session }) => {
      const workspace = await invocation.open();
      const found = await findOriginals(workspace, parseSession(session));
      if (found.originals.length > 0) await clearOriginals(workspace, found);
      const cleared = found.originals.map(({ path }) => path);
      return {
        json: { session: found.session, cleared },
        text: () => `${plural(cleared.length, 'first version')} forgotten.\n`,
      };
    },
  });
}

async function originalOf(
  invocation: Invocation,
  workspace: WorkspaceApi,
  given: string,
  session: string | undefined,
): Promise<Original> {
  const { originals } = await findOriginals(workspace, parseSession(session));
  const isOriginal = (path: string): Promise<boolean> => Promise.resolve(originals.some((one) => one.path === path));
  const path = await workspacePath(workspace.root, invocation.globals.cwd, given, isOriginal, { disk: false });
  const found = originals.find((one) => one.path === path);
  if (!found)
    throw new CheckpointsError('not-in-checkpoint', `${given} is not among the files that the session changed`, {
      details: { original: true },
    });
  return found;
}

async function originalsTable(originals: Original[], output: Output): Promise<string> {
  if (originals.length === 0) return 'No file was changed.\n';
  const { table } = await import('../table');
  return table(
    [
      { header: 'SAVED', style: output.style.dim },
      { header: 'SIZE', align: 'right' },
      { header: 'SINCE', style: output.style.yellow },
      { header: 'CHECKPOINT', style: output.style.cyan },
      { header: 'PATH' },
    ],
    originals.map((one) => [
      when(one.createdAt),
      one.existed ? size(one.size ?? 0) : 'absent',
      one.change?.status ?? 'same',
      one.checkpoint,
      one.path,
    ]),
    { header: output.style.bold },
  );
}
