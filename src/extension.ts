import type * as vscode from 'vscode';
import { compose, type Host } from './host/compose';
import type { ExtensionApi } from './host/extension-api';

let host: Host | undefined;

export function activate(context: vscode.ExtensionContext): ExtensionApi {
  host = compose(context);
  return host.api;
}

export async function deactivate(): Promise<void> {
  await host?.close();
  host = undefined;
}
