import type * as vscode from 'vscode';

/** A selection that ends at the start of a line does not mean that line, unless nothing comes behind it. */
export const lastLine = (
  { start, end }: Pick<vscode.Selection, 'start' | 'end'>,
  { lineCount }: Pick<vscode.TextDocument, 'lineCount'>,
): number => (end.character === 0 && end.line > start.line && end.line < lineCount - 1 ? end.line - 1 : end.line);
