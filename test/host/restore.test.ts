import * as assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import * as vscode from 'vscode';
import type { Checkpoint } from '../../src/core/model';
import { commands } from '../../src/host/ids';
import { RestoreFlow, type FileChooser } from '../../src/host/restore-flow';
import type { Root } from '../../src/host/root';
import type { FileNode, FolderNode } from '../../src/host/tree-nodes';
import { nothingUri, snapshotUri } from '../../src/host/uris';
import { Workspaces } from '../../src/host/workspaces';
import {
  activate,
  activeTab,
  answering,
  at,
  closeEditors,
  eventually,
  exists,
  log,
  opener,
  read,
  remove,
  run,
  showFile,
  untrusted,
  uri,
  withStore,
  write,
} from './helpers';

describe('restoring', () => {
  let point: Checkpoint;

  before(activate);
  beforeEach(async () => {
    write('README.md', '# Sample\n');
    write('keep.txt', 'one\n');
    remove('later.txt');
    point = await withStore((api) => api.create({ name: 'Restore here' }));
    write('README.md', '# Broken\n');
    write('later.txt', 'made later\n');
  });
  afterEach(async () => {
    await vscode.workspace.saveAll(false);
    await closeEditors();
    remove('later.txt');
    remove('keep.txt');
    write('README.md', '# Sample\n');
  });

  const safetyPoints = async (): Promise<Checkpoint[]> => withStore((api) => api.list({ trigger: 'restore' }));

  it('asks with counts, makes a safety checkpoint, restores and reports', async () => {
    const before = (await safetyPoints()).length;
    const asked = await answering(['Restore'], () => run(commands.restore, point.id));
    assert.equal(asked[0]?.message, 'Restore “Restore here”?');
    assert.match(asked[0]?.detail ?? '', /1 file will be written\.\n1 file made since then will be deleted\./);
    assert.deepEqual(asked[0]?.items, ['Restore', 'Choose…']);
    assert.equal(asked[1]?.message, 'Restored: 1 file written, 1 deleted.');
    assert.deepEqual(asked[1]?.items, ['Undo', 'Show Changes']);
    assert.equal(read('README.md'), '# Sample\n');
    assert.equal(exists('later.txt'), false);
    assert.equal((await safetyPoints()).length, before + 1);
  });

  it('does nothing when the dialog is closed', async () => {
    const before = (await withStore((api) => api.list())).length;
    await answering([undefined], () => run(commands.restore, point.id));
    assert.equal(read('README.md'), '# Broken\n');
    assert.equal((await withStore((api) => api.list())).length, before);
  });

  it('lets the user choose a checkpoint when none is given', async () => {
    const asked = await answering(['Restore here', undefined], () => run(commands.restore));
    assert.deepEqual(
      asked.map(({ kind }) => kind),
      ['pick', 'warning'],
    );
  });

  it('undoes by the button of its message, and redoes', async () => {
    await answering(['Restore', 'Undo', 'Redo', undefined], async () => {
      await run(commands.restore, point.id);
      await eventually(
        () => exists('later.txt'),
        (there) => !there,
        'not redone',
      );
      await eventually(
        () => safetyPoints(),
        (points) => points.filter(({ restore }) => restore?.operation === 'redo').length > 0,
        'no redo',
      );
    });
    assert.equal(read('README.md'), '# Sample\n');
  });

  it('undoes and redoes by command', async () => {
    await answering(['Restore'], () => run(commands.restore, point.id));
    const undone = await answering([], () => run(commands.undo));
    assert.equal(undone[0]?.message, 'Undone: 2 files written.');
    assert.equal(read('README.md'), '# Broken\n');
    assert.equal(read('later.txt'), 'made later\n');
    await answering([], () => run(commands.redo));
    assert.equal(read('README.md'), '# Sample\n');
    assert.equal(exists('later.txt'), false);
  });

  it('shows what it changed', async () => {
    await answering(['Restore', 'Show Changes'], async () => {
      await run(commands.restore, point.id);
      await eventually(activeTab, (tab) => /↔ Working Files/.test(tab?.label ?? ''), 'no changes editor');
    });
  });

  it('says why what it offered cannot be shown any more', async () => {
    let told = false;
    const asked = await answering(
      [
        'Restore',
        // The message may stay for hours.
        async () => {
          const ids = (await safetyPoints()).map(({ id }) => id);
          await withStore((api) => api.remove(ids));
          return 'Show Changes';
        },
        () => {
          told = true;
          return undefined;
        },
      ],
      async () => {
        await run(commands.restore, point.id);
        await eventually(
          () => told,
          (value) => value,
          'nothing was said',
        );
      },
    );
    assert.equal(asked.at(-1)?.kind, 'error');
    assert.match(asked.at(-1)?.message ?? '', /^This checkpoint does not exist any more\./);
    assert.deepEqual(asked.at(-1)?.items, ['Refresh']);
  });

  it('says that there is nothing to do', async () => {
    write('README.md', '# Sample\n');
    remove('later.txt');
    const asked = await answering([], () => run(commands.restore, point.id));
    assert.match(asked[0]?.message ?? '', /^Nothing to do/);
  });

  it('offers to take back the change where a file is as the moment left it that changed it', async () => {
    write('broken.txt', 'whole\n');
    const session = { id: 'ses_take_back', messageId: null, messageCount: 0, title: null, parent: null };
    const turn = { number: 1, prompt: 'Break it', model: null, agent: null, cost: null, tokens: null };
    const make = (trigger: 'turn' | 'tool' | 'idle') => withStore((api) => api.create({ trigger, session, turn }));
    await make('turn');
    write('broken.txt', 'broken\n');
    await make('tool');
    write('other.txt', 'x\n');
    const end = await make('idle');
    const workspaces = new Workspaces(opener());
    const root = (await workspaces.all()).find(({ name }) => name === 'project');
    assert.ok(root);
    const chooser = { choose: async () => undefined, cancel: async () => undefined };
    const flow = new RestoreFlow(chooser, log(), async () => undefined);
    const paths = ['broken.txt'];
    for (const restore of [
      () => flow.restorePaths({ root, checkpoint: end }, paths),
      () => flow.restore({ root, checkpoint: end }, { scope: ['files'], paths }),
    ]) {
      write('broken.txt', 'broken\n');
      const asked = await answering(['Restore from Before the Turn'], async () => {
        assert.equal(await restore(), false);
        await eventually(
          () => read('broken.txt'),
          (text) => text === 'whole\n',
          'the change was not taken back',
        );
      });
      assert.match(asked[0]?.message ?? '', /^Nothing to do/);
    }
    await workspaces.close();
    workspaces.dispose();
    await withStore((api) => api.clear('ses_take_back'));
    for (const path of ['broken.txt', 'other.txt']) remove(path);
  });

  const dirty = async (): Promise<vscode.TextDocument> => {
    const editor = await showFile('README.md');
    await eventually(
      () => editor.document.getText(),
      (text) => text === '# Broken\n',
      'the editor shows old text',
    );
    await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), 'unsaved '));
    assert.equal(editor.document.isDirty, true);
    return editor.document;
  };

  it('leaves unsaved editors out when asked to', async () => {
    const document = await dirty();
    const asked = await answering(['Restore', 'Leave It Out'], () => run(commands.restore, point.id));
    assert.match(asked[1]?.detail ?? '', /^README\.md\n/);
    assert.equal(document.isDirty, true);
    assert.equal(document.getText(), 'unsaved # Broken\n');
    assert.equal(read('README.md'), '# Broken\n');
    assert.equal(exists('later.txt'), false);
  });

  it('saves unsaved editors when asked to, so that the safety checkpoint has them', async () => {
    const document = await dirty();
    await answering(['Restore', 'Save and Continue'], () => run(commands.restore, point.id));
    await eventually(
      () => document.getText(),
      (text) => text === '# Sample\n',
      'the editor shows old text',
    );
    await answering([], () => run(commands.undo));
    assert.equal(read('README.md'), 'unsaved # Broken\n');
  });

  it('stops at unsaved editors when the question is closed', async () => {
    await dirty();
    await answering(['Restore', undefined], () => run(commands.restore, point.id));
    assert.equal(exists('later.txt'), true);
  });

  it('restores only the files that are ticked', async () => {
    const restored = answering(['Restore here', 'Choose…'].slice(1), () => run(commands.restore, point.id));
    // The plan view opens; everything is ticked until somebody unticks it.
    await eventually(
      async () => (await vscode.commands.getCommands(true)).includes(commands.applyPlan),
      (there) => there,
      'no plan view',
    );
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await run(commands.reviewPlan);
    await eventually(activeTab, (tab) => /Now ↔ After Restoring/.test(tab?.label ?? ''), 'no review');
    await run(commands.applyPlan);
    const asked = await restored;
    assert.equal(asked[1]?.message, 'Restored: 1 file written, 1 deleted.');
    const labels = (): string[] => vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs.map(({ label }) => label));
    await eventually(labels, (all) => !all.some((label) => label.includes('Now ↔ After')), 'the review stayed open');
  });

  it('brings the empty folders back with what is ticked, and no others', async () => {
    mkdirSync(at('drafts/empty'), { recursive: true });
    write('drafts/one.txt', 'one\n');
    write('drafts/two.txt', 'two\n');
    const checkpoint = await withStore((api) => api.create({ name: 'With an empty folder' }));
    remove('drafts');
    const choosingAll = async (work: () => Thenable<unknown>): Promise<void> => {
      let done = false;
      const restored = answering(['Choose…'], work).finally(() => (done = true));
      // The plan opens when it is ready; until then there is nothing to apply.
      await eventually(
        async () => (done ? undefined : run(commands.applyPlan)),
        () => done,
        'the plan was not applied',
      );
      await restored;
    };
    await choosingAll(() => run(commands.restore, checkpoint.id));
    assert.deepEqual([exists('drafts/one.txt'), exists('drafts/empty')], [true, true]);
    // Only what was asked for.
    remove('drafts');
    write('README.md', '# Later\n');
    const workspaces = new Workspaces(opener());
    const root = (await workspaces.all()).find(({ name }) => name === 'project');
    assert.ok(root);
    const choose: FileChooser['choose'] = () => Promise.resolve(['README.md', 'drafts/empty']);
    const flow = new RestoreFlow({ choose, cancel: async () => undefined }, log(), async () => undefined);
    write('keep.txt', 'later\n');
    const given = { scope: ['files' as const], paths: ['README.md', 'keep.txt'] };
    await answering(['Choose…'], () => flow.restore({ root, checkpoint }, given));
    assert.deepEqual([read('README.md'), exists('drafts')], ['# Broken\n', false]);
    await workspaces.close();
    workspaces.dispose();
  });

  /** A restore whose plan is answered with these ticks; what the plan offered is answered. */
  const choosing = async (
    ticks: string[],
    work: (flow: RestoreFlow, root: Root) => Promise<unknown>,
  ): Promise<string[]> => {
    const offered: string[] = [];
    const choose: FileChooser['choose'] = async (_target, { entries }) => {
      offered.push(...entries.map(({ path }) => path));
      return ticks;
    };
    const workspaces = new Workspaces(opener());
    const root = (await workspaces.all()).find(({ name }) => name === 'project');
    assert.ok(root);
    try {
      await work(new RestoreFlow({ choose, cancel: async () => undefined }, log(), async () => undefined), root);
      return offered;
    } finally {
      await workspaces.close();
      workspaces.dispose();
    }
  };

  it('restores nothing when nothing is ticked', async () => {
    const before = (await safetyPoints()).length;
    const asked = await answering(['Choose…'], () =>
      choosing([], (flow, root) => flow.restore({ root, checkpoint: point })),
    );
    assert.equal(asked[1]?.message, 'Nothing is ticked: no file was restored.');
    assert.equal(read('README.md'), '# Broken\n');
    assert.equal(exists('later.txt'), true);
    assert.equal((await safetyPoints()).length, before);
  });

  it('restores the task alone when it is chosen and no file is ticked', async () => {
    const checkpoint = await withStore((api) => api.create({ name: 'With a task', task: { title: 'Then' } }));
    write('README.md', '# Later\n');
    const both = (items: readonly unknown[]) => items.filter((item) => /Files|Task/.test(JSON.stringify(item)));
    const asked = await answering(['Choose…', both], () =>
      choosing([], (flow, root) => flow.restore({ root, checkpoint })),
    );
    assert.equal(asked[2]?.message, 'Restored: task state brought back.');
    assert.equal(read('README.md'), '# Later\n');
    await answering([], () => run(commands.undo));
  });

  it('shows no empty list when no file differs, but asks for the rest', async () => {
    const checkpoint = await withStore((api) => api.create({ name: 'Now, with a task', task: { title: 'Now' } }));
    const both = (items: readonly unknown[]) => items.filter((item) => /Files|Task/.test(JSON.stringify(item)));
    let lists = 0;
    const choose: FileChooser['choose'] = async () => {
      lists += 1;
      return [];
    };
    const workspaces = new Workspaces(opener());
    const root = (await workspaces.all()).find(({ name }) => name === 'project');
    assert.ok(root);
    const flow = new RestoreFlow({ choose, cancel: async () => undefined }, log(), async () => undefined);
    const asked = await answering(['Choose…', both, 'Restore'], () => flow.restore({ root, checkpoint }));
    assert.equal(lists, 0);
    assert.match(asked[2]?.detail ?? '', /^The task state goes back to what it was then\./);
    assert.equal(asked[3]?.message, 'Restored: task state brought back.');
    await answering([], () => run(commands.undo));
    await workspaces.close();
    workspaces.dispose();
  });

  it('offers only what was asked for when files are chosen', async () => {
    const given = { scope: ['files' as const], paths: ['README.md', 'later.txt'] };
    write('keep.txt', 'two\n');
    let offered: string[] = [];
    await answering(['Choose…'], async () => {
      offered = await choosing([], (flow, root) => flow.restore({ root, checkpoint: point }, given));
    });
    assert.deepEqual(offered, ['README.md', 'later.txt']);
  });

  it('gives up when the plan is cancelled', async () => {
    const restored = answering(['Choose…'], () => run(commands.restore, point.id));
    await new Promise((resolve) => setTimeout(resolve, 1500));
    await run(commands.cancelPlan);
    assert.deepEqual(
      (await restored).map(({ kind }) => kind),
      ['warning'],
    );
    assert.equal(read('README.md'), '# Broken\n');
  });

  it('gives an older plan up when another restore begins', async () => {
    const first = answering(['Choose…', undefined], () =>
      Promise.all([
        run(commands.restore, point.id),
        new Promise((resolve) => setTimeout(resolve, 1500)).then(() => run(commands.restore, point.id)),
      ]),
    );
    assert.equal((await first).length, 2);
    await run(commands.applyPlan);
    assert.equal(read('README.md'), '# Broken\n');
  });

  it('restores one file from its diff, without a dialog', async () => {
    await showFile('README.md');
    await answering(
      [
        (items) =>
          items.find((item) => (item as { target: { checkpoint: Checkpoint } }).target.checkpoint.id === point.id),
      ],
      () => run(commands.openFileDiff),
    );
    await eventually(activeTab, (tab) => tab?.input instanceof vscode.TabInputTextDiff, 'no diff');
    const asked = await answering([], () => run(commands.restoreFile, uri('README.md')));
    assert.equal(asked[0]?.message, 'Restored: 1 file written.');
    assert.equal(read('README.md'), '# Sample\n');
    assert.equal(exists('later.txt'), true);
  });

  it('asks before it deletes a file that was not there then, at the checkpoint of its diff', async () => {
    await run('vscode.diff', nothingUri(point.id, uri('later.txt')), uri('later.txt'), 'Later');
    await eventually(activeTab, (tab) => tab?.input instanceof vscode.TabInputTextDiff, 'no diff');
    await answering([undefined], () => run(commands.restoreFile, uri('later.txt')));
    assert.equal(exists('later.txt'), true);
    const asked = await answering(['Restore'], () => run(commands.restoreFile, uri('later.txt')));
    assert.equal(asked[0]?.message, 'Restore later.txt as it was at “Restore here”?');
    assert.equal(asked[1]?.message, 'Restored: 1 file deleted.');
    assert.equal(exists('later.txt'), false);
  });

  it('takes a renamed file back by both of its names', async () => {
    write('before.txt', 'renamed\n');
    const { id } = await withStore((api) => api.create({ name: 'Before the rename' }));
    remove('before.txt');
    write('after.txt', 'renamed\n');
    await run('vscode.diff', snapshotUri(id, uri('before.txt')), uri('after.txt'), 'Renamed');
    await eventually(activeTab, (tab) => tab?.label === 'Renamed', 'no diff');
    const asked = await answering(['Restore'], () => run(commands.restoreFile, uri('after.txt')));
    assert.equal(asked[0]?.message, 'Restore before.txt and after.txt as they were at “Before the rename”?');
    assert.equal(read('before.txt'), 'renamed\n');
    assert.equal(exists('after.txt'), false);
    remove('before.txt');
  });

  it('brings back what a checkpoint no longer has, from the one before it', async () => {
    write('old/a.txt', 'a\n');
    await withStore((api) => api.create({ name: 'With all' }));
    remove('keep.txt');
    remove('old');
    const checkpoint = await withStore((api) => api.create({ name: 'Without two' }));
    const workspaces = new Workspaces(opener());
    const root = (await workspaces.all()).find(({ name }) => name === 'project');
    assert.ok(root);
    const gone = (path: string) => ({ path, status: 'deleted', additions: 0, deletions: 1, binary: false }) as const;
    const row = { root, checkpoint, parent: undefined };
    const file: FileNode = { ...row, type: 'file', change: gone('keep.txt'), showFolder: true };
    const folder: FolderNode = { ...row, type: 'folder', path: 'old', label: 'old', changes: [gone('old/a.txt')] };
    const asked = [
      ...(await answering([], () => run(commands.restoreFile, file))),
      ...(await answering([], () => run(commands.restoreFolder, folder))),
    ];
    assert.deepEqual(
      asked.map(({ message }) => message),
      ['Restored: 1 file written.', 'Restored: 1 file written.'],
    );
    assert.equal(read('keep.txt'), 'one\n');
    assert.equal(read('old/a.txt'), 'a\n');
    assert.equal(read('README.md'), '# Broken\n');
    remove('old');
    await workspaces.close();
    workspaces.dispose();
  });

  it('restores all selected files of one checkpoint at once, and refuses those of two', async () => {
    write('README.md', '# Sample\n');
    write('later.txt', 'first\n');
    const checkpoint = await withStore((api) => api.create({ name: 'Several files' }));
    write('later.txt', 'second\n');
    write('keep.txt', 'two\n');
    write('README.md', '# Broken\n');
    const workspaces = new Workspaces(opener());
    const root = (await workspaces.all()).find(({ name }) => name === 'project');
    assert.ok(root);
    const row = (path: string, of = checkpoint): FileNode => ({
      ...{ type: 'file', root, checkpoint: of, parent: undefined, showFolder: true },
      change: { path, status: 'modified', additions: 1, deletions: 1, binary: false },
    });
    const rows = [row('later.txt'), row('keep.txt')];
    const before = (await safetyPoints()).length;
    const asked = await answering([], () => run(commands.restoreFile, rows[0], rows));
    assert.equal(asked[0]?.message, 'Restored: 2 files written.');
    assert.equal(read('later.txt'), 'first\n');
    assert.equal(read('keep.txt'), 'one\n');
    assert.equal(read('README.md'), '# Broken\n');
    assert.equal((await safetyPoints()).length, before + 1);
    const mixed = [row('README.md'), row('keep.txt', point)];
    const refused = await answering([], () => run(commands.restoreFile, mixed[0], mixed));
    assert.equal(refused[0]?.kind, 'error');
    assert.match(refused[0]?.message ?? '', /different checkpoints/);
    assert.equal(read('README.md'), '# Broken\n');
    await workspaces.close();
    workspaces.dispose();
  });

  it('asks once more before a mass deletion', async () => {
    for (let index = 0; index < 40; index += 1) write(`many/${index}.txt`, `${index}\n`);
    const asked = await answering(['Restore', undefined], () => run(commands.restore, point.id));
    assert.equal(asked[1]?.message, 'This would delete a large part of the workspace.');
    assert.equal(exists('many/0.txt'), true);
    await answering(['Restore', 'Delete and Restore'], () => run(commands.restore, point.id));
    assert.equal(exists('many/0.txt'), false);
  });

  it('reverts one turn and keeps what came after it', async () => {
    const session = { id: 'ses_turn', messageId: null, messageCount: 0, title: 'Turn', parent: null };
    const turn = (number: number) => ({
      number,
      prompt: `Do ${number}`,
      model: null,
      agent: null,
      cost: null,
      tokens: null,
    });
    const first = await withStore(async (api) => {
      const made = await api.create({ trigger: 'turn', session, turn: turn(1) });
      write('README.md', '# By turn one\n');
      await api.create({ trigger: 'idle', session, turn: turn(1) });
      await api.create({ trigger: 'turn', session, turn: turn(2) });
      write('keep.txt', 'by turn two\n');
      await api.create({ trigger: 'idle', session, turn: turn(2) });
      return made;
    });
    const asked = await answering(['Revert Turn'], () => run(commands.revertTurn, first.id));
    assert.match(asked[0]?.detail ?? '', /“Do 1”/);
    assert.match(asked[1]?.message ?? '', /^Reverted: 1 file written/);
    assert.equal(read('README.md'), '# Broken\n');
    assert.equal(read('keep.txt'), 'by turn two\n');
  });

  it('leaves unsaved editors out of a turn that is reverted, from any point of it', async () => {
    const session = { id: 'ses_dirty', messageId: null, messageCount: 0, title: 'Turn', parent: null };
    const turn = { number: 1, prompt: 'Do', model: null, agent: null, cost: null, tokens: null };
    const inside = await withStore(async (api) => {
      write('README.md', '# Before\n');
      await api.create({ trigger: 'turn', session, turn });
      write('README.md', '# Broken\n');
      const made = await api.create({ trigger: 'tool', session, turn });
      write('keep.txt', 'by the turn\n');
      await api.create({ trigger: 'idle', session, turn });
      return made;
    });
    const document = await dirty();
    const asked = await answering(['Revert Turn', 'Leave It Out'], () => run(commands.revertTurn, inside.id));
    assert.match(asked[1]?.detail ?? '', /^README\.md\n/);
    assert.equal(asked[2]?.message, 'Reverted: 1 file written, 1 kept.');
    assert.equal(document.getText(), 'unsaved # Broken\n');
    assert.equal(read('README.md'), '# Broken\n');
    assert.equal(read('keep.txt'), 'one\n');
  });

  it('undoes without asking about editors that it does not touch', async () => {
    write('README.md', '# Then\n');
    const checkpoint = await withStore((api) => api.create({ name: 'One file' }));
    write('keep.txt', 'two\n');
    await answering(['Restore'], () => run(commands.restore, checkpoint.id));
    write('README.md', '# Broken\n');
    const document = await dirty();
    const asked = await answering([], () => run(commands.undo));
    assert.equal(asked[0]?.message, 'Undone: 1 file written.');
    assert.equal(document.isDirty, true);
    assert.equal(read('keep.txt'), 'two\n');
  });

  it('asks about unsaved notebooks, too', async () => {
    const notebook = (text: string): string =>
      JSON.stringify({
        cells: [{ cell_type: 'markdown', metadata: {}, source: [text] }],
        metadata: {},
        nbformat: 4,
        nbformat_minor: 5,
      });
    write('note.ipynb', notebook('then'));
    const checkpoint = await withStore((api) => api.create({ name: 'Notebook' }));
    write('note.ipynb', notebook('now'));
    const document = await vscode.workspace.openNotebookDocument(uri('note.ipynb'));
    await vscode.window.showNotebookDocument(document);
    const edit = new vscode.WorkspaceEdit();
    edit.set(document.uri, [vscode.NotebookEdit.deleteCells(new vscode.NotebookRange(0, 1))]);
    assert.ok(await vscode.workspace.applyEdit(edit));
    await eventually(
      () => document.isDirty,
      (isDirty) => isDirty,
      'the notebook is not changed',
    );
    const asked = await answering(['Restore', undefined], () => run(commands.restore, checkpoint.id));
    assert.match(asked[1]?.detail ?? '', /^note\.ipynb\n/);
    await run('workbench.action.revertAndCloseActiveEditor');
    remove('note.ipynb');
  });

  it('names what is now too large, and does not say that all is as it was', async () => {
    write('large.txt', 'small\n');
    const checkpoint = await withStore((api) => api.create({ name: 'Small' }));
    write('large.txt', 'x'.repeat(20 * 1024 * 1024 + 1));
    const asked = await answering([], () => run(commands.restore, checkpoint.id));
    assert.equal(asked[0]?.kind, 'warning');
    assert.equal(asked[0]?.message, 'Nothing was restored. Not touched: large.txt (too large).');
    remove('large.txt');
  });

  it('is refused in a folder that is not trusted, whoever calls', async () => {
    const before = (await safetyPoints()).length;
    for (const command of [commands.restore, commands.undo, commands.create, commands.pin]) {
      const [asked] = await answering([undefined], () => untrusted(() => run(command, point.id)));
      assert.match(asked?.message ?? '', /^This folder is not trusted/);
      assert.deepEqual(asked?.items, ['Manage Workspace Trust']);
    }
    const refused = choosing([], (flow, root) =>
      untrusted(() => flow.restorePaths({ root, checkpoint: point }, ['README.md'])),
    );
    await assert.rejects(refused, { reason: 'untrusted-folder' });
    assert.equal(read('README.md'), '# Broken\n');
    assert.equal((await safetyPoints()).length, before);
  });

  it('tells that there is nothing to redo', async () => {
    await withStore((api) => api.create({ name: 'Something new' }));
    await answering(['Restore'], () => run(commands.restore, point.id));
    const asked = await answering([], () => run(commands.redo));
    assert.match(asked[0]?.message ?? '', /^There is nothing to redo/);
  });
});
