import { realpath } from 'node:fs/promises';
import * as vscode from 'vscode';
import { offerOldData } from './actions-import';
import { automaticOff } from './automatic';
import { Backup } from './backup';
import { BackupWarning } from './backup-warning';
import { registerCommands, updateUndoContext } from './commands';
import { ConfigWarning } from './config-warning';
import { ChangeDecorations } from './decorations';
import { extensionApi, type ExtensionApi } from './extension-api';
import { ForkOffer } from './fork-offer';
import { ForkReveal } from './fork-reveal';
import { Gutter } from './gutter';
import { contextKeys, section, settings, snapshotScheme, textScheme, views } from './ids';
import { OldData } from './import';
import { Recovery } from './recovery';
import { RemotePicker } from './remote-picker';
import { asCheckpointsError } from './workspaces';
import { showError } from './notifications';
import { workspaceOpener } from './open';
import { Pages } from './pages';
import { whileOpen } from './plan-guard';
import { PlanView } from './plan-view';
import { Plugin } from './plugin';
import { RestoreFlow } from './restore-flow';
import { ServerWatch } from './server-watch';
import type { Services } from './services';
import { SessionStates } from './session-states';
import { StoreLocation, writeSettings, writeSettingsAhead } from './settings';
import { SnapshotFileSystem } from './snapshot-fs';
import { endedServers, hasStore } from './startup';
import { StatusBar } from './status-bar';
import { HostTimeline } from './timeline-backend';
import { TimelineView } from './timeline-view';
import { CheckpointTree } from './tree';
import { TaskView } from './task-view';
import { TextFields } from './text-fields';
import { trackContext } from './view-state';
import { Workspaces } from './workspaces';

export interface Host {
  readonly api: ExtensionApi;
  /** Writes what is unwritten and gives locks back; nothing of ours runs afterwards. */
  close(): Promise<void>;
}

const viewAsTreeKey = 'viewAsTree';
const serverSettings = [settings.serverUrl, settings.opencodePath];
/** "3 min ago" must not be wrong for long. */
const redrawEvery = 60_000;

/** Puts the extension together. Registers only: no store is opened before a view, a command or a checkpoint's file needs it. */
export const compose = (context: vscode.ExtensionContext): Host => {
  const log = vscode.window.createOutputChannel('Checkpoints', { log: true });
  const failed = (error: unknown): void => void showError(error, log);
  const workspaces = new Workspaces(workspaceOpener(context.extensionUri, log));
  const asTree = context.globalState.get<boolean>(viewAsTreeKey, false);
  const states = new SessionStates(workspaces, log);
  const tree = new CheckpointTree(workspaces, { asTree }, failed, states);
  const treeView = vscode.window.createTreeView(views.tree, {
    treeDataProvider: tree,
    canSelectMany: true,
    showCollapseAll: true,
  });
  const plan = new PlanView();
  const gutter = new Gutter(workspaces);
  const plugin = new Plugin(context, workspaces);
  const pages = new Pages();
  const flow = new RestoreFlow(whileOpen(workspaces, plan), log, pages.show);
  const watch = new ServerWatch(workspaces, plugin, log);
  const backup = new Backup(workspaces, log);
  const remotes = new RemotePicker(context.workspaceState);
  const recovery = new Recovery(workspaces);
  const location = new StoreLocation(context.globalState, log);
  const texts = new TextFields(workspaces, log);
  const configWarning = new ConfigWarning(workspaces, log);
  const handOn = async (): Promise<void> => {
    await Promise.all(workspaces.current.map(writeSettings));
    const closed = (vscode.workspace.workspaceFolders ?? []).filter(
      ({ uri }) =>
        uri.scheme === 'file' &&
        workspaces.current.every((root) => root.toRelative(vscode.Uri.joinPath(uri, 'file')) === undefined),
    );
    // One that cannot have checkpoints (a home folder) is told of when it is opened.
    if (vscode.workspace.isTrusted) await Promise.allSettled(closed.map(writeSettingsAhead));
    void vscode.commands.executeCommand('setContext', contextKeys.automaticOff, automaticOff(workspaces.current));
    // Not awaited: the message stays until somebody reads it.
    void configWarning.look().catch(failed);
  };
  const oldData = new OldData(context.extensionUri, backup, log);
  const services: Services = {
    ...{ log, workspaces, tree, treeView, gutter, plugin, watch, states, flow },
    ...{ backup, remotes, oldData, pages },
  };
  const timeline = new TimelineView(context.extensionUri, new HostTimeline(services), log);
  const setViewAsTree = async (on: boolean): Promise<void> => {
    await context.globalState.update(viewAsTreeKey, on);
    await vscode.commands.executeCommand('setContext', contextKeys.viewAsTree, on);
    tree.setOptions({ asTree: on });
  };
  void vscode.commands.executeCommand('setContext', contextKeys.viewAsTree, asTree);
  const taskView = new TaskView(workspaces, failed, log);
  const redraw = (): void => {
    if (treeView.visible) void tree.redraw();
    void taskView.redraw().catch(failed);
  };
  const timer = setInterval(redraw, redrawEvery);
  const keep = (work: () => Promise<unknown>) => () =>
    void work().catch((error: unknown) => log.error(asCheckpointsError(error)));

  context.subscriptions.push(
    log,
    new vscode.Disposable(() => clearInterval(timer)),
    workspaces,
    tree,
    treeView,
    plan,
    gutter,
    plugin,
    timeline,
    new StatusBar(workspaces, backup, log),
    taskView,
    // What was hidden has grown older meanwhile.
    treeView.onDidChangeVisibility(redraw),
    taskView.onDidChangeVisibility(redraw),
    watch,
    states,
    backup,
    new BackupWarning(backup),
    new ForkOffer(workspaces, log),
    new ForkReveal(workspaces, tree, treeView, timeline, log),
    trackContext(workspaces, tree, treeView),
    vscode.window.registerFileDecorationProvider(new ChangeDecorations()),
    vscode.workspace.registerFileSystemProvider(snapshotScheme, new SnapshotFileSystem(workspaces), {
      isReadonly: new vscode.MarkdownString('This is how the file was at a checkpoint: it cannot be changed.'),
      isCaseSensitive: process.platform === 'linux',
    }),
    texts,
    pages,
    vscode.workspace.registerFileSystemProvider(textScheme, texts, { isCaseSensitive: true }),
    registerCommands({ services, timeline, setViewAsTree }),
    vscode.workspace.onDidGrantWorkspaceTrust(keep(() => workspaces.reopen())),
    workspaces.onDidChange(keep(() => updateUndoContext(services))),
    workspaces.onDidChangeRoots(keep(() => updateUndoContext(services))),
    workspaces.onDidChangeRoots(
      keep(async () => {
        await plugin.spare();
        if ((await plugin.updateContext()) === 'outdated') await plugin.offerUpdate().catch(failed);
      }),
    ),
    workspaces.onDidChangeRoots(keep(handOn)),
    workspaces.onDidChangeRoots(() => void recovery.tell().catch(failed)),
    workspaces.onDidChangeRoots(keep(() => offerOldData(services))),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (!event.affectsConfiguration(section)) return;
      keep(async () => {
        if (event.affectsConfiguration(`${section}.${settings.storeLocation}`) && (await location.write()))
          await workspaces.reopen();
        await handOn();
        if (!serverSettings.some((key) => event.affectsConfiguration(`${section}.${key}`))) return backup.look();
        for (const follower of [watch, states, backup]) follower.lookAnew();
        await plugin.updateContext();
      })();
    }),
  );
  keep(async () => {
    await location.write();
    // The status bar shows the last checkpoint's age from the start, where there is one.
    if (await anyStore()) await tree.getChildren();
    else await handOn();
    const ended = await endedServers();
    if (ended.length > 0) log.info(`Ended OpenCode servers of a window that is gone: ${ended.join(', ')}`);
  })();
  return { api: extensionApi(workspaces), close: () => backup.close().finally(() => workspaces.close()) };
};

const anyStore = async (): Promise<boolean> => {
  for (const { uri } of vscode.workspace.workspaceFolders ?? [])
    if (uri.scheme === 'file' && (await hasStore(await realpath(uri.fsPath)))) return true;
  return false;
};
