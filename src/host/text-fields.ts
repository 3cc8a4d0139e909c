import * as vscode from 'vscode';
import { CheckpointsError } from '../core/errors';
import type { CheckpointId } from '../core/model';
import { listNames, textNames, type ListField, type TextField } from '../protocol/task-names';
import { textScheme } from './ids';
import { explain } from './notifications';
import type { Root } from './root';
import { findItem, replaceItem } from './task-model';
import { changeTask, saveTask } from './task-save';
import { requireTrust } from './trust';
import type { Workspaces } from './workspaces';

/** A description, a field of the task, or a row of one of its lists as it was when its editor was opened. */
export type TextPlace = { root: string } & (
  { kind: 'description'; checkpoint: CheckpointId } | { kind: 'field'; field: TextField } | RowPlace
);

interface RowPlace {
  kind: 'row';
  field: ListField;
  index: number;
  text: string;
}

interface Seen {
  uri: vscode.Uri;
  text: string;
  time: number;
}

/** An input box makes one line of everything: a text that has more is edited as a document. */
export const editText = async (place: TextPlace, name: string): Promise<void> => {
  const path = `/${name.replace(/[\\/:?#]+/g, ' ')}.md`;
  const uri = vscode.Uri.from({ scheme: textScheme, path, query: JSON.stringify(place) });
  await vscode.window.showTextDocument(uri, { preview: false });
  vscode.window.setStatusBarMessage('$(edit) Save this document to change the text', 8000);
};

/** These texts as files: what an editor saves goes where the text belongs, and nothing else does. */
export class TextFields implements vscode.FileSystemProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.changed.event;
  private readonly subscriptions: vscode.Disposable[];
  /** What is another text by now is newer than what its editor shows. */
  private readonly seen = new Map<string, Seen>();
  /** What a row was since its editor was opened, newest first: rows are known by their text. */
  private readonly rows = new Map<string, string[]>();

  constructor(
    private readonly workspaces: Workspaces,
    private readonly log: vscode.LogOutputChannel,
  ) {
    const type = vscode.FileChangeType.Changed;
    this.subscriptions = [
      this.changed,
      workspaces.onDidChange(() => this.changed.fire([...this.seen.values()].map(({ uri }) => ({ type, uri })))),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => {
        this.seen.delete(uri.toString());
        this.rows.delete(uri.toString());
      }),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  /** The store tells of its changes by itself. */
  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const { text, time } = await this.look(uri);
    return { type: vscode.FileType.File, ctime: 0, mtime: time, size: Buffer.byteLength(text) };
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    return Buffer.from((await this.look(uri)).text);
  }

  async writeFile(uri: vscode.Uri, content: Uint8Array): Promise<void> {
    const text = plain(Buffer.from(content).toString('utf8'));
    await asFile(uri, async () => {
      requireTrust();
      if (text !== plain(await this.read(uri))) await this.write(uri, text);
    });
  }

  readDirectory(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  createDirectory(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  rename(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  private async look(uri: vscode.Uri): Promise<Seen> {
    const text = await asFile(uri, () => this.read(uri));
    const before = this.seen.get(uri.toString());
    if (before?.text === text) return before;
    const now = { uri, text, time: Math.max(Date.now(), (before?.time ?? 0) + 1) };
    this.seen.set(uri.toString(), now);
    return now;
  }

  private async read(uri: vscode.Uri): Promise<string> {
    const { root, place } = await this.locate(uri);
    if (place.kind === 'description') return (await root.api.resolve(place.checkpoint)).description ?? '';
    const task = await root.task.read();
    if (place.kind === 'field') return task?.[place.field] ?? '';
    const items = task?.[place.field] ?? [];
    const text = items[findItem(items, place.index, this.textsOf(uri, place))];
    if (text === undefined) throw vscode.FileSystemError.FileNotFound(uri);
    return text;
  }

  private async write(uri: vscode.Uri, text: string): Promise<void> {
    const { root, place } = await this.locate(uri);
    if (place.kind === 'description') await root.api.describe(place.checkpoint, text);
    else if (place.kind === 'field') await saveTask(root, { [place.field]: text }, this.log);
    else await this.writeRow(uri, root, place, text);
  }

  private async writeRow(uri: vscode.Uri, root: Root, place: RowPlace, text: string): Promise<void> {
    if (text === '')
      throw new CheckpointsError('invalid-argument', 'The text is empty: remove it in the Task view instead.');
    const { field, index } = place;
    const texts = this.textsOf(uri, place);
    let at = -1;
    // Before it is saved: VS Code looks as soon as the store has changed.
    this.rows.set(uri.toString(), [text, ...texts]);
    const saved = await changeTask(
      root,
      (task) => {
        const items = task?.[field] ?? [];
        at = findItem(items, index, texts);
        const old = items[at];
        return old === undefined ? {} : replaceItem(task, field, at, old, text);
      },
      this.log,
    );
    if (saved === null) {
      this.rows.set(uri.toString(), texts);
      throw vscode.FileSystemError.FileNotFound(uri);
    }
    // It may have been shortened.
    this.rows.set(uri.toString(), [saved[field]?.[at] ?? text, text, ...texts]);
  }

  private textsOf(uri: vscode.Uri, place: RowPlace): string[] {
    return this.rows.get(uri.toString()) ?? [place.text];
  }

  private async locate(uri: vscode.Uri): Promise<{ root: Root; place: TextPlace }> {
    const place = parsePlace(uri.query);
    const root = (await this.workspaces.all()).find(({ api }) => api.root === place?.root);
    if (place === undefined || root === undefined) throw vscode.FileSystemError.FileNotFound(uri);
    return { root, place };
  }
}

/** Without what editors add: the line ends of the system, a line break at the end. */
const plain = (text: string): string => text.replaceAll('\r\n', '\n').trimEnd();

/** Anybody can make an address: only what names a text of ours is taken. */
const parsePlace = (query: string): TextPlace | undefined => {
  try {
    const place = JSON.parse(query) as TextPlace;
    if (place.kind === 'description') return place;
    if (place.kind === 'field') return Object.hasOwn(textNames, place.field) ? place : undefined;
    return place.kind === 'row' && Object.hasOwn(listNames, place.field) ? place : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined;
    throw error;
  }
};

/** VS Code shows the sentences of its own errors only. */
const asFile = async <T>(uri: vscode.Uri, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof vscode.FileSystemError) throw error;
    if (CheckpointsError.is(error, 'unknown-reference')) throw vscode.FileSystemError.FileNotFound(uri);
    const message = CheckpointsError.is(error) ? explain(error) : String(error);
    throw vscode.FileSystemError.Unavailable(message);
  }
};
