import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GitError, simpleGit, type SimpleGit } from 'simple-git';
import type { Engine, Mark, Place } from '../engine';
import { sleep } from '../exec';

/** Where the two shadow-repository peers differ. */
export interface ShadowStyle {
  name: string;
  init: readonly string[];
  commit: readonly string[];
  exclude: readonly string[];
  /** Removes untracked files before the reset of a restore. */
  clean: boolean;
  /** Done once, before the repository is made. */
  prepare(place: Place): Promise<void>;
  /** Around every `git add`. */
  aroundAdd(place: Place, add: () => Promise<void>): Promise<void>;
}

/**
 * A second repository whose work tree is the user's folder: everything is added and committed on one branch.
 * Driven through simple-git, as the originals do it: one process a call, all output decoded as text.
 */
export class ShadowEngine implements Engine {
  readonly name: string;
  private readonly gitDir: string;
  private last: Mark | null = null;
  private opened: SimpleGit | null = null;

  constructor(
    private readonly place: Place,
    private readonly style: ShadowStyle,
  ) {
    this.name = style.name;
    this.gitDir = join(place.store, '.git');
  }

  async first(): Promise<Mark> {
    await this.style.prepare(this.place);
    await mkdir(this.place.store, { recursive: true });
    await this.git(['version']);
    await this.git(['init', ...this.style.init]);
    await this.git(['config', '--local', 'core.worktree', this.place.tree]);
    await this.git(['config', '--local', 'commit.gpgSign', 'false']);
    await this.git(['config', '--local', 'user.name', this.name]);
    await this.git(['config', '--local', 'user.email', 'checkpoints@example.invalid']);
    await mkdir(join(this.gitDir, 'info'), { recursive: true });
    await writeFile(join(this.gitDir, 'info', 'exclude'), this.style.exclude.join('\n') + '\n');
    await this.add();
    return this.commit('initial commit', ['--allow-empty']);
  }

  async checkpoint(): Promise<Mark> {
    await this.add();
    return this.commit('checkpoint', this.style.commit);
  }

  async diff(from: Mark, to: Mark): Promise<string[]> {
    await this.add();
    const range = `${from}..${to}`;
    const stat = await this.git(['diff', '--stat=4096', '--no-renames', range]);
    const paths = stat
      .trim()
      .split('\n')
      .slice(0, -1)
      .map((line) => line.slice(0, line.lastIndexOf('|')).trim());
    for (const path of paths) {
      await this.show(`${from}:${path}`);
      await this.show(`${to}:${path}`);
    }
    return paths;
  }

  async restore(target: Mark): Promise<void> {
    if (this.style.clean) await this.git(['clean', '-f', '-d', '-f']);
    await this.git(['reset', '--hard', target]);
  }

  /** `git commit` may have started a gc of its own. */
  async settle(): Promise<void> {
    await sleep(300);
    while (existsSync(join(this.gitDir, 'gc.pid'))) await sleep(200);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private git(args: readonly string[]): Promise<string> {
    // Roo makes its repository with an empty template; this version of simple-git wants to be told that it may.
    const unsafe = { allowUnsafeTemplateDir: true };
    this.opened ??= simpleGit(this.place.store, { config: ['core.quotePath=false'], unsafe });
    return this.opened.raw([...args]);
  }

  /** A side that the file is missing on answers with an error, and counts as empty. */
  private async show(object: string): Promise<void> {
    try {
      await this.git(['show', object]);
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
    }
  }

  private add(): Promise<void> {
    return this.style.aroundAdd(this.place, async () => void (await this.git(['add', '.', '--ignore-errors'])));
  }

  private async commit(message: string, flags: readonly string[]): Promise<Mark> {
    // Without --allow-empty nothing to commit makes no commit, which simple-git takes for an answer: the checkpoint is the previous one.
    const answer = await this.git(['commit', '-m', message, ...flags]);
    const made = /^\[[^\]]*?([0-9a-f]{7,64})\]/.exec(answer)?.[1];
    if (made === undefined && !/nothing to commit|nothing added/.test(answer))
      throw new Error(`${this.name}: commit printed no id`);
    this.last = made ?? this.last ?? (await this.git(['rev-parse', 'HEAD'])).trim();
    return this.last;
  }
}
