import * as vscode from 'vscode';
import type { ChangeStatus } from '../core/model';
import { snapshotScheme } from './ids';
import { plural } from './labels';
import { snapshotUri } from './uris';

/** Letters and colours of VS Code's own git decorations, so that a changed file looks as it does everywhere else. */
const looks: Record<ChangeStatus, { badge: string; color: string; tooltip: string }> = {
  added: { badge: 'A', color: 'gitDecoration.addedResourceForeground', tooltip: 'Added' },
  modified: { badge: 'M', color: 'gitDecoration.modifiedResourceForeground', tooltip: 'Modified' },
  deleted: { badge: 'D', color: 'gitDecoration.deletedResourceForeground', tooltip: 'Deleted' },
  typechange: { badge: 'T', color: 'gitDecoration.modifiedResourceForeground', tooltip: 'Type changed' },
  renamed: { badge: 'R', color: 'gitDecoration.renamedResourceForeground', tooltip: 'Renamed' },
};

const prefix = 'change=';
const countPrefix = 'files=';

/** The URI of a row: the status travels in the fragment, which no document has. */
export const decorated = (checkpoint: string, file: vscode.Uri, status: ChangeStatus): vscode.Uri =>
  snapshotUri(checkpoint, file).with({ fragment: prefix + status });

/**
 * The URI of a row that stands for several files. Their number stands at the right edge, where a long title cannot push it
 * out of a narrow side bar.
 */
export const counted = (checkpoint: string, files: number): vscode.Uri =>
  vscode.Uri.from({ scheme: snapshotScheme, authority: checkpoint, path: '/', fragment: countPrefix + files });

/** VS Code takes two characters for what stands at the edge of a row; a larger number is for its text. */
export const atEdge = (files: number): boolean => files > 0 && files < 100;

export class ChangeDecorations implements vscode.FileDecorationProvider {
  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    if (uri.scheme !== snapshotScheme) return undefined;
    if (uri.fragment.startsWith(countPrefix)) {
      const files = Number(uri.fragment.slice(countPrefix.length));
      return new vscode.FileDecoration(String(files), `${plural(files, 'file')} changed`);
    }
    if (!uri.fragment.startsWith(prefix)) return undefined;
    const status = uri.fragment.slice(prefix.length);
    if (!(status in looks)) return undefined;
    const { badge, color, tooltip } = looks[status as ChangeStatus];
    return new vscode.FileDecoration(badge, tooltip, new vscode.ThemeColor(color));
  }
}
