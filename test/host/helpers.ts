import * as assert from 'node:assert/strict';
import { rmSync, writeFileSync, mkdirSync, readFileSync, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as vscode from 'vscode';
import type { WorkspaceApi } from '../../src/core/api';
import { openWorkspace } from '../../src/git/open';
import { Backup } from '../../src/host/backup';
import { extensionId } from '../../src/host/ids';
import { workspaceOpener, type OpenWorkspace } from '../../src/host/open';
import { Plugin } from '../../src/host/plugin';
import type { Workspaces } from '../../src/host/workspaces';

export const required = (name: string): string => {
  const value = process.env[name];
  assert.ok(value, `${name} is not set: run test/rig/run-host.mjs`);
  return value;
};

/** The first folder of the window: a git repository. The second one, beside it, has no git. */
export const project = required('HOST_WORKSPACE');
export const second = join(dirname(project), 'second');

export const at = (path: string): string => join(project, path);
export const uri = (path: string): vscode.Uri => vscode.Uri.file(at(path));
export const read = (path: string): string => readFileSync(at(path), 'utf8');
export const exists = (path: string): boolean => existsSync(at(path));
export const remove = (path: string): void => rmSync(at(path), { recursive: true, force: true });
export const write = (path: string, text: string | Uint8Array): void => {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
};

/** Another process' view of the same store, as the command line would have it. */
export const withStore = async <T>(work: (api: WorkspaceApi) => Promise<T>, directory = project): Promise<T> => {
  const api = await openWorkspace({ directory });
  try {
    return await work(api);
  } finally {
    await api.close();
  }
};

export const activate = async (): Promise<void> => {
  await extension().activate();
};

export const extension = (): vscode.Extension<unknown> => {
  const found = vscode.extensions.getExtension(extensionId);
  assert.ok(found, `${extensionId} is not installed`);
  return found;
};

export const log = (): vscode.LogOutputChannel => vscode.window.createOutputChannel('Checkpoints test', { log: true });

/** The extension's own way to open a folder, for providers that the tests make themselves. */
export const opener = (): OpenWorkspace => workspaceOpener(extension().extensionUri, log());

export const backupOf = (workspaces: Workspaces): Backup => new Backup(workspaces, log());

/** The extension's view of the OpenCode plugin, with a memory of its own. */
export const pluginOf = (workspaces: Workspaces): Plugin => {
  const memory = new Map<string, unknown>();
  const state = {
    keys: () => [...memory.keys()],
    get: <T>(key: string) => memory.get(key) as T,
    update: async (key: string, value: unknown) => void memory.set(key, value),
    setKeysForSync: () => undefined,
  };
  const { extensionUri } = extension();
  return new Plugin({ extension: extension(), extensionUri, globalState: state, workspaceState: state }, workspaces);
};

/** Waits for something that VS Code or the store tells a little later. Fails with what was seen last. */
export const eventually = async <T>(
  look: () => T | Promise<T>,
  accept: (value: T) => boolean,
  what: string,
  patienceMs = 20_000,
): Promise<T> => {
  let last = await look();
  for (const until = Date.now() + patienceMs; !accept(last); last = await look()) {
    if (Date.now() > until) assert.fail(`${what}; last seen: ${JSON.stringify(last)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return last;
};

export const closeEditors = async (): Promise<void> => {
  await vscode.commands.executeCommand('workbench.action.closeAllEditors');
  await eventually(
    () => vscode.window.tabGroups.all.flatMap((group) => group.tabs).length,
    (count) => count === 0,
    'editors stay open',
  );
};

export const activeTab = (): vscode.Tab | undefined => vscode.window.tabGroups.activeTabGroup.activeTab;

export const showFile = async (path: string): Promise<vscode.TextEditor> =>
  vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri(path)), { preview: false });

type Answer = string | undefined | ((items: readonly unknown[]) => unknown);

/** What the extension asked and said while the answers lasted. */
export interface Asked {
  kind: 'information' | 'warning' | 'error' | 'input' | 'pick';
  message: string;
  detail: string;
  items: string[];
}

const titleOf = (item: unknown): string => {
  if (typeof item === 'string') return item;
  const { title, label } = item as { title?: string; label?: string };
  return title ?? label ?? '';
};

/**
 * Answers the dialogs of the extension: VS Code refuses to show modal ones in tests, and nobody is there to click.
 * The real dialogs are clicked in the browser tests. A question without an answer fails the test.
 */
export const answering = async (answers: Answer[], work: () => Thenable<unknown>): Promise<Asked[]> => {
  const asked: Asked[] = [];
  const left = [...answers];
  const window = vscode.window as unknown as Record<string, unknown>;
  const originals: Record<string, unknown> = {};
  const reply = (question: Asked, items: readonly unknown[]): unknown => {
    asked.push(question);
    // A message without buttons asks nothing.
    if (items.length === 0 && question.kind !== 'input' && question.kind !== 'pick') return undefined;
    if (left.length === 0)
      return question.kind === 'input' || question.kind === 'pick'
        ? assert.fail(`unexpected: ${question.message}`)
        : undefined;
    const answer = left.shift();
    if (typeof answer === 'function') return answer(items);
    if (answer === undefined || question.kind === 'input') return answer;
    const found = items.find(
      (item) => titleOf(item) === answer || titleOf(item).replace(/^\$\([^)]*\) /, '') === answer,
    );
    assert.ok(found !== undefined, `“${question.message}” does not offer “${answer}” but ${question.items.join(', ')}`);
    return found;
  };
  const message =
    (kind: Asked['kind']) =>
    async (text: string, ...rest: unknown[]) => {
      const [first] = rest;
      const options =
        typeof first === 'object' && first !== null && 'modal' in first ? (rest.shift() as { detail?: string }) : {};
      return reply({ kind, message: text, detail: options.detail ?? '', items: rest.map(titleOf) }, rest);
    };
  /** The answer to a question for a file is its path. */
  const files = (title = ''): vscode.Uri[] | undefined => {
    const answer = reply({ kind: 'input', message: title, detail: '', items: [] }, []);
    return typeof answer === 'string' ? [vscode.Uri.file(answer)] : undefined;
  };
  const stubs: Record<string, unknown> = {
    showInformationMessage: message('information'),
    showWarningMessage: message('warning'),
    showErrorMessage: message('error'),
    showInputBox: async (options: vscode.InputBoxOptions) =>
      reply({ kind: 'input', message: options.title ?? '', detail: options.value ?? '', items: [] }, []),
    showQuickPick: async (items: readonly unknown[], options: vscode.QuickPickOptions) =>
      reply({ kind: 'pick', message: options.title ?? '', detail: '', items: items.map(titleOf) }, items),
    showOpenDialog: async (options: vscode.OpenDialogOptions) => files(options.title)?.slice(0, 1),
    showSaveDialog: async (options: vscode.SaveDialogOptions) => files(options.title)?.[0],
  };
  for (const [name, stub] of Object.entries(stubs)) {
    originals[name] = window[name];
    window[name] = stub;
  }
  try {
    await work();
    // Result messages come after the command has returned.
    await new Promise((resolve) => setTimeout(resolve, 50));
  } finally {
    Object.assign(window, originals);
  }
  assert.deepEqual(left, [], `answers that nobody asked for: ${JSON.stringify(asked)}`);
  return asked;
};

/** As in a window whose folder is not trusted: a window of its own for it is in the browser tests. */
export const untrusted = async <T>(work: () => Thenable<T>): Promise<T> => {
  const original = Object.getOwnPropertyDescriptor(vscode.workspace, 'isTrusted');
  assert.ok(original);
  Object.defineProperty(vscode.workspace, 'isTrusted', { configurable: true, get: () => false });
  try {
    return await work();
  } finally {
    Object.defineProperty(vscode.workspace, 'isTrusted', original);
  }
};

export const run = <T>(command: string, ...args: unknown[]): Thenable<T> =>
  vscode.commands.executeCommand<T>(command, ...args);
