import type * as vscode from 'vscode';
import { snapshotScheme } from './ids';

/** Authority of the side that does not exist: an added or deleted file in a two-sided diff. */
const nothing = 'nothing';

/**
 * A file as a checkpoint has it. The path stays that of the real file: VS Code then shows no rename, and picks the
 * language and icon by it. A UNC host would be lost with the authority, so it moves into the query.
 */
export const snapshotUri = (checkpoint: string, file: vscode.Uri): vscode.Uri =>
  file.with({ scheme: snapshotScheme, authority: checkpoint, query: file.authority });

export const nothingUri = (file: vscode.Uri): vscode.Uri => snapshotUri(nothing, file);

export interface SnapshotPlace {
  /** null: the empty side. */
  checkpoint: string | null;
  file: vscode.Uri;
}

export const parseSnapshotUri = (uri: vscode.Uri): SnapshotPlace => ({
  checkpoint: uri.authority === nothing ? null : uri.authority,
  file: uri.with({ scheme: 'file', authority: uri.query, query: '' }),
});
