import type * as vscode from 'vscode';
import type { WorkspaceApi } from '../core/api';
import { nothingUri, snapshotUri } from './uris';

/** As much of a root as the sides of a diff need. */
export interface Place {
  readonly api: Pick<WorkspaceApi, 'stat'>;
  toUri(relative: string): vscode.Uri;
}

/** A file as a checkpoint has it, or the empty side where it has none. */
export const sideOf = async (root: Place, checkpoint: string, path: string): Promise<vscode.Uri> =>
  ((await root.api.stat(checkpoint, path)) === null ? nothingUri : snapshotUri)(checkpoint, root.toUri(path));
