import * as vscode from 'vscode';
import type { NamedRemote } from '../sync/remotes';
import type { Root } from './root';

const memoryKey = (root: Root): string => `remotes:${root.api.root}`;
const remembered = 5;

type Item = vscode.QuickPickItem & { remote?: string; other?: 'address' | 'folder' };

/** Where checkpoints go to or come from: remotes of the repository, places used before, or another one. */
export class RemotePicker {
  constructor(private readonly memory: vscode.Memento) {}

  async pick(root: Root, title: string): Promise<string | undefined> {
    const { listRemotes } = await import('../sync/remotes');
    const used = this.memory.get<string[]>(memoryKey(root), []);
    const items = remoteItems(await listRemotes(root.api.root), used);
    const chosen = await vscode.window.showQuickPick(items, {
      title,
      placeHolder: 'A git remote: checkpoints live there beside your branches, and touch none of them',
      ignoreFocusOut: true,
    });
    if (chosen?.other === 'address') return askAddress(title);
    if (chosen?.other === 'folder') return askFolder(title);
    return chosen?.remote;
  }

  /** Once it has worked. */
  async remember(root: Root, remote: string): Promise<void> {
    const used = this.memory.get<string[]>(memoryKey(root), []);
    const next = [remote, ...used.filter((one) => one !== remote)].slice(0, remembered);
    await this.memory.update(memoryKey(root), next);
  }
}

const remoteItems = (remotes: readonly NamedRemote[], used: readonly string[]): Item[] => {
  const names = new Set(remotes.map(({ name }) => name));
  const first = (name: string): number => (used.includes(name) ? used.indexOf(name) : used.length);
  return [
    ...[...remotes]
      .sort((a, b) => first(a.name) - first(b.name))
      .map(({ name, url }) => ({ label: `$(repo) ${name}`, description: url, remote: name })),
    ...used
      .filter((remote) => !names.has(remote))
      .map((remote) => ({ label: `$(history) ${remote}`, description: 'used before', remote })),
    { label: '$(globe) Another Address…', description: 'https, ssh', other: 'address' as const },
    {
      label: '$(folder) A Folder…',
      description: 'a bare repository on a drive that you share',
      other: 'folder' as const,
    },
  ];
};

const askAddress = async (title: string): Promise<string | undefined> => {
  const answer = await vscode.window.showInputBox({
    title,
    prompt: 'The address of a git repository',
    placeHolder: 'git@example.org:team/checkpoints.git',
    ignoreFocusOut: true,
    validateInput: (value) => (value.trim() === '' ? 'An address is needed.' : undefined),
  });
  return answer?.trim();
};

const askFolder = async (title: string): Promise<string | undefined> => {
  const [folder] =
    (await vscode.window.showOpenDialog({
      title,
      canSelectFolders: true,
      canSelectFiles: false,
      openLabel: 'Use This Repository',
    })) ?? [];
  return folder?.fsPath;
};
