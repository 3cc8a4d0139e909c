import { lstat } from 'node:fs/promises';
import type * as vscode from 'vscode';
import { linkUri } from './uris';

export type WorkingKind = 'file' | 'link' | 'folder' | 'nothing';

/** What is at a path now, without following a link: one that leads nowhere is there all the same. */
export const workingKind = async (file: vscode.Uri): Promise<WorkingKind> => {
  try {
    const found = await lstat(file.fsPath);
    if (found.isSymbolicLink()) return 'link';
    return found.isDirectory() ? 'folder' : 'file';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'nothing';
    throw error;
  }
};

/** The side of a diff that shows what is there now: the real file, editable, or the link itself; undefined for none. */
export const workingSide = async (file: vscode.Uri): Promise<vscode.Uri | undefined> => {
  const kind = await workingKind(file);
  if (kind === 'link') return linkUri(file);
  return kind === 'file' ? file : undefined;
};
