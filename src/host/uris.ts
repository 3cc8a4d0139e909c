import type * as vscode from 'vscode';
import { snapshotScheme } from './ids';

/** Authority of the side that does not exist: an added or deleted file in a two-sided diff. */
const nothing = 'nothing';

/** By name: VS Code's image preview adds a word of its own to what it is asked to show. */
const queryOf = (words: Record<string, string>): string =>
  new URLSearchParams(Object.entries(words).filter(([, value]) => value !== '')).toString();

/**
 * A file as a checkpoint has it. The path stays that of the real file: VS Code then shows no rename, and picks the
 * language and icon by it. A UNC host would be lost with the authority, so it moves into the query.
 * A renamed file also says beside which one it stands: in the editor of many changes nobody else does.
 */
export const snapshotUri = (checkpoint: string, file: vscode.Uri, beside: vscode.Uri = file): vscode.Uri =>
  file.with({
    scheme: snapshotScheme,
    authority: checkpoint,
    query: queryOf({ host: file.authority, beside: beside.path === file.path ? '' : beside.path }),
  });

/** The empty side of a file in a diff with a checkpoint, which commands on it still mean: its id moves into the query, too. */
export const nothingUri = (checkpoint: string, file: vscode.Uri): vscode.Uri =>
  file.with({ scheme: snapshotScheme, authority: nothing, query: queryOf({ checkpoint, host: file.authority }) });

/** Authority of a link as it is now. */
const link = 'link';

/**
 * A link of the workspace itself, readonly. VS Code would follow it: the diff would show another file, and a line taken
 * back would be written into that.
 */
export const linkUri = (file: vscode.Uri): vscode.Uri =>
  file.with({ scheme: snapshotScheme, authority: link, query: queryOf({ host: file.authority }) });

export interface SnapshotPlace {
  /** Empty for a link as it is now. */
  checkpoint: string;
  /** The empty side: the file is not there. */
  empty: boolean;
  /** The link in the workspace, not one of a checkpoint. */
  now: boolean;
  file: vscode.Uri;
  /** The file that it is compared with: itself, or what it is called now. */
  beside: vscode.Uri;
}

export const parseSnapshotUri = (uri: vscode.Uri): SnapshotPlace => {
  const empty = uri.authority === nothing;
  const now = uri.authority === link;
  const words = new URLSearchParams(uri.query);
  const word = (name: string): string => words.get(name) ?? '';
  const file = uri.with({ scheme: 'file', authority: word('host'), query: '' });
  return {
    checkpoint: empty ? word('checkpoint') : now ? '' : uri.authority,
    empty,
    now,
    file,
    beside: file.with({ path: word('beside') || file.path }),
  };
};
