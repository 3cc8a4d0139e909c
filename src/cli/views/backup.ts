import type { BackupReport, BackupStatus, RestorePreview, SessionRestoreReport, VerifyReport } from '../../backup/api';
import { globalConfigPath } from '../../core/config';
import type { Output } from '../output';
import { backupWaysOut } from '../sentences';
import { visible } from '../visible';
import { when } from './checkpoint';
import { plural } from './plural';
import { size } from './size';

export function reportView(report: BackupReport, { style }: Output): string {
  const { written, unchanged, deleted, kept, failed, bytes, path, problem, durationMs } = report;
  const counts = [
    `${plural(written, 'session')} written (${size(bytes)})`,
    `${unchanged} unchanged`,
    ...(deleted > 0 ? [`${deleted} moved to deleted/`] : []),
  ].join(', ');
  const lines = problem
    ? []
    : [`${style.green('Saved')} to ${visible(path)} in ${(durationMs / 1000).toFixed(1)} s: ${counts}.`];
  if (kept > 0) lines.push(`${plural(kept, 'session')} of the backup not on this server: kept.`);
  for (const { id, message } of failed) lines.push(`${style.red('failed')}  ${id}  ${visible(message)}`);
  if (problem)
    lines.push(
      `${style.red('problem')} ${visible(problem.message)} (${problem.trouble})`,
      backupWaysOut[problem.trouble],
      `${counts}.`,
    );
  return `${lines.join('\n')}\n`;
}

export function statusView(status: BackupStatus, { style }: Output): string {
  if (status.path === null) {
    const head = `Backup is ${style.yellow('off')}: no folder is set.\n`;
    const [folder = '~/opencode-backup'] = status.suggestions;
    const way = [
      'For once:  OPENCODE_BACKUP_PATH=DIR opencode-checkpoints backup run',
      `For good:  { "backup": { "path": ${JSON.stringify(folder)} } } in ${visible(globalConfigPath())}`,
    ];
    return `${head}${way.join('\n')}\n${status.suggestions.map((one) => `Possible here: ${visible(one)}\n`).join('')}`;
  }
  const own = status.machines > 1 ? `, ${status.ownSessions} of this machine, ${status.machines} machines` : '';
  const rows: Array<[string, string]> = [
    ['folder', `${status.path} (from ${status.source})`],
    ['sessions', `${status.sessions}${own}`],
    ...(status.deletedSessions > 0 ? [['deleted', String(status.deletedSessions)] as [string, string]] : []),
    ['size', size(status.bytes)],
    ['last run', status.lastRunAt === null ? 'never' : when(status.lastRunAt)],
    ['saved', status.lastSuccessAt === null ? 'never' : when(status.lastSuccessAt)],
  ];
  const lines = rows.map(([label, value]) => `${style.dim(label.padEnd(10))}${visible(value)}\n`).join('');
  const { problem } = status;
  return problem
    ? `${lines}${style.red('problem'.padEnd(10))}${visible(problem.message)} (${problem.trouble})\n${' '.repeat(10)}${backupWaysOut[problem.trouble]}\n`
    : lines;
}

export async function previewView({ path, sessions, unreadable }: RestorePreview, output: Output): Promise<string> {
  const { table } = await import('../table');
  const { style } = output;
  const rows = sessions.map(({ id, state, deleted, versions, projectId, title }) => [
    id,
    deleted ? `${state}, deleted` : state,
    String(versions[0]?.messages ?? '?'),
    String(versions.length),
    versions[0] === undefined ? '?' : when(new Date(versions[0].updatedAt).toISOString()),
    projectId.slice(0, 8),
    title ?? '',
  ]);
  const body = table(
    [
      { header: 'SESSION', style: style.cyan },
      { header: 'STATE' },
      { header: 'MESSAGES', align: 'right' },
      { header: 'VERSIONS', align: 'right', spare: 1 },
      { header: 'CHANGED' },
      { header: 'PROJECT', spare: 2 },
      { header: 'TITLE', flexible: true },
    ],
    rows,
    { width: output.width, header: style.bold },
  );
  const broken = unreadable
    .map(({ file, message }) => `${style.red('unreadable')}  ${visible(file)}: ${message}\n`)
    .join('');
  return `${sessions.length === 0 ? `No sessions in ${visible(path)}.\n` : body}${broken}`;
}

export function restoredView({ restored, skipped, failed, path }: SessionRestoreReport, { style }: Output): string {
  const lines = restored.map(({ from, id, title, messages, olderVersion, todos }) => {
    const notes = [
      plural(messages, 'message'),
      ...(from === id ? [] : [`a copy of ${from}`]),
      ...(olderVersion ? ['an older version'] : []),
      ...(todos === 'not-restored' ? ['without its todos'] : []),
    ];
    return `${style.green('restored')}  ${id}  ${visible(title ?? '')} (${notes.join(', ')})`;
  });
  for (const { id, message } of failed) lines.push(`${style.red('failed')}    ${id}  ${visible(message)}`);
  lines.push(
    `${restored.length} restored from ${visible(path)}, ${skipped.length} left as they are, ${failed.length} failed.`,
  );
  return `${lines.join('\n')}\n`;
}

export function verifyView({ checked, bytes, damaged, path }: VerifyReport, { style }: Output): string {
  const lines = damaged.map(({ file, problem, older }) => {
    const [newest] = older;
    const way = newest ? `; whole: ${newest.file}` : '; no older version';
    return `${style.red(problem.padEnd(10))}  ${visible(file)}${visible(way)}`;
  });
  const end = damaged.length === 0 ? style.green('all whole') : `${damaged.length} damaged`;
  return `${[...lines, `${plural(checked, 'file')} (${size(bytes)}) in ${visible(path)}: ${end}.`].join('\n')}\n`;
}
