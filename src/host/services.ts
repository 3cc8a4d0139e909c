import type * as vscode from 'vscode';
import type { Backup } from './backup';
import type { Gutter } from './gutter';
import type { OldData } from './import';
import type { Pages } from './pages';
import type { Plugin } from './plugin';
import type { RemotePicker } from './remote-picker';
import type { RestoreFlow } from './restore-flow';
import type { ServerWatch } from './server-watch';
import type { SessionStates } from './session-states';
import type { CheckpointTree } from './tree';
import type { TreeNode } from './tree-nodes';
import type { Workspaces } from './workspaces';

/** What commands work with; put together in compose.ts. */
export interface Services {
  readonly log: vscode.LogOutputChannel;
  readonly workspaces: Workspaces;
  readonly tree: CheckpointTree;
  readonly treeView: vscode.TreeView<TreeNode>;
  readonly flow: RestoreFlow;
  readonly gutter: Gutter;
  readonly pages: Pages;
  readonly plugin: Plugin;
  readonly watch: ServerWatch;
  readonly states: SessionStates;
  readonly backup: Backup;
  readonly remotes: RemotePicker;
  readonly oldData: OldData;
}
