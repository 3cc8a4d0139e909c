import * as vscode from 'vscode';
import { lossInWords } from '../core/lost';
import { number, plural } from './labels';
import { pickRoot } from './picker';
import { withPatience, withProgress } from './progress';
import type { Services } from './services';

export const bytes = (size: number): string => {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];
  const power = size < 1024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(size) / 10));
  const value = size / 1024 ** power;
  return `${value < 10 && power > 0 ? value.toFixed(1) : number(Math.round(value))} ${units[power] ?? ''}`;
};

export const showStatistics = async (services: Services): Promise<void> => {
  const root = await pickRoot(services.workspaces, 'Show Statistics');
  if (root === undefined) return;
  const stats = await withPatience('Counting', () => root.api.stats());
  const lost = lossInWords(root.api.lost());
  const rows = stats.perSession.map(
    ({ session, title, checkpoints, bytes: size }) =>
      `| ${cell(title ?? session ?? 'Without a session')} | ${checkpoints} | ${bytes(size)} |`,
  );
  await services.pages.show(
    `Checkpoints of ${root.name}`,
    [
      `# Checkpoints of ${root.name}`,
      '',
      `- ${plural(stats.checkpoints, 'checkpoint')} in ${plural(stats.sessions, 'session')}`,
      `- ${bytes(stats.bytes)} on disk${stats.borrowedBytes > 0 ? `, and ${bytes(stats.borrowedBytes)} shared with your repository` : ''}`,
      `- Store: ${stats.store}`,
      ...(lost === null ? [] : [`- ${lost} Run the doctor: it brings back what can be brought back.`]),
      '',
      ...(rows.length === 0 ? [] : ['| Session | Checkpoints | Size |', '|---|--:|--:|', ...rows, '']),
    ].join('\n'),
  );
};

/** Titles are anybody's text and must not break the table. */
const cell = (text: string): string => text.replace(/[|\\]/g, (sign) => `\\${sign}`).replace(/\s+/g, ' ');

export const cleanUp = async (services: Services): Promise<void> => {
  const root = await pickRoot(services.workspaces, 'Clean Up Store');
  if (root === undefined) return;
  const preview = await withPatience('Looking at what can go', () => root.api.prune({ dryRun: true }));
  const detail =
    preview.deleted.length === 0
      ? 'No checkpoint is old enough to go. Bytes that nothing needs any more are freed.'
      : `${plural(preview.deleted.length, 'automatic checkpoint')} beyond the limits of your settings will be deleted. Named and pinned ones stay.`;
  const answer = await vscode.window.showWarningMessage(
    'Clean up the checkpoint store?',
    { modal: true, detail },
    'Clean Up',
  );
  if (answer !== 'Clean Up') return;
  const { deleted, freedBytes } = await withProgress('Cleaning up', () => root.api.prune());
  vscode.window.showInformationMessage(
    `Cleaned up: ${plural(deleted.length, 'checkpoint')} deleted, ${bytes(freedBytes)} freed.`,
  );
};

/** A store that could not be opened has no doctor of its own. False: somebody wants it left as it is. */
const mendClosed = async ({ workspaces }: Services): Promise<boolean> => {
  await workspaces.all();
  const { examineStoreFiles } = await import('../git/store-file');
  for (const { folder, error } of workspaces.failed) {
    if (error.reason !== 'store-broken') continue;
    const problems = await examineStoreFiles(folder.uri.fsPath);
    if (problems.length === 0) continue;
    const detail = problems.map(({ message }) => message).join(' ');
    const answer = await vscode.window.showWarningMessage(
      `The checkpoint store of ${folder.name} cannot be opened. ${detail}`,
      'Repair',
    );
    if (answer !== 'Repair') return false;
    const mended = await examineStoreFiles(folder.uri.fsPath, { repair: true });
    await workspaces.update();
    vscode.window.showInformationMessage(`Repaired: ${mended.map(({ message }) => message).join(' ')}`);
  }
  return true;
};

export const runDoctor = async (services: Services): Promise<void> => {
  if (!(await mendClosed(services))) return;
  const root = await pickRoot(services.workspaces, 'Run Doctor');
  if (root === undefined) return;
  const problems = await withPatience('Examining the store', () => root.api.doctor());
  if (problems.length === 0) {
    vscode.window.showInformationMessage('The checkpoint store is healthy.');
    return;
  }
  await services.pages.show(
    'What the Doctor Found',
    ['# What the doctor found', '', ...problems.map(({ message }) => `- ${message}`), ''].join('\n'),
  );
  const answer = await vscode.window.showWarningMessage(
    `The doctor found ${plural(problems.length, 'problem')}.`,
    'Repair',
  );
  if (answer !== 'Repair') return;
  const after = await withProgress('Repairing the store', () => root.api.doctor({ repair: true }));
  const left = after.filter((problem) => !problem.repaired);
  if (left.length === 0) vscode.window.showInformationMessage(`Repaired: ${plural(after.length, 'problem')}.`);
  else
    vscode.window.showWarningMessage(
      `${plural(left.length, 'problem')} could not be repaired: ${left[0]?.message ?? ''}`,
    );
};
