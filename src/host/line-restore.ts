import * as vscode from 'vscode';
import { CheckpointsError } from '../core/errors';
import { hunksBetween, hunksInSelection, splitLines } from './hunks';
import { plural } from './labels';
import { snapshotScheme } from './ids';

/** What VS Code's inline change view passes: 1-based lines; an end of 0 means that the side is empty there. */
export interface LineChange {
  originalStartLineNumber: number;
  originalEndLineNumber: number;
  modifiedStartLineNumber: number;
  modifiedEndLineNumber: number;
}

const lineStart = (document: vscode.TextDocument, line: number): vscode.Position =>
  line < document.lineCount ? new vscode.Position(line, 0) : document.lineAt(document.lineCount - 1).range.end;

/** Readonly documents take edits in memory without a word, so the scheme is checked. */
const refuseReadonly = (uri: vscode.Uri): void => {
  if (uri.scheme !== 'file') throw new CheckpointsError('invalid-argument', 'Only the working file can be changed.');
};

const apply = async (edit: vscode.WorkspaceEdit): Promise<void> => {
  if (!(await vscode.workspace.applyEdit(edit)))
    throw new CheckpointsError('conflict', 'The editor refused the change.');
};

/** "Restore This Change": one hunk of the inline change view. Undone by the editor's own undo. */
export const restoreChange = async (original: vscode.Uri, modified: vscode.Uri, change: LineChange): Promise<void> => {
  refuseReadonly(modified);
  const [then, now] = await Promise.all([
    vscode.workspace.openTextDocument(original),
    vscode.workspace.openTextDocument(modified),
  ]);
  const {
    originalStartLineNumber: from,
    originalEndLineNumber: to,
    modifiedStartLineNumber,
    modifiedEndLineNumber,
  } = change;
  const text = to === 0 ? '' : then.getText(new vscode.Range(lineStart(then, from - 1), lineStart(then, to)));
  const start = modifiedEndLineNumber === 0 ? modifiedStartLineNumber : modifiedStartLineNumber - 1;
  const end = modifiedEndLineNumber === 0 ? modifiedStartLineNumber : modifiedEndLineNumber;
  const edit = new vscode.WorkspaceEdit();
  edit.replace(modified, new vscode.Range(lineStart(now, start), lineStart(now, end)), withBreak(now, start, text));
  await apply(edit);
};

/** Text that goes behind a last line without a line end needs one first. */
const withBreak = (document: vscode.TextDocument, line: number, text: string): string => {
  const atEnd = line >= document.lineCount && document.lineAt(document.lineCount - 1).text !== '';
  return atEnd && text !== ''
    ? (document.eol === vscode.EndOfLine.CRLF ? '\r\n' : '\n') + text.replace(/\r?\n$/, '')
    : text;
};

/** The two sides of the diff in front, when the left one is a checkpoint's file. */
export const activeSnapshotDiff = (): vscode.TabInputTextDiff | undefined => {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  return input instanceof vscode.TabInputTextDiff && input.original.scheme === snapshotScheme ? input : undefined;
};

/** "Restore Selected Lines": the hunks of the diff that the selection of the working file touches. */
export const restoreSelectedLines = async (): Promise<number> => {
  const diff = activeSnapshotDiff();
  if (diff === undefined)
    throw new CheckpointsError('invalid-argument', 'Open a file of a checkpoint in the diff editor first.');
  refuseReadonly(diff.modified);
  const editor = vscode.window.visibleTextEditors.find(
    (candidate) => candidate.document.uri.toString() === diff.modified.toString(),
  );
  if (editor === undefined)
    throw new CheckpointsError('invalid-argument', 'Select lines on the right side, in the working file.');
  const then = splitLines((await vscode.workspace.openTextDocument(diff.original)).getText());
  const { document } = editor;
  const hunks = hunksBetween(then, splitLines(document.getText()));
  const wanted = new Set(
    editor.selections.flatMap((selection) => hunksInSelection(hunks, selection.start.line, lastLine(selection))),
  );
  if (wanted.size === 0)
    throw new CheckpointsError('invalid-argument', 'No change touches the selected lines of the working file.');
  const edit = new vscode.WorkspaceEdit();
  for (const { before, now } of wanted) {
    const text = then.slice(...before).join('');
    edit.replace(
      diff.modified,
      new vscode.Range(lineStart(document, now[0]), lineStart(document, now[1])),
      withBreak(document, now[0], text),
    );
  }
  await apply(edit);
  vscode.window.setStatusBarMessage(
    `$(check) ${plural(wanted.size, 'change')} restored; undo with the editor’s own undo`,
    5000,
  );
  return wanted.size;
};

/** A selection that ends at the start of a line does not mean that line. */
const lastLine = ({ start, end }: vscode.Selection): number =>
  end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
