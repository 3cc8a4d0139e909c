import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { Checkpoint } from '../../src/core/model';
import { ChangeDecorations } from '../../src/host/decorations';
import { appendPlain } from '../../src/host/plain-text';
import { CheckpointTree } from '../../src/host/tree';
import type { CheckpointNode, TreeNode } from '../../src/host/tree-nodes';
import { Workspaces } from '../../src/host/workspaces';
import { activate, opener, eventually, project, remove, second, withStore, write } from './helpers';

/** The extension's own provider is not reachable from outside; this is the same class over the same stores. */
describe('tree', () => {
  let workspaces: Workspaces;
  let tree: CheckpointTree;
  const errors: unknown[] = [];

  before(async () => {
    await activate();
    // The first checkpoint of a folder adds all of its files.
    await withStore((api) => api.create());
    write('src/deep/er/one.ts', '1\n');
    write('src/deep/two.ts', '2\n');
    write('top.ts', '3\n');
    await withStore((api) => api.create({ name: 'Files in folders' }));
    await withStore((api) => api.create(), second);
    workspaces = new Workspaces(opener());
    tree = new CheckpointTree(workspaces, { asTree: false }, (error) => errors.push(error));
  });
  after(async () => {
    tree.dispose();
    await workspaces.close();
    workspaces.dispose();
    for (const path of ['src/deep', 'top.ts']) remove(path);
    assert.deepEqual(errors, []);
  });

  const rootOf = async (name: string): Promise<TreeNode> => {
    const node = (await tree.getChildren()).find((candidate) => candidate.root.name === name);
    assert.ok(node, `no row for ${name}`);
    return node;
  };
  const label = (node: TreeNode): string => String(tree.getTreeItem(node).label);
  const named = async (name: string): Promise<CheckpointNode> => {
    const node = (await tree.getChildren(await rootOf('project'))).find(
      (candidate): candidate is CheckpointNode => candidate.type === 'checkpoint' && candidate.checkpoint.name === name,
    );
    assert.ok(node, `no row for ${name}`);
    return node;
  };

  it('has a row for each folder of the window', async () => {
    assert.deepEqual((await tree.getChildren()).map(label), ['project', 'second']);
  });

  it('shows checkpoints with counts and age, named ones first', async () => {
    const [first] = await tree.getChildren(await rootOf('project'));
    assert.ok(first?.type === 'checkpoint');
    assert.notEqual(first.checkpoint.name, null);
    const item = tree.getTreeItem(await named('Files in folders'));
    assert.match(String(item.description), /^\+3.* · now$/);
    assert.equal(item.collapsibleState, vscode.TreeItemCollapsibleState.Collapsed);
    assert.match(item.contextValue ?? '', /:checkpoint:/);
    assert.ok(item.tooltip instanceof vscode.MarkdownString);
    assert.equal(item.tooltip.isTrusted, undefined);
  });

  it('shows other people’s text as it is, broken between words', () => {
    const { value } = appendPlain(new vscode.MarkdownString('**By:** '), 'a *b*  [c](command:d)\n    1. <e>');
    const read = value.replace(/&#(\d+);/g, (_entity, code: string) => String.fromCharCode(Number(code)));
    assert.equal(read, '**By:** a *b* [c](command:d)\n\n1. <e>');
    // Nothing is left of it that could mean anything but itself.
    assert.match(value.slice('**By:** '.length), /^(?:[\w\s]|&#\d+;)*$/);
    assert.match(
      appendPlain(new vscode.MarkdownString('', true), '$(trash) https://x.y').value,
      /^(?:[\w\s]|&#\d+;)*$/,
    );
  });

  it('shows the changed files as a list', async () => {
    const files = await tree.getChildren(await named('Files in folders'));
    const rows = files.map((node) => [label(node), String(tree.getTreeItem(node).description)]);
    for (const row of [
      ['one.ts', '+1 · src/deep/er'],
      ['two.ts', '+1 · src/deep'],
      ['top.ts', '+1'],
    ])
      assert.ok(
        rows.some((candidate) => candidate.join() === row.join()),
        `${row.join()} is not in ${JSON.stringify(rows)}`,
      );
    assert.ok(files.every((node) => tree.getParent(node)?.type === 'checkpoint'));
  });

  it('shows the changed files as folders', async () => {
    tree.setOptions({ asTree: true });
    const top = await tree.getChildren(await named('Files in folders'));
    const folder = top.find((node) => node.type === 'folder');
    assert.ok(folder);
    assert.equal(label(folder), 'src/deep');
    const below = await tree.getChildren(folder);
    assert.deepEqual(below.map(label), ['er', 'two.ts']);
    const [er] = below;
    assert.ok(er);
    assert.deepEqual((await tree.getChildren(er)).map(label), ['one.ts']);
    tree.setOptions({ asTree: false });
  });

  it('gives changed files the letters and colours of git', async () => {
    const decorations = new ChangeDecorations();
    const files = await tree.getChildren(await named('Files in folders'));
    const added = files.find((node) => label(node) === 'one.ts');
    assert.ok(added);
    const resource = tree.getTreeItem(added).resourceUri;
    assert.ok(resource);
    assert.equal(decorations.provideFileDecoration(resource)?.badge, 'A');
    assert.equal(decorations.provideFileDecoration(vscode.Uri.file(project)), undefined);
  });

  it('gives every row an id of its own', async () => {
    const all: TreeNode[] = [];
    const walk = async (node?: TreeNode): Promise<void> => {
      for (const child of await tree.getChildren(node)) {
        all.push(child);
        await walk(child);
      }
    };
    await walk();
    const ids = all.map((node) => tree.getTreeItem(node).id);
    assert.equal(new Set(ids).size, ids.length);
  });

  it('shows what another process makes, by itself', async () => {
    let changes = 0;
    const listener = tree.onDidChangeTreeData(() => (changes += 1));
    await tree.getChildren(await rootOf('project'));
    const made = await withStore((api) => api.create({ name: 'From outside' }));
    await eventually(
      () => changes,
      (count) => count > 0,
      'the tree heard nothing',
    );
    listener.dispose();
    assert.equal((await tree.find(made.id))?.checkpoint.name, 'From outside');
  });

  it('draws what changed and leaves the other rows their identity', async () => {
    const session = { id: 'ses_rows', messageId: null, messageCount: 0, title: 'Rows', parent: null };
    const turn = { number: 1, prompt: 'Do it', model: null, agent: null, cost: null, tokens: null };
    await withStore((api) => api.create({ trigger: 'turn', session, turn }));
    await tree.refresh();
    const drawn = new Map<string, TreeNode>();
    const draw = async (node?: TreeNode): Promise<void> => {
      for (const child of await tree.getChildren(node)) {
        drawn.set(tree.getTreeItem(child).id ?? '', child);
        if (child.type === 'root' || child.type === 'session') await draw(child);
      }
    };
    await draw();
    const row = [...drawn.values()].find((node) => node.type === 'checkpoint' && node.checkpoint.turn !== null);
    assert.ok(row);
    const fired: unknown[] = [];
    const listener = tree.onDidChangeTreeData((event) => fired.push(event));
    await tree.refresh();
    assert.equal(fired.length, 0, 'nothing changed, and rows were drawn');
    write('top.ts', 'by the agent\n');
    await withStore((api) =>
      api.create({ trigger: 'tool', session, turn, cause: { tool: 'edit', callId: null, paths: ['top.ts'] } }),
    );
    const [event] = await eventually(
      () => fired,
      (events) => events.length > 0,
      'the tree heard nothing',
    );
    listener.dispose();
    assert.ok(Array.isArray(event) && event.length > 0, 'all rows were drawn anew');
    for (const node of event as TreeNode[])
      assert.equal(drawn.get(tree.getTreeItem(node).id ?? ''), node, 'VS Code does not know this row');
    assert.ok(
      (event as TreeNode[]).every(({ type }) => type !== 'session'),
      'rows beside the changed one were drawn',
    );
    // The row that somebody is about to click is a turn now, and means the same checkpoint.
    await draw();
    assert.equal(drawn.get(tree.getTreeItem(row).id ?? ''), row);
    assert.equal(row.type, 'turn' as string);
    // One more point of a turn that nobody has opened, on a file that it had changed before: nothing of that is to be seen.
    const drawnAgain: unknown[] = [];
    const again = tree.onDidChangeTreeData((more) => drawnAgain.push(more));
    write('top.ts', 'by the agent once more\n');
    await withStore((api) =>
      api.create({ trigger: 'tool', session, turn, cause: { tool: 'edit', callId: null, paths: ['top.ts'] } }),
    );
    await tree.refresh();
    again.dispose();
    assert.equal(drawnAgain.length, 0, 'a row was drawn that looks as before');
    await withStore((api) => api.clear('ses_rows'));
  });

  it('groups by session and turn, and pages long lists', async () => {
    const session = { id: 'ses_tree', messageId: null, messageCount: 0, title: 'Add a parser', parent: null };
    const turn = (number: number) => ({
      number,
      prompt: `Prompt ${number}\nmore`,
      model: 'm',
      agent: null,
      cost: 0.5,
      tokens: 10,
    });
    let oldest: Checkpoint | undefined;
    await withStore(async (api) => {
      for (let number = 1; number <= 60; number += 1) {
        write('top.ts', `${number}\n`);
        const made = await api.create({ trigger: 'turn', session, turn: turn(number) });
        oldest ??= made;
      }
      write('top.ts', 'tool\n');
      await api.create({
        trigger: 'tool',
        session,
        turn: turn(60),
        cause: { tool: 'edit', callId: null, paths: ['top.ts'] },
      });
    });
    await tree.refresh();
    const sessionNode = (await tree.getChildren(await rootOf('project'))).find(
      (node) => node.type === 'session' && node.group.id === 'ses_tree',
    );
    assert.ok(sessionNode);
    assert.equal(label(sessionNode), 'Add a parser');
    const children = await tree.getChildren(sessionNode);
    const [newest] = children;
    assert.equal(newest?.type, 'turn');
    assert.equal(label(newest as TreeNode), 'Prompt 60');
    assert.equal((await tree.getChildren(newest)).length, 2);
    // A long prompt would push a number behind it out of a narrow side bar: it has a badge.
    const row = tree.getTreeItem(newest as TreeNode);
    assert.equal(row.description, 'now');
    assert.equal(row.resourceUri && new ChangeDecorations().provideFileDecoration(row.resourceUri)?.badge, '1');
    const more = children[children.length - 1];
    assert.ok(more?.type === 'more');
    assert.equal(children.length, 51);
    assert.match(label(more), /10 left/);
    assert.equal(await tree.find(oldest?.id ?? ''), undefined);
    await tree.show(oldest?.id ?? '');
    assert.equal((await tree.find(oldest?.id ?? ''))?.checkpoint.id, oldest?.id);
    await withStore((api) => api.clear('ses_tree'));
  });
});
