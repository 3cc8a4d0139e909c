import { realpath } from 'node:fs/promises';
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { WorkspaceApi } from '../core/api';
import type { RecoveryReport } from '../core/ports';
import type { TaskService } from '../core/task-service';
import type { Upkeep } from '../core/upkeep';
import type { Opened } from './open';
import { relativePath } from './relative-path';
import type { Sessions } from './sessions';

/** One workspace root, and the way between its relative paths and the URIs that the window uses. */
export class Root {
  readonly api: WorkspaceApi;
  readonly task: TaskService;
  readonly sessions: Sessions;
  private readonly upkeep: Upkeep | null;
  readonly recovered: RecoveryReport | null;
  private at: { folder: vscode.WorkspaceFolder; uri: vscode.Uri };

  /** `real` is the real path of `folder`. */
  constructor(opened: Opened, folder: vscode.WorkspaceFolder, real: string) {
    this.api = opened.api;
    this.task = opened.task;
    this.sessions = opened.sessions;
    this.upkeep = opened.upkeep;
    this.recovered = opened.recovered;
    this.at = { folder, uri: uriOf(this.api.root, folder, real) };
  }

  get folder(): vscode.WorkspaceFolder {
    return this.at.folder;
  }

  get uri(): vscode.Uri {
    return this.at.uri;
  }

  /** Of two folders with the same root the second goes on alone when the first is taken out of the window. */
  async place(folder: vscode.WorkspaceFolder): Promise<void> {
    const same = folder.uri.toString() === this.folder.uri.toString();
    const uri = same ? this.uri : uriOf(this.api.root, folder, await realpath(folder.uri.fsPath));
    this.at = { folder, uri };
  }

  /** The index is written, locks are given back, a server of ours ends. */
  async close(): Promise<void> {
    await this.upkeep?.dispose();
    await Promise.all([this.api.close(), this.sessions.close()]);
  }

  get name(): string {
    return this.folder.name;
  }

  toUri(relative: string): vscode.Uri {
    return vscode.Uri.joinPath(this.uri, ...relative.split('/'));
  }

  /** The path as the core knows it; undefined for what is not in this root. */
  toRelative(uri: vscode.Uri): string | undefined {
    return relativePath(this.uri.fsPath, uri.fsPath) ?? relativePath(this.api.root, uri.fsPath);
  }
}

/**
 * The root may lie above the folder (the git top level), and the folder may be reached through a link: files must keep
 * the URI under which the window has them open, or one file becomes two documents.
 */
const uriOf = (root: string, folder: vscode.WorkspaceFolder, real: string): vscode.Uri => {
  const up = path.relative(real, root);
  return up === '' ? folder.uri : vscode.Uri.joinPath(folder.uri, ...up.split(path.sep));
};
