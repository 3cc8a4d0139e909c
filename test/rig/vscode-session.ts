import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { launchBrowser, Workbench } from './browser';
import { locate } from './install.mjs';
import { startVsCodeServer, type ServerOptions, type VsCodeServer } from './vscode-server';

const checkout = fileURLToPath(new URL('../..', import.meta.url));

/** The package a user installs. The test runner makes it; whoever runs a single test gets it made here. */
export const packagedExtension = (): string => {
  const vsix = join(checkout, 'dist', 'opencode-checkpoints.vsix');
  if (!existsSync(vsix))
    execFileSync(process.execPath, [join(checkout, 'test', 'run', 'package.mjs')], { cwd: checkout });
  return vsix;
};

export interface SessionOptions extends Pick<ServerOptions, 'settings' | 'workspaceTrust' | 'env'> {
  /** Content of the folder that is opened, when it is a fresh one. */
  files?: Record<string, string | Uint8Array>;
  /** A folder that is there already; it is left when the session ends. */
  folder?: string;
  /** false: the folder has no git repository. */
  git?: boolean;
  size?: { width: number; height: number };
}

/** A VS Code with the packaged extension on a fresh folder, in a browser window. */
export class VsCodeSession {
  private constructor(
    readonly server: VsCodeServer,
    readonly browser: Browser,
    readonly folder: string,
    private readonly scratch: string,
    public workbench: Workbench,
  ) {}

  static async start(options: SessionOptions): Promise<VsCodeSession> {
    const { codeServerEntry, node24, chromium } = await locate(['chromium', 'vscode']);
    if (codeServerEntry === undefined || node24 === undefined || chromium === undefined)
      throw new Error('The installer found no VS Code server or no Chromium.');
    const tools = { codeServerEntry, node24 };
    const scratch = await realpath(await mkdtemp(join(tmpdir(), 'checkpoints-e2e-')));
    const folder = options.folder ?? join(scratch, 'project');
    const undo: Array<() => Promise<unknown>> = [() => rm(scratch, { recursive: true, force: true })];
    try {
      await mkdir(folder, { recursive: true });
      for (const [path, content] of Object.entries(options.files ?? {})) await put(folder, path, content);
      if (options.folder === undefined && options.git !== false) commitAll(folder);
      const server = await startVsCodeServer({ tools, vsix: packagedExtension(), ...options });
      undo.unshift(() => server.stop());
      const browser = await launchBrowser(chromium);
      undo.unshift(() => browser.close());
      const workbench = await Workbench.open(browser, server.folderUrl(folder), options.size);
      return new VsCodeSession(server, browser, folder, scratch, workbench);
    } catch (error) {
      for (const step of undo) await step();
      throw error;
    }
  }

  write(path: string, content: string | Uint8Array): Promise<void> {
    return put(this.folder, path, content);
  }

  read(path: string): Promise<string> {
    return readFile(join(this.folder, path), 'utf8');
  }

  exists(path: string): boolean {
    return existsSync(join(this.folder, path));
  }

  remove(path: string): Promise<void> {
    return rm(join(this.folder, path), { recursive: true, force: true });
  }

  async stop(): Promise<void> {
    await this.browser.close();
    await this.server.stop();
    await rm(this.scratch, { recursive: true, force: true });
  }
}

const put = async (folder: string, path: string, content: string | Uint8Array): Promise<void> => {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), content);
};

const commitAll = (folder: string): void => {
  const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.invalid'];
  for (const args of [
    ['init', '-q', '-b', 'main'],
    ['add', '-A'],
    ['commit', '-qm', 'Start'],
  ])
    execFileSync('git', [...identity, ...args], { cwd: folder });
};
