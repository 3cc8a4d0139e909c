import * as vscode from 'vscode';
import type { Checkpoint, CheckpointId } from '../core/model';
import { askName } from './actions-create';
import type { Target } from './diff';
import { fetchedStay, plural, shortTitle, withoutIcons, withoutLinks } from './labels';
import { pickCheckpoint, pickRoot, targetOf, targetsOf } from './picker';
import type { Root } from './root';
import type { Services } from './services';
import { hasLines } from './task-model';
import { editText } from './text-fields';
import { isTreeNode } from './tree-nodes';

export const rename = async ({ workspaces }: Services, argument: unknown): Promise<Checkpoint | undefined> => {
  const target = await targetOf(workspaces, argument, 'Rename…');
  if (target === undefined) return undefined;
  const { root, checkpoint } = target;
  const name = await askName(checkpoint.name ?? checkpoint.title, 'Named checkpoints are kept until you delete them.');
  return name === undefined ? undefined : root.api.rename(checkpoint.id, name.trim());
};

export const describe = async ({ workspaces }: Services, argument: unknown): Promise<Checkpoint | undefined> => {
  const target = await targetOf(workspaces, argument, 'Edit Description…');
  if (target === undefined) return undefined;
  const { root, checkpoint } = target;
  const title = `Description of “${shortTitle(checkpoint)}”`;
  const value = checkpoint.description ?? '';
  if (hasLines(value)) {
    await editText({ root: root.api.root, kind: 'description', checkpoint: checkpoint.id }, title);
    return checkpoint;
  }
  const text = await vscode.window.showInputBox({ title, prompt: 'Empty removes it.', value });
  return text === undefined ? undefined : root.api.describe(checkpoint.id, text);
};

export const setPinned = async (
  services: Services,
  argument: unknown,
  selected: unknown,
  pinned: boolean,
): Promise<void> => {
  const ask = (): Promise<Target | undefined> =>
    pickCheckpoint(services.workspaces, pinned ? 'Pin' : 'Unpin', ({ checkpoint }) => checkpoint.pinned !== pinned, {
      text: pinned ? 'There is no checkpoint to pin.' : 'No checkpoint is pinned.',
    });
  for (const { root, checkpoint } of await targetsOf(services.workspaces, argument, selected, ask))
    await root.api.pin(checkpoint.id, pinned);
};

const byRoot = (targets: readonly Target[]): Map<Root, CheckpointId[]> => {
  const groups = new Map<Root, CheckpointId[]>();
  for (const { root, checkpoint } of targets) groups.set(root, [...(groups.get(root) ?? []), checkpoint.id]);
  return groups;
};

/** Deleting cannot be undone, so it asks, and says what it is about. */
export const remove = async (
  { workspaces, log }: Services,
  argument: unknown,
  selected?: unknown,
): Promise<boolean> => {
  const targets = await targetsOf(workspaces, argument, selected, 'Delete');
  return removeTargets(targets, log);
};

export const removeTargets = async (targets: readonly Target[], log: vscode.LogOutputChannel): Promise<boolean> => {
  const [first] = targets;
  if (first === undefined) return false;
  const what = targets.length === 1 ? `“${shortTitle(first.checkpoint, 60)}”` : plural(targets.length, 'checkpoint');
  const stays = 'Your files are not changed. A deleted checkpoint cannot be brought back.';
  const answer = await vscode.window.showWarningMessage(
    `Delete ${what}?`,
    { modal: true, detail: [pinnedAmong(targets), stays].filter((sentence) => sentence !== '').join(' ') },
    'Delete',
  );
  if (answer !== 'Delete') return false;
  for (const [root, ids] of byRoot(targets)) log.info(`deleted ${(await root.api.remove(ids)).join(', ')}`);
  return true;
};

/** A pin says that somebody wants to keep it. */
const pinnedAmong = (targets: readonly Target[]): string => {
  const pinned = targets.filter(({ checkpoint }) => checkpoint.pinned).length;
  if (pinned === 0) return '';
  if (targets.length === 1) return 'It is pinned.';
  return pinned === 1 ? 'One of them is pinned.' : `${pinned} of them are pinned.`;
};

export const clearSession = async ({ workspaces, log }: Services, argument: unknown): Promise<boolean> => {
  const target = isTreeNode(argument) && argument.type === 'session' ? argument : undefined;
  const root = target?.root ?? (await pickRoot(workspaces, 'Clear Session…'));
  if (root === undefined) return false;
  const session = target === undefined ? await pickSession(root) : { id: target.group.id, title: target.group.title };
  if (session === undefined || session.id === null) return false;
  const all = await root.api.list({ session: session.id });
  const doomed = all.filter(({ origin }) => origin === null);
  const title = session.title ?? session.id;
  const stay = fetchedStay(all.length - doomed.length);
  if (doomed.length === 0) {
    const none = `“${withoutLinks(title)}” has no checkpoint of this machine to delete. ${stay}`;
    vscode.window.showInformationMessage(none.trim());
    return false;
  }
  const answer = await vscode.window.showWarningMessage(
    `Delete all ${plural(doomed.length, 'checkpoint')} of “${title}”?`,
    {
      modal: true,
      detail: [
        'Named and pinned ones go too.',
        stay,
        'Your files and the session itself are not changed. Deleted checkpoints cannot be brought back.',
      ]
        .filter((sentence) => sentence !== '')
        .join(' '),
    },
    'Delete All',
  );
  if (answer !== 'Delete All') return false;
  log.info(`cleared session ${session.id}: ${plural((await root.api.clear(session.id)).length, 'checkpoint')}`);
  return true;
};

/** Among those that have checkpoints of this machine: fetched ones stay as they are. */
export const pickSession = async (
  root: Root,
  title = 'Clear Session…',
): Promise<{ id: string; title: string | null } | undefined> => {
  const own = (await root.api.list()).flatMap(({ session, origin }) => (origin === null ? (session ?? []) : []));
  const items = [...new Set(own.map(({ id }) => id))].map((id) => {
    const points = own.filter((session) => session.id === id);
    const name = points.find((session) => session.title !== null)?.title ?? null;
    return {
      label: `$(comment-discussion) ${withoutIcons(name ?? id)}`,
      description: plural(points.length, 'checkpoint'),
      id,
      title: name,
    };
  });
  if (items.length === 0) {
    vscode.window.showInformationMessage('No session has checkpoints yet.');
    return undefined;
  }
  return vscode.window.showQuickPick(items, { title, matchOnDescription: true });
};

export const copyId = async ({ workspaces }: Services, argument: unknown): Promise<void> => {
  const target = await targetOf(workspaces, argument, 'Copy Id');
  if (target !== undefined) await vscode.env.clipboard.writeText(target.checkpoint.id);
};
