import type { PathReason, PlanAction, RestorePlan, RestoreResult } from '../../core/model';
import type { Output } from '../output';
import { visible } from '../visible';
import { plural } from './plural';

const files = (count: number): string => `${count} ${count === 1 ? 'file' : 'files'}`;

/** On a terminal a plan of thousands would scroll its own summary away. */
const shownOnTerminal = 40;

export function planView(plan: RestorePlan, output: Output): string {
  const { style } = output;
  const paint: Record<PlanAction, (text: string) => string> = {
    write: style.green,
    delete: style.red,
    keep: style.yellow,
    skip: style.dim,
  };
  const shown = output.isTerminal ? plan.entries.slice(0, shownOnTerminal) : plan.entries;
  const rest = plan.entries.length - shown.length;
  const lines = shown.map((entry) => {
    const why = entry.reason ?? (entry.yours ? 'yours' : entry.unsure ? 'maybe yours' : undefined);
    return `${paint[entry.action](entry.action.padEnd(6))}  ${visible(entry.path)}${why ? style.dim(`  (${visible(why)})`) : ''}\n`;
  });
  if (rest > 0) lines.push(`… and ${files(rest)} more\n`);
  for (const folder of plan.folders?.make ?? []) lines.push(`${style.green('make  ')}  ${visible(folder)}/\n`);
  for (const folder of plan.folders?.remove ?? []) lines.push(`${style.red('remove')}  ${visible(folder)}/\n`);
  if (plan.conversation)
    lines.push(
      `conversation: a fork of ${plan.conversation.session} with ${plural(plan.conversation.messageCount, 'message')}\n`,
    );
  if (plan.conversation?.unfinished) lines.push(unfinishedLine(output));
  if (plan.task !== undefined)
    lines.push(plan.task === null ? 'task: cleared\n' : `task: ${visible(plan.task.title ?? 'untitled')}\n`);
  const count = (action: PlanAction): number => plan.entries.filter((entry) => entry.action === action).length;
  const summary = (['write', 'delete', 'keep', 'skip'] as const)
    .map((action) => [action, count(action)] as const)
    .filter(([, number]) => number > 0)
    .map(([action, number]) => `${number} to ${action}`)
    .concat(plan.folders ? [`${plural(plan.folders.make.length + plan.folders.remove.length, 'empty folder')}`] : [])
    .join(', ');
  lines.push(`${summary || noFile(plan)}.\n`);
  if (plan.massDelete)
    lines.push(
      `${style.red('Mass deletion:')} ${count('delete')} of ${files(plan.fileCount)} would go (--allow-mass-delete).\n`,
    );
  return lines.join('');
}

const noFile = ({ scope, task, conversation }: RestorePlan): string => {
  if (task === undefined && conversation === undefined) return 'Nothing to do: the files are as they were then';
  return scope.includes('files')
    ? 'No file to write or delete: they are as they were then'
    : 'Files are left as they are';
};

/** Two servers can share a database, and neither knows what the other does. */
const unfinishedLine = ({ style }: Output): string =>
  `${style.yellow('unfinished')}: its last answer is left out; another OpenCode may be writing it, or one stopped half way\n`;

const indented = (text: string): string =>
  text
    .split('\n')
    .map((line) => `  ${visible(line)}`)
    .join('\n');

/** `back` is the command that takes it back: an undo is taken back by `redo`. */
export function resultView(result: RestoreResult, output: Output, back: 'undo' | 'redo' = 'undo'): string {
  const { style } = output;
  const lines: string[] = [];
  for (const path of result.restored) lines.push(`${style.green('restored')}  ${visible(path)}\n`);
  for (const path of result.deleted) lines.push(`${style.red('deleted ')}  ${visible(path)}\n`);
  const because = (label: string, paint: (text: string) => string, entries: PathReason[]): void => {
    for (const { path, reason } of entries)
      lines.push(`${paint(label)}  ${visible(path)}  ${style.dim(`(${visible(reason)})`)}\n`);
  };
  because('kept    ', style.yellow, result.kept);
  because('skipped ', style.yellow, result.skipped);
  because('conflict', style.red, result.conflicts ?? []);
  if (result.task) lines.push(`${style.green('restored')}  the task state\n`);
  if (result.session) lines.push(`new session  ${result.session.id}\n`);
  if (result.todosLost)
    lines.push(
      `${style.yellow('todos')}  ${plural(result.todosLost, 'todo')} could not be carried over: OpenCode 1 writes them only through its own program, on the data of the server. Is \`opencode\` on PATH, or named by OPENCODE_BIN?\n`,
    );
  if (result.serverSilent)
    lines.push(
      `${style.yellow('server')}  OpenCode runs, but did not answer: whether an agent is at work here is not known.\n`,
    );
  if (result.unfinished) lines.push(unfinishedLine(output));
  if (result.prompt !== undefined)
    lines.push(`prompt  taken back, to be edited and sent again:\n${indented(result.prompt)}\n`);
  if (result.fork) lines.push(`session  ${result.fork.id} of the restore stays\n`);
  const changed = result.restored.length + result.deleted.length > 0;
  const done = changed
    ? `${files(result.restored.length)} restored, ${result.deleted.length} deleted.`
    : 'No file was changed.';
  const failed = result.failed ? ` ${style.red(`${result.failed} could not be restored.`)}` : '';
  const point = result.undo ? ` To take it back: opencode-checkpoints ${back} (${style.cyan(result.undo)})` : '';
  lines.push(`${done}${failed}${point}\n`);
  return lines.join('');
}
