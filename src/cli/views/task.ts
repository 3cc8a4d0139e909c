import type { TaskState } from '../../core/model';
import type { TaskSnapshot } from '../../core/task-service';
import type { Output } from '../output';
import { visible } from '../visible';
import { when } from './checkpoint';

const lists = [
  ['plan', 'currentPlan'],
  ['done', 'completedSteps'],
  ['next', 'nextSteps'],
  ['blockers', 'blockers'],
  ['files', 'filesTouched'],
  ['notes', 'notes'],
] as const;

export function taskView(task: TaskState | null, { style }: Output): string {
  if (!task) return 'No task.\n';
  const lines: string[] = [];
  const label = (text: string): string => style.dim(text.padEnd(12));
  for (const field of ['title', 'objective', 'status', 'summary'] as const)
    if (task[field]) lines.push(`${label(field)}${visible(task[field])}\n`);
  for (const [name, field] of lists)
    for (const [i, item] of (task[field] ?? []).entries())
      lines.push(`${label(i === 0 ? name : '')}- ${visible(item)}\n`);
  return lines.join('') || 'An empty task.\n';
}

export async function historyTable(history: TaskSnapshot[], output: Output): Promise<string> {
  const { table } = await import('../table');
  return table(
    [
      { header: 'ID', style: output.style.cyan },
      { header: 'SAVED', style: output.style.dim },
      { header: 'NAME' },
      { header: 'STATUS' },
      { header: 'TITLE', flexible: true },
    ],
    history.map((one) => [one.id, when(one.savedAt), one.name, one.status ?? '-', one.title ?? '']),
    { width: output.width, header: output.style.bold },
  );
}
