import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Engine, EngineKind, Mark, Place } from '../engine';
import { git, gitList, gitText, type RunOptions } from '../exec';

/** The private index is read with these pinned, as the original does. */
const scratchConfig = ['-c', 'core.ignorestat=false', '-c', 'core.splitIndex=false'];

/**
 * Cline since mid 2026: no shadow. `git stash create` in the user's own repository, a commit of the untracked files from
 * a private index as third parent, a ref of its own; a clean tree is recorded as HEAD. Git repositories only.
 */
class ClineSdk implements Engine {
  readonly name = 'cline-sdk';
  private runs = 0;
  private checked = false;

  constructor(private readonly place: Place) {}

  first(): Promise<Mark> {
    return this.checkpoint();
  }

  async checkpoint(): Promise<Mark> {
    if (!this.checked) {
      await this.text(['rev-parse', '--is-inside-work-tree']);
      this.checked = true;
    }
    const commit = await this.stashCommit('cline checkpoint session=bench');
    if (commit === null) return `commit ${await this.text(['rev-parse', 'HEAD'])}`;
    this.runs += 1;
    await this.text(['update-ref', `refs/cline/checkpoints/bench-${process.pid}/${this.runs}`, commit]);
    return `stash ${commit}`;
  }

  /** Compares a checkpoint with the working files: it has no diff between two checkpoints. */
  async diff(from: Mark, _to: Mark): Promise<string[]> {
    const { ref } = parse(from);
    await this.text(['cat-file', '-e', `${ref}^{tree}`]);
    const [tracked, untracked, kept] = await Promise.all([
      gitList(['diff', '--name-only', '-z', ref, '--'], this.at),
      gitList(['ls-files', '--others', '--exclude-standard', '-z'], this.at),
      gitList(['ls-tree', '-r', '-z', '--name-only', `${ref}^3`], { ...this.at, allow: [128] }),
    ]);
    const paths = [...new Set([...tracked, ...untracked, ...kept])].sort();
    const changed = await Promise.all(
      paths.map(async (path) => {
        const [before, after] = await Promise.all([this.stored(ref, path), this.working(path)]);
        return before.equals(after) ? null : path;
      }),
    );
    return changed.filter((path) => path !== null);
  }

  async restore(target: Mark): Promise<void> {
    const { kind, ref } = parse(target);
    await this.text(['rev-parse', '--is-inside-work-tree']);
    const base = kind === 'commit' ? ref : `${ref}^1`;
    await this.text(['cat-file', '-e', `${ref}^{commit}`]);
    await this.text(['cat-file', '-e', `${base}^{commit}`]);
    if (kind === 'stash') await this.text(['cat-file', '-e', `${ref}^2^{commit}`]);
    const third = await git(['cat-file', '-e', `${ref}^3^{commit}`], { ...this.at, allow: [128] });
    await this.text(['reset', '--hard', base]);
    if (third.code === 0) await this.text(['clean', '-fd']);
    if (kind === 'stash') await this.text(['stash', 'apply', ref]);
  }

  settle(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private async stashCommit(message: string): Promise<string | null> {
    const stash = await this.text(['stash', 'create', message]);
    const untracked = await this.untrackedCommit();
    if (stash !== '') {
      if (untracked === null) return stash;
      const tree = await this.text(['rev-parse', `${stash}^{tree}`]);
      const base = await this.text(['rev-parse', `${stash}^1`]);
      const index = await this.text(['rev-parse', `${stash}^2`]);
      return this.text(['commit-tree', tree, '-p', base, '-p', index, '-p', untracked, '-m', message]);
    }
    if (untracked === null) return null;
    const head = await this.text(['rev-parse', 'HEAD']);
    const tree = await this.text(['rev-parse', 'HEAD^{tree}']);
    const index = await this.text(['commit-tree', tree, '-p', head, '-m', 'index']);
    return this.text(['commit-tree', tree, '-p', head, '-p', index, '-p', untracked, '-m', message]);
  }

  private async untrackedCommit(): Promise<string | null> {
    const paths = await gitList(['ls-files', '--others', '--exclude-standard', '-z'], this.at);
    if (paths.length === 0) return null;
    await mkdir(this.place.store, { recursive: true });
    const spec = join(this.place.store, 'pathspec');
    await writeFile(spec, paths.join('\0') + '\0');
    const scratch: RunOptions = {
      ...this.at,
      env: { ...process.env, GIT_INDEX_FILE: join(this.place.store, 'index') },
    };
    await git([...scratchConfig, 'add', '--force', '--pathspec-from-file', spec, '--pathspec-file-nul'], scratch);
    const current = new Set(paths);
    const stale = (await gitList([...scratchConfig, 'ls-files', '-z'], scratch)).filter((path) => !current.has(path));
    if (stale.length > 0)
      await git([...scratchConfig, 'update-index', '-z', '--force-remove', '--stdin'], {
        ...scratch,
        input: stale.join('\0') + '\0',
      });
    const tree = await gitText([...scratchConfig, 'write-tree'], scratch);
    return gitText([...scratchConfig, 'commit-tree', tree, '-m', 'untracked files'], scratch);
  }

  private async stored(ref: string, path: string): Promise<Buffer> {
    const own = await git(['show', `${ref}:${path}`], { ...this.at, allow: [128] });
    if (own.code === 0) return own.stdout;
    const third = await git(['show', `${ref}^3:${path}`], { ...this.at, allow: [128] });
    return third.code === 0 ? third.stdout : Buffer.alloc(0);
  }

  /** A file that is gone counts as empty. */
  private working(path: string): Promise<Buffer> {
    return readFile(join(this.place.tree, path)).catch(() => Buffer.alloc(0));
  }

  private get at(): { cwd: string } {
    return { cwd: this.place.tree };
  }

  private text(args: readonly string[]): Promise<string> {
    return gitText(args, this.at);
  }
}

function parse(mark: Mark): { kind: 'commit' | 'stash'; ref: string } {
  const [kind, ref] = mark.split(' ');
  if ((kind !== 'commit' && kind !== 'stash') || ref === undefined) throw new Error(`not a mark of cline-sdk: ${mark}`);
  return { kind, ref };
}

export const clineSdk: EngineKind = {
  name: 'cline-sdk',
  plainFolders: false,
  scans: true,
  slowFirst: false,
  open: (place) => new ClineSdk(place),
};
