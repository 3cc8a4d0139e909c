import * as vscode from 'vscode';
import { CheckpointsError } from '../core/errors';
import type { Checkpoint } from '../core/model';
import type { TurnEnd } from '../core/turn-ends';
import type { Target } from './diff';
import { commands, type CommandId } from './ids';
import { behind, firstLine, originText, rowCounts, triggerIcons, withoutIcons } from './labels';
import { noFolder } from './notifications';
import { relativeTime } from './relative-time';
import { Root } from './root';
import { isTreeNode, nodeTarget, nodeTargets, selectedNodes } from './tree-nodes';
import type { Workspaces } from './workspaces';
import { turnEndsOf } from './turn-ends-of';

export interface CheckpointItem extends vscode.QuickPickItem {
  target: Target;
}

export const checkpointItem = (target: Target, severalRoots: boolean, end?: TurnEnd): CheckpointItem => {
  const { checkpoint, root } = target;
  const when = relativeTime(checkpoint.createdAt, Date.now(), vscode.env.language);
  const own = checkpoint.pinned ? 'pinned' : triggerIcons[checkpoint.trigger];
  const icon = checkpoint.origin === null ? own : 'cloud-download';
  const title = withoutIcons(firstLine(checkpoint.title)) || checkpoint.id;
  const more = [
    rowCounts(checkpoint, end),
    withoutIcons(originText(checkpoint)),
    when,
    severalRoots ? withoutIcons(root.name) : '',
  ];
  return {
    target,
    label: `$(${icon}) ${title}`,
    description: behind(title, more.filter((part) => part !== '').join(' · ')),
  };
};

/** At least one: where there is none, why. */
export const openRoots = async (workspaces: Workspaces): Promise<Root[]> => {
  const roots = await workspaces.all();
  if (roots.length > 0) return roots;
  throw workspaces.failures[0] ?? noFolder();
};

/** The checkpoints as rows of a pick, newest first. */
export const checkpointItems = async (
  workspaces: Workspaces,
  accept: (target: Target) => boolean,
): Promise<CheckpointItem[]> => {
  const roots = await openRoots(workspaces);
  const lists = await Promise.all(
    roots.map(async (root) => {
      const checkpoints = await root.api.list();
      const ends = await turnEndsOf(root, checkpoints);
      return checkpoints.map((checkpoint) => ({ root, checkpoint, end: ends.get(checkpoint.id) }));
    }),
  );
  return lists
    .flat()
    .filter(accept)
    .sort((a, b) => newestFirst(a.checkpoint, b.checkpoint))
    .map(({ end, ...target }) => checkpointItem(target, roots.length > 1, end));
};

/** What is said where there is nothing to choose from, and the way to have something. */
export interface NothingThere {
  text: string;
  action?: { title: string; command: CommandId };
}

const noCheckpoint: NothingThere = {
  text: 'There is no checkpoint to choose yet.',
  action: { title: 'Create Checkpoint', command: commands.create },
};

const sayNothing = async ({ text, action }: NothingThere): Promise<void> => {
  const chosen = await vscode.window.showInformationMessage(text, ...(action === undefined ? [] : [action.title]));
  if (action !== undefined && chosen === action.title) await vscode.commands.executeCommand(action.command);
};

/** Asks for one of the checkpoints. */
export const pickCheckpoint = async (
  workspaces: Workspaces,
  title: string,
  accept: (target: Target) => boolean = () => true,
  none = noCheckpoint,
): Promise<Target | undefined> => {
  const items = await checkpointItems(workspaces, accept);
  if (items.length === 0) {
    // Not awaited: the message stays until somebody reads it, the command is over.
    void sayNothing(none);
    return undefined;
  }
  const chosen = await vscode.window.showQuickPick(items, {
    title,
    placeHolder: 'Type to search by title, time or folder',
    matchOnDescription: true,
  });
  return chosen?.target;
};

/** Asks for one of the prompts. */
export const pickTurn = (workspaces: Workspaces, title: string): Promise<Target | undefined> =>
  pickCheckpoint(workspaces, title, ({ checkpoint }) => checkpoint.turn !== null && checkpoint.trigger === 'turn', {
    text: 'No turn of an agent is recorded yet. With its plugin, OpenCode records them.',
    action: { title: 'Install OpenCode Plugin', command: commands.installPlugin },
  });

/** Asks for one of the checkpoints that were made in a session. */
export const pickInSession = (workspaces: Workspaces, title: string): Promise<Target | undefined> =>
  pickCheckpoint(workspaces, title, ({ checkpoint }) => checkpoint.session !== null, {
    text: 'No session has checkpoints yet. With its plugin, OpenCode makes them.',
    action: { title: 'Install OpenCode Plugin', command: commands.installPlugin },
  });

export const newestFirst = (a: Checkpoint, b: Checkpoint): number => (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);

/** The root of the file in the editor. Where its folder could not be opened it says why: no other folder is meant. */
export const activeRoot = async (workspaces: Workspaces): Promise<Root | undefined> => {
  const active = vscode.window.activeTextEditor?.document.uri;
  if (active?.scheme !== 'file') return undefined;
  const root = await workspaces.forUri(active);
  const failure = root === undefined ? workspaces.failureFor(active) : undefined;
  if (failure !== undefined) throw failure;
  return root;
};

/** Why a command finds no file to work on: nothing is open here, its folder could not be, or it is no file of one. */
export const noFile = async (workspaces: Workspaces, file: vscode.Uri | undefined): Promise<CheckpointsError> => {
  await openRoots(workspaces);
  const failure = file && workspaces.failureFor(file);
  return failure ?? new CheckpointsError('invalid-argument', 'Open a file of this workspace in the editor first.');
};

/** A folder, too, may be called as an icon is written. */
export const folderItem = ({ name, api }: Root): { label: string; description: string } => ({
  label: `$(root-folder) ${withoutIcons(name)}`,
  description: withoutIcons(api.root),
});

/** The root that a command without a checkpoint means: that of the active editor, else the only one, else the user says, or gives up. */
export const pickRoot = async (workspaces: Workspaces, title: string): Promise<Root | undefined> => {
  const own = await activeRoot(workspaces);
  if (own !== undefined) return own;
  const roots = await openRoots(workspaces);
  if (roots.length === 1) return roots[0];
  const items = roots.map((root) => ({ ...folderItem(root), root }));
  return (await vscode.window.showQuickPick(items, { title }))?.root;
};

const isTarget = (value: unknown): value is Target =>
  typeof value === 'object' && value !== null && 'checkpoint' in value && 'root' in value && value.root instanceof Root;

/**
 * What a command was called with: a row of the tree, a checkpoint of a certain root (the timeline, the search), a
 * reference in text (a keybinding, another extension), or nothing (the palette): then it is asked for, under a title or in
 * a way of the command's own.
 */
export const targetOf = async (
  workspaces: Workspaces,
  argument: unknown,
  ask: string | (() => Promise<Target | undefined>),
): Promise<Target | undefined> => {
  if (isTreeNode(argument)) return nodeTarget(argument);
  if (isTarget(argument)) return argument;
  if (typeof argument !== 'string') return typeof ask === 'string' ? pickCheckpoint(workspaces, ask) : ask();
  let failure: unknown;
  for (const root of await workspaces.all())
    try {
      return { root, checkpoint: await root.api.resolve(argument) };
    } catch (error) {
      failure = error;
    }
  throw failure ?? workspaces.failures[0] ?? noFolder();
};

/** All checkpoints that a command of a multi-selection means; rows of other kinds in it stand for none. */
export const targetsOf = async (
  workspaces: Workspaces,
  argument: unknown,
  selected: unknown,
  ask: string | (() => Promise<Target | undefined>),
): Promise<Target[]> => {
  const nodes = selectedNodes(selected);
  if (nodes.length > 1) return nodeTargets(nodes, ['checkpoint']);
  const target = await targetOf(workspaces, argument, ask);
  return target === undefined ? [] : [target];
};
