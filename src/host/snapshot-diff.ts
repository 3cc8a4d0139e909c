import * as vscode from 'vscode';
import { snapshotScheme } from './ids';
import { nothingUri, parseSnapshotUri } from './uris';

/** The two sides of the diff in front, when the left one is a checkpoint's file. */
export const activeSnapshotDiff = (): vscode.TabInputTextDiff | undefined => {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  if (input instanceof vscode.TabInputTextDiff) return input.original.scheme === snapshotScheme ? input : undefined;
  if (input instanceof vscode.TabInputText) return undefined;
  const { activeTextEditor, visibleTextEditors } = vscode.window;
  const active = activeTextEditor?.document.uri;
  const visible = visibleTextEditors.map(({ document }) => document.uri);
  const sides = sidesAround(active, visible) ?? goneSides(active);
  return sides && new vscode.TabInputTextDiff(...sides);
};

/** A file that was deleted has no right side among many changes: there is no editor for what is not there. */
const goneSides = (active: vscode.Uri | undefined): [original: vscode.Uri, modified: vscode.Uri] | undefined => {
  if (active?.scheme !== snapshotScheme) return undefined;
  const { checkpoint, empty, now, file } = parseSnapshotUri(active);
  return empty || now ? undefined : [active, nothingUri(checkpoint, file)];
};

const fileOf = (uri: vscode.Uri): string =>
  (uri.scheme === snapshotScheme ? parseSnapshotUri(uri).beside : uri).toString();

/**
 * In the editor of many changes VS Code tells extensions of no sides. Those of the file with the focus are on the screen, and
 * are the same file: as a checkpoint has it, and as it is now or as a later checkpoint has it, maybe under another name.
 */
export const sidesAround = (
  active: vscode.Uri | undefined,
  visible: readonly vscode.Uri[],
): [original: vscode.Uri, modified: vscode.Uri] | undefined => {
  if (active === undefined) return undefined;
  const same = visible.filter((uri) => fileOf(uri) === fileOf(active));
  const isThen = (uri: vscode.Uri): boolean => uri.scheme === snapshotScheme && !parseSnapshotUri(uri).now;
  // Their ids sort as times do, and the older one is left.
  const then = same.filter(isThen).sort((a, b) => (a.authority < b.authority ? -1 : 1));
  const [original] = then;
  const modified = same.find((uri) => !isThen(uri)) ?? then.find((uri) => uri.authority !== original?.authority);
  return original && modified && [original, modified];
};
