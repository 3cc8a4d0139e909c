import { homedir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { CheckpointsError } from '../core/errors';
import type { FetchResult, SyncOptions } from '../core/sync';
import { commands } from './ids';
import { plural } from './labels';
import { checkpointItem, newestFirst, pickRoot, targetsOf } from './picker';
import { withCancel, type Running } from './progress';
import type { Root } from './root';
import type { Services } from './services';
import { exportText, fetchText, phaseWords, pushText } from './sync-text';
import { isTreeNode } from './tree-nodes';

export const bundleFilter = { 'Checkpoint files': ['bundle'], 'All files': ['*'] };

const optionsOf = ({ signal, report }: Running): SyncOptions => ({
  signal,
  onProgress: ({ phase, done, total }) => report({ done, total, what: phaseWords[phase] }),
});

export const push = async (services: Services): Promise<void> => {
  const root = await pickRoot(services.workspaces, 'Push Checkpoints');
  if (root === undefined) return;
  const remote = await services.remotes.pick(root, 'Push Checkpoints to…');
  if (remote === undefined) return;
  const sessions = await confirmPush(root, remote);
  if (sessions === undefined) return;
  const result = await withCancel(`Pushing checkpoints to ${remote}`, (running) =>
    root.api.sync.push(remote, { ...optionsOf(running), sessions }),
  );
  await services.remotes.remember(root, remote);
  // As the user called it: its address may be long.
  vscode.window.showInformationMessage(pushText({ ...result, remote }));
};

/** What leaves the machine is said before it does: with conversations, without, or not at all (undefined). */
const confirmPush = async (root: Root, remote: string): Promise<boolean | undefined> => {
  const all = 'Push';
  const files = 'Push without Conversations';
  const answer = await vscode.window.showWarningMessage(
    `Push the checkpoints of ${root.name} to ${remote}?`,
    {
      modal: true,
      detail: [
        'Whoever can read that repository can then read the files of these checkpoints, and the conversations they belong to with everything that tools printed in them.',
        '',
        'Excluded files (secrets such as .env) stay here, even where a checkpoint holds them. Your branches are not touched.',
      ].join('\n'),
    },
    all,
    files,
  );
  return answer === undefined ? undefined : answer === all;
};

export const fetchCheckpoints = async (services: Services): Promise<void> => {
  const root = await pickRoot(services.workspaces, 'Fetch Checkpoints');
  if (root === undefined) return;
  const remote = await services.remotes.pick(root, 'Fetch Checkpoints from…');
  if (remote === undefined) return;
  const result = await withCancel(`Fetching checkpoints from ${remote}`, (running) =>
    root.api.sync.fetch(remote, optionsOf(running)),
  );
  await services.remotes.remember(root, remote);
  await tellFetched(services, result);
};

const tellFetched = async ({ log }: Services, result: FetchResult): Promise<void> => {
  for (const { id, origin, reason } of result.refused) log.warn(`${id} of ${origin} was refused: ${reason}`);
  const show = 'Show in Timeline';
  const log_ = 'Show Log';
  // Of a hundred at times of their own the newest is where one begins to look.
  const newest = result.added
    .map(({ id }) => id)
    .sort()
    .at(-1);
  const say = result.refused.length > 0 ? vscode.window.showWarningMessage : vscode.window.showInformationMessage;
  const buttons = [...(newest === undefined ? [] : [show]), ...(result.refused.length > 0 ? [log_] : [])];
  const answer = await say(fetchText(result), ...buttons);
  if (answer === log_) log.show();
  if (answer === show) await vscode.commands.executeCommand(commands.revealInTimeline, newest);
};

/** Rows of the tree, or what is ticked in a pick. */
export const exportCheckpoints = async (services: Services, argument: unknown, selected: unknown): Promise<void> => {
  const chosen = isTreeNode(argument)
    ? await targetsOf(services.workspaces, argument, selected, 'Export')
    : await pickMany(services);
  const [first] = chosen;
  if (first === undefined) return;
  if (chosen.some(({ root }) => root !== first.root))
    throw new CheckpointsError('invalid-argument', 'These checkpoints belong to different folders.');
  const { root } = first;
  const file = await vscode.window.showSaveDialog({
    title: `Export ${plural(chosen.length, 'Checkpoint', 'Checkpoints')}`,
    defaultUri: vscode.Uri.file(join(homedir(), `${root.name}-checkpoints.bundle`)),
    filters: bundleFilter,
    saveLabel: 'Export',
  });
  if (file === undefined) return;
  const ids = chosen.map(({ checkpoint }) => checkpoint.id);
  const result = await withCancel('Exporting checkpoints', (running) =>
    root.api.sync.exportBundle(ids, file.fsPath, optionsOf(running)),
  );
  const reveal = 'Reveal File';
  const answer = await vscode.window.showInformationMessage(exportText(result), reveal);
  if (answer === reveal) await vscode.commands.executeCommand('revealFileInOS', file);
};

const pickMany = async (services: Services): ReturnType<typeof targetsOf> => {
  const root = await pickRoot(services.workspaces, 'Export');
  if (root === undefined) return [];
  const checkpoints = (await root.api.list()).sort(newestFirst);
  if (checkpoints.length === 0) {
    vscode.window.showInformationMessage('There is no checkpoint to export yet.');
    return [];
  }
  const items = checkpoints.map((checkpoint) => checkpointItem({ root, checkpoint }, false));
  const chosen = await vscode.window.showQuickPick(items, {
    title: 'Export Checkpoints',
    placeHolder: 'Tick what goes into the file; their conversations come along',
    canPickMany: true,
    matchOnDescription: true,
    ignoreFocusOut: true,
  });
  return chosen?.map(({ target }) => target) ?? [];
};

export const importBundle = async (services: Services, root: Root, file: string): Promise<void> => {
  const result = await withCancel('Importing checkpoints', (running) =>
    root.api.sync.importBundle(file, optionsOf(running)),
  );
  await tellFetched(services, result);
};
