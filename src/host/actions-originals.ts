import * as vscode from 'vscode';
import { findOriginals, type Original } from '../core/originals';
import { bytes } from './actions-store';
import { openWorkingDiff } from './diff';
import { pickRoot } from './picker';
import { withPatience } from './progress';
import { relativeTime } from './relative-time';
import type { Root } from './root';
import type { Services } from './services';
import { isTreeNode } from './tree-nodes';

interface OriginalItem extends vscode.QuickPickItem {
  original: Original;
}

const restoreButton: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon('discard'),
  tooltip: 'Restore This Version',
};

/** The first version of each file that a session changed: look at what became of it, or take it back. */
export const showOriginals = async (services: Services, argument: unknown): Promise<void> => {
  const title = 'First Versions';
  const node = isTreeNode(argument) ? argument : undefined;
  const root = node?.root ?? (await pickRoot(services.workspaces, title));
  if (root === undefined) return;
  const session = node?.type === 'session' ? (node.group.id ?? undefined) : undefined;
  const { originals } = await withPatience('Looking for first versions', () => findOriginals(root.api, session));
  if (originals.length === 0) {
    vscode.window.showInformationMessage('No file has been changed by this session.');
    return;
  }
  const chosen = await pick(title, originals.map(item));
  if (chosen === undefined) return;
  const { original, restore } = chosen;
  const target = { root, checkpoint: await root.api.resolve(original.checkpoint) };
  if (restore) await services.flow.restorePaths(target, [original.path]);
  else await show(root, original);
};

const show = async (root: Root, { checkpoint, path }: Original): Promise<void> =>
  openWorkingDiff({ root, checkpoint: await root.api.resolve(checkpoint) }, path);

const item = (original: Original): OriginalItem => {
  const { path, createdAt, existed, size, change } = original;
  const when = relativeTime(createdAt, Date.now(), vscode.env.language);
  const now = change === null ? 'as it was' : `+${change.additions} −${change.deletions} since`;
  return {
    original,
    label: `$(file) ${path}`,
    description: [existed ? bytes(size ?? 0) : 'made by the agent', when, now].join(' · '),
    buttons: [restoreButton],
  };
};

const pick = (title: string, items: OriginalItem[]): Promise<{ original: Original; restore: boolean } | undefined> =>
  new Promise((resolve) => {
    const quickPick = vscode.window.createQuickPick<OriginalItem>();
    Object.assign(quickPick, { title, items, matchOnDescription: true, placeholder: 'Compare with the working file' });
    const end = (answer: { original: Original; restore: boolean } | undefined): void => {
      resolve(answer);
      quickPick.dispose();
    };
    quickPick.onDidAccept(() => {
      const [active] = quickPick.activeItems;
      end(active && { original: active.original, restore: false });
    });
    quickPick.onDidTriggerItemButton(({ item: { original } }) => end({ original, restore: true }));
    quickPick.onDidHide(() => end(undefined));
    quickPick.show();
  });
