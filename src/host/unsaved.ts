import * as vscode from 'vscode';
import { plural } from './labels';
import type { Root } from './root';

/** `saved`: what these hold is another thing by now, by the user's own hand. */
export type UnsavedAnswer = { go: true; keepOut: string[]; saved: string[] } | { go: false };

export interface UnsavedFile {
  path: string;
  /** False when it stays unsaved: a conflict on disk, say. */
  save(): Thenable<boolean>;
}

const save = 'Save and Continue';

/** Files of this root with unsaved changes, whichever kind of editor holds them. */
export const unsavedFiles = (root: Root): UnsavedFile[] => {
  const found = new Map<string, UnsavedFile>();
  const add = (uri: vscode.Uri, saved: UnsavedFile['save']): void => {
    const path = uri.scheme === 'file' ? root.toRelative(uri) : undefined;
    if (path !== undefined && !found.has(path)) found.set(path, { path, save: saved });
  };
  for (const document of [...vscode.workspace.textDocuments, ...vscode.workspace.notebookDocuments])
    if (document.isDirty) add(document.uri, () => document.save());
  // Custom editors have no document here, and a notebook may have only its tab yet.
  for (const { isDirty, input } of vscode.window.tabGroups.all.flatMap((group) => group.tabs))
    if (isDirty && (input instanceof vscode.TabInputCustom || input instanceof vscode.TabInputNotebook))
      add(input.uri, async () => (await vscode.workspace.save(input.uri)) !== undefined);
  return [...found.values()];
};

/** Up to ten, a line each. */
export const listed = (paths: readonly string[]): string =>
  [...paths.slice(0, 10), ...(paths.length > 10 ? [`and ${paths.length - 10} more`] : [])].join('\n');

export const pathsOf = (files: readonly UnsavedFile[]): string[] => files.map(({ path }) => path);

/** Answers with those that could not be saved. */
export const saveAll = async (files: readonly UnsavedFile[]): Promise<UnsavedFile[]> => {
  const saved = await Promise.all(files.map((file) => file.save()));
  return files.filter((_, index) => saved[index] !== true);
};

/** Unsaved editors of files that are about to change: the user saves them, leaves them out, or stops. */
export const settleUnsaved = async (root: Root, paths: ReadonlySet<string>): Promise<UnsavedAnswer> => {
  const dirty = unsavedFiles(root).filter(({ path }) => paths.has(path));
  if (dirty.length === 0) return { go: true, keepOut: [], saved: [] };
  const keep = dirty.length === 1 ? 'Leave It Out' : 'Leave Them Out';
  const answer = await vscode.window.showWarningMessage(
    `${plural(dirty.length, 'file')} with unsaved changes would be overwritten.`,
    {
      modal: true,
      detail: `${listed(pathsOf(dirty))}\n\nWhat you save now goes into the safety checkpoint, so that an undo brings it back.`,
    },
    save,
    keep,
  );
  if (answer !== save && answer !== keep) return { go: false };
  // What cannot be saved is the user's to solve: it stays out.
  const out = answer === keep ? dirty : await saveAll(dirty);
  return { go: true, keepOut: pathsOf(out), saved: pathsOf(dirty.filter((file) => !out.includes(file))) };
};
