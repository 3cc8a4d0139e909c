import { type Command, Option } from 'commander';
import { CheckpointsError } from '../core/errors';

/** Taken by every command, before or after its name. */
export interface Globals {
  cwd: string;
  json: boolean;
  yes: boolean;
  force: boolean;
  server: string | null;
}

const heading = 'Everywhere:';

/** Among what is taken everywhere: by itself it would stand below, as the only option of many commands. */
export const helpOption = (): Option => new Option('-h, --help', 'print help').helpGroup(heading);

/**
 * Added to the program and to every command alike, each level reading only its own part of the line. Were they known to the program
 * alone, it would also take them where they are another option's value, as in `--description --json`.
 */
export function addGlobals(command: Command): Command {
  for (const [flags, description] of [
    ['--cwd <dir>', 'work on the workspace of this folder (default: here)'],
    ['--json', 'print one JSON document on stdout and ask nothing'],
    ['-y, --yes', 'answer confirmations with yes (mass deletion has a flag of its own)'],
    ['--force', 'go on although a session is busy'],
    ['--server <url>', 'the OpenCode server, for conversations'],
  ] as const)
    command.addOption(new Option(flags, description).helpGroup(heading));
  return command;
}

/** The command's own word counts before its parents'. */
export function readGlobals(command: Command): Globals {
  const given: Partial<Globals> = {};
  for (let level: Command | null = command; level; level = level.parent) {
    const options = level.opts<Partial<Globals>>();
    given.cwd ??= options.cwd;
    given.json ??= options.json;
    given.yes ??= options.yes;
    given.force ??= options.force;
    given.server ??= options.server;
  }
  if (given.cwd === '') throw new CheckpointsError('invalid-argument', '--cwd takes a folder');
  if (given.server === '') throw new CheckpointsError('invalid-argument', '--server takes an address');
  return {
    cwd: given.cwd ?? here(),
    json: given.json ?? false,
    yes: given.yes ?? false,
    force: given.force ?? false,
    server: given.server ?? null,
  };
}

function here(): string {
  try {
    return process.cwd();
  } catch (error) {
    throw new CheckpointsError('invalid-argument', 'The current folder does not exist any more', { cause: error });
  }
}

/** For lines that could not be parsed: was `--json` among what was written? */
export function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return (end < 0 ? argv : argv.slice(0, end)).includes('--json');
}
