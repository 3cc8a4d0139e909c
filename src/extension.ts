import type * as vscode from 'vscode';
import { compose, type Host } from './host/compose';

let host: Host | undefined;

export function activate(context: vscode.ExtensionContext): void {
  host = compose(context, async (directory) => {
    // Loaded on first use: most windows start without it.
    const { openWorkspace } = await import('./git/open');
    return openWorkspace({ directory });
  });
}

export async function deactivate(): Promise<void> {
  await host?.close();
  host = undefined;
}
