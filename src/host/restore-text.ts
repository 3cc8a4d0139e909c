import type { PathReason, RestorePlan, RestoreResult, RestoreScope } from '../core/model';
import type { RecoveryReport } from '../core/ports';
import { reasonInWords } from '../protocol/reason-words';
import { number, plural, withoutLinks } from './labels';

/** The sentences of the restore dialog: plain functions, so that every case can be read in a test. */

export interface PlanCounts {
  write: number;
  delete: number;
  keep: number;
  skip: number;
  /** Among those to write or delete: changed by hand since the agent's last change. */
  yours: number;
  /** Among them, too: changed while an agent was at work on other files. */
  unsure: number;
}

export const countPlan = (plan: RestorePlan): PlanCounts => {
  const count: PlanCounts = { write: 0, delete: 0, keep: 0, skip: 0, yours: 0, unsure: 0 };
  for (const entry of plan.entries) {
    count[entry.action] += 1;
    if (entry.action !== 'write' && entry.action !== 'delete') continue;
    if (entry.yours === true) count.yours += 1;
    else if (entry.unsure === true) count.unsure += 1;
  }
  return count;
};

export const isEmptyPlan = (plan: RestorePlan): boolean => {
  const { write, delete: deleted } = countPlan(plan);
  const onlyFiles = plan.conversation === undefined && !plan.scope.includes('task');
  return write + deleted === 0 && plan.folders === undefined && onlyFiles;
};

/** A file was not there then, asked for by name or in a folder that was: to restore it is to delete it. */
export const deletesAny = (plan: RestorePlan): boolean => plan.entries.some(({ action }) => action === 'delete');

/** Differs from the checkpoint and is not touched all the same. */
const left = (plan: RestorePlan): string[] =>
  plan.entries
    .filter(({ action }) => action === 'keep' || action === 'skip')
    .map(({ path, reason = '' }) => `${path} (${reasonInWords(reason)})`);

const some = (names: readonly string[], limit: number): string[] =>
  names.length > limit ? [...names.slice(0, limit), `and ${names.length - limit} more`] : [...names];

/** For a plan that touches no file. */
export const nothingText = (plan: RestorePlan): string => {
  const names = left(plan);
  if (names.length > 0) return withoutLinks(`Nothing was restored. Not touched: ${some(names, 3).join(', ')}.`);
  return 'Nothing to do: the files already are as they were at this checkpoint.';
};

/** Nothing but a new session: files and task are left alone. */
export const onlyForks = (plan: RestorePlan): boolean => plan.scope.length === 1 && plan.scope[0] === 'conversation';

/** `elsewhere`: the checkpoint was made on another machine, where a file of this one was never seen. */
export const planText = (plan: RestorePlan, elsewhere = false): string => {
  const { write, delete: deleted, keep, skip, yours, unsure } = countPlan(plan);
  const lines: string[] = [];
  if (plan.scope.includes('files')) {
    if (plan.entries.length === 0) lines.push('The files already are as they were then.');
    else if (write + deleted === 0) lines.push('No file will be changed. Not touched:', ...some(left(plan), 10));
    if (write > 0) lines.push(`${plural(write, 'file')} will be written.`);
    if (deleted > 0) lines.push(`${plural(deleted, 'file')} ${unknownThen(deleted, elsewhere)} will be deleted.`);
    if (yours > 0) lines.push(yoursText(yours, write + deleted));
    if (unsure > 0) lines.push(`${plural(unsure, 'file')} changed while an agent was at work on others: maybe by you.`);
    if (keep > 0 && write + deleted > 0)
      lines.push(`${plural(keep, 'file')} will be left as ${keep === 1 ? 'it is' : 'they are'} now.`);
    if (skip > 0 && write + deleted > 0) lines.push(`${plural(skip, 'path')} cannot be restored and will be skipped.`);
    if (plan.folders !== undefined) lines.push(foldersText(plan.folders));
  }
  if (plan.conversation !== undefined) {
    const { messageCount, currentCount } = plan.conversation;
    const kept = currentCount === null ? '' : `${messageCount} of `;
    const messages = `${kept}${plural(currentCount ?? messageCount, 'message')}`;
    lines.push(`The conversation continues in a new session with ${messages}; the old one stays.`);
  }
  if (plan.scope.includes('task')) lines.push('The task state goes back to what it was then.');
  return [...lines, '', promise(plan)].join('\n');
};

const foldersText = ({ make, remove }: NonNullable<RestorePlan['folders']>): string => {
  const parts = [
    make.length > 0 ? `${plural(make.length, 'empty folder')} will be made` : '',
    remove.length > 0 ? `${plural(remove.length, 'empty folder')} will be removed` : '',
  ];
  return `${parts.filter((part) => part !== '').join(', ')}.`;
};

const unknownThen = (files: number, elsewhere: boolean): string => {
  if (!elsewhere) return 'made since then';
  return `that ${files === 1 ? 'is' : 'are'} not in it`;
};

/** Above the ticks: they stand for files alone, and the user chose more a moment ago. */
export const tickedText = (ticked: number, files: number, scope: readonly RestoreScope[]): string => {
  const more = [
    scope.includes('conversation') ? 'a new session made' : '',
    scope.includes('task') ? 'the task brought back' : '',
  ].filter((part) => part !== '');
  const end = more.length === 0 ? '✓ above restores them, ✕ cancels.' : '✓ above does it, ✕ cancels.';
  return `${[`${number(ticked)} of ${plural(files, 'file')} will be restored`, ...more].join(', ')}. ${end}`;
};

const promise = (plan: RestorePlan): string => {
  if (onlyForks(plan)) return 'Your files are left as they are.';
  if (isEmptyPlan(plan) && countPlan(plan).keep > 0) return '“Choose…” restores what you tick all the same.';
  if (isEmptyPlan(plan)) return '“Choose…” brings back the conversation or the task of that moment, where it has them.';
  return 'A safety checkpoint is made first: you can undo this.';
};

const yoursText = (yours: number, all: number): string => {
  if (yours < all) return `${number(yours)} of them ${yours === 1 ? 'holds' : 'hold'} changes that you made yourself.`;
  return `${all === 1 ? 'It holds' : 'They hold'} changes that you made yourself.`;
};

export type Done = 'Restored' | 'Undone' | 'Redone' | 'Reverted' | 'Forked';

export const resultText = (done: Done, result: RestoreResult): string => {
  const { failed = 0 } = result;
  const parts = [
    result.restored.length > 0 ? `${plural(result.restored.length, 'file')} written` : '',
    result.deleted.length > 0
      ? `${result.restored.length > 0 ? number(result.deleted.length) : plural(result.deleted.length, 'file')} deleted`
      : '',
    result.kept.length > 0 ? `${number(result.kept.length)} kept` : '',
    failed > 0 ? `${number(failed)} could not be restored` : '',
    result.skipped.length > failed ? `${number(result.skipped.length - failed)} skipped` : '',
    (result.conflicts?.length ?? 0) > 0 ? plural(result.conflicts?.length ?? 0, 'conflict') : '',
    result.task ? 'task state brought back' : '',
    result.session !== null ? 'new session made' : '',
    result.fork !== undefined ? 'its session stays' : '',
  ].filter((part) => part !== '');
  const text = `${done}: ${parts.length === 0 ? 'nothing had to be changed' : parts.join(', ')}.`;
  const todos = result.todosLost === undefined ? '' : ` ${todosText(result.todosLost)}`;
  return `${text}${todos}${result.serverSilent ? ` ${silentText}` : ''}`;
};

const silentText = 'OpenCode runs, but did not answer: whether an agent is at work here is not known.';

const todosText = (lost: number): string =>
  `${lost === 1 ? 'Its todo' : `Its ${lost} todos`} could not be carried over: OpenCode 1 writes todos only through its own program, on the data of the server. Is it on the PATH, or named in the setting opencode.path?`;

/** A page for whoever wants to know which paths, and why. */
export const resultPage = ({ conflicts = [], skipped, kept }: RestoreResult): string => {
  const section = (title: string, paths: readonly PathReason[]): string[] =>
    paths.length === 0
      ? []
      : [`## ${title}`, '', ...paths.map(({ path, reason }) => `- ${path}: ${reasonInWords(reason)}`), ''];
  return [
    '# What the restore left as it was',
    '',
    ...section('Conflicts', conflicts),
    ...section('Skipped', skipped),
    ...section('Kept', kept),
  ].join('\n');
};

/** What became of a restore whose process had died in the middle. */
export const recoveredText = ({ outcome, restored, deleted, kept }: RecoveryReport): string => {
  if (outcome === 'rolled-back')
    return 'A restore had been interrupted before it changed a file. Everything is as it was before it.';
  const parts = [
    `${plural(restored.length, 'file')} written`,
    deleted.length > 0 ? `${number(deleted.length)} deleted` : '',
    kept.length > 0
      ? `${number(kept.length)} left alone, ${kept.every(({ reason }) => reason === 'edited after the interruption') ? 'edited since then' : 'edited since then or not to be changed'}`
      : '',
  ];
  return `A restore had been interrupted, and is finished now: ${parts.filter((part) => part !== '').join(', ')}.`;
};

/** `here`: among those at work is the session that goes back. `titles`: of those whose title is known. */
export const stillWorking = (here: boolean, count: number, titles: readonly string[]): string => {
  if (here && count === 1) return 'The agent is still working in this session.';
  const who = titles.length === 0 ? '' : `: ${titles.join(', ')}`;
  if (count < 2) return `An agent is still working in this folder${who}.`;
  return `${number(count)} agents are still working in this folder${who}.`;
};
