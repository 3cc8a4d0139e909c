import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { Change, Checkpoint } from '../core/model';
import { previousSides, sideOf } from './diff-sides';
import { momentTitle, shortTitle } from './labels';
import { withPatience } from './progress';
import type { Root } from './root';
import { changesOfTurn, type Since } from './since';
import { nothingUri, snapshotUri } from './uris';
import { isStill, workingKind, workingSide } from './working-side';

/** One checkpoint in its root: what most commands work on. */
export interface Target {
  root: Root;
  checkpoint: Checkpoint;
}

const show = (
  left: vscode.Uri,
  right: vscode.Uri,
  title: string,
  options: vscode.TextDocumentShowOptions = {},
): Thenable<unknown> =>
  vscode.commands.executeCommand('vscode.diff', left, right, title, { preview: true, ...options });

/** A file as the checkpoint has it (left) and as it is now (right, the real file: editable, with all of VS Code's help). */
export const openWorkingDiff = async (
  { root, checkpoint }: Target,
  path: string,
  options: vscode.TextDocumentShowOptions = {},
): Promise<void> => {
  const file = root.toUri(path);
  const [then, now] = await Promise.all([sideOf(root, checkpoint.id, path), workingSide(file)]);
  await show(
    then,
    now ?? nothingUri(checkpoint.id, file),
    `${basename(path)} (${momentTitle(checkpoint)} ↔ ${now ? 'Working File' : 'deleted'})`,
    options,
  );
};

/** What a diff is called: a renamed file by both names, with the folder where only that is another. */
const nameOf = ({ path, from }: Pick<Change, 'path' | 'from'>): string => {
  if (from === undefined) return basename(path);
  return `${basename(from) === basename(path) ? from : basename(from)} → ${basename(path)}`;
};

/**
 * For the rows of a checkpoint's changed files: while the file still is as the checkpoint has it, a diff with the
 * checkpoint would be empty, so the left side is then the checkpoint before it: what is shown is what the row is about.
 * At the end of a turn that is always what the turn did.
 */
export const openChangeDiff = async (
  { root, checkpoint }: Target,
  { before: previous, wholeTurn }: Since,
  change: Change,
  options: vscode.TextDocumentShowOptions = {},
): Promise<void> => {
  if (wholeTurn) return openPreviousDiff({ root, checkpoint }, previous, change, options);
  const { path, from } = change;
  const file = root.toUri(path);
  if (previous === undefined || !(await isStill(root, checkpoint.id, path)))
    return openWorkingDiff({ root, checkpoint }, path, options);
  const [then, now] = await Promise.all([sideOf(root, previous.id, from ?? path), workingSide(file)]);
  await show(
    then,
    now ?? nothingUri(previous.id, file),
    `${nameOf(change)} (${momentTitle(previous)} ↔ ${now ? 'Working File' : 'deleted'})`,
    options,
  );
};

type Side = { checkpoint: Checkpoint } | 'working';

const sideUri = async (side: Side, file: vscode.Uri, beside: vscode.Uri): Promise<vscode.Uri | undefined> =>
  side === 'working' ? workingSide(file) : snapshotUri(side.checkpoint.id, file, beside);

/** Many files in VS Code's changes editor. A rename shows as one row with both paths. */
const showMany = async (
  root: Root,
  title: string,
  left: Side,
  right: Side,
  changes: readonly Change[],
): Promise<void> => {
  const rows = await Promise.all(
    changes.map(async (change): Promise<[vscode.Uri, vscode.Uri | undefined, vscode.Uri | undefined]> => {
      const now = root.toUri(change.path);
      const before = change.from === undefined ? now : root.toUri(change.from);
      return [
        now,
        change.status === 'added' ? undefined : await sideUri(left, before, now),
        change.status === 'deleted' ? undefined : await sideUri(right, now, now),
      ];
    }),
  );
  await vscode.commands.executeCommand('vscode.changes', title, rows);
};

const comparing = <T>(work: () => Promise<T>): Promise<T> => withPatience('Comparing', work);

/** Compares a checkpoint with the working files. Answers whether there was a difference. */
export const compareWithWorking = async (target: Target, paths?: string[]): Promise<boolean> => {
  const { root, checkpoint } = target;
  const { changes } = await comparing(() =>
    root.api.diff(checkpoint.id, undefined, paths === undefined ? {} : { paths }),
  );
  if (changes.length === 0) return false;
  await showMany(root, `${momentTitle(checkpoint)} ↔ Working Files`, { checkpoint }, 'working', changes);
  return true;
};

export const compareCheckpoints = async (root: Root, from: Checkpoint, to: Checkpoint): Promise<boolean> => {
  const { changes } = await comparing(() => root.api.diff(from.id, to.id));
  if (changes.length === 0) return false;
  const title = `${momentTitle(from, 30)} ↔ ${momentTitle(to, 30)}`;
  await showMany(root, title, { checkpoint: from }, { checkpoint: to }, changes);
  return true;
};

/** What a turn changed; what others changed meanwhile is left out, and its number said. */
export const compareTurnEnds = async (root: Root, before: Checkpoint, after: Checkpoint): Promise<boolean> => {
  const { changes, others } = await comparing(() => changesOfTurn(root, before, after));
  if (changes.length === 0) return false;
  const left = others === 0 ? '' : `, without ${others} of other sessions`;
  await showMany(
    root,
    `Changes of “${shortTitle(before, 50)}”${left}`,
    { checkpoint: before },
    { checkpoint: after },
    changes,
  );
  return true;
};

/**
 * What one checkpoint changed in one file: the checkpoint before it left, itself right. Both readonly, unless the file
 * still is as the checkpoint has it: then it stands right itself, and lines can be taken back.
 */
export const openPreviousDiff = async (
  { root, checkpoint }: Target,
  previous: Checkpoint | undefined,
  change: Pick<Change, 'path' | 'from'>,
  options: vscode.TextDocumentShowOptions = {},
): Promise<void> => {
  const [left, right] = await previousSides(root, checkpoint, previous, change);
  const file = root.toUri(change.path);
  const still = (await workingKind(file)) === 'file' && (await isStill(root, checkpoint.id, change.path));
  const before = previous === undefined ? 'nothing' : momentTitle(previous, 30);
  const after = still ? 'Working File' : momentTitle(checkpoint, 30);
  await show(left, still ? file : right, `${nameOf(change)} (${before} ↔ ${after})`, options);
};
