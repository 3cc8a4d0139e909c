import type * as vscode from 'vscode';
import type { WorkspaceApi } from '../core/api';
import type { Change, Checkpoint } from '../core/model';
import { nothingUri, snapshotUri } from './uris';

/** As much of a root as the sides of a diff need. */
export interface Place {
  readonly api: Pick<WorkspaceApi, 'stat'>;
  toUri(relative: string): vscode.Uri;
}

/** A file as a checkpoint has it, or the empty side where it has none. */
export const sideOf = async (root: Place, checkpoint: string, path: string): Promise<vscode.Uri> =>
  ((await root.api.stat(checkpoint, path)) === null ? nothingUri : snapshotUri)(checkpoint, root.toUri(path));

/** What a checkpoint changed in a file: left the checkpoint before it, under the name that the file had there. */
export const previousSides = (
  root: Place,
  checkpoint: Checkpoint,
  previous: Checkpoint | undefined,
  { path, from }: Pick<Change, 'path' | 'from'>,
): Promise<[left: vscode.Uri, right: vscode.Uri]> =>
  Promise.all([
    previous === undefined ? nothingUri(checkpoint.id, root.toUri(path)) : sideOf(root, previous.id, from ?? path),
    sideOf(root, checkpoint.id, path),
  ]);
