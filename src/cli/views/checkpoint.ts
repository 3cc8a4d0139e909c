import type { Checkpoint } from '../../core/model';
import type { Output } from '../output';
import type { Column } from '../table';
import { firstLine, paragraphs, visible } from '../visible';
import { plural } from './plural';

const two = (value: number): string => String(value).padStart(2, '0');

/** Local time, as people read clocks; JSON has UTC. */
export function when(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

function counts({ added, modified, deleted }: { added: number; modified: number; deleted: number }): string {
  const parts = [added && `+${added}`, modified && `~${modified}`, deleted && `-${deleted}`].filter(Boolean);
  return parts.join(' ') || '-';
}

/** At a terminal, room for the title: today's date says nothing, and nor does a column that is empty all the way down. */
export async function checkpointTable(checkpoints: Checkpoint[], output: Output, now = new Date()): Promise<string> {
  const { table } = await import('../table');
  const { style, width, isTerminal } = output;
  const today = when(now.toISOString()).slice(0, 10);
  const time = (iso: string): string => {
    const text = when(iso);
    if (!isTerminal) return text;
    return text.startsWith(today) ? text.slice(11) : text.slice(0, 16);
  };
  const messages = (one: Checkpoint): string => (one.session ? String(one.session.messageCount) : '-');
  const columns: Array<Column & { cell: (one: Checkpoint) => string; optional?: boolean | 'everywhere' }> = [
    { header: 'ID', style: style.cyan, cell: (one) => one.id },
    { header: 'CREATED', style: style.dim, cell: (one) => time(one.createdAt) },
    { header: 'TRIGGER', spare: 2, cell: (one) => one.trigger },
    { header: 'FILES', spare: 3, cell: (one) => counts(one.files) },
    { header: 'MSGS', align: 'right', optional: true, spare: 1, cell: messages },
    { header: 'PIN', optional: true, cell: (one) => (one.pinned ? '*' : '') },
    {
      header: 'FROM',
      optional: 'everywhere',
      cell: (one) => (one.origin ? `${one.origin.user}@${one.origin.machine}` : ''),
    },
    { header: 'TITLE', flexible: true, cell: (one) => firstLine(one.title) },
  ];
  const shown = columns.filter(
    ({ optional, cell }) =>
      !optional ||
      (!isTerminal && optional !== 'everywhere') ||
      checkpoints.some((one) => !['', '-'].includes(cell(one))),
  );
  return table(
    shown,
    checkpoints.map((one) => shown.map(({ cell }) => cell(one))),
    { width, header: style.bold },
  );
}

/** One line, after something was done to it. */
export function checkpointLine(one: Checkpoint, output: Output): string {
  return `${output.style.cyan(one.id)}  ${visible(firstLine(one.title))}`;
}

/** So wide is the column of the names. */
const labels = 12;

export function checkpointDetails(one: Checkpoint, output: Output): string {
  const { style } = output;
  const rows: Array<[string, string | null | undefined]> = [
    ['id', style.cyan(one.id)],
    ['name', one.name && visible(one.name)],
    ['title', one.name === one.title ? null : visible(firstLine(one.title))],
    ['created', when(one.createdAt)],
    ['trigger', one.trigger + (one.pinned ? ', pinned' : '')],
    ['description', one.description && paragraphs(one.description, labels)],
    ['session', one.session && `${one.session.id}, ${plural(one.session.messageCount, 'message')}`],
    ['turn', one.turn && `${one.turn.number}: ${visible(firstLine(one.turn.prompt))}`],
    ['before', one.cause && `${one.cause.tool} ${one.cause.paths.map(visible).join(' ')}`.trim()],
    ['git', one.git && gitLine(one.git)],
    ['task', one.task && [one.task.status, one.task.title && visible(one.task.title)].filter(Boolean).join(': ')],
    ['origin', one.origin && `${visible(one.origin.user)} on ${visible(one.origin.machine)}`],
    ['restore', one.restore && `${one.restore.operation} of ${one.restore.target ?? 'nothing'}`],
    ['skipped', one.files.skipped.length ? reasonLines(one.files.skipped) : null],
    ['unreadable', one.files.partial.length ? reasonLines(one.files.partial) : null],
    ['metadata', Object.keys(one.metadata).length ? JSON.stringify(one.metadata) : null],
  ];
  const shown = rows.filter((row): row is [string, string] => Boolean(row[1]));
  return shown.map(([label, value]) => `${style.dim(label.padEnd(labels))}${value}\n`).join('');
}

function gitLine({ commit, branch, dirty }: NonNullable<Checkpoint['git']>): string {
  return [commit ? commit.slice(0, 8) : 'no commit', branch && visible(branch), dirty && 'dirty']
    .filter(Boolean)
    .join(', ');
}

function reasonLines(entries: Array<{ path: string; reason: string }>): string {
  return entries.map(({ path, reason }) => `${visible(path)} (${visible(reason)})`).join(', ');
}
