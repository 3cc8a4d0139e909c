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

/** Authority of a link as it is now. */
const link = 'link';

/**
 * A link of the workspace itself, readonly. VS Code would follow it: the diff would show another file, and a line taken
 * back would be written into that.
 */
export const linkUri = (file: vscode.Uri): vscode.Uri =>
  file.with({ scheme: snapshotScheme, authority: link, query: file.authority });

export interface SnapshotPlace {
  /** Empty for a link as it is now. */
  checkpoint: string;
  /** The empty side: the file is not there. */
  empty: boolean;
  /** The link in the workspace, not one of a checkpoint. */
  now: boolean;
  file: vscode.Uri;
}

export const parseSnapshotUri = (uri: vscode.Uri): SnapshotPlace => {
  const empty = uri.authority === nothing;
  const now = uri.authority === link;
  const [checkpoint = '', authority = ''] = empty ? uri.query.split('/') : [now ? '' : uri.authority, uri.query];
  return { checkpoint, empty, now, file: uri.with({ scheme: 'file', authority, query: '' }) };
};
