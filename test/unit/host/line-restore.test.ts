import { beforeEach, describe, expect, it, vi } from 'vitest';
import { commands } from '../../../src/host/ids';
import { restoreSelectedLines } from '../../../src/host/line-restore';
import { nothingUri, snapshotUri } from '../../../src/host/uris';
import { uri } from './uri';

/** As much of VS Code as one diff needs; the real one is in the host suite. */
const fake = vi.hoisted(() => {
  class Edit {
    readonly replaced: unknown[] = [];
    replace(_: unknown, range: unknown, text: string): void {
      this.replaced.push([range, text]);
    }
  }
  return {
    TabInputTextDiff: class {
      constructor(
        readonly original: unknown,
        readonly modified: unknown,
      ) {}
    },
    TabInputText: class {},
    EndOfLine: { LF: 1, CRLF: 2 },
    WorkspaceEdit: Edit,
    Range: class {
      constructor(...at: number[]) {
        return at;
      }
    },
    workspace: {
      openTextDocument: vi.fn<(uri: unknown) => Promise<unknown>>(),
      applyEdit: vi.fn(async (_: Edit) => true),
    },
    window: {
      tabGroups: { activeTabGroup: { activeTab: { input: undefined as unknown } } },
      activeTextEditor: undefined as unknown,
      visibleTextEditors: [] as unknown[],
      setStatusBarMessage: () => undefined,
      showInformationMessage: vi.fn(async (_: string, button: string) => button),
    },
    commands: { executeCommand: vi.fn() },
  };
});
vi.mock('vscode', () => fake);

const file = uri('/project/a.ts');
const checkpoint = snapshotUri('cp_1', file);
const diff = new fake.TabInputTextDiff(checkpoint, file);

/** A diff of two texts with one line selected. */
const given = (then: string, now: string, line: number, side: 'left' | 'right' = 'right'): void => {
  const document = (of: unknown, text: string) => ({
    uri: of,
    eol: text.includes('\r\n') ? fake.EndOfLine.CRLF : fake.EndOfLine.LF,
    lineCount: text.split('\n').length,
    getText: () => text,
  });
  const [left, right] = [document(checkpoint, then), document(file, now)];
  const at = { line, character: 0 };
  fake.workspace.openTextDocument.mockImplementation(async (of) => (of === checkpoint ? left : right));
  fake.window.tabGroups.activeTabGroup.activeTab.input = diff;
  fake.window.activeTextEditor = {
    document: side === 'left' ? left : right,
    selections: [{ start: at, end: at }],
  };
  fake.window.visibleTextEditors = [fake.window.activeTextEditor];
};

const replaced = (): unknown[] | undefined => fake.workspace.applyEdit.mock.lastCall?.[0].replaced;

describe('“Restore Selected Lines”', () => {
  beforeEach(() => vi.clearAllMocks());

  it('takes one line back where the line ends differ, too, and keeps those of the file', async () => {
    given('a\r\nb\r\nc\r\nd\r\n', 'X\nb\nY\nd\n', 2);
    expect(await restoreSelectedLines()).toBe(1);
    expect(replaced()).toEqual([[[2, 0, 3, 0], 'c\n']]);
  });

  it('follows a selection on the left side', async () => {
    given('a\nb\nc\nd\n', 'X\nd\n', 2, 'left');
    expect(await restoreSelectedLines()).toBe(1);
    expect(replaced()).toEqual([[[0, 0, 1, 0], 'a\nb\nc\n']]);
    given('a\nb\nc\nd\n', 'X\nd\n', 3, 'left');
    await expect(restoreSelectedLines()).rejects.toThrow('No change touches the selected lines.');
  });

  it('offers the whole file where it is not there any more', async () => {
    const gone = new fake.TabInputTextDiff(checkpoint, nothingUri('cp_1', file));
    fake.window.tabGroups.activeTabGroup.activeTab.input = gone;
    expect(await restoreSelectedLines()).toBe(0);
    expect(fake.window.showInformationMessage).toHaveBeenCalledWith(
      expect.stringMatching(/^The file is not there now/),
      'Restore This File',
    );
    expect(fake.commands.executeCommand).toHaveBeenCalledWith(commands.restoreFile, gone);
  });

  it('offers it among many changes, too, where a deleted file has no right side', async () => {
    given('a\n', '', 0, 'left');
    fake.window.tabGroups.activeTabGroup.activeTab.input = {};
    expect(await restoreSelectedLines()).toBe(0);
    expect(fake.window.showInformationMessage).toHaveBeenCalledWith(
      expect.stringMatching(/^The file is not there now/),
      'Restore This File',
    );
  });

  const many = Array.from({ length: 5000 }, (_, index) => `line ${index}`);
  it.each([
    ['only the line ends differ', 'a\r\nb\r\n', 'a\nb\n', /only their ends differ/],
    ['lines cannot be told apart', many.join('\n'), [...many].reverse().join('\n'), /Too much has changed/],
  ])('offers the whole file where %s', async (_, then, now, sentence) => {
    given(then, now, 0);
    expect(await restoreSelectedLines()).toBe(0);
    expect(fake.workspace.applyEdit).not.toHaveBeenCalled();
    expect(fake.window.showInformationMessage).toHaveBeenCalledWith(
      expect.stringMatching(sentence),
      'Restore This File',
    );
    expect(fake.commands.executeCommand).toHaveBeenCalledWith(commands.restoreFile, diff);
  });
});
