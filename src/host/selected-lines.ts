import type * as vscode from 'vscode';
import type { Hunk } from './hunks';

type Editor = Pick<vscode.TextEditor, 'document' | 'viewColumn'>;

/**
 * The side of a diff whose selection is meant: the one with the focus, else the right one. The file may be open beside
 * the diff as well; the editors inside a diff are in no column of their own.
 */
export const selectedSide = <E extends Editor>(
  { original, modified }: Pick<vscode.TabInputTextDiff, 'original' | 'modified'>,
  active: E | undefined,
  visible: readonly E[],
): { editor: E; side: keyof Hunk } | undefined => {
  const shows = (uri: vscode.Uri) => (editor: E) => editor.document.uri.toString() === uri.toString();
  if (active !== undefined && shows(original)(active)) return { editor: active, side: 'before' };
  const right = [...(active === undefined ? [] : [active]), ...visible].filter(shows(modified));
  const editor = right.find((one) => one === active || one.viewColumn === undefined) ?? right[0];
  return editor === undefined ? undefined : { editor, side: 'now' };
};

/** A selection that ends at the start of a line does not mean that line, unless nothing comes behind it. */
export const lastLine = (
  { start, end }: Pick<vscode.Selection, 'start' | 'end'>,
  { lineCount }: Pick<vscode.TextDocument, 'lineCount'>,
): number => (end.character === 0 && end.line > start.line && end.line < lineCount - 1 ? end.line - 1 : end.line);
