import * as vscode from 'vscode';
import { plural } from './labels';
import type { Root } from './root';

export type UnsavedAnswer = { go: true; keepOut: string[] } | { go: false };

const save = 'Save and Continue';

/** Unsaved editors of files that are about to change: the user saves them, leaves them out, or stops. */
export const settleUnsaved = async (root: Root, paths: ReadonlySet<string>): Promise<UnsavedAnswer> => {
  const dirty = vscode.workspace.textDocuments.filter((document) => {
    const relative = document.isDirty && document.uri.scheme === 'file' ? root.toRelative(document.uri) : undefined;
    return relative !== undefined && paths.has(relative);
  });
  if (dirty.length === 0) return { go: true, keepOut: [] };
  const names = dirty.map((document) => root.toRelative(document.uri) ?? document.fileName);
  const keep = dirty.length === 1 ? 'Leave It Out' : 'Leave Them Out';
  const list = [...names.slice(0, 10), ...(names.length > 10 ? [`and ${names.length - 10} more`] : [])].join('\n');
  const answer = await vscode.window.showWarningMessage(
    `${plural(dirty.length, 'file')} with unsaved changes would be overwritten.`,
    {
      modal: true,
      detail: `${list}\n\nWhat you save now goes into the safety checkpoint, so that an undo brings it back.`,
    },
    save,
    keep,
  );
  if (answer === keep) return { go: true, keepOut: names };
  if (answer !== save) return { go: false };
  // What cannot be saved (a conflict on disk, say) is the user's to solve: it stays out.
  const saved = await Promise.all(dirty.map((document) => document.save()));
  return { go: true, keepOut: names.filter((_, index) => saved[index] !== true) };
};
