import * as vscode from 'vscode';
import type { Target } from './diff';
import { commands } from './ids';
import { showError } from './notifications';
import { type CheckpointItem, checkpointItem, newestFirst, openRoots } from './picker';
import { matcherOf, parseQuery } from './search-query';
import { SearchPreview } from './search-preview';
import type { Services } from './services';
import { turnEndsOf } from './turn-ends-of';

const limit = 200;
/** Typing is not interrupted by a query per letter. */
const pause = 150;

const restoreButton: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon('discard'),
  tooltip: 'Restore Checkpoint…',
};
const revealButton: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon('list-tree'),
  tooltip: 'Show in Checkpoints Tree',
};
const compareButton: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon('diff-multiple'),
  tooltip: 'Compare with Working Files',
};

/**
 * A pick that searches while you type. What one moves to is previewed behind it; Enter compares with the working files, or at the end of a turn shows
 * what the turn did; the buttons do the rest.
 */
export const search = (services: Services): void => {
  const pick = vscode.window.createQuickPick<FoundItem>();
  pick.title = 'Search Checkpoints';
  pick.placeholder = 'Words, and trigger:turn  file:src/app.ts  session:login  is:pinned  since:2d  until:2026-01-31';
  // The results are what the query found; filtering them again by its text would hide them.
  pick.matchOnDescription = false;
  const preview = new SearchPreview(services.log);
  let chosen = false;
  let asked = 0;
  const ask = async (): Promise<void> => {
    const number = (asked += 1);
    pick.busy = true;
    try {
      const { items, leftOut } = await find(services, pick.value);
      if (number !== asked) return;
      pick.items = items;
      // What was about to be shown is not in the list any more.
      if (items.length === 0) preview.cancel();
      const nothing = pick.value === '' ? 'there are none yet' : 'nothing found';
      const said = [items.length === 0 ? nothing : '', leftOut].filter((words) => words !== '');
      pick.title = ['Search Checkpoints', said.join('; ')].filter((words) => words !== '').join(': ');
    } catch (error) {
      // Before anything was found there is nothing to look at: why not is said with its way out.
      if (number === 1) {
        pick.hide();
        return void showError(error, services.log);
      }
      services.log.error(String(error));
      pick.title = `Search Checkpoints: ${error instanceof Error ? error.message : String(error)}`;
    } finally {
      if (number === asked) pick.busy = false;
    }
  };
  let timer: NodeJS.Timeout | undefined;
  // Nobody waits for what a pick starts, so it shows its own failures.
  const start = (work: Promise<void>): void => void work.catch((error: unknown) => showError(error, services.log));
  const act = async (target: Target, command: string): Promise<void> => {
    chosen = true;
    pick.hide();
    await vscode.commands.executeCommand(command, target);
  };
  pick.onDidChangeValue(() => {
    clearTimeout(timer);
    timer = setTimeout(() => void ask(), pause);
  });
  pick.onDidChangeActive(([item]) => {
    // The first row is active before anybody asked for anything.
    if (item !== undefined && (pick.value !== '' || item !== pick.items[0])) preview.show(item.target, pick.value);
  });
  pick.onDidAccept(() => {
    const [item] = pick.activeItems;
    if (item === undefined) return;
    // The working files often are as a turn left them: what was found, and was shown on the way, is what the turn did.
    start(act(item.target, item.endsTurn ? commands.compareTurn : commands.compareWorking));
  });
  pick.onDidTriggerItemButton(({ item, button }) => {
    if (button === restoreButton) start(act(item.target, commands.restore));
    else if (button === revealButton) start(reveal(services, item.target).then(() => pick.hide()));
    else start(act(item.target, commands.compareWorking));
  });
  pick.onDidHide(() => {
    clearTimeout(timer);
    if (chosen) preview.dispose();
    else start(preview.close());
    pick.dispose();
  });
  pick.show();
  void ask();
};

interface FoundItem extends CheckpointItem {
  endsTurn: boolean;
}

const find = async ({ workspaces }: Services, text: string): Promise<{ items: FoundItem[]; leftOut: string }> => {
  const query = parseQuery(text, Date.now());
  const { search: words, trigger, since, until } = query;
  const filter = { search: words, trigger, since, until };
  const fits = matcherOf(query);
  const roots = await openRoots(workspaces);
  const found = await Promise.all(
    roots.map(async (root) => {
      const ends = await turnEndsOf(root, await root.api.list());
      // What the index does not know is looked for here, so it counts after that.
      return (await root.api.list(fits === null ? { ...filter, limit } : filter))
        .map((checkpoint) => ({ root, checkpoint, end: ends.get(checkpoint.id) }))
        .filter(({ checkpoint, end }) => fits === null || fits(checkpoint, end?.paths));
    }),
  );
  const items = found
    .flat()
    .sort((a, b) => newestFirst(a.checkpoint, b.checkpoint))
    .slice(0, limit)
    .map(({ end, ...target }) => ({
      ...checkpointItem(target, roots.length > 1, end),
      alwaysShow: true,
      endsTurn: end !== undefined,
      buttons: [compareButton, revealButton, ...(vscode.workspace.isTrusted ? [restoreButton] : [])],
    }));
  const [problem] = query.unknown;
  return { items, leftOut: problem === undefined ? '' : `“${problem}” is no filter and was left out` };
};

export const reveal = async ({ tree, treeView }: Services, { checkpoint }: Target): Promise<void> => {
  await tree.show(checkpoint.id);
  const node = await tree.find(checkpoint.id);
  if (node !== undefined) await treeView.reveal(node, { select: true, focus: true });
};
