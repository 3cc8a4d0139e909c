import * as assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import type { Checkpoint } from '../../src/core/model';
import { runDoctor } from '../../src/host/actions-store';
import { commands, textScheme } from '../../src/host/ids';
import type { Services } from '../../src/host/services';
import type { CheckpointNode, FileNode } from '../../src/host/tree-nodes';
import { Workspaces } from '../../src/host/workspaces';
import { activate, activeTab, answering, closeEditors, eventually, opener, run, showFile, withStore } from './helpers';

const make = (name?: string): Promise<Checkpoint> => withStore((api) => api.create(name === undefined ? {} : { name }));
const now = (id: string): Promise<Checkpoint> => withStore((api) => api.resolve(id));
const gone = async (id: string): Promise<boolean> =>
  !(await withStore((api) => api.list())).some((one) => one.id === id);

describe('keeping order', () => {
  before(activate);
  beforeEach(() => showFile('README.md'));
  after(closeEditors);

  it('asks from the palette whose first versions are meant', async () => {
    const session = (id: string) => ({ id, messageId: null, messageCount: 0, title: `Session ${id}`, parent: null });
    for (const id of ['ses_one', 'ses_two'])
      await withStore((api) => api.create({ trigger: 'agent', name: id, session: session(id) }));
    const asked = await answering(['Session ses_one'], () => run(commands.firstVersions));
    assert.deepEqual(
      asked.map(({ message }) => message),
      ['First Versions', 'No file has been changed by this session.'],
    );
    assert.ok(asked[0]?.items.some((label) => label.endsWith('Session ses_two')));
    for (const id of ['ses_one', 'ses_two']) await withStore((api) => api.clear(id));
  });

  it('renames', async () => {
    const { id } = await make();
    const asked = await answering(['A better name'], () => run(commands.rename, id));
    assert.equal(asked[0]?.detail, 'Manual checkpoint');
    assert.equal((await now(id)).name, 'A better name');
  });

  it('describes', async () => {
    const { id } = await make();
    await answering(['Why it matters'], () => run(commands.describe, id));
    assert.equal((await now(id)).description, 'Why it matters');
  });

  it('edits a description of several lines as a document, and keeps its lines', async () => {
    const { id } = await make();
    await withStore((api) => api.describe(id, 'Why\nand how'));
    await answering([], () => run(commands.describe, id));
    const editor = vscode.window.activeTextEditor;
    assert.equal(editor?.document.uri.scheme, textScheme);
    assert.equal(editor?.document.getText(), 'Why\nand how');
    await run('workbench.action.files.save');
    assert.equal((await now(id)).description, 'Why\nand how');
    await editor?.edit((edit) => edit.insert(new vscode.Position(1, 0), 'when\n'));
    assert.equal((await now(id)).description, 'Why\nand how');
    assert.equal(await editor?.document.save(), true);
    assert.equal((await now(id)).description, 'Why\nwhen\nand how');
    await run('workbench.action.closeActiveEditor');
  });

  it('pins and unpins', async () => {
    const { id } = await make();
    await run(commands.pin, id);
    assert.equal((await now(id)).pinned, true);
    await run(commands.unpin, id);
    assert.equal((await now(id)).pinned, false);
  });

  it('offers for unpinning what is pinned, and nothing else', async () => {
    const { id } = await make('Pinned one');
    await make('Loose one');
    await run(commands.pin, id);
    const asked = await answering([([first]) => first], () => run(commands.unpin));
    assert.equal(
      asked[0]?.items.some((item) => item.includes('Pinned one')),
      true,
    );
    assert.equal(
      asked[0]?.items.some((item) => item.includes('Loose one')),
      false,
    );
    assert.equal((await now(id)).pinned, false);
  });

  it('copies the id', async () => {
    const { id } = await make();
    await run(commands.copyId, id);
    assert.equal(await vscode.env.clipboard.readText(), id);
  });

  it('asks before it deletes', async () => {
    const { id } = await make('Doomed');
    const asked = await answering([undefined], () => run(commands.delete, id));
    assert.equal(asked[0]?.message, 'Delete “Doomed”?');
    assert.doesNotMatch(asked[0]?.detail ?? '', /pinned/);
    assert.equal(await gone(id), false);
    await run(commands.pin, id);
    const again = await answering([undefined], () => run(commands.delete, id));
    assert.match(again[0]?.detail ?? '', /^It is pinned\. Your files are not changed/);
    await answering(['Delete'], () => run(commands.delete, id));
    assert.equal(await gone(id), true);
  });

  it('deletes the checkpoints that are selected, not those of selected files', async () => {
    const [checkpoint, other] = [await make('Selected'), await make('Only one of its files')];
    const workspaces = new Workspaces(opener());
    const root = (await workspaces.all()).find(({ name }) => name === 'project');
    assert.ok(root);
    const change = { path: 'README.md', status: 'modified', additions: 1, deletions: 0, binary: false } as const;
    const row: CheckpointNode = { type: 'checkpoint', root, checkpoint, parent: undefined };
    const file: FileNode = { type: 'file', root, checkpoint: other, change, showFolder: true, parent: undefined };
    const asked = await answering(['Delete'], () => run(commands.delete, row, [row, file]));
    assert.equal(asked[0]?.message, 'Delete “Selected”?');
    assert.equal(await gone(checkpoint.id), true);
    assert.equal(await gone(other.id), false);
    await workspaces.close();
    workspaces.dispose();
  });

  it('clears a session and nothing else', async () => {
    const session = { id: 'ses_clear', messageId: null, messageCount: 0, title: 'To be cleared', parent: null };
    const [mine, other] = await withStore(async (api) => [
      await api.create({ session, trigger: 'agent', name: 'a' }),
      await api.create({ name: 'b' }),
    ]);
    const asked = await answering(['To be cleared', 'Delete All'], () => run(commands.clearSession));
    assert.match(asked[1]?.message ?? '', /Delete all 1 checkpoint of “To be cleared”/);
    assert.equal(await gone(mine?.id ?? ''), true);
    assert.equal(await gone(other?.id ?? ''), false);
  });

  it('explains a reference that does not exist', async () => {
    const asked = await answering([undefined], () => run(commands.rename, 'cp_00000000000000000000000000'));
    assert.equal(asked[0]?.kind, 'error');
    assert.match(asked[0]?.message ?? '', /^This checkpoint does not exist any more/);
  });

  it('shows statistics', async () => {
    await make();
    await run(commands.showStatistics);
    const editor = await eventually(
      () => vscode.window.activeTextEditor,
      (candidate) => candidate?.document.getText().startsWith('# Checkpoints of project') === true,
      'no page',
    );
    assert.match(editor?.document.getText() ?? '', /- \d+ checkpoints in \d+ session/);
    // Nobody is asked to save a page that was only read.
    assert.equal(activeTab()?.isDirty, false);
    await run('workbench.action.closeActiveEditor');
    assert.equal(vscode.workspace.textDocuments.filter(({ isUntitled }) => isUntitled).length, 0);
  });

  it('cleans up after asking', async () => {
    const asked = await answering(['Clean Up'], () => run(commands.cleanUp));
    assert.match(asked[1]?.message ?? '', /^Cleaned up: /);
  });

  it('examines the store', async () => {
    const asked = await answering([], () => run(commands.doctor));
    assert.equal(asked[0]?.message, 'The checkpoint store is healthy.');
  });

  it('repairs a store that could not be opened, after asking, and opens it', async () => {
    const journal = join(await withStore(async (api) => api.folder), 'journal.json');
    await writeFile(journal, '{"ver');
    const workspaces = new Workspaces(opener());
    const services = { workspaces } as Services;
    try {
      const left = await answering([undefined], () => runDoctor(services));
      assert.match(left[0]?.message ?? '', /cannot be opened.*journal is damaged/);
      assert.equal(await readFile(journal, 'utf8'), '{"ver');
      const asked = await answering(['Repair'], () => runDoctor(services));
      assert.match(asked[1]?.message ?? '', /^Repaired: /);
      assert.equal(asked[2]?.message, 'The checkpoint store is healthy.');
      assert.deepEqual(workspaces.failed, []);
    } finally {
      await rm(journal, { force: true });
      await workspaces.close();
      workspaces.dispose();
    }
  });

  it('opens the timeline as an editor, once', async () => {
    await run(commands.openTimeline);
    await eventually(activeTab, (tab) => tab?.label === 'Checkpoints Timeline', 'no timeline');
    await run(commands.openTimeline);
    const tabs = vscode.window.tabGroups.all
      .flatMap((group) => group.tabs)
      .filter((tab) => tab.label === 'Checkpoints Timeline');
    assert.equal(tabs.length, 1);
  });

  it('shows a checkpoint in the timeline', async () => {
    await closeEditors();
    const { id } = await withStore((api) => api.create({ name: 'To be shown' }));
    assert.deepEqual(await answering([], () => run(commands.revealInTimeline, id)), []);
    await eventually(activeTab, (tab) => tab?.label === 'Checkpoints Timeline', 'no timeline');
  });

  it('switches between files as tree and as list, refreshes, and shows its log', async () => {
    for (const command of [commands.viewAsTree, commands.viewAsList, commands.refresh, commands.showLog])
      assert.deepEqual(await answering([], () => run(command)), []);
  });

  it('finds by text while typing, and compares on Enter', async () => {
    const { id } = await make('Needle in the hay');
    await closeEditors();
    await showFile('README.md');
    await run(commands.search);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    // The pick cannot be typed into from here; its newest row is the one just made.
    const asked = await answering([], async () => {
      await run('workbench.action.acceptSelectedQuickOpenItem');
      await new Promise((resolve) => setTimeout(resolve, 1500));
    });
    assert.match(asked[0]?.message ?? '', /^No difference/);
    await withStore((api) => api.remove([id]));
  });
});
