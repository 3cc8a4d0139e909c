import { lstat, readlink } from 'node:fs/promises';
import * as vscode from 'vscode';
import { CheckpointsError } from '../core/errors';
import { parseSnapshotUri } from './uris';
import type { Workspaces } from './workspaces';

/** The files of checkpoints, readonly: bytes as captured, so that VS Code decodes, compares and shows images itself. */
export class SnapshotFileSystem implements vscode.FileSystemProvider {
  private readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.changed.event;

  constructor(private readonly workspaces: Workspaces) {}

  /** A checkpoint never changes, so there is nothing to watch. */
  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const { checkpoint, empty, now, file } = parseSnapshotUri(uri);
    if (empty) return stat(vscode.FileType.File, nothingOf(file).length, 0);
    const { root, relative } = await this.locate(uri, file);
    if (now) return linkStat(uri, file);
    const found = await asFile(uri, () => root.api.stat(checkpoint, relative));
    if (found === null) throw vscode.FileSystemError.FileNotFound(uri);
    const type = found.kind === 'folder' ? vscode.FileType.Directory : vscode.FileType.File;
    return stat(type, found.size, timeOf(checkpoint));
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    const { checkpoint, empty, now, file } = parseSnapshotUri(uri);
    if (empty) return nothingOf(file);
    const { root, relative } = await this.locate(uri, file);
    if (now) return linkTarget(uri, file);
    return asFile(uri, () => root.api.cat(checkpoint, relative));
  }

  readDirectory(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  createDirectory(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  writeFile(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  rename(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  private async locate(uri: vscode.Uri, file: vscode.Uri) {
    const root = await this.workspaces.forUri(file);
    const relative = root?.toRelative(file);
    if (root === undefined || relative === undefined) throw vscode.FileSystemError.FileNotFound(uri);
    return { root, relative };
  }
}

/** VS Code shows the sentences of its own errors only. */
const asFile = async <T>(uri: vscode.Uri, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (CheckpointsError.is(error, 'not-in-checkpoint') || CheckpointsError.is(error, 'unknown-reference'))
      throw vscode.FileSystemError.FileNotFound(uri);
    throw vscode.FileSystemError.Unavailable(error instanceof Error ? error.message : String(error));
  }
};

/** What VS Code's image preview shows: an empty file is an error to it, so that the side without a picture is a clear pixel. */
const picture = /\.(?:png|jpe?g|jpe|gif|bmp|ico|webp|avif)$/i;
const clearPixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=',
  'base64',
);
const nothingOf = (file: vscode.Uri): Uint8Array => (picture.test(file.path) ? clearPixel : new Uint8Array());

const stat = (type: vscode.FileType, size: number, time: number): vscode.FileStat => ({
  type,
  size,
  ctime: time,
  mtime: time,
  permissions: vscode.FilePermission.Readonly,
});

/** What a link points to is its content, as in a checkpoint. */
const linkTarget = async (uri: vscode.Uri, file: vscode.Uri): Promise<Uint8Array> => {
  try {
    return await readlink(file.fsPath, { encoding: 'buffer' });
  } catch {
    // Gone, or a file by now.
    throw vscode.FileSystemError.FileNotFound(uri);
  }
};

const linkStat = async (uri: vscode.Uri, file: vscode.Uri): Promise<vscode.FileStat> => {
  const { length } = await linkTarget(uri, file);
  return stat(vscode.FileType.File, length, (await lstat(file.fsPath)).mtimeMs);
};

const crockford = '0123456789abcdefghjkmnpqrstvwxyz';

/** The first ten characters of a ULID are its time in milliseconds. */
const timeOf = (id: string): number =>
  [...id.slice('cp_'.length, 'cp_'.length + 10)].reduce(
    (time, digit) => time * 32 + Math.max(0, crockford.indexOf(digit)),
    0,
  );
