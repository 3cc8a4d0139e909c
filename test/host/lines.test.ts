import * as assert from 'node:assert/strict';
import { readFileSync, symlinkSync } from 'node:fs';
import * as vscode from 'vscode';
import type { Checkpoint } from '../../src/core/model';
import { openPreviousDiff } from '../../src/host/diff';
import { commands, snapshotScheme } from '../../src/host/ids';
import { Root } from '../../src/host/root';
import { snapshotUri } from '../../src/host/uris';
import {
  activate,
  activeTab,
  answering,
  closeEditors,
  eventually,
  opener,
  project,
  read,
  remove,
  run,
  showFile,
  uri,
  withStore,
  write,
} from './helpers';

const original = Array.from({ length: 20 }, (_, index) => `line ${index + 1}`);
const text = (lines: string[]): string => `${lines.join('\n')}\n`;
/** Of a file that is being read again there may be less for a moment. */
const fifth = (document: vscode.TextDocument): string | undefined => document.getText().split(/\r?\n/)[4];

describe('restoring lines', () => {
  let point: Checkpoint;

  before(activate);
  beforeEach(async () => {
    write('lines.txt', text(original));
    point = await withStore((api) => api.create({ name: 'Lines' }));
    const changed = [...original];
    changed[4] = 'changed five';
    changed.splice(9, 1);
    changed.push('added at the end');
    write('lines.txt', text(changed));
  });
  afterEach(async () => {
    await run('workbench.action.revertAndCloseActiveEditor');
    await closeEditors();
  });

  const openDiff = async (): Promise<vscode.TextEditor> => {
    await run('vscode.diff', snapshotUri(point.id, uri('lines.txt')), uri('lines.txt'), 'Lines');
    await eventually(activeTab, (tab) => tab?.input instanceof vscode.TabInputTextDiff, 'no diff');
    const find = (): vscode.TextEditor | undefined =>
      vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === uri('lines.txt').toString());
    const editor = await eventually(find, (candidate) => candidate !== undefined, 'no right side');
    assert.ok(editor);
    return editor;
  };

  const withCrlf = ({ document }: vscode.TextEditor): Promise<unknown> =>
    eventually(
      () => document.eol,
      (eol) => eol === vscode.EndOfLine.CRLF,
      'no CRLF',
    );

  it('that are selected in the diff, and no others', async () => {
    const editor = await openDiff();
    editor.selection = new vscode.Selection(4, 0, 4, 3);
    assert.equal(await run(commands.restoreSelectedLines), 1);
    const lines = editor.document.getText().split('\n');
    assert.equal(lines[4], 'line 5');
    assert.equal(lines.includes('line 10'), false);
    assert.equal(lines.includes('added at the end'), true);
    assert.equal(editor.document.isDirty, true);
  });

  it('all of them by a selection of everything, exactly', async () => {
    const editor = await openDiff();
    editor.selection = new vscode.Selection(0, 0, editor.document.lineCount, 0);
    assert.equal(await run(commands.restoreSelectedLines), 3);
    assert.equal(editor.document.getText(), text(original));
  });

  it('alone, where the line ends differ, too', async () => {
    const changed = [...original];
    changed[4] = 'changed five';
    changed[14] = 'changed fifteen';
    write('lines.txt', text(changed).replaceAll('\n', '\r\n'));
    const editor = await openDiff();
    await withCrlf(editor);
    editor.selection = new vscode.Selection(4, 0, 4, 3);
    assert.equal(await run(commands.restoreSelectedLines), 1);
    changed[4] = 'line 5';
    assert.equal(editor.document.getText(), text(changed).replaceAll('\n', '\r\n'));
  });

  it('not where only the line ends differ: the whole file is offered', async () => {
    write('lines.txt', text(original).replaceAll('\n', '\r\n'));
    await withCrlf(await openDiff());
    const asked = await answering(['Restore This File'], () => run(commands.restoreSelectedLines));
    assert.match(asked[0]?.message ?? '', /only their ends differ/);
    assert.equal(read('lines.txt'), text(original));
  });

  it('says so when the selection touches no change', async () => {
    const editor = await openDiff();
    editor.selection = new vscode.Selection(0, 0, 1, 0);
    const asked = await answering([], () => run(commands.restoreSelectedLines));
    assert.match(asked[0]?.message ?? '', /No change touches the selected lines/);
  });

  it('of one change of the gutter', async () => {
    await run(commands.showInGutter, point.id);
    const { document } = await showFile('lines.txt');
    const change = (originalStart: number, originalEnd: number, start: number, end: number) => ({
      originalStartLineNumber: originalStart,
      originalEndLineNumber: originalEnd,
      modifiedStartLineNumber: start,
      modifiedEndLineNumber: end,
    });
    const changes = [change(5, 5, 5, 5), change(10, 10, 9, 0), change(20, 0, 20, 20)];
    await run(commands.restoreChange, document.uri, changes, 1);
    assert.equal(document.lineAt(9).text, 'line 10');
    assert.equal(document.lineAt(4).text, 'changed five');
    await run(commands.restoreChange, document.uri, changes, 0);
    assert.equal(document.lineAt(4).text, 'line 5');
    await run(commands.stopGutter);
    const asked = await answering([], () => run(commands.restoreChange, document.uri, changes, 0));
    assert.match(asked[0]?.message ?? '', /Choose a checkpoint for the gutter first/);
  });

  it('of the change at the cursor, without the inline change view', async () => {
    await run(commands.showInGutter, point.id);
    const editor = await showFile('lines.txt');
    const { document } = editor;
    await eventually(
      () => fifth(document),
      (line) => line === 'changed five',
      'not read again',
    );
    editor.selection = new vscode.Selection(4, 2, 4, 2);
    await run(commands.restoreChange);
    assert.equal(document.lineAt(4).text, 'line 5');
    assert.equal(document.getText().includes('line 10\n'), false);
    editor.selection = new vscode.Selection(0, 0, 0, 0);
    const asked = await answering([], () => run(commands.restoreChange));
    assert.match(asked[0]?.message ?? '', /Put the cursor on a change bar/);
    await run(commands.stopGutter);
  });

  it('not of a checkpoint that is gone: its bars go with it', async () => {
    await run(commands.showInGutter, point.id);
    await showFile('lines.txt');
    await answering(['Delete'], () => run(commands.delete, point.id));
    await eventually(
      async () => (await answering([], () => run(commands.restoreChange)))[0]?.message ?? '',
      (message) => message.includes('Choose a checkpoint for the gutter first'),
      'the bars stay',
    );
  });

  const encodings: Array<[what: string, encode: (text: string) => Buffer]> = [
    ['UTF-8 with a mark', (content) => Buffer.from(`\ufeff${content}`)],
    ['UTF-16', (content) => Buffer.from(`\ufeff${content}`, 'utf16le')],
    ['UTF-16, big end first', (content) => Buffer.from(`\ufeff${content}`, 'utf16le').swap16()],
    ['no line end at the end', (content) => Buffer.from(content.trimEnd())],
    ['CRLF and no line end at the end', (content) => Buffer.from(content.trimEnd().replaceAll('\n', '\r\n'))],
  ];
  for (const [what, encode] of encodings)
    it(`in a file with ${what}, byte for byte, undone by the editor`, async () => {
      write('lines.txt', encode(text(original)));
      point = await withStore((api) => api.create());
      const changed = [...original];
      // Not what the editor still has of the file in another encoding: it would be taken for read again, and could not be saved.
      changed[4] = `fünf in ${what}`;
      changed[14] = 'changed fifteen';
      changed[19] = 'changed last';
      write('lines.txt', encode(text(changed)));
      const editor = await openDiff();
      const { document } = editor;
      await eventually(
        () => fifth(document),
        (line) => line === changed[4],
        'not read again',
      );
      editor.selections = [new vscode.Selection(4, 0, 4, 1), new vscode.Selection(19, 0, 19, 1)];
      assert.equal(await run(commands.restoreSelectedLines), 2);
      assert.ok(await document.save());
      const half = [...original];
      half[14] = 'changed fifteen';
      assert.deepEqual(readFileSync(uri('lines.txt').fsPath), encode(text(half)));
      await run('undo');
      assert.ok(await document.save());
      assert.deepEqual(readFileSync(uri('lines.txt').fsPath), encode(text(changed)));
    });

  it('not of a file that is shown in another encoding than its own: it would be damaged, and the whole file is offered', async () => {
    const latin1 = (lines: string[]): Buffer => Buffer.from(text(lines), 'latin1');
    const umlauts = original.with(4, 'f\u00fcnf').with(9, 'zw\u00f6lf');
    write('lines.txt', latin1(umlauts));
    point = await withStore((api) => api.create());
    write('lines.txt', latin1(umlauts.with(4, 'changed five')));
    const editor = await openDiff();
    await eventually(
      () => editor.document.getText(),
      (now) => now.includes('\ufffd') && now.includes('changed five'),
      'not read again',
    );
    editor.selection = new vscode.Selection(4, 0, 4, 1);
    const asked = await answering(['Restore This File'], () => run(commands.restoreSelectedLines));
    assert.match(asked[0]?.message ?? '', /not in the encoding/);
    assert.equal(editor.document.isDirty, false);
    assert.deepEqual(readFileSync(uri('lines.txt').fsPath), latin1(umlauts));
    // The sign that stands for what could not be read may also be meant.
    write('lines.txt', text(original.with(4, 'a \ufffd')));
    point = await withStore((api) => api.create());
    write('lines.txt', text(original.with(4, 'changed again')));
    const second = await openDiff();
    await eventually(
      () => fifth(second.document),
      (line) => line === 'changed again',
      'not read again',
    );
    second.selection = new vscode.Selection(4, 0, 4, 1);
    assert.equal(await run(commands.restoreSelectedLines), 1);
    assert.equal(fifth(second.document), 'a \ufffd');
  });

  it('at the end of the file, with its last line end', async () => {
    write('lines.txt', original.slice(0, 19).join('\n'));
    await run(commands.showInGutter, point.id);
    const { document } = await showFile('lines.txt');
    await eventually(
      () => document.lineCount,
      (count) => count === 19,
      'not read again',
    );
    const change = {
      originalStartLineNumber: 20,
      originalEndLineNumber: 21,
      modifiedStartLineNumber: 19,
      modifiedEndLineNumber: 0,
    };
    await run(commands.restoreChange, document.uri, [change], 0);
    assert.equal(document.getText(), text(original));
    await run(commands.stopGutter);
  });

  it('never through a link into the file that it leads to', async () => {
    write('target.txt', 'not to be touched\n');
    symlinkSync('lines.txt', uri('link.txt').fsPath);
    try {
      point = await withStore((api) => api.create({ name: 'With a link' }));
      remove('link.txt');
      symlinkSync('target.txt', uri('link.txt').fsPath);
      await run('vscode.open', uri('link.txt'));
      await eventually(
        () => vscode.window.activeTextEditor?.document.uri.path,
        (path) => path?.endsWith('/link.txt') === true,
        'not open',
      );
      await answering(
        [(items) => (items as vscode.QuickPickItem[]).find(({ label }) => label.includes('With a link'))],
        () => run(commands.openFileDiff),
      );
      const tab = await eventually(activeTab, (one) => one?.input instanceof vscode.TabInputTextDiff, 'no diff');
      const { modified } = tab?.input as vscode.TabInputTextDiff;
      assert.notEqual(modified.scheme, 'file');
      assert.equal((await vscode.workspace.openTextDocument(modified)).getText(), 'target.txt');
      const fromDiff = await answering([], () => run(commands.restoreSelectedLines));
      assert.match(fromDiff[0]?.message ?? '', /This is a link/);
      await run(commands.showInGutter, point.id);
      const change = {
        originalStartLineNumber: 1,
        originalEndLineNumber: 1,
        modifiedStartLineNumber: 1,
        modifiedEndLineNumber: 1,
      };
      const fromGutter = await answering([], () => run(commands.restoreChange, uri('link.txt'), [change], 0));
      assert.match(fromGutter[0]?.message ?? '', /This is a link/);
      await run(commands.stopGutter);
      assert.equal(read('target.txt'), 'not to be touched\n');
    } finally {
      remove('link.txt');
      remove('target.txt');
    }
  });

  const sides = async (title: RegExp): Promise<string[]> => {
    const tab = await eventually(activeTab, (candidate) => title.test(candidate?.label ?? ''), 'no diff');
    assert.ok(tab?.input instanceof vscode.TabInputTextDiff);
    return [tab.input.original.scheme, tab.input.modified.scheme];
  };

  /** VS Code takes a moment to see that a file it has open was written by another program. */
  const current = async (): Promise<vscode.TextDocument> => {
    const document = await vscode.workspace.openTextDocument(uri('lines.txt'));
    await eventually(
      () => document.getText(),
      (shown) => shown === read('lines.txt'),
      'the editor shows old text',
    );
    return document;
  };

  it('of a diff of two checkpoints in the working file, though that changed elsewhere', async () => {
    const later = await withStore((api) => api.create({ name: 'Later' }));
    const [then, now] = [point, later].map(({ id }) => snapshotUri(id, uri('lines.txt')));
    write('lines.txt', `first\n${read('lines.txt')}last\n`);
    const document = await current();
    await run('vscode.diff', then, now, 'lines.txt (Lines ↔ Later)');
    const side = await eventually(
      () => vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === now?.toString()),
      (editor) => editor !== undefined,
      'no right side',
    );
    assert.ok(side);
    side.selection = new vscode.Selection(4, 0, 4, 3);
    assert.equal(await run(commands.restoreSelectedLines), 1);
    assert.deepEqual(await sides(/^lines\.txt \(Lines ↔ Working File\)$/), [snapshotScheme, 'file']);
    const lines = document.getText().split('\n');
    assert.deepEqual([lines[0], lines[5], lines.at(-2)], ['first', 'line 5', 'last']);
    assert.equal(lines.includes('line 10'), false);
  });

  it('leads from a diff of two checkpoints to one with the working file, where that changed in the same place', async () => {
    const later = await withStore((api) => api.create({ name: 'Later' }));
    const [then, now] = [point, later].map(({ id }) => snapshotUri(id, uri('lines.txt')));
    write('lines.txt', read('lines.txt').replace('changed five', 'changed again'));
    await current();
    await run('vscode.diff', then, now, 'lines.txt (Lines ↔ Later)');
    await sides(/Later/);
    const asked = await answering(['Compare with Working File'], () => run(commands.restoreSelectedLines));
    assert.match(asked[0]?.message ?? '', /Both sides are checkpoints/);
    assert.deepEqual(await sides(/^lines\.txt \(Lines ↔ Working File\)$/), [snapshotScheme, 'file']);
  });

  it('are within reach in what a checkpoint changed, while the file is as it has it', async () => {
    const later = await withStore((api) => api.create({ name: 'Later' }));
    const [folder] = vscode.workspace.workspaceFolders ?? [];
    assert.ok(folder);
    const root = new Root(await opener()(project), folder, project);
    try {
      await openPreviousDiff({ root, checkpoint: later }, point, { path: 'lines.txt' });
      assert.deepEqual(await sides(/Working File/), [snapshotScheme, 'file']);
      write('lines.txt', 'something else\n');
      await openPreviousDiff({ root, checkpoint: later }, point, { path: 'lines.txt' });
      assert.deepEqual(await sides(/Later/), [snapshotScheme, snapshotScheme]);
    } finally {
      await root.close();
    }
  });

  it('refuses to change a checkpoint’s own side', async () => {
    await run(commands.showInGutter, point.id);
    const side = snapshotUri(point.id, uri('lines.txt'));
    const change = {
      originalStartLineNumber: 1,
      originalEndLineNumber: 1,
      modifiedStartLineNumber: 1,
      modifiedEndLineNumber: 1,
    };
    const asked = await answering([], () => run(commands.restoreChange, side, [change], 0));
    assert.match(asked[0]?.message ?? '', /Only the working file can be changed/);
    await run(commands.stopGutter);
  });
});
