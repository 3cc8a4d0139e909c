import { basename } from 'node:path/posix';
import * as vscode from 'vscode';
import { CheckpointsError } from '../core/errors';
import { carriedOver, hunksBetween, hunksInSelection, splitLines, type Hunk } from './hunks';
import { commands, snapshotScheme } from './ids';
import { besideWorking, plural } from './labels';
import { editOf, hunkOf, type LineChange } from './line-edit';
import { lastLine, selectedSide } from './selected-lines';
import { activeSnapshotDiff } from './snapshot-diff';
import { parseSnapshotUri } from './uris';
import { workingKind } from './working-side';

const onlyWhole = 'This is a link: only all of it can be restored.';

const isLink = async (uri: vscode.Uri): Promise<boolean> =>
  (uri.scheme === snapshotScheme && parseSnapshotUri(uri).now) ||
  (uri.scheme === 'file' && (await workingKind(uri)) === 'link');

/** Readonly documents take edits in memory without a word, so the scheme is checked. A link is followed when it is written. */
const refuseReadonly = async (uri: vscode.Uri): Promise<void> => {
  if (await isLink(uri)) throw new CheckpointsError('invalid-argument', onlyWhole);
  if (uri.scheme !== 'file') throw new CheckpointsError('invalid-argument', 'Only the working file can be changed.');
};

const misreadText =
  'This file is not in the encoding in which the editor shows it: by single lines it would be damaged. Open it in its encoding, or restore all of it.';

/** What could not be decoded is shown as U+FFFD, and would be saved as that. A file may hold the sign itself. */
const isMisread = async (document: vscode.TextDocument): Promise<boolean> =>
  document.getText().includes('\ufffd') &&
  !Buffer.from(await vscode.workspace.fs.readFile(document.uri)).includes('\ufffd');

const areMisread = async (...documents: vscode.TextDocument[]): Promise<boolean> =>
  (await Promise.all(documents.map(isMisread))).includes(true);

/** The checkpoint's lines in place of the hunks, with the line ends of the working file. */
const putBack = async (
  then: readonly string[],
  document: vscode.TextDocument,
  hunks: readonly Hunk[],
): Promise<void> => {
  const now = splitLines(document.getText());
  const eol = document.eol === vscode.EndOfLine.CRLF ? '\r\n' : '\n';
  const edit = new vscode.WorkspaceEdit();
  for (const hunk of hunks) {
    const { start, end, text } = editOf(then, now, hunk, eol);
    edit.replace(document.uri, new vscode.Range(...start, ...end), text);
  }
  if (!(await vscode.workspace.applyEdit(edit)))
    throw new CheckpointsError('conflict', 'The editor refused the change.');
};

/** "Restore This Change": one hunk of the inline change view. Undone by the editor's own undo. */
export const restoreChange = async (original: vscode.Uri, modified: vscode.Uri, change: LineChange): Promise<void> => {
  await refuseReadonly(modified);
  const [then, now] = await Promise.all([
    vscode.workspace.openTextDocument(original),
    vscode.workspace.openTextDocument(modified),
  ]);
  if (await areMisread(then, now)) throw new CheckpointsError('invalid-argument', misreadText);
  await putBack(splitLines(then.getText()), now, [hunkOf(change)]);
};

/** The same for the hunk at the cursor, or those that a selection touches. */
export const restoreChangeAt = async (original: vscode.Uri, editor: vscode.TextEditor): Promise<void> => {
  const { document, selections } = editor;
  await refuseReadonly(document.uri);
  const checkpoint = await vscode.workspace.openTextDocument(original);
  if (await areMisread(checkpoint, document)) throw new CheckpointsError('invalid-argument', misreadText);
  const then = splitLines(checkpoint.getText());
  const hunks = hunksBetween(then, splitLines(document.getText())) ?? [];
  const touched = new Set(
    selections.flatMap((selection) => hunksInSelection(hunks, selection.start.line, lastLine(selection, document))),
  );
  if (touched.size === 0)
    throw new CheckpointsError('invalid-argument', 'Put the cursor on a change bar of the gutter first.');
  await putBack(
    then,
    document,
    hunks.filter((hunk) => touched.has(hunk)),
  );
};

/** "Restore Selected Lines": the hunks of the diff that the selection touches, on either side. */
export const restoreSelectedLines = async (): Promise<number> => {
  const diff = activeSnapshotDiff();
  if (diff === undefined)
    throw new CheckpointsError('invalid-argument', 'Open a file of a checkpoint in the diff editor first.');
  if (isCheckpoints(diff.modified)) return (await restoreBehind(diff)) ?? offerWorking(diff);
  if (isGone(diff.modified))
    return (await workingKind(parseSnapshotUri(diff.modified).file)) === 'nothing'
      ? offerFile(diff, 'The file is not there now: only all of it can be restored.')
      : offerWorking(diff);
  if (await isLink(diff.modified)) return offerFile(diff, onlyWhole);
  await refuseReadonly(diff.modified);
  const selected = selectedSide(diff, vscode.window.activeTextEditor, vscode.window.visibleTextEditors);
  if (selected === undefined) throw new CheckpointsError('invalid-argument', 'Select lines in the diff first.');
  const [original, document] = await Promise.all([
    vscode.workspace.openTextDocument(diff.original),
    vscode.workspace.openTextDocument(diff.modified),
  ]);
  if (await areMisread(original, document)) return offerFile(diff, misreadText);
  const then = splitLines(original.getText());
  const hunks = hunksBetween(then, splitLines(document.getText()));
  if (hunks === undefined)
    return offerFile(
      diff,
      'Too much has changed in this file to tell its lines apart: only all of it can be restored.',
    );
  if (hunks.length === 0 && original.eol !== document.eol)
    return offerFile(
      diff,
      'The lines are the same, only their ends differ (LF and CRLF): all of the file has to be restored.',
    );
  const touched = touchedHunks(hunks, selected);
  if (touched.size === 0) throw new CheckpointsError('invalid-argument', 'No change touches the selected lines.');
  await putBack(
    then,
    document,
    hunks.filter((hunk) => touched.has(hunk)),
  );
  return sayRestored(touched.size);
};

const touchedHunks = (
  hunks: readonly Hunk[],
  { editor, side }: { editor: vscode.TextEditor; side: keyof Hunk },
): Set<Hunk> =>
  new Set(
    editor.selections.flatMap((selection) =>
      hunksInSelection(hunks, selection.start.line, lastLine(selection, editor.document), side),
    ),
  );

const sayRestored = (count: number): number => {
  vscode.window.setStatusBarMessage(
    `$(check) ${plural(count, 'change')} restored; undo with the editor’s own undo`,
    5000,
  );
  return count;
};

/**
 * The lines of a diff of two checkpoints, in the working file, which is shown then. Undefined where it cannot be told which
 * lines they are there: nothing is selected, or it changed in the same place since.
 */
const restoreBehind = async (diff: vscode.TabInputTextDiff): Promise<number | undefined> => {
  const { file } = parseSnapshotUri(diff.modified);
  const selected = selectedSide(diff, vscode.window.activeTextEditor, vscode.window.visibleTextEditors);
  if (selected === undefined || (await workingKind(file)) !== 'file') return undefined;
  const [original, modified, document] = await Promise.all(
    [diff.original, diff.modified, file].map((uri) => vscode.workspace.openTextDocument(uri)),
  );
  if (original === undefined || modified === undefined || document === undefined) return undefined;
  if (await areMisread(original, document)) return undefined;
  const [then, after] = [splitLines(original.getText()), splitLines(modified.getText())];
  const [hunks, later] = [hunksBetween(then, after), hunksBetween(after, splitLines(document.getText()))];
  const touched = touchedHunks(hunks ?? [], selected);
  const here = later && carriedOver([...touched], later);
  if (here === undefined || here.length === 0) return undefined;
  const title = workingTitle(file);
  await putBack(then, document, here);
  await vscode.commands.executeCommand('vscode.diff', diff.original, file, title, { preview: true });
  return sayRestored(here.length);
};

/** The right side, too, is how the file was; the empty side of a deleted file and a link are told otherwise. */
const isCheckpoints = (uri: vscode.Uri): boolean => {
  if (uri.scheme !== snapshotScheme) return false;
  const { empty, now } = parseSnapshotUri(uri);
  return !empty && !now;
};

const isGone = (uri: vscode.Uri): boolean => uri.scheme === snapshotScheme && parseSnapshotUri(uri).empty;

const compareWorking = 'Compare with Working File';

/** Of the diff in front, with the working file in place of what is right. */
const workingTitle = (file: vscode.Uri): string => {
  const { label = '', input } = vscode.window.tabGroups.activeTabGroup.activeTab ?? {};
  // The editor of many changes has no file in its title.
  const of = input instanceof vscode.TabInputTextDiff ? '' : `${basename(file.path)} (`;
  return `${of}${besideWorking(label)}`;
};

/** Lines are taken back into the working file: the way to a diff with it. */
const offerWorking = async (diff: vscode.TabInputTextDiff): Promise<number> => {
  const { file } = parseSnapshotUri(diff.modified);
  const title = workingTitle(file);
  if ((await workingKind(file)) !== 'file')
    return offerFile(
      diff,
      'Both sides are checkpoints, and the file is not there now: only all of it can be restored.',
    );
  const answer = await vscode.window.showInformationMessage(
    'Both sides are checkpoints. Lines are restored in a diff with the working file.',
    compareWorking,
  );
  if (answer === compareWorking)
    await vscode.commands.executeCommand('vscode.diff', diff.original, file, title, { preview: true });
  return 0;
};

const wholeFile = 'Restore This File';

/** Where there are no lines to choose from, there is the whole file. */
const offerFile = async (diff: vscode.TabInputTextDiff, why: string): Promise<number> => {
  const answer = await vscode.window.showInformationMessage(why, wholeFile);
  if (answer === wholeFile) await vscode.commands.executeCommand(commands.restoreFile, diff);
  return 0;
};
