import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { Problem, Stats } from '../../core/api';
import { CheckpointsError } from '../../core/errors';
import type { RecoveryReport } from '../../core/ports';
import { recoverySentence } from '../sentences';
import { define, type Select } from '../command';
import type { Output } from '../output';
import { oldDataNote } from './import-old';
import { tellLost } from '../views/lost';
import { size } from '../views/size';
import { plural } from '../views/plural';
import { visible } from '../visible';

export function registerStoreCommands(program: Command, select: Select): void {
  define(program, select, {
    usage: 'stats',
    summary: 'how many checkpoints there are and what they take',
    examples: ['opencode-checkpoints stats', 'opencode-checkpoints stats --json'],
    run: async (invocation) => {
      const workspace = await invocation.open({ index: true });
      const stats = await workspace.stats();
      tellLost(invocation, workspace);
      return { json: stats, text: (output) => statsView(stats, output) };
    },
  });

  define<[], { dryRun?: boolean }>(program, select, {
    usage: 'prune',
    summary: 'delete automatic checkpoints that are past their time, and free the space',
    details:
      'Named and pinned ones and the newest safety checkpoints stay. The limits are settings: maxCheckpoints, maxAge, maxStoreSize.',
    examples: ['opencode-checkpoints prune --dry-run', 'opencode-checkpoints prune'],
    options: (command) => command.option('--dry-run', 'show what would go, delete nothing'),
    run: async (invocation, _args, { dryRun }) => {
      const workspace = await invocation.open();
      invocation.output.progress('Pruning…');
      // Where there is no store yet, there is nothing to lock either.
      const pruned = existsSync(workspace.folder)
        ? await workspace.prune({ dryRun: dryRun ?? false })
        : { deleted: [], freedBytes: 0 };
      const verb = dryRun ? 'would delete' : 'deleted';
      return {
        json: pruned,
        text: () =>
          `${pruned.deleted.map((id) => `${verb}  ${id}\n`).join('')}${plural(pruned.deleted.length, 'checkpoint')}, ${size(pruned.freedBytes)} ${dryRun ? 'to free' : 'freed'}.\n`,
      };
    },
  });

  define<[], { repair?: boolean }>(program, select, {
    usage: 'doctor',
    summary: 'look for what is wrong with the store, or mend it',
    details: 'A restore that a crash left half done is finished or rolled back by every command, this one included.',
    examples: ['opencode-checkpoints doctor', 'opencode-checkpoints doctor --repair'],
    options: (command) => command.option('--repair', 'mend what can be mended'),
    run: async (invocation, _args, { repair }) => {
      const { examineStoreFiles } = await import('../../git/store-file');
      const damaged = await examineStoreFiles(invocation.globals.cwd, { repair: repair ?? false });
      if (damaged.some((problem) => !problem.repaired))
        return { json: { problems: damaged }, text: (output) => problemsView(damaged, repair, output) };
      const { workspace, recovered } = await invocation.openAll({ examines: true });
      invocation.output.progress('Examining…');
      const found = await workspace.doctor({ repair: repair ?? false });
      // A fork that is missing is among what the doctor finds itself.
      const before = recovered && !recovered.forkMissing ? [interrupted(recovered)] : [];
      const problems = [...damaged, ...before, ...found];
      const note = invocation.globals.json ? null : await oldDataNote(workspace, true).catch(noNote);
      if (note !== null) invocation.output.note(note);
      return { json: { problems }, text: (output) => problemsView(problems, repair, output) };
    },
  });
}

/** What is known already cannot be told in a store that cannot be read: the problems found say so. */
function noNote(error: unknown): null {
  if (CheckpointsError.is(error)) return null;
  throw error;
}

/** Opening the workspace has mended it already. */
function interrupted(recovered: RecoveryReport): Problem {
  return { reason: 'restore-interrupted', message: recoverySentence(recovered), repaired: true };
}

async function statsView(stats: Stats, output: Output): Promise<string> {
  const { table } = await import('../table');
  const { style } = output;
  const rows: Array<[string, string]> = [
    ['checkpoints', String(stats.checkpoints)],
    ['sessions', String(stats.sessions)],
    ['size', size(stats.bytes)],
    ['borrowed', `${size(stats.borrowedBytes)} of the repository's own objects`],
    ['store', stats.store],
  ];
  const head = rows.map(([label, value]) => `${style.dim(label.padEnd(12))}${visible(value)}\n`).join('');
  if (stats.perSession.length === 0) return head;
  const body = table(
    [
      { header: 'SESSION', style: style.cyan },
      { header: 'CHECKPOINTS', align: 'right' },
      { header: 'SIZE', align: 'right' },
      { header: 'TITLE', flexible: true },
    ],
    stats.perSession.map((one) => [one.session ?? '(none)', String(one.checkpoints), size(one.bytes), one.title ?? '']),
    { width: output.width, header: style.bold },
  );
  return `${head}\n${body}`;
}

function problemsView(problems: Problem[], repair: boolean | undefined, output: Output): string {
  if (problems.length === 0) return 'All is well.\n';
  const rows = problems.map(({ reason, message, repaired }) => {
    const mark = repaired ? output.style.green('repaired') : output.style.red('problem ');
    return `${mark}  ${visible(message)} ${output.style.dim(`(${reason})`)}\n`;
  });
  const open = problems.filter(({ repaired }) => !repaired);
  const [settings, others] = [open.filter(isSetting), open.filter((problem) => !isSetting(problem))];
  if (settings.length > 0) rows.push('Correct these settings in their files: until then they have their defaults.\n');
  if (others.length > 0)
    rows.push(
      repair
        ? 'What is left cannot be mended from here; checkpoints that are not named are whole, of the others the files that are left can be restored with `--path`.\n'
        : '`opencode-checkpoints doctor --repair` mends what can be mended.\n',
    );
  return rows.join('');
}

const isSetting = ({ reason }: Problem): boolean => reason === 'config';
