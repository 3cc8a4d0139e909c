import * as vscode from 'vscode';
import { hasFiles } from '../core/files-facet';
import { openChangeDiff, openWorkingDiff, type Target } from './diff';
import { snapshotScheme } from './ids';
import { pathMatcher } from './path-match';
import { parseQuery } from './search-query';
import { changesSince, sinceOf } from './since';

/** Arrow keys run through rows faster than diffs can be drawn. */
const pause = 250;

/** While somebody looks through search results: one changed file of the row they are at, beside the working file. */
export class SearchPreview implements vscode.Disposable {
  private timer: NodeJS.Timeout | undefined;
  private number = 0;
  private shown = false;

  constructor(private readonly log: vscode.LogOutputChannel) {}

  show(target: Target, query: string): void {
    clearTimeout(this.timer);
    const number = (this.number += 1);
    this.timer = setTimeout(() => {
      this.open(target, query, () => number === this.number).catch((error: unknown) =>
        this.log.warn(`no preview of ${target.checkpoint.id}: ${String(error)}`),
      );
    }, pause);
  }

  /** The search was given up: what was only shown on the way goes. */
  async close(): Promise<void> {
    this.dispose();
    await this.clear();
  }

  private async clear(): Promise<void> {
    if (!this.shown) return;
    this.shown = false;
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    await vscode.window.tabGroups.close(
      tabs.filter(
        ({ isPreview, input }) =>
          isPreview && input instanceof vscode.TabInputTextDiff && input.original.scheme === snapshotScheme,
      ),
      true,
    );
  }

  /** Nothing that is not on the screen yet comes there. */
  cancel(): void {
    clearTimeout(this.timer);
    this.number += 1;
  }

  dispose(): void {
    this.cancel();
  }

  private async open(target: Target, query: string, wanted: () => boolean): Promise<void> {
    const { path: asked } = parseQuery(query, Date.now());
    const known = await sinceOf(target);
    const changes = await changesSince(target, known);
    const touches = asked === undefined ? () => false : pathMatcher(asked);
    const found = changes.find(({ path }) => touches(path));
    const change = found ?? changes.find(({ binary }) => !binary);
    // Before a prompt nothing has changed: what has since then tells where one would go back to.
    const since = change === undefined ? await sinceThen(target) : undefined;
    if (!wanted()) return;
    // What is shown of another row would be taken for this one's.
    if (change === undefined && since === undefined) return this.clear();
    this.shown = true;
    if (change !== undefined) await openChangeDiff(target, known, change, { preserveFocus: true });
    else if (since !== undefined) await openWorkingDiff(target, since, { preserveFocus: true });
  }
}

const sinceThen = async ({ root, checkpoint }: Target): Promise<string | undefined> => {
  if (!hasFiles(checkpoint)) return undefined;
  const { changes } = await root.api.diff(checkpoint.id);
  return changes.find(({ binary }) => !binary)?.path;
};
