import { lstatSync, readdirSync, readFileSync, readlinkSync, type Stats } from 'node:fs';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createdText, editedText, type Edit, type EditPlan } from './edits';
import { contentHash } from './repository';

export interface Entry {
  kind: 'file' | 'link';
  executable: boolean;
  hash: string;
}

export interface Wrong {
  path: string;
  what: 'missing' | 'left behind' | 'content' | 'mode' | 'kind';
}

/** What an edit changed, with the content before and after: enough to go back, in the model and on disk. */
export interface Applied {
  before: Edit[];
  after: Edit[];
}

/**
 * A work tree beside a model of what it should hold. `check` looks at every path; a file is read again when its
 * change time, size or inode differ from when it was last found right (a change time cannot be set back).
 */
export class WorkTree {
  private readonly expected: Map<string, Entry>;
  private readonly seen = new Map<string, string>();

  constructor(
    readonly root: string,
    entries: ReadonlyMap<string, Entry>,
  ) {
    this.expected = new Map(entries);
  }

  /** Carries a plan out, on disk and in the model. */
  async apply(plan: EditPlan): Promise<Applied> {
    const applied: Applied = { before: [], after: [] };
    for (const path of plan.modify) {
      const content = await readFile(join(this.root, path));
      applied.before.push({ path, content });
      applied.after.push({ path, content: editedText(content, plan.tag, path) });
    }
    for (const path of plan.create) {
      applied.before.push({ path, content: null });
      applied.after.push({ path, content: createdText(plan.tag, path) });
    }
    for (const path of plan.remove) {
      applied.before.push({ path, content: await readFile(join(this.root, path)) });
      applied.after.push({ path, content: null });
    }
    for (const edit of applied.after) await this.put(edit);
    this.expect(applied.after);
    return applied;
  }

  /** Changes the model alone: the files are for an engine to bring there. */
  expect(edits: readonly Edit[]): void {
    for (const { path, content } of edits) {
      if (content === null) this.expected.delete(path);
      else this.expected.set(path, { kind: 'file', executable: path.endsWith('.sh'), hash: contentHash(content) });
    }
  }

  /** Everything that is not as the model says. `reread` trusts no earlier look. */
  check(reread = false): Wrong[] {
    if (reread) this.seen.clear();
    const wrong: Wrong[] = [];
    const met = new Set<string>();
    const walk = (folder: string): void => {
      for (const item of readdirSync(join(this.root, folder), { withFileTypes: true })) {
        const path = folder === '' ? item.name : `${folder}/${item.name}`;
        if (path === '.git') continue;
        if (item.isDirectory()) walk(path);
        else {
          met.add(path);
          const what = this.judge(path);
          if (what !== null) wrong.push({ path, what });
        }
      }
    };
    walk('');
    for (const path of this.expected.keys()) if (!met.has(path)) wrong.push({ path, what: 'missing' });
    return wrong;
  }

  /** Takes the present files as right: for a tree that git has just checked out. */
  trust(): void {
    for (const path of this.expected.keys()) this.seen.set(path, stamp(lstatSync(join(this.root, path))));
  }

  /** Puts right what an engine left wrong, out of the edits that it should have undone. */
  async repair(wrong: readonly Wrong[], wanted: readonly Edit[]): Promise<void> {
    const contents = new Map(wanted.map((edit) => [edit.path, edit.content]));
    for (const { path, what } of wrong) {
      if (what === 'left behind') await rm(join(this.root, path), { force: true });
      else {
        const content = contents.get(path);
        if (content === undefined || content === null) throw new Error(`cannot repair ${path} (${what})`);
        await this.put({ path, content });
      }
    }
  }

  private judge(path: string): Wrong['what'] | null {
    const entry = this.expected.get(path);
    if (entry === undefined) return 'left behind';
    const file = join(this.root, path);
    const stats = lstatSync(file);
    const now = stamp(stats);
    if (this.seen.get(path) === now) return null;
    if (stats.isSymbolicLink() !== (entry.kind === 'link')) return 'kind';
    if (entry.kind === 'file' && ((stats.mode & 0o100) !== 0) !== entry.executable) return 'mode';
    const content = entry.kind === 'link' ? readlinkSync(file, { encoding: 'buffer' }) : readFileSync(file);
    if (contentHash(content) !== entry.hash) return 'content';
    this.seen.set(path, now);
    return null;
  }

  private async put({ path, content }: Edit): Promise<void> {
    const file = join(this.root, path);
    if (content === null) await rm(file);
    else {
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, content);
      if (path.endsWith('.sh')) await chmod(file, 0o755);
    }
  }
}

const stamp = (stats: Stats): string => `${stats.ctimeMs}/${stats.size}/${stats.ino}/${stats.mode}`;
