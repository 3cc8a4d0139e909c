import type { Command } from 'commander';
import { type Checkpoint, triggers } from '../../core/model';
import { collect, define, type Select } from '../command';
import { anchorOf } from '../sessions';
import { UsageError } from '../usage';
import { parseLimit, parseMeta, parseSession, parseTrigger } from '../values';
import { changeTable } from '../views/changes';
import { checkpointDetails, checkpointLine, checkpointTable } from '../views/checkpoint';
import { tellLost } from '../views/lost';
import { oldDataNote } from './import-old';

/** What a terminal shows without being asked for more; programs get all. */
const terminalLimit = 50;

interface CreateFlags {
  description?: string;
  session?: string;
  message?: string;
  meta?: string[];
  pin?: boolean;
}

interface ListFlags {
  session?: string;
  search?: string;
  trigger?: string;
  limit?: string;
}

export function registerCheckpointCommands(program: Command, select: Select): void {
  define<[string?], CreateFlags>(program, select, {
    usage: 'create [name]',
    summary: 'make a checkpoint of now',
    details: 'A name is one line of at most 200 characters. Named checkpoints stay until somebody deletes them.',
    examples: [
      'opencode-checkpoints create',
      'opencode-checkpoints create "before the refactoring" --description "all tests green" --pin',
      'opencode-checkpoints create "tests pass" --session ses_5c1f2b',
      'opencode-checkpoints create --meta ticket=42 -- "-O2 works"',
    ],
    options: (command) =>
      command
        .option('--description <text>', 'a longer text')
        .option('--session <id>', 'with the conversation of this OpenCode session')
        .option('--message <id>', 'through this message of it (default: the last one)')
        .option('--meta <key=value>', 'metadata of your own (repeatable)', collect)
        .option('--pin', 'keep it until it is unpinned'),
    run: async (invocation, [name], flags) => {
      const metadata = parseMeta(flags.meta);
      if (flags.message !== undefined && flags.session === undefined)
        throw new UsageError('--message needs --session', 'See `opencode-checkpoints create --help`.');
      parseSession(flags.session);
      const workspace = await invocation.open({ begins: 'late' });
      const session =
        flags.session === undefined
          ? null
          : await anchorOf(await invocation.sessions(workspace), flags.session, flags.message);
      invocation.output.progress('Capturing…');
      const checkpoint = await workspace.create({
        trigger: 'manual',
        name: name ?? null,
        description: flags.description ?? null,
        session,
        ...(metadata ? { metadata } : {}),
        pinned: flags.pin ?? false,
        signal: invocation.signal,
      });
      return { json: { checkpoint }, text: (output) => created(checkpoint, output) };
    },
  });

  define<[], ListFlags>(program, select, {
    usage: 'list',
    summary: 'checkpoints, newest first',
    examples: [
      'opencode-checkpoints list --limit 10',
      'opencode-checkpoints list --search parser',
      'opencode-checkpoints list --trigger manual --json',
    ],
    options: (command) =>
      command
        .option('--session <id>', 'only those of an OpenCode session')
        .option('--search <text>', 'only those in whose name, description, prompt or paths words begin so')
        .option('--trigger <trigger>', `only those made by: ${triggers.join(', ')}`)
        .option('--limit <n>', 'at most so many'),
    run: async (invocation, _args, flags) => {
      const limit = parseLimit(flags.limit);
      const trigger = parseTrigger(flags.trigger);
      parseSession(flags.session);
      const workspace = await invocation.open({ index: flags.search !== undefined });
      const { output, globals } = invocation;
      const cut = limit === undefined && output.isTerminal && !globals.json;
      const checkpoints = await workspace.list({
        session: flags.session,
        search: flags.search,
        trigger,
        limit: cut ? terminalLimit + 1 : limit,
      });
      tellLost(invocation, workspace);
      if (invocation.interactive) {
        const note = await oldDataNote(workspace, false);
        if (note !== null) output.note(note);
      }
      return {
        json: { checkpoints },
        text: async () => {
          if (checkpoints.length === 0) return 'No checkpoints.\n';
          if (!cut || checkpoints.length <= terminalLimit) return checkpointTable(checkpoints, output);
          return `${await checkpointTable(checkpoints.slice(0, terminalLimit), output)}There are more: --limit N\n`;
        },
      };
    },
  });

  define<[string]>(program, select, {
    usage: 'show <ref>',
    summary: 'one checkpoint and what changed since the one before it',
    examples: ['opencode-checkpoints show latest', 'opencode-checkpoints show "before the refactoring" --json'],
    run: async (invocation, [reference]) => {
      const workspace = await invocation.open();
      const checkpoint = await workspace.resolve(reference);
      const changes = await workspace.changes(checkpoint.id);
      return {
        json: { checkpoint, changes },
        text: async (output) => `${checkpointDetails(checkpoint, output)}\n${await changeTable(changes, output)}`,
      };
    },
  });
}

function created(checkpoint: Checkpoint, output: Parameters<typeof checkpointLine>[1]): string {
  const { skipped, partial } = checkpoint.files;
  const left = [
    skipped.length && `${skipped.length} left out`,
    partial.length && output.style.yellow(`${partial.length} could not be read`),
  ].filter(Boolean);
  const more = left.length ? `${left.join(', ')}: opencode-checkpoints show ${checkpoint.id}\n` : '';
  return `${checkpointLine(checkpoint, output)}\n${more}`;
}
