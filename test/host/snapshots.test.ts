import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { Checkpoint } from '../../src/core/model';
import { commands } from '../../src/host/ids';
import { CheckpointTree } from '../../src/host/tree';
import type { FileNode } from '../../src/host/tree-nodes';
import { nothingUri, parseSnapshotUri, snapshotUri } from '../../src/host/uris';
import { Workspaces } from '../../src/host/workspaces';
import {
  activate,
  activeTab,
  answering,
  at,
  closeEditors,
  eventually,
  opener,
  read,
  remove,
  run,
  showFile,
  uri,
  withStore,
  write,
} from './helpers';

const create = async (): Promise<Checkpoint> => {
  const checkpoint = await run<Checkpoint>(commands.create);
  assert.ok(checkpoint, 'no checkpoint was made');
  return checkpoint;
};

describe('creating', () => {
  before(activate);
  beforeEach(() => showFile('README.md'));
  after(closeEditors);

  it('makes a manual checkpoint of the active editor’s folder', async () => {
    write('src/new.ts', 'export {};\n');
    const checkpoint = await create();
    assert.equal(checkpoint.trigger, 'manual');
    assert.equal(checkpoint.name, null);
    assert.ok(checkpoint.files.paths.includes('src/new.ts'));
    const listed = await withStore((api) => api.list());
    assert.equal(listed[0]?.id, checkpoint.id);
    remove('src/new.ts');
  });

  it('asks for a name', async () => {
    let checkpoint: Checkpoint | undefined;
    const asked = await answering(['  Before the storm '], async () => {
      checkpoint = await run<Checkpoint>(commands.createNamed);
    });
    assert.deepEqual(
      asked.map(({ kind }) => kind),
      ['input'],
    );
    assert.equal(checkpoint?.name, 'Before the storm');
  });

  it('makes nothing when the name is not given', async () => {
    const before = await withStore((api) => api.list());
    await answering([undefined], () => run(commands.createNamed));
    assert.equal((await withStore((api) => api.list())).length, before.length);
  });

  it('asks about unsaved editors, whose changes a checkpoint does not hold', async () => {
    write('draft.txt', 'saved\n');
    const { document } = await showFile('draft.txt');
    const edit = new vscode.WorkspaceEdit();
    edit.insert(document.uri, new vscode.Position(0, 0), 'not ');
    await vscode.workspace.applyEdit(edit);
    const before = (await withStore((api) => api.list())).length;
    const content = async (): Promise<string> =>
      withStore(async (api) => Buffer.from(await api.cat('latest', 'draft.txt')).toString());
    const [asked] = await answering([undefined], () => run(commands.create));
    assert.equal(asked?.message, '1 file has unsaved changes, which the checkpoint would not hold.');
    assert.equal(asked?.detail, 'draft.txt');
    assert.equal((await withStore((api) => api.list())).length, before);
    await answering(['Create Anyway'], () => run(commands.create));
    assert.equal(await content(), 'saved\n');
    await answering(['Save All and Create'], () => run(commands.create));
    assert.equal(await content(), 'not saved\n');
    remove('draft.txt');
  });

  it('asks which folder when no editor says it', async () => {
    await closeEditors();
    const asked = await answering(['second'], () => run(commands.create));
    assert.deepEqual(asked[0]?.items, [
      '$(folder-library) All Folders',
      '$(root-folder) project',
      '$(root-folder) second',
    ]);
    const { second } = await import('./helpers');
    assert.ok((await withStore((api) => api.list(), second)).length > 0);
  });
});

describe('files of a checkpoint', () => {
  let checkpoint: Checkpoint;
  const bytes = Uint8Array.from({ length: 512 }, (_, index) => index % 256);

  before(async () => {
    await activate();
    write('data.bin', bytes);
    write('umlaut.txt', Buffer.from('f\u00fcr', 'latin1'));
    await showFile('README.md');
    checkpoint = await create();
    write('data.bin', new Uint8Array([1]));
    write('README.md', '# Changed\n');
  });
  after(async () => {
    await closeEditors();
    write('README.md', '# Sample\n');
    remove('data.bin');
    remove('umlaut.txt');
  });

  it('are read byte for byte', async () => {
    const content = await vscode.workspace.fs.readFile(snapshotUri(checkpoint.id, uri('data.bin')));
    assert.deepEqual(Buffer.from(content), Buffer.from(bytes));
    const stat = await vscode.workspace.fs.stat(snapshotUri(checkpoint.id, uri('data.bin')));
    assert.equal(stat.size, bytes.length);
    assert.equal(stat.type, vscode.FileType.File);
    assert.equal(stat.permissions, vscode.FilePermission.Readonly);
    assert.equal(stat.mtime, Date.parse(checkpoint.createdAt));
  });

  it('open as documents with the language of the file', async () => {
    const document = await vscode.workspace.openTextDocument(snapshotUri(checkpoint.id, uri('README.md')));
    assert.equal(document.getText(), '# Sample\n');
    assert.equal(document.languageId, 'markdown');
  });

  it('cannot be written, deleted or renamed', async () => {
    assert.equal(vscode.workspace.fs.isWritableFileSystem('opencode-checkpoint'), false);
    const place = snapshotUri(checkpoint.id, uri('README.md'));
    await assert.rejects(() => Promise.resolve(vscode.workspace.fs.writeFile(place, new Uint8Array())));
    await assert.rejects(() => Promise.resolve(vscode.workspace.fs.delete(place)));
    assert.equal(read('README.md'), '# Changed\n');
  });

  it('that are not there are not found', async () => {
    for (const place of [
      snapshotUri(checkpoint.id, uri('no/such.file')),
      snapshotUri(checkpoint.id, vscode.Uri.file('/elsewhere/file')),
      snapshotUri('cp_00000000000000000000000000', uri('README.md')),
    ])
      for (const look of ['readFile', 'stat'] as const)
        await assert.rejects(
          async () => vscode.workspace.fs[look](place),
          (error: vscode.FileSystemError) => error.code === 'FileNotFound',
          place.toString(),
        );
  });

  it('have an empty side for what does not exist', async () => {
    assert.equal((await vscode.workspace.fs.readFile(nothingUri(checkpoint.id, uri('README.md')))).length, 0);
  });

  it('are found with what the image preview adds to their address, and have a picture for the side without one', async () => {
    const added = snapshotUri(checkpoint.id, uri('data.bin')).with({ query: 'version=1' });
    assert.deepEqual(Buffer.from(await vscode.workspace.fs.readFile(added)), Buffer.from(bytes));
    const nothing = nothingUri(checkpoint.id, uri('logo.PNG'));
    const picture = Buffer.from(await vscode.workspace.fs.readFile(nothing));
    assert.equal(picture.subarray(1, 4).toString(), 'PNG');
    assert.equal((await vscode.workspace.fs.stat(nothing)).size, picture.length);
  });

  it('say beside which file a renamed one stands', () => {
    const [then, now] = [uri('a & b/old+%.ts'), uri('ü#?.ts')];
    const place = parseSnapshotUri(vscode.Uri.parse(snapshotUri(checkpoint.id, then, now).toString()));
    assert.equal(place.file.toString(), then.toString());
    assert.equal(place.beside.toString(), now.toString());
  });

  it('keep their address both ways', () => {
    for (const file of [uri('a b/ü#?.ts'), vscode.Uri.parse('file://server/share/x.ts')]) {
      for (const side of [snapshotUri, nothingUri]) {
        const place = parseSnapshotUri(vscode.Uri.parse(side(checkpoint.id, file).toString()));
        assert.equal(place.checkpoint, checkpoint.id);
        assert.equal(place.empty, side === nothingUri);
        assert.equal(place.file.toString(), file.toString());
      }
    }
  });
});

describe('comparing', () => {
  let first: Checkpoint;
  let last: Checkpoint;

  before(async () => {
    await activate();
    await showFile('README.md');
    write('gone.txt', 'soon gone\n');
    first = await create();
    write('README.md', '# Second\n');
    write('added.txt', 'new\n');
    remove('gone.txt');
    last = await create();
    write('README.md', '# Third\n');
  });
  beforeEach(closeEditors);
  after(async () => {
    await closeEditors();
    write('README.md', '# Sample\n');
    remove('added.txt');
  });

  const opened = (label: RegExp): Promise<vscode.Tab | undefined> =>
    eventually(activeTab, (tab) => tab !== undefined && label.test(tab.label), `no editor ${label}`);

  it('with the working files', async () => {
    await run(commands.compareWorking, first.id);
    await opened(/Manual checkpoint ↔ Working Files/);
  });

  it('says so when nothing differs', async () => {
    write('README.md', '# Second\n');
    const asked = await answering([], () => run(commands.compareWorking, last.id));
    assert.match(asked[0]?.message ?? '', /^No difference/);
    write('README.md', '# Third\n');
  });

  it('leads on from the end of a turn that left the files as they are to what the turn did', async () => {
    const session = { id: 'ses_same', messageId: null, messageCount: 0, title: null, parent: null };
    const turn = { number: 1, prompt: 'Do it', model: null, agent: null, cost: null, tokens: null };
    await withStore((api) => api.create({ trigger: 'turn', session, turn }));
    write('README.md', '# By the turn\n');
    const end = await withStore((api) => api.create({ trigger: 'idle', session, turn }));
    await answering(['Show Changes of This Turn'], async () => {
      await run(commands.compareWorking, end.id);
      await opened(/^Changes of “Do it”/);
    });
    await withStore((api) => api.clear('ses_same'));
    write('README.md', '# Third\n');
  });

  it('with the one before', async () => {
    await run(commands.comparePrevious, last.id);
    await opened(/Manual checkpoint ↔ Manual checkpoint/);
  });

  it('with any other, which is asked for', async () => {
    const asked = await answering([(items) => items.at(3)], () => run(commands.compareWith, first.id));
    assert.equal(asked[0]?.kind, 'pick');
    assert.deepEqual(asked[0]?.items.slice(0, 3), [
      '$(files) Working Files',
      '$(arrow-up) Previous Checkpoint',
      'Checkpoints',
    ]);
    await opened(/↔/);
  });

  it('with the start of the session, and all of a turn', async () => {
    const session = { id: 'ses_compare', messageId: null, messageCount: 0, title: null, parent: null };
    const turn = (number: number) => ({
      number,
      prompt: `Prompt ${number}`,
      model: null,
      agent: null,
      cost: null,
      tokens: null,
    });
    const make = (trigger: 'turn' | 'idle', number: number) =>
      withStore((api) => api.create({ trigger, session, turn: turn(number) }));
    write('turn.txt', 'one\n');
    const start = await make('turn', 1);
    write('turn.txt', 'two\n');
    const end = await make('idle', 1);
    write('turn.txt', 'three\n');
    await run(commands.compareTurn, start.id);
    await opened(/Changes of “Prompt 1”/);
    await closeEditors();
    await run(commands.compareSessionStart, end.id);
    await opened(/Before “Prompt 1” ↔ Turn ended: Prompt 1/);
    await closeEditors();
    await answering(['Start of the Session'], () => run(commands.compareWith, end.id));
    await opened(/Before “Prompt 1” ↔ Turn ended: Prompt 1/);
    const asked = await answering([], () => run(commands.compareSessionStart, start.id));
    assert.match(asked[0]?.message ?? '', /the first checkpoint of its session/);
    await withStore((api) => api.clear('ses_compare'));
    remove('turn.txt');
  });

  it('of a turn, without what another session changed meanwhile', async () => {
    const work = (id: string) => ({
      session: { id, messageId: null, messageCount: 0, title: id, parent: null },
      turn: { number: 1, prompt: `Prompt of ${id}`, model: null, agent: null, cost: null, tokens: null },
    });
    const make = (trigger: 'turn' | 'idle', id: string) => withStore((api) => api.create({ trigger, ...work(id) }));
    const call = (id: string, path: string) =>
      withStore((api) =>
        api.create({ trigger: 'tool', ...work(id), cause: { tool: 'write', callId: path, paths: [path] } }),
      );
    const start = await make('turn', 'ses_mine');
    await make('turn', 'ses_theirs');
    await call('ses_mine', 'mine.txt');
    write('mine.txt', 'mine\n');
    await call('ses_theirs', 'theirs.txt');
    write('theirs.txt', 'theirs\n');
    const end = await make('idle', 'ses_mine');
    for (const compare of [() => run(commands.compareTurn, start.id), () => run(commands.comparePrevious, end.id)]) {
      await compare();
      await opened(/^Changes of “Prompt of ses_mine”, without 1 of other sessions \(1 file\)$/);
      await closeEditors();
    }
    for (const id of ['ses_mine', 'ses_theirs']) await withStore((api) => api.clear(id));
    for (const path of ['mine.txt', 'theirs.txt']) remove(path);
  });

  it('asks for a turn, and for what is in a session, where that is compared with', async () => {
    const lone = await withStore((api) => api.create({ name: 'In no session' }));
    const session = { id: 'ses_asked', messageId: null, messageCount: 0, title: null, parent: null };
    const turn = { number: 1, prompt: 'Asked for', model: null, agent: null, cost: null, tokens: null };
    await withStore((api) => api.create({ trigger: 'turn', session, turn }));
    for (const command of [commands.compareTurn, commands.compareSessionStart]) {
      const [asked] = await answering([undefined], () => run(command));
      assert.equal(asked?.kind, 'pick');
      assert.ok(asked.items.some((label) => label.includes('Asked for')));
      assert.ok(asked.items.every((label) => !label.includes('In no session')));
    }
    await withStore((api) => api.clear('ses_asked'));
    await withStore((api) => api.remove([lone.id]));
  });

  it('at the end of a turn with the point before it, though its calls made points in between', async () => {
    const session = { id: 'ses_ended', messageId: null, messageCount: 0, title: null, parent: null };
    const turn = { number: 1, prompt: 'Break it', model: null, agent: null, cost: null, tokens: null };
    const make = (trigger: 'turn' | 'tool' | 'idle') => withStore((api) => api.create({ trigger, session, turn }));
    const workspaces = new Workspaces(opener());
    const tree = new CheckpointTree(workspaces, { asTree: false }, (error) => assert.fail(String(error)));
    try {
      write('broken.txt', 'whole\n');
      const start = await make('turn');
      write('broken.txt', 'broken\n');
      const call = await make('tool');
      write('later.txt', 'one\n');
      const end = await make('idle');
      await tree.show(end.id);
      const node = await tree.find(end.id);
      assert.ok(node);
      assert.match(String(tree.getTreeItem(node).description), /^2 files · /);
      const files = (await tree.getChildren(node)).filter((row) => row.type === 'file');
      assert.deepEqual(
        files.map(({ change }) => [change.path, change.status]),
        [
          ['broken.txt', 'modified'],
          ['later.txt', 'added'],
        ],
      );
      const sides = async (): Promise<[string, string]> => {
        const tab = await eventually(activeTab, (open) => open?.input instanceof vscode.TabInputTextDiff, 'no diff');
        const { original, modified } = tab?.input as vscode.TabInputTextDiff;
        await closeEditors();
        return [original.toString(), modified.toString()];
      };
      const before = snapshotUri(start.id, uri('broken.txt')).toString();
      await run(commands.openChanges, files[0]);
      assert.deepEqual(await sides(), [before, uri('broken.txt').toString()]);
      // Changed again since: the row still tells what the turn did.
      write('broken.txt', 'mended\n');
      await run(commands.openChanges, files[0]);
      assert.deepEqual(await sides(), [before, snapshotUri(end.id, uri('broken.txt')).toString()]);
      await run(commands.comparePrevious, end.id);
      await opened(/Changes of “Break it”/);
      await closeEditors();
      // The point right before it is there for who asks for it.
      await answering(['Previous Checkpoint'], () => run(commands.compareWith, end.id));
      await opened(/Before .* ↔ Turn ended: Break it/);
      await closeEditors();
      // A call's point is told against the one before it, as ever.
      const calls = await tree.find(call.id);
      assert.ok(calls);
      assert.deepEqual(
        (await tree.getChildren(calls)).map((row) => row.type === 'file' && row.change.path),
        ['broken.txt'],
      );
    } finally {
      tree.dispose();
      await workspaces.close();
      workspaces.dispose();
      await withStore((api) => api.clear('ses_ended'));
      for (const path of ['broken.txt', 'later.txt']) remove(path);
    }
  });

  it('a changed file of the list: what it changed, while the file is still so', async () => {
    const workspaces = new Workspaces(opener());
    const root = (await workspaces.all()).find(({ name }) => name === 'project');
    assert.ok(root);
    const node = (path: string, status: 'added' | 'modified' | 'deleted'): FileNode => ({
      type: 'file',
      root,
      checkpoint: last,
      change: { path, status, additions: 1, deletions: 1, binary: false },
      showFolder: true,
      parent: undefined,
    });
    const sides = async (): Promise<[string, string]> => {
      const tab = await eventually(activeTab, (open) => open?.input instanceof vscode.TabInputTextDiff, 'no diff');
      const { original, modified } = tab?.input as vscode.TabInputTextDiff;
      await closeEditors();
      return [original.toString(), modified.toString()];
    };
    // README.md was changed again since: the checkpoint itself is the left side.
    await run(commands.openChanges, node('README.md', 'modified'));
    assert.deepEqual(await sides(), [snapshotUri(last.id, uri('README.md')).toString(), uri('README.md').toString()]);
    await run(commands.openChanges, node('added.txt', 'added'));
    assert.deepEqual(await sides(), [nothingUri(first.id, uri('added.txt')).toString(), uri('added.txt').toString()]);
    await run(commands.openChanges, node('gone.txt', 'deleted'));
    assert.deepEqual(await sides(), [
      snapshotUri(first.id, uri('gone.txt')).toString(),
      nothingUri(first.id, uri('gone.txt')).toString(),
    ]);
    await workspaces.close();
    workspaces.dispose();
  });

  it('needs two for “Compare Selected”', async () => {
    const asked = await answering([], () => run(commands.compareSelected, undefined, []));
    assert.match(asked[0]?.message ?? '', /Select two checkpoints/);
  });

  it('a file of the active editor, checkpoint left and real file right', async () => {
    await showFile('README.md');
    await answering(
      [
        (items) =>
          items.find((item) => (item as { target: { checkpoint: Checkpoint } }).target.checkpoint.id === first.id),
      ],
      () => run(commands.openFileDiff),
    );
    await opened(/README\.md \(Manual checkpoint ↔ Working File\)/);
    const { input } = activeTab() ?? {};
    assert.ok(input instanceof vscode.TabInputTextDiff);
    assert.equal(input.original.toString(), snapshotUri(first.id, uri('README.md')).toString());
    assert.equal(input.modified.fsPath, at('README.md'));
  });
});
