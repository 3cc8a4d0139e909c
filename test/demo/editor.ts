import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startVsCodeServer, type VsCodeTools } from '../rig/vscode-server';

export interface EditorOptions {
  home: string;
  workspace: string;
  env: Record<string, string>;
  settings: Record<string, unknown>;
}

export interface Editor {
  /** The address for the browser; none for a desktop window. */
  url?: string;
  /** Resolves when there is no editor any more: the user closed the desktop window, or the server ended. */
  closed: Promise<void>;
  stop(): Promise<void>;
}

/** The .vsix in a VS Code server, as a user would have it. */
export async function serveEditor(options: EditorOptions & { tools: VsCodeTools; vsix: string }): Promise<Editor> {
  const { tools, vsix, env, settings } = options;
  const server = await startVsCodeServer({ tools, vsix, env, settings });
  return { url: server.folderUrl(options.workspace), closed: server.exited, stop: () => server.stop() };
}

/** The user's desktop VS Code with the extension from the checkout, in an instance that shares nothing with theirs. */
export async function openDesktop(options: EditorOptions & { code: string; checkout: string }): Promise<Editor> {
  const userData = join(options.home, 'vscode');
  await mkdir(join(userData, 'User'), { recursive: true });
  await writeFile(join(userData, 'User', 'settings.json'), JSON.stringify(options.settings, null, 2));
  const args = [
    ...['--wait', '--new-window', '--user-data-dir', userData, '--extensions-dir', join(options.home, 'extensions')],
    ...[`--extensionDevelopmentPath=${options.checkout}`, '--disable-workspace-trust', '--skip-welcome'],
    ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
    options.workspace,
  ];
  const child = spawn(options.code, args, {
    env: { ...process.env, ...options.env },
    shell: process.platform === 'win32',
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const closed = new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => resolve());
  });
  return {
    closed,
    stop: async () => {
      // Its windows are found by the demo's folder in their arguments, by the caller.
      if (child.exitCode === null) child.kill();
    },
  };
}
