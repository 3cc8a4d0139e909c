import { lstatSync, readFileSync, realpathSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, writeAtomic } from './atomic-file';
import { CheckpointsError } from './errors';

export const stateFiles = { state: 'checkpoint.json', history: 'checkpoint-history.json', page: 'handoff.md' } as const;
export type StateFile = keyof typeof stateFiles;

/** Larger than any state we accept: not read into memory to find that out. */
const largest = 16 * 1024 * 1024;
/** Ours, and those of the older plugin, which never cleaned up after itself. */
const temporary = /\.tmp(?:-\d+-[0-9a-f]{12}|\.\d+)$/;
const leftoverAge = 60_000;

/**
 * `<root>/.opencode/state`, where other tools read and write the task. A copy: nothing here is trusted, nothing of others is overwritten
 * without having been read, and nothing is written outside of the workspace, wherever a link may lead.
 */
export class TaskFiles {
  readonly folder: string;

  /** `made` is told of an `.opencode` that had not been there. */
  constructor(
    private readonly root: string,
    private readonly made?: (folder: string) => Promise<void>,
  ) {
    this.folder = path.join(root, '.opencode', 'state');
  }

  pathOf(file: StateFile): string {
    return path.join(this.folder, stateFiles[file]);
  }

  /**
   * Null: there is none. What is no ordinary file, far too large, or may not be read, reads as a text that is no task. Read at once: an agent's tool
   * call waits for it, and in a busy process every turn of the loop costs more than reading a small file.
   */
  read(file: StateFile): string | null {
    try {
      if (!this.isInside()) return null;
      const info = lstatSync(this.pathOf(file));
      if (!info.isFile() || info.size > largest) return '';
      return readFileSync(this.pathOf(file), 'utf8');
    } catch (error) {
      if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return null;
      if (codeOf(error) === 'EACCES') return '';
      throw error;
    }
  }

  /** Makes the folder, with its own .gitignore. False: it would lie outside of the workspace. */
  async prepare(): Promise<boolean> {
    if (!this.isInside()) return false;
    const parent = path.dirname(this.folder);
    const isNew = !exists(parent);
    await mkdir(this.folder, { recursive: true });
    if (isNew) await this.made?.(parent);
    const ignore = path.join(this.folder, '.gitignore');
    if (!exists(ignore)) await writeAtomic(ignore, '*\n', 0o644);
    return true;
  }

  /** `seen` is the content this replaces, as it was read; if somebody wrote meanwhile, `conflict`. */
  async write(file: StateFile, content: string, seen: string | null): Promise<void> {
    if (content === seen) return;
    await writeAtomic(this.pathOf(file), content, 0o644, () => {
      if (this.read(file) !== seen)
        throw new CheckpointsError('conflict', `${this.pathOf(file)} was edited meanwhile.`);
    });
  }

  /** Keeps what cannot be read, or was not meant to be edited, under another name; says which. */
  async setAside(file: StateFile, why: 'corrupt' | 'imported' | 'edited', now: number): Promise<string> {
    let aside = `${this.pathOf(file)}.${why}-${now}`;
    while (exists(aside)) aside = `${this.pathOf(file)}.${why}-${++now}`;
    await rename(this.pathOf(file), aside);
    return aside;
  }

  /** The three files; says which were there. What was set aside, and files of others, stay. */
  async remove(): Promise<string[]> {
    const removed: string[] = [];
    if (!this.isInside()) return removed;
    for (const file of Object.keys(stateFiles) as StateFile[]) {
      if (!exists(this.pathOf(file))) continue;
      await rm(this.pathOf(file), { force: true, recursive: true });
      removed.push(this.pathOf(file));
    }
    return removed;
  }

  /** Removes temporary files of killed writers. */
  async sweep(now: number): Promise<void> {
    for (const name of await readdir(this.folder)) {
      const ours = Object.values(stateFiles).some((file) => name.startsWith(`${file}.`));
      if (!ours || !temporary.test(name)) continue;
      const full = path.join(this.folder, name);
      const info = await stat(full).catch((error: unknown) => {
        if (codeOf(error) === 'ENOENT') return null;
        throw error;
      });
      if (info !== null && now - info.mtimeMs > leftoverAge) await rm(full, { force: true });
    }
  }

  /** Whether the folder is, or would be made, inside the workspace. */
  private isInside(): boolean {
    for (const folder of [this.folder, path.dirname(this.folder)]) {
      try {
        const real = path.relative(this.root, realpathSync.native(folder));
        return real !== '..' && !real.startsWith(`..${path.sep}`) && !path.isAbsolute(real);
      } catch (error) {
        // Not there yet: its parent decides. A link to nowhere is not there either, but must not be written through.
        if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR') throw error;
        if (exists(folder)) return false;
      }
    }
    return true;
  }
}

function exists(file: string): boolean {
  try {
    lstatSync(file);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return false;
    throw error;
  }
}
