import * as vscode from 'vscode';
import { clearOriginals, findOriginals, type Original } from '../core/originals';
import { pickSession } from './actions-edit';
import { bytes } from './actions-store';
import { openWorkingDiff } from './diff';
import { pickRoot } from './picker';
import { withPatience } from './progress';
import { withoutIcons } from './labels';
import { relativeTime } from './relative-time';
import type { Root } from './root';
import type { Services } from './services';
import { isTreeNode, type TreeNode } from './tree-nodes';
import { requireTrust } from './trust';

interface OriginalItem extends vscode.QuickPickItem {
  original: Original;
}

const restoreButton: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon('discard'),
  tooltip: 'Restore This Version',
};

const clearButton: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon('clear-all'),
  tooltip: 'Count from Now On (no checkpoint is deleted)',
};

type Choice = { original: Original; restore: boolean } | 'clear' | undefined;

/** The first version of each file that a session changed: look at what became of it, or take it back. */
export const showOriginals = async (services: Services, argument: unknown): Promise<void> => {
  const title = 'First Versions';
  const node = isTreeNode(argument) ? argument : undefined;
  const root = node?.root ?? (await pickRoot(services.workspaces, title));
  if (root === undefined) return;
  const session = node === undefined ? await whichSession(root, title) : sessionOf(node);
  if (session === null) return;
  const found = await withPatience('Looking for first versions', () => findOriginals(root.api, session));
  const { originals } = found;
  if (originals.length === 0) {
    vscode.window.showInformationMessage('No file has been changed by this session.');
    return;
  }
  const chosen = await pick(title, originals.map(item));
  if (chosen === undefined) return;
  if (chosen === 'clear') {
    requireTrust();
    await clearOriginals(root.api, found);
    vscode.window.showInformationMessage('First versions are counted from now on.');
    return;
  }
  const { original, restore } = chosen;
  const target = { root, checkpoint: await root.api.resolve(original.checkpoint) };
  if (restore) await services.flow.restorePaths(target, [original.path]);
  else await show(root, original);
};

const sessionOf = (node: TreeNode): string | undefined =>
  node.type === 'session' ? (node.group.id ?? undefined) : undefined;

/** From the palette: "this session" is clear only where there is one. Undefined: the only one, or none; null: given up. */
const whichSession = async (root: Root, title: string): Promise<string | undefined | null> => {
  const ids = new Set(
    (await root.api.list()).flatMap(({ session, origin }) => (origin === null ? (session?.id ?? []) : [])),
  );
  return ids.size <= 1 ? undefined : ((await pickSession(root, title))?.id ?? null);
};

const show = async (root: Root, { checkpoint, path }: Original): Promise<void> =>
  openWorkingDiff({ root, checkpoint: await root.api.resolve(checkpoint) }, path);

const item = (original: Original): OriginalItem => {
  const { path, createdAt, existed, size, change } = original;
  const when = relativeTime(createdAt, Date.now(), vscode.env.language);
  const now = change === null ? 'as it was' : `+${change.additions} −${change.deletions} since`;
  return {
    original,
    label: `$(file) ${withoutIcons(path)}`,
    description: [existed ? bytes(size ?? 0) : 'made by the agent', when, now].join(' · '),
    buttons: vscode.workspace.isTrusted ? [restoreButton] : [],
  };
};

const pick = (title: string, items: OriginalItem[]): Promise<Choice> =>
  new Promise((resolve) => {
    const quickPick = vscode.window.createQuickPick<OriginalItem>();
    Object.assign(quickPick, { title, items, matchOnDescription: true, placeholder: 'Compare with the working file' });
    quickPick.buttons = vscode.workspace.isTrusted ? [clearButton] : [];
    const end = (answer: Choice): void => {
      resolve(answer);
      quickPick.dispose();
    };
    quickPick.onDidAccept(() => {
      const [active] = quickPick.activeItems;
      end(active && { original: active.original, restore: false });
    });
    quickPick.onDidTriggerItemButton(({ item: { original } }) => end({ original, restore: true }));
    quickPick.onDidTriggerButton(() => end('clear'));
    quickPick.onDidHide(() => end(undefined));
    quickPick.show();
  });
