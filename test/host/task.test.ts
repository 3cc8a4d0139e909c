import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { TaskState } from '../../src/core/model';
import { commands } from '../../src/host/ids';
import { Root } from '../../src/host/root';
import { taskItem, type TaskNode } from '../../src/host/task-view';
import { activate, answering, closeEditors, eventually, opener, project, read, run, showFile } from './helpers';

describe('task', () => {
  let root: Root;

  before(async () => {
    await activate();
    await showFile('README.md');
    const [folder] = vscode.workspace.workspaceFolders ?? [];
    assert.ok(folder);
    root = new Root(await opener()(project), folder, project);
  });
  after(async () => {
    await root.task.clear(root.api);
    await root.close();
    await closeEditors();
  });

  const task = async (): Promise<TaskState> => (await root.task.read()) ?? {};
  const list = async (field: 'nextSteps' | 'notes'): Promise<TaskNode> => ({
    type: 'taskList',
    root,
    field,
    items: (await task())[field] ?? [],
  });

  it('is described field by field from the palette, each save with a checkpoint', async () => {
    const before = (await root.api.list({ trigger: 'task' })).length;
    await answering(['Title', 'Add discounts'], () => run(commands.editTask));
    await answering(['Status', 'Blocked'], () => run(commands.editTask));
    await answering(['Next Steps', 'Write the tests'], () => run(commands.editTask));
    assert.deepEqual(await task(), { title: 'Add discounts', status: 'blocked', nextSteps: ['Write the tests'] });
    assert.equal((await root.api.list({ trigger: 'task' })).length, before + 3);
  });

  it('is edited in place', async () => {
    await answering(['A note'], async () => run(commands.addTaskItem, await list('notes')));
    assert.deepEqual((await task()).notes, ['A note']);
    const item: TaskNode = { type: 'taskItem', root, field: 'notes', index: 0, text: 'A note' };
    await answering(['A better note'], () => run(commands.editTaskRow, item));
    assert.deepEqual((await task()).notes, ['A better note']);
    await run(commands.removeTaskItem, { ...item, text: 'A better note' });
    assert.equal((await task()).notes, undefined);
  });

  it('does not lose what was typed for a row that is gone by then', async () => {
    const item: TaskNode = { type: 'taskItem', root, field: 'nextSteps', index: 0, text: 'Write the tests' };
    const asked = await answering(
      [
        // The agent rewrites its list while the user types.
        async () => {
          await root.task.save(root.api, { nextSteps: ['Review'] });
          return 'Write all of the tests';
        },
        'Add to Next Steps',
      ],
      () => run(commands.editTaskRow, item),
    );
    assert.equal(asked[1]?.message, '“Write the tests” is not there any more: the task changed meanwhile.');
    assert.deepEqual((await task()).nextSteps, ['Review', 'Write all of the tests']);
  });

  it('keeps the lines of a text that has several', async () => {
    await root.task.save(root.api, { objective: 'One\nTwo', notes: ['First\nnote', 'Other'] });
    const edited = async (node: TaskNode, text: string): Promise<void> => {
      await answering([], () => run(commands.editTaskRow, node));
      const editor = vscode.window.activeTextEditor;
      assert.ok(editor);
      for (const more of [`${text} and`, `${text} and more`]) {
        const all = new vscode.Range(0, 0, editor.document.lineCount, 0);
        await editor.edit((edit) => edit.replace(all, more));
        assert.equal(await editor.document.save(), true);
      }
      await run('workbench.action.closeActiveEditor');
    };
    await edited({ type: 'taskText', root, field: 'objective', text: 'One\nTwo' }, 'One\nThree');
    assert.equal((await task()).objective, 'One\nThree and more');
    await edited({ type: 'taskItem', root, field: 'notes', index: 0, text: 'First\nnote' }, 'First\nchange');
    assert.deepEqual((await task()).notes, ['First\nchange and more', 'Other']);
    await root.task.save(root.api, { objective: '', notes: [] });
  });

  it('changes nothing when a question is closed', async () => {
    const before = await task();
    await answering([undefined], () => run(commands.editTask));
    await answering([undefined], () => run(commands.editTaskRow, { type: 'taskStatus', root, status: 'blocked' }));
    assert.deepEqual(await task(), before);
  });

  it('goes back to an earlier save, exactly', async () => {
    const [save] = await root.task.history(root.api);
    assert.ok(save);
    await root.task.save(root.api, { title: 'Something else', summary: 'New' });
    const asked = await answering(['Restore'], () => run(commands.restoreTask, { type: 'taskSave', root, save }));
    assert.match(asked[0]?.detail ?? '', /The task state goes back to what it was then\./);
    assert.equal((await task()).title, 'Add discounts');
    assert.equal((await task()).summary, undefined);
  });

  it('shows what is different since an earlier save', async () => {
    await root.task.save(root.api, { nextSteps: ['First', 'Second'] }, { name: 'half way' });
    const [save] = await root.task.history(root.api);
    assert.ok(save);
    const node: TaskNode = { type: 'taskSave', root, save };
    assert.match(taskItem(node).accessibilityInformation?.label ?? '', /^half way, Blocked/);
    const asked = await answering([], () => run(commands.compareTask, node));
    assert.equal(asked[0]?.message, 'The task is as it was at “half way”.');
    await root.task.save(root.api, { status: 'done', nextSteps: ['Second'], completedSteps: ['First'] });
    await run(commands.compareTask, node);
    const { input, label } = (await eventually(
      () => vscode.window.tabGroups.activeTabGroup.activeTab,
      (tab) => tab?.input instanceof vscode.TabInputTextDiff,
      'no diff',
    )) as vscode.Tab;
    assert.equal(label, 'half way ↔ Task Now');
    assert.ok(input instanceof vscode.TabInputTextDiff);
    const texts = await Promise.all(
      [input.original, input.modified].map(async (uri) => (await vscode.workspace.openTextDocument(uri)).getText()),
    );
    assert.match(texts[0] ?? '', /## Next Steps\n\n- First\n- Second\n$/);
    assert.match(texts[1] ?? '', /## Status\n\nDone\n/);
    assert.match(texts[1] ?? '', /## Completed Steps\n\n- First\n$/);
    // The next one asks for no folder.
    await showFile('README.md');
  });

  it('opens the handoff page', async () => {
    assert.match(read('.opencode/state/handoff.md'), /Add discounts/);
    await run(commands.openHandoff);
    await eventually(
      () => vscode.window.tabGroups.activeTabGroup.activeTab?.label ?? '',
      (label) => label.includes('handoff.md'),
      'no page',
    );
  });
});

describe('sessions without OpenCode', () => {
  before(activate);

  it('are refused with a way out, and nothing else suffers', async () => {
    await showFile('README.md');
    const asked = await answering([undefined], () => run(commands.openSession));
    assert.equal(asked[0]?.kind, 'error');
    assert.match(asked[0]?.message ?? '', /^OpenCode was not found\./);
    assert.deepEqual(asked[0]?.items, ['Open Settings']);
    const started = await answering([undefined], () => run(commands.startServer));
    assert.match(started[0]?.message ?? '', /^OpenCode was not found\./);
    const stopped = await answering([], () => run(commands.stopServer));
    assert.equal(stopped[0]?.message, 'No OpenCode server was started by this window.');
  });

  it('cannot be forked from a checkpoint without a conversation', async () => {
    await showFile('README.md');
    const made = await run<{ id: string }>(commands.create);
    const asked = await answering([], () => run(commands.forkSession, made.id));
    assert.match(asked[0]?.message ?? '', /^This checkpoint has no conversation/);
    await closeEditors();
  });
});
