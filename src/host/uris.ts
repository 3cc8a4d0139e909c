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

/** The empty side of a file in a diff with a checkpoint, which commands on it still mean: its id moves into the query, too. */
export const nothingUri = (checkpoint: string, file: vscode.Uri): vscode.Uri =>
  file.with({ scheme: snapshotScheme, authority: nothing, query: `${checkpoint}/${file.authority}` });

export interface SnapshotPlace {
  checkpoint: string;
  /** The empty side: the file is not there. */
  empty: boolean;
  file: vscode.Uri;
}

export const parseSnapshotUri = (uri: vscode.Uri): SnapshotPlace => {
  const empty = uri.authority === nothing;
  const [checkpoint = '', authority = ''] = empty ? uri.query.split('/') : [uri.authority, uri.query];
  return { checkpoint, empty, file: uri.with({ scheme: 'file', authority, query: '' }) };
};
