import { Command, CommanderError, type Option } from 'commander';
import { version } from '../../package.json';
import type { Select, Selection } from './command';
import { registerBackupCommands } from './commands/backup';
import { registerCheckpointCommands } from './commands/checkpoints';
import { registerCompareCommands } from './commands/compare';
import { registerEditCommands } from './commands/edit';
import { registerExportCommand } from './commands/export';
import { registerImportCommand } from './commands/import';
import { registerOriginalsCommands } from './commands/originals';
import { registerPluginCommands } from './commands/plugin';
import { registerRestoreCommands } from './commands/restore';
import { registerStoreCommands } from './commands/store';
import { registerSyncCommands } from './commands/sync';
import { registerTaskCommands } from './commands/task';
import { addGlobals, helpOption } from './globals';
import { UsageError } from './usage';

export type Parsed = { kind: 'run'; selection: Selection } | { kind: 'answer'; json: object; text: string };

const intro = `Checkpoints of a workspace: its files, and what an OpenCode session and its task were at that moment.

A checkpoint is named by its id, a unique beginning of it (6 characters or more after "cp_"), its exact name, \`latest\` or \`latest~N\`. A name that begins with a dash goes after \`--\`.`;

const outro = `
Examples:
  $ opencode-checkpoints create "before the refactoring"
  $ opencode-checkpoints diff latest --patch
  $ opencode-checkpoints restore "before the refactoring" --dry-run
  $ opencode-checkpoints undo

Exit status: 0 done, 1 refused or failed, 2 wrong usage.`;

export function parse(argv: readonly string[]): Parsed {
  let selection: Selection | null = null;
  let printed = '';
  const program = build(
    (one) => (selection = one),
    (text) => (printed += text),
  );
  try {
    refuseSwallowed(program, argv);
    program.parse(asHelpOption(program, argv), { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === 'commander.version') return { kind: 'answer', json: { version }, text: printed };
    if (error.exitCode === 0) return { kind: 'answer', json: { help: printed }, text: printed };
    throw usageError(program, error, argv);
  }
  if (!selection) throw new Error('A parsed command line selected no command');
  return { kind: 'run', selection };
}

function build(select: Select, print: (text: string) => void): Command {
  const program = new Command('opencode-checkpoints')
    .exitOverride()
    .configureOutput({ writeOut: print, writeErr: () => undefined })
    .enablePositionalOptions()
    .description(intro)
    .version(version, '-V, --version', 'print the version')
    .addHelpOption(helpOption())
    .helpCommand('help [command]', 'print help for a command')
    .addHelpText('after', outro);
  addGlobals(program);
  registerCheckpointCommands(program, select);
  registerCompareCommands(program, select);
  registerRestoreCommands(program, select);
  registerEditCommands(program, select);
  registerOriginalsCommands(program, select);
  registerStoreCommands(program, select);
  registerTaskCommands(program, select);
  registerBackupCommands(program, select);
  registerSyncCommands(program, select);
  registerExportCommand(program, select);
  registerImportCommand(program, select);
  registerPluginCommands(program, select);
  return program;
}

/**
 * `list --limit --json` forgot a number; commander would take `--json` for it. Who really means such a value writes
 * `--description=--json`.
 */
function refuseSwallowed(program: Command, argv: readonly string[]): void {
  // What another command calls so is unknown to this one: commander says it.
  const options = commandIn(program, argv).commands.flatMap((command) => command.options);
  for (let i = 0; i < argv.length && argv[i] !== '--'; i++) {
    const option = options.find((one) => one.required && isFlag(one, argv[i]));
    if (!option) continue;
    const value = argv[++i];
    if (value !== undefined && everyOption(program).some((one) => isFlag(one, value)))
      throw new CommanderError(2, 'commander.optionMissingArgument', `option '${option.flags}' argument missing`);
  }
}

/**
 * `help task set` is `task set --help`, and so is `task help set`: commander would go one word deep, and knows no `help` in a group that is a command itself.
 * How the answer is printed is decided elsewhere.
 */
function asHelpOption(program: Command, argv: readonly string[]): readonly string[] {
  const words = argv.filter((word) => word !== '--json');
  const group = program.commands.find((one) => one.commands.length > 0 && one.name() === words[0]);
  const asked =
    words[0] === 'help' ? words.slice(1) : group && words[1] === 'help' ? [group.name(), ...words.slice(2)] : null;
  if (asked === null) return argv;
  const path: string[] = [];
  let at = program;
  for (const word of asked.filter((one) => !one.startsWith('-'))) {
    const next = at.commands.find((one) => one.name() === word);
    if (!next) throw new UsageError(`unknown command '${word}'`, seeHelpOf(path));
    path.push(word);
    at = next;
  }
  return [...path, '--help'];
}

const seeHelpOf = (path: readonly string[]): string =>
  `See \`${['opencode-checkpoints', ...path, '--help'].join(' ')}\`.`;

const isFlag = (option: Option, word: string | undefined): boolean => word === option.short || word === option.long;

function everyOption(command: Command): Option[] {
  return [...command.options, ...command.commands.flatMap(everyOption)];
}

/** The commands of a line, from the program down, as far as they can be told before it is parsed, and the words that are no options. */
function commandIn(
  program: Command,
  argv: readonly string[],
): { commands: Command[]; path: string[]; words: string[] } {
  const words = argv.filter((word) => !word.startsWith('-'));
  const commands = [program];
  for (let [at, rest] = [program, words]; ;) {
    const next = rest.findIndex((word) => at.commands.some((one) => one.name() === word));
    const found = at.commands.find((one) => one.name() === rest[next]);
    if (found === undefined) return { commands, path: commands.slice(1).map((one) => one.name()), words };
    commands.push(found);
    [at, rest] = [found, rest.slice(next + 1)];
  }
}

function usageError(program: Command, error: CommanderError, argv: readonly string[]): UsageError {
  const { path, words } = commandIn(program, argv);
  const wayOut = seeHelpOf(path);
  // `help` as an error is what commander does with a line that ends before a command.
  if (error.code === 'commander.help') {
    if (words.length === 0) return new UsageError('No command was given', wayOut);
    return new UsageError(`'${words.join(' ')}' needs a subcommand`, wayOut);
  }
  return new UsageError(error.message.replace(/^error: /, '').replaceAll('\n', ' '), wayOut);
}
