import type { TaskState } from '../../core/model';
import type { TaskSnapshot } from '../../core/task-service';
import type { Output } from '../output';
import { paragraphs } from '../visible';
import { when } from './checkpoint';

const lists = [
  ['plan', 'currentPlan'],
  ['done', 'completedSteps'],
  ['next', 'nextSteps'],
  ['blockers', 'blockers'],
  ['files', 'filesTouched'],
  ['notes', 'notes'],
] as const;

/** So wide is the column of the names. */
const labels = 12;

export function taskView(task: TaskState | null, { style }: Output): string {
  if (!task) return 'No task.\n';
  const lines: string[] = [];
  const label = (text: string): string => style.dim(text.padEnd(labels));
  for (const field of ['title', 'objective', 'status', 'summary'] as const)
    if (task[field]) lines.push(`${label(field)}${paragraphs(task[field], labels)}\n`);
  for (const [name, field] of lists)
    for (const [i, item] of (task[field] ?? []).entries())
      lines.push(`${label(i === 0 ? name : '')}- ${paragraphs(item, labels + 2)}\n`);
  return lines.join('') || 'An empty task.\n';
}

export async function historyTable(history: TaskSnapshot[], output: Output): Promise<string> {
  const { table } = await import('../table');
  return table(
    [
      { header: 'ID', style: output.style.cyan },
      { header: 'SAVED', style: output.style.dim, spare: 2 },
      { header: 'NAME' },
      { header: 'STATUS', spare: 1 },
      { header: 'TITLE', flexible: true },
    ],
    history.map((one) => [one.id, when(one.savedAt), one.name, one.status ?? '-', one.title ?? '']),
    { width: output.width, header: output.style.bold },
  );
}
