import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { CheckpointsError } from '../../core/errors';
import type { Checkpoint, TaskState } from '../../core/model';
import { taskStatuses } from '../../core/task';
import type { Clamp } from '../../core/task';
import { parseJson } from '../../core/text';
import { collect, define, type Invocation, type Opened, type Reply, type Select } from '../command';
import { addGlobals } from '../globals';
import { resultView } from '../views/restore';
import { historyTable, taskView } from '../views/task';

interface SetFlags {
  title?: string;
  objective?: string;
  status?: string;
  summary?: string;
  plan?: string[];
  done?: string[];
  next?: string[];
  blocker?: string[];
  file?: string[];
  note?: string[];
  name?: string;
  input?: string;
}

const listOf = {
  plan: 'currentPlan',
  done: 'completedSteps',
  next: 'nextSteps',
  blocker: 'blockers',
  file: 'filesTouched',
  note: 'notes',
} as const;

export function registerTaskCommands(program: Command, select: Select): void {
  const group = addGlobals(program.command('task'))
    .summary('what the agent is doing: show, set, clear, history, handoff, restore')
    .description(
      'What the agent is doing. Every save is a checkpoint, and `.opencode/state` has a copy for other tools.',
    )
    .enablePositionalOptions();

  define(group, select, {
    usage: 'show',
    summary: 'the task as it is now',
    examples: ['opencode-checkpoints task show --json'],
    run: async (invocation) => {
      const { task } = await invocation.openAll();
      const { live, warnings } = await task.load();
      return reply(live?.task ?? null, warnings);
    },
  });

  define<[], SetFlags>(group, select, {
    usage: 'set',
    summary: 'change the task; what is not named stays',
    details: 'Lists are replaced as a whole. An empty text clears a field: --summary "" or --next "".',
    examples: [
      'opencode-checkpoints task set --title "Port the parser" --status in_progress --next "write tests" --next "delete the old one"',
      'opencode-checkpoints task set --done "tests" --name "parser ported"',
      `echo '{"summary": "half way"}' | opencode-checkpoints task set --input -`,
    ],
    options: setOptions,
    run: set,
  });

  define(group, select, {
    usage: 'clear',
    summary: 'forget the task; its checkpoints stay',
    examples: ['opencode-checkpoints task clear'],
    run: async (invocation) => {
      const { workspace, task } = await invocation.openAll({ begins: 'late' });
      const { warnings } = await task.clear(workspace);
      return reply(null, warnings);
    },
  });

  define(group, select, {
    usage: 'history',
    summary: 'the saves, newest first',
    examples: ['opencode-checkpoints task history'],
    run: async (invocation) => {
      const { workspace, task } = await invocation.openAll();
      const { live, warnings } = await task.load();
      const history = await task.history(workspace);
      return reply(live?.task ?? null, warnings, { history }, (output) =>
        history.length ? historyTable(history, output) : 'No saves.\n',
      );
    },
  });

  define(group, select, {
    usage: 'handoff',
    summary: 'the task as a page for the next reader',
    examples: ['opencode-checkpoints task handoff > HANDOFF.md'],
    run: async (invocation) => {
      const { task } = await invocation.openAll();
      const { live, warnings } = await task.load();
      const page = await task.handoff();
      return reply(live?.task ?? null, warnings, { handoff: page }, () => page);
    },
  });

  define<[string]>(group, select, {
    usage: 'restore <ref>',
    summary: 'the task as it was at a checkpoint, exactly',
    details: 'REF may also be a save as `task history` names it. `opencode-checkpoints undo` takes it back.',
    examples: ['opencode-checkpoints task restore "parser ported"'],
    run: async (invocation, [reference]) => {
      const opened = await invocation.openAll();
      const { workspace, task } = opened;
      const { id } = await findSave(opened, reference);
      const result = await workspace.restore(id, {
        scope: ['task'],
        force: invocation.globals.force,
        signal: invocation.signal,
      });
      const now = await task.read();
      return {
        json: { task: now, result },
        text: (output) => `${taskView(now, output)}\n${resultView(result, output)}`,
      };
    },
  });
}

function setOptions(command: Command): Command {
  return command
    .option('--title <text>', 'what it is called')
    .option('--objective <text>', 'what it is for')
    .option('--status <status>', taskStatuses.join(', '))
    .option('--summary <text>', 'where it stands')
    .option('--plan <text>', 'a step of the plan (repeatable)', collect)
    .option('--done <text>', 'a step that is done (repeatable)', collect)
    .option('--next <text>', 'a step to come (repeatable)', collect)
    .option('--blocker <text>', 'what is in the way (repeatable)', collect)
    .option('--file <path>', 'a file that was touched (repeatable)', collect)
    .option('--note <text>', 'a note (repeatable)', collect)
    .option('--name <name>', "the save's own name, to find it again")
    .option('--input <file>', 'fields as JSON, from a file or from - for stdin; the other options win over it');
}

async function set(invocation: Invocation, _args: unknown[], flags: SetFlags): Promise<Reply> {
  const fields: Record<string, unknown> = flags.input === undefined ? {} : await readInput(invocation, flags.input);
  for (const field of ['title', 'objective', 'status', 'summary'] as const)
    if (flags[field] !== undefined) fields[field] = flags[field];
  for (const [flag, field] of Object.entries(listOf) as Array<[keyof typeof listOf, string]>) {
    const items = flags[flag];
    // One empty text is the only way to say "none" in options.
    if (items) fields[field] = items.length === 1 && items[0] === '' ? [] : items;
  }
  const { snapshotName, ...patch } = fields;
  if (snapshotName !== undefined && snapshotName !== null && typeof snapshotName !== 'string')
    throw new CheckpointsError('invalid-argument', 'snapshotName is a text');
  const name = flags.name ?? snapshotName ?? null;
  if (Object.keys(patch).length === 0 && name === null)
    throw new CheckpointsError('invalid-argument', 'Nothing was given to set');
  const { workspace, task } = await invocation.openAll({ begins: 'late' });
  const saved = await task.save(workspace, patch, { name });
  return {
    json: { task: saved.task, checkpoint: saved.checkpoint, clamped: saved.clamped, warnings: saved.warnings },
    text: (output) => {
      for (const text of [...saved.warnings, ...saved.clamped.map(clampSentence)]) output.note(text);
      return taskView(saved.task, output);
    },
  };
}

const clampSentence = ({ field, given, kept }: Clamp): string => `${field} was cut from ${given} to ${kept}.`;

async function readInput(invocation: Invocation, source: string): Promise<Record<string, unknown>> {
  const text =
    source === '-'
      ? await invocation.readStdin()
      : await readFile(path.resolve(invocation.globals.cwd, source), 'utf8').catch(unreadable);
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    throw new CheckpointsError('invalid-argument', `--input is not JSON: ${(error as Error).message}`, {
      cause: error,
    });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CheckpointsError('invalid-argument', '--input takes a JSON object');
  const { version: _version, updatedAt: _updatedAt, task, ...rest } = value as Record<string, unknown>;
  // As in checkpoint.json: title, objective and status in a part of their own.
  return { ...rest, ...(typeof task === 'object' && task !== null ? task : {}) };
}

function unreadable(error: unknown): never {
  throw new CheckpointsError('invalid-argument', `--input cannot be read: ${(error as Error).message}`, {
    cause: error,
  });
}

/** Saves that nobody named are shown as `auto-<ms>`: what is shown can be typed. */
async function findSave({ workspace, task }: Opened, reference: string): Promise<Checkpoint> {
  try {
    return await workspace.resolve(reference);
  } catch (error) {
    if (!CheckpointsError.is(error, 'unknown-reference') || !/^auto-\d+$/.test(reference)) throw error;
    return task.findSave(workspace, reference);
  }
}

function reply(
  task: TaskState | null,
  warnings: string[],
  more: Record<string, unknown> = {},
  view: Reply['text'] = (output) => taskView(task, output),
): Reply {
  return {
    json: { task, ...more, ...(warnings.length > 0 ? { warnings } : {}) },
    text: (output) => {
      for (const text of warnings) output.note(text);
      return view(output);
    },
  };
}
