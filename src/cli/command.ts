import type { Command } from 'commander';
import type { WorkspaceApi } from '../core/api';
import type { RecoveryReport } from '../core/ports';
import type { SessionGateway } from '../core/sessions';
import type { TaskService } from '../core/task-service';
import { addGlobals, type Globals, readGlobals } from './globals';
import type { Output } from './output';

/** What a command has to say, once for programs and once for people. */
export interface Reply {
  json: object;
  text: (output: Output) => string | Uint8Array | Promise<string | Uint8Array>;
  /** 1 when something is wrong although the command could answer. */
  exitCode?: 0 | 1;
}

/** What a command works with while it runs. */
export interface Invocation {
  readonly globals: Globals;
  readonly output: Output;
  /** Aborted by Ctrl+C. */
  readonly signal: AbortSignal;
  open(options?: OpenNeeds): Promise<WorkspaceApi>;
  /** The same workspace with what belongs to it. */
  openAll(options?: OpenNeeds): Promise<Opened>;
  /** OpenCode's server; started if need be, and stopped with the command if it was. */
  sessions(workspace: WorkspaceApi): Promise<SessionGateway>;
  /** Throws `cancelled` on no, and `needs-confirmation` where nobody can be asked. */
  confirm(question: string): Promise<void>;
  /** Somebody sits at a terminal and wants to be asked. */
  readonly interactive: boolean;
  /** For what `--yes` does not answer: the word has to be typed. */
  confirmByWord(question: string, word: string): Promise<boolean>;
  readStdin(): Promise<string>;
}

export interface Opened {
  workspace: WorkspaceApi;
  task: TaskService;
  /** What became of a restore that had died; null when there was none. */
  recovered: RecoveryReport | null;
}

export interface OpenNeeds {
  /** The query index pays off for searching and statistics only. */
  index?: boolean;
  /** It tells by itself what is wrong with the settings. */
  examines?: boolean;
  /**
   * It brings something in: at once, or `late`, when it is known what, so that nothing is left where it is refused. All others work on what is
   * there: a folder without a store stays without one.
   */
  begins?: true | 'late';
}

export interface Selection {
  globals: Globals;
  run(invocation: Invocation): Promise<Reply>;
}

export type Select = (selection: Selection) => void;

export interface Definition<A extends unknown[], O> {
  /** As commander reads it: `restore <ref>`. */
  usage: string;
  summary: string;
  details?: string;
  examples: string[];
  options?: (command: Command) => Command;
  run: (invocation: Invocation, args: A, options: O) => Promise<Reply>;
}

/** Parsing only selects; running comes after, so that a wrong line is refused before anything is opened. */
export function define<A extends unknown[], O extends object = object>(
  parent: Command,
  select: Select,
  definition: Definition<A, O>,
): Command {
  const command = parent.command(definition.usage).summary(definition.summary);
  const first = `${definition.summary[0]?.toUpperCase()}${definition.summary.slice(1)}.`;
  command.description(definition.details ? `${first}\n\n${definition.details}` : first);
  definition.options?.(command);
  addGlobals(command);
  command.addHelpText('after', `\nExamples:\n${definition.examples.map((line) => `  $ ${line}\n`).join('')}`);
  command.action(() => {
    select({
      globals: readGlobals(command),
      // commander has checked the number of arguments against the usage line, whose shape A repeats.
      run: (invocation) => definition.run(invocation, command.args as unknown[] as A, options(command) as O),
    });
  });
  return command;
}

/** A subcommand also takes what was given to its group: `originals --session ID diff PATH`. */
function options(command: Command): object {
  const group = command.parent?.parent ? command.parent.opts() : {};
  return { ...group, ...command.opts() };
}

export const collect = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value];
