import * as vscode from 'vscode';
import * as backup from './actions-backup';
import * as compare from './actions-compare';
import { createCheckpoint, createNamed } from './actions-create';
import * as edit from './actions-edit';
import { importAny } from './actions-import';
import * as restore from './actions-restore';
import { showOriginals } from './actions-originals';
import * as session from './actions-session';
import * as store from './actions-store';
import * as sync from './actions-sync';
import * as task from './actions-task';
import { commands, type CommandId, contextKeys, needTrust } from './ids';
import { restoreSelectedLines } from './line-restore';
import { rowIsLost } from './lost-row';
import { showError } from './notifications';
import { targetOf } from './picker';
import { restoreRows, selectedPaths } from './restore-rows';
import { search } from './search';
import type { Services } from './services';
import { isTaskNode } from './task-view';
import type { TimelineView } from './timeline-view';
import { isTreeNode } from './tree-nodes';
import { requireTrust } from './trust';

type Handler = (...args: unknown[]) => unknown;

/** The plan view brings its own three. */
type OwnCommand = Exclude<
  CommandId,
  typeof commands.applyPlan | typeof commands.reviewPlan | typeof commands.cancelPlan
>;

export interface CommandOptions {
  services: Services;
  timeline: TimelineView;
  setViewAsTree(on: boolean): Promise<void>;
}

const restorePlaces = (services: Services, place: unknown, selected: unknown): Promise<boolean> => {
  const rows = selectedPaths(selected);
  return rows.length > 1 ? restoreRows(services, rows) : restore.restoreFile(services, place);
};

const table = ({ services, timeline, setViewAsTree }: CommandOptions): Record<OwnCommand, Handler> => ({
  [commands.create]: (node) => createCheckpoint(services, node),
  [commands.createNamed]: (nodeOrName) => createNamed(services, nodeOrName),
  [commands.restore]: (target) => restore.restore(services, target),
  [commands.undo]: (root) => restore.undo(services, root),
  [commands.redo]: (root) => restore.redo(services, root),
  [commands.revertTurn]: (target) => restore.revertTurn(services, target),
  [commands.compareWorking]: (target) => compare.compareWorking(services, target),
  [commands.comparePrevious]: (target) => compare.comparePrevious(services, target),
  [commands.compareWith]: (target) => compare.compareWith(services, target),
  [commands.compareSelected]: (_target, selected) => compare.compareSelected(services, selected),
  [commands.compareSessionStart]: (target) => compare.compareSessionStart(services, target),
  [commands.compareTurn]: (target) => compare.compareTurn(services, target),
  [commands.openFileDiff]: () => compare.openFileDiff(services),
  [commands.openChanges]: (node, selected) => compare.openChanges(node, selected),
  [commands.openFile]: (node, selected) => compare.openFile(node, selected),
  [commands.restoreFile]: (place, selected) => restorePlaces(services, place, selected),
  [commands.restoreFolder]: (node, selected) => restorePlaces(services, node, selected),
  [commands.restoreSelectedLines]: () => restoreSelectedLines(),
  [commands.restoreChange]: (uri, changes, index) => restore.restoreThisChange(services, uri, changes, index),
  [commands.showInGutter]: (target) => restore.showInGutter(services, target),
  [commands.stopGutter]: () => services.gutter.hide(),
  [commands.rename]: (target) => edit.rename(services, target),
  [commands.describe]: (target) => edit.describe(services, target),
  [commands.pin]: (target, selected) => edit.setPinned(services, target, selected, true),
  [commands.unpin]: (target, selected) => edit.setPinned(services, target, selected, false),
  [commands.delete]: (target, selected) => edit.remove(services, target, selected),
  [commands.clearSession]: (node) => edit.clearSession(services, node),
  [commands.copyId]: (target) => edit.copyId(services, target),
  [commands.search]: () => search(services),
  [commands.openTimeline]: () => timeline.openEditor(),
  [commands.revealInTimeline]: async (target) => {
    const at = isTaskNode(target) && target.type === 'taskSave' ? target.save.id : target;
    const found = await targetOf(services.workspaces, at, 'Show in Timeline');
    if (found !== undefined) timeline.reveal(found.root.api.root, found.checkpoint.id);
  },
  [commands.showStatistics]: () => store.showStatistics(services),
  [commands.cleanUp]: () => store.cleanUp(services),
  [commands.doctor]: () => store.runDoctor(services),
  [commands.refresh]: async () => {
    // What could not be opened may be there by now: git installed, the folder made.
    if (services.workspaces.failures.length > 0) await services.workspaces.update();
    await services.tree.tryAgain();
  },
  [commands.viewAsTree]: () => setViewAsTree(true),
  [commands.viewAsList]: () => setViewAsTree(false),
  [commands.loadMore]: (node) => {
    if (isTreeNode(node) && node.type === 'more') services.tree.loadMore(node);
  },
  [commands.showLog]: () => services.log.show(),
  [commands.forkSession]: (target) => session.forkSession(services, target),
  [commands.openSession]: (place) => session.openSession(services, place),
  [commands.firstVersions]: (place) => showOriginals(services, place),
  [commands.startServer]: () => session.startServer(services),
  [commands.stopServer]: () => session.stopServer(services),
  [commands.editTask]: () => task.editTask(services),
  [commands.editTaskRow]: (node) => task.editTaskRow(services, node),
  [commands.addTaskItem]: (node) => task.addTaskItem(services, node),
  [commands.removeTaskItem]: (node) => task.removeTaskItem(services, node),
  [commands.compareTask]: (node) => task.compareTask(services, node),
  [commands.restoreTask]: (node) => task.restoreTask(services, node),
  [commands.openHandoff]: () => task.openHandoff(services),
  [commands.installPlugin]: () => services.plugin.install(),
  [commands.backUpNow]: () => backup.backUpNow(services),
  [commands.restoreSessions]: () => backup.restoreSessions(services),
  [commands.showBackupStatus]: () => backup.showBackupStatus(services),
  [commands.push]: () => sync.push(services),
  [commands.fetch]: () => sync.fetchCheckpoints(services),
  [commands.export]: (target, selected) => sync.exportCheckpoints(services, target, selected),
  [commands.import]: () => importAny(services),
});

/** What one does when everything fails, or first in a folder. The others have rows of what is gone. */
const beginsAnew: ReadonlySet<string> = new Set([
  commands.create,
  commands.createNamed,
  commands.doctor,
  commands.refresh,
]);

/** Registers all of them; what goes wrong is shown once, with its way out. */
export const registerCommands = (options: CommandOptions): vscode.Disposable => {
  const { services } = options;
  const guarded =
    (id: string, handler: Handler): Handler =>
    async (...args) => {
      try {
        services.log.debug(`command ${id}`);
        if (needTrust.has(id)) requireTrust();
        if (beginsAnew.has(id) && (await services.workspaces.renew()))
          services.log.warn('a store was deleted while the window was open: it was made anew, empty');
        // To ask which checkpoint is meant would be odd after a click on one, and dangerous where the answer is another.
        if (rowIsLost(id, args))
          return void vscode.window.showInformationMessage('The list changed in the moment of the click. Click again.');
        return await handler(...args);
      } catch (error) {
        // Not awaited: the message stays until somebody reads it, the command is over.
        void showError(error, services.log);
        return undefined;
      }
    };
  return vscode.Disposable.from(
    ...Object.entries(table(options)).map(([id, handler]) => vscode.commands.registerCommand(id, guarded(id, handler))),
  );
};

/** `undo` and `redo` are offered only when there is something to go back to. */
export const updateUndoContext = async ({ workspaces }: Services): Promise<void> => {
  const states = await Promise.all(workspaces.current.map((root) => root.api.undoState()));
  const set = (key: string, value: boolean) => vscode.commands.executeCommand('setContext', key, value);
  await set(
    contextKeys.canUndo,
    states.some(({ undo }) => undo !== null),
  );
  await set(
    contextKeys.canRedo,
    states.some(({ redo }) => redo !== null),
  );
};
