import * as vscode from 'vscode';
import type { TaskState, TaskStatus } from '../core/model';
import { firstLine, withoutIcons, withoutLinks } from './labels';
import { pickRoot } from './picker';
import type { Services } from './services';
import { listNames, statusNames, textNames, type ListField } from '../protocol/task-names';
import { addItem, hasLines, replaceItem, taskText } from './task-model';
import { changeTask, saveTask } from './task-save';
import { saveName } from './task-history';
import { isTaskNode, type TaskNode } from './task-view';
import { editText } from './text-fields';

type ItemNode = Extract<TaskNode, { type: 'taskItem' }>;

const pickStatus = async (now: TaskStatus | undefined): Promise<TaskStatus | undefined> => {
  const items = (Object.keys(statusNames) as TaskStatus[]).map((status) => ({
    label: statusNames[status],
    description: status === now ? 'now' : '',
    status,
  }));
  return (await vscode.window.showQuickPick(items, { title: 'Status of the Task' }))?.status;
};

/** The palette's way: which field, then its value. Also makes the first task. */
export const editTask = async (services: Services): Promise<void> => {
  const root = await pickRoot(services.workspaces, 'Edit Task State');
  if (root === undefined) return;
  const task = await root.task.read();
  const fields = [
    ...(['title', 'objective', 'summary'] as const).map((field) => ({
      label: `$(edit) ${textNames[field]}`,
      description: withoutIcons(firstLine(task?.[field] ?? '')),
      node: { type: 'taskText', root, field, text: task?.[field] ?? '' } satisfies TaskNode,
    })),
    {
      label: '$(play-circle) Status',
      description: task?.status === undefined ? '' : statusNames[task.status],
      node: { type: 'taskStatus', root, status: task?.status } satisfies TaskNode,
    },
    ...(['nextSteps', 'blockers', 'notes'] as const).map((field) => ({
      label: `$(add) ${listNames[field]}`,
      description: `${task?.[field]?.length ?? 0}`,
      node: { type: 'taskList', root, field, items: task?.[field] ?? [] } satisfies TaskNode,
    })),
  ];
  const chosen = await vscode.window.showQuickPick(fields, { title: 'Edit Task State', placeHolder: 'What to change' });
  if (chosen === undefined) return;
  await (chosen.node.type === 'taskList' ? addTaskItem(services, chosen.node) : editTaskRow(services, chosen.node));
};

export const editTaskRow = async ({ log }: Services, node: unknown): Promise<void> => {
  if (!isTaskNode(node)) return;
  const { root } = node;
  if (node.type === 'taskStatus') {
    const status = await pickStatus(node.status);
    if (status !== undefined) await saveTask(root, { status }, log);
  } else if (node.type === 'taskText') {
    const title = `${textNames[node.field]} of the Task`;
    if (hasLines(node.text)) return editText({ root: root.api.root, kind: 'field', field: node.field }, title);
    const text = await vscode.window.showInputBox({ title, value: node.text, prompt: 'Empty removes it.' });
    if (text !== undefined && text !== node.text) await saveTask(root, { [node.field]: text }, log);
  } else if (node.type === 'taskItem') {
    const { field, index } = node;
    if (hasLines(node.text))
      return editText({ root: root.api.root, kind: 'row', field, index, text: node.text }, listNames[field]);
    const text = await vscode.window.showInputBox({
      title: listNames[node.field],
      value: node.text,
      prompt: 'Empty removes it.',
    });
    if (text !== undefined && text !== node.text) await replaceRow(node, text, log);
  }
};

/** The agent may have rewritten the list while the text was typed: it is not lost then. */
const replaceRow = async (
  { root, field, index, text: old }: ItemNode,
  text: string,
  log: vscode.LogOutputChannel,
): Promise<void> => {
  const change = (task: TaskState | null) => replaceItem(task, field, index, old, text);
  if ((await changeTask(root, change, log)) !== null || text === '') return;
  const add = `Add to ${listNames[field]}`;
  const gone = `“${withoutLinks(firstLine(old))}” is not there any more: the task changed meanwhile.`;
  if ((await vscode.window.showWarningMessage(gone, add)) === add)
    await changeTask(root, (task) => addItem(task, field, text), log);
};

export const removeTaskItem = async ({ log }: Services, node: unknown): Promise<void> => {
  if (isTaskNode(node) && node.type === 'taskItem') await replaceRow(node, '', log);
};

export const addTaskItem = async ({ log }: Services, node: unknown): Promise<void> => {
  if (!isTaskNode(node) || node.type !== 'taskList') return;
  const { root, field } = node;
  const text = await vscode.window.showInputBox({ title: `Add to ${listNames[field]}`, placeHolder: examples[field] });
  if (text !== undefined && text.trim() !== '')
    await changeTask(root, (task) => addItem(task, field, text.trim()), log);
};

const examples: Record<ListField, string> = {
  currentPlan: 'What comes in which order',
  nextSteps: 'What to do next',
  completedSteps: 'What is done',
  blockers: 'What stands in the way',
  filesTouched: 'src/app.ts',
  notes: 'What to remember',
};

/** The page for whoever takes over, readonly: it is made anew with each save. */
export const openHandoff = async (services: Services): Promise<void> => {
  const root = await pickRoot(services.workspaces, 'Open Handoff');
  if (root === undefined) return;
  const file = vscode.Uri.joinPath(root.uri, '.opencode', 'state', 'handoff.md');
  try {
    await vscode.workspace.fs.stat(file);
    await vscode.commands.executeCommand('markdown.showPreview', file);
  } catch (error) {
    if (!(error instanceof vscode.FileSystemError)) throw error;
    // Not exported (a setting): the same page all the same.
    await services.pages.show('Handoff', await root.task.handoff());
  }
};

/** An earlier save beside the task as it is; both are read only, for the state is changed in its own view. */
export const compareTask = async ({ pages }: Services, node: unknown): Promise<void> => {
  if (!isTaskNode(node) || node.type !== 'taskSave') return;
  const { root, save: snapshot } = node;
  const { task } = await root.api.resolve(snapshot.id);
  const name = saveName(snapshot);
  const [then, now] = [taskText(task), taskText(await root.task.read())];
  if (then === now)
    return void vscode.window.showInformationMessage(`The task is as it was at “${withoutLinks(name)}”.`);
  await vscode.commands.executeCommand(
    'vscode.diff',
    pages.put(`Task at ${name}`, then),
    pages.put('Task Now', now),
    `${name} ↔ Task Now`,
    { preview: true },
  );
};

/** Exactly the state of an earlier save; what is there now is in a checkpoint of its own. */
export const restoreTask = async ({ flow }: Services, node: unknown): Promise<boolean> => {
  if (!isTaskNode(node) || node.type !== 'taskSave') return false;
  const { root, save: snapshot } = node;
  return flow.restore({ root, checkpoint: await root.api.resolve(snapshot.id) }, { scope: ['task'] });
};
