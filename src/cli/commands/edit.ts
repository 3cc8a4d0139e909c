import type { Command } from 'commander';
import type { WorkspaceApi } from '../../core/api';
import type { Checkpoint, CheckpointId } from '../../core/model';
import { define, type Reply, type Select } from '../command';
import { checkpointLine } from '../views/checkpoint';
import { plural } from '../views/plural';
import { firstLine } from '../visible';
import { parseSession } from '../values';

export function registerEditCommands(program: Command, select: Select): void {
  const edit = <A extends [string, ...string[]]>(
    usage: string,
    summary: string,
    examples: string[],
    change: (workspace: WorkspaceApi, args: A) => Promise<Checkpoint>,
  ): void => {
    define<A>(program, select, {
      usage,
      summary,
      examples,
      run: async (invocation, args) => {
        const checkpoint = await change(await invocation.open(), args);
        return { json: { checkpoint }, text: (output) => `${checkpointLine(checkpoint, output)}\n` };
      },
    });
  };

  edit<[string, string]>(
    'rename <ref> <name>',
    'give a checkpoint a name',
    ['opencode-checkpoints rename latest "before the refactoring"', 'opencode-checkpoints rename latest -- -v2'],
    (workspace, [reference, name]) => workspace.rename(reference, name),
  );
  edit<[string, string]>(
    'describe <ref> <text>',
    'give a checkpoint a description; an empty text removes it',
    ['opencode-checkpoints describe latest "all tests green"'],
    (workspace, [reference, text]) => workspace.describe(reference, text),
  );
  edit<[string]>(
    'pin <ref>',
    'keep a checkpoint until it is unpinned',
    ['opencode-checkpoints pin latest'],
    (workspace, [reference]) => workspace.pin(reference, true),
  );
  edit<[string]>(
    'unpin <ref>',
    'let a checkpoint age like others',
    ['opencode-checkpoints unpin latest'],
    (workspace, [reference]) => workspace.pin(reference, false),
  );

  define<string[]>(program, select, {
    usage: 'delete <ref...>',
    summary: 'delete checkpoints for good',
    details: 'All references are looked up first: one that is unknown, and nothing is deleted.',
    examples: ['opencode-checkpoints delete latest --yes', 'opencode-checkpoints delete cp_01jabcdef cp_01jabcxyz'],
    run: async (invocation, references) => {
      const workspace = await invocation.open();
      const targets = new Map<CheckpointId, Pick<Checkpoint, 'id' | 'title'>>();
      for (const reference of references) {
        const found = await workspace.deletable(reference);
        targets.set(found.id, found);
      }
      const [first] = targets.values();
      await invocation.confirm(
        targets.size === 1 && first
          ? `Deleting "${firstLine(first.title)}" (${first.id})?`
          : `Deleting ${targets.size} checkpoints?`,
      );
      return deleted(await workspace.remove([...targets.keys()]));
    },
  });

  define<[], { session?: string }>(program, select, {
    usage: 'clear',
    summary: 'delete all checkpoints of this workspace, or of one session',
    examples: ['opencode-checkpoints clear --session ses_2f1a --yes'],
    options: (command) => command.option('--session <id>', 'only those of an OpenCode session'),
    run: async (invocation, _args, { session }) => {
      parseSession(session);
      const workspace = await invocation.open();
      const listed = (await workspace.list({ session })).length;
      const { refs, records } = workspace.lost();
      const count = session === undefined ? listed + refs.length + records.length : listed;
      if (count > 0)
        await invocation.confirm(
          `Deleting ${plural(count, 'checkpoint')} of ${session === undefined ? workspace.root : session}?`,
        );
      return deleted(await workspace.clear(session));
    },
  });
}

function deleted(ids: CheckpointId[]): Reply {
  return {
    json: { deleted: ids },
    text: () => (ids.length ? ids.map((id) => `deleted  ${id}\n`).join('') : 'Nothing to delete.\n'),
  };
}
