import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { Checkpoint } from '../../src/core/model';
import { PlanChoice } from '../../src/host/plan-choice';
import { filesNow } from '../../src/host/plan-view';
import { Root } from '../../src/host/root';
import { activate, opener, project, remove, write } from './helpers';

const files = ['named.txt', 'quiet.txt', 'quietly-made.txt'];

describe('the rows of a restore plan', () => {
  let root: Root;
  let point: Checkpoint;

  before(async () => {
    await activate();
    const [folder] = vscode.workspace.workspaceFolders ?? [];
    assert.ok(folder);
    root = new Root(await opener()(project), folder, project);
    write('named.txt', '1\n');
    write('quiet.txt', '1\n');
    await root.api.create();
    write('quiet.txt', '2\n');
    write('quietly-made.txt', '1\n');
    // Only what the call names is looked at: of the other two it cannot know what they were.
    point = await root.api.create({ trigger: 'tool', paths: ['named.txt'] });
    write('named.txt', '2\n');
  });
  after(async () => {
    await root.close();
    for (const path of files) remove(path);
  });

  it('say what happens to each when it is ticked, also to one that is left alone', async () => {
    const target = { root, checkpoint: point };
    const plan = await root.api.plan(point.id, { paths: [''] });
    const choice = new PlanChoice(target, plan, await filesNow(target, plan), ['files']);
    try {
      const items = choice.getChildren().map((node) => choice.getTreeItem(node));
      const rows = items
        .filter(({ label }) => files.includes(String(label)))
        .map(({ label, checkboxState, description, tooltip, accessibilityInformation, resourceUri, command }) => {
          const right = (command?.arguments as vscode.Uri[] | undefined)?.[1];
          assert.ok(right);
          return [
            ...[label, checkboxState, description, String(tooltip).split('\n')[0], resourceUri?.fragment],
            ...[accessibilityInformation?.label, right.authority === 'nothing'],
          ];
        });
      const why = 'your edit · not known as it was then';
      assert.deepEqual(rows, [
        [
          ...['named.txt', 1, 'your edit', 'named.txt will be written', 'change=modified'],
          ...['named.txt, will be written, your edit', false],
        ],
        [
          ...['quiet.txt', 0, why, 'quiet.txt is left as it is; ticked, it will be written', 'change=modified'],
          ...[`quiet.txt, is left as it is; ticked, it will be written, ${why}`, false],
        ],
        [
          ...['quietly-made.txt', 0, why, 'quietly-made.txt is left as it is; ticked, it will be deleted'],
          ...['change=deleted', `quietly-made.txt, is left as it is; ticked, it will be deleted, ${why}`, true],
        ],
      ]);
    } finally {
      choice.dispose();
    }
  });
});
