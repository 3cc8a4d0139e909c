import { lstat, readFile, readlink } from 'node:fs/promises';
import type * as vscode from 'vscode';
import type { WorkspaceApi } from '../core/api';
import type { CheckpointId } from '../core/model';
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

/** As much of a root as a path of it needs. */
interface Place {
  readonly api: Pick<WorkspaceApi, 'stat' | 'cat'>;
  toUri(relative: string): vscode.Uri;
}

/** Whether a path still is as a checkpoint has it. Only the path is looked at: of all files it would take long where there are many. */
export const isStill = async (root: Place, checkpoint: CheckpointId, path: string): Promise<boolean> => {
  const file = root.toUri(path);
  const [then, now] = await Promise.all([root.api.stat(checkpoint, path), workingKind(file)]);
  if (then === null) return now === 'nothing';
  if (then.kind !== now || now === 'folder') return false;
  try {
    if ((await lstat(file.fsPath)).size !== then.size) return false;
    const content = await (now === 'link' ? readlink(file.fsPath, { encoding: 'buffer' }) : readFile(file.fsPath));
    return content.equals(await root.api.cat(checkpoint, path));
  } catch (error) {
    // Gone meanwhile, or nobody may read it: the editor that shows it will say so.
    if ((error as NodeJS.ErrnoException).syscall !== undefined) return false;
    throw error;
  }
};
