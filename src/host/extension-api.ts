import type * as vscode from 'vscode';
import type { WorkspaceApi } from '../core/api';
import { CheckpointsError } from '../core/errors';
import { programApi, type ExtensionApi as WindowApi } from '../core/programs';
import type { Root } from './root';
import { requireTrust } from './trust';
import type { Workspaces } from './workspaces';

/** What `activate` returns to other extensions. */
export type ExtensionApi = WindowApi<vscode.Uri>;

export const extensionApi = (workspaces: Workspaces): ExtensionApi => {
  const first = programApi(async () => shared(workspaces, (await workspaces.all())[0]));
  return {
    ...first,
    folder: (uri) =>
      programApi(async () => {
        const roots = await workspaces.all();
        const inside = await workspaces.forUri(uri);
        return shared(workspaces, inside ?? roots.find((root) => root.folder.uri.toString() === uri.toString()));
      }),
  };
};

/** What other extensions can do to files and store. */
const writes: ReadonlySet<keyof WorkspaceApi> = new Set(['create', 'restore', 'undo', 'redo', 'remove', 'prune']);

/**
 * The extension's own store as others see it: their `close` does not close it, and it outlives a reopening (a folder
 * was added, the store moved) without their noticing.
 */
const shared = (workspaces: Workspaces, root: Root | undefined): WorkspaceApi => {
  if (root === undefined)
    throw workspaces.failures[0] ?? new CheckpointsError('invalid-argument', 'No folder is open in this window.');
  const id = root.api.root;
  const own: Partial<WorkspaceApi> = {
    close: async () => undefined,
    onDidChange: (listener) => {
      const subscription = workspaces.onDidChange((changed) => {
        if (changed.root.api.root === id) listener(changed.event);
      });
      return () => subscription.dispose();
    },
  };
  return new Proxy(root.api, {
    get: (target, key: keyof WorkspaceApi) => {
      if (own[key] !== undefined) return own[key];
      if (writes.has(key)) requireTrust();
      const now = workspaces.current.find((candidate) => candidate.api.root === id)?.api ?? target;
      const value: unknown = Reflect.get(now, key);
      return typeof value === 'function' ? (value.bind(now) as unknown) : value;
    },
  });
};
