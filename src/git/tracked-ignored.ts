import { randomBytes } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readJson } from './durable';
import { splitNul } from './empty-folders';
import { makeFolder } from './folders';
import { gitFolderOf, nestedRepo } from './nested-excluded';
import { decodePath, encodePath, fsPath } from './path-bytes';
import { quietFlags, runGit, safeFlags } from './run';
import type { Trees } from './trees';
import { stampOf } from './user-facts';
import { readingObjects } from './user-objects';

interface State {
  /** Names the ignore rules that the lists were made under. */
  rules: string;
  /** By folder, `''` being the workspace: the stamp of its index, and the paths. */
  lists: Record<string, { stamp: string; paths: string[] }>;
  /** A tree that has everything which the workspace's own index with this stamp names. */
  seed: { stamp: string; tree: string } | null;
}

export interface TrackedQuestion {
  /** The index of the workspace's own repository. */
  index: string | null;
  /** Folders of nested repositories. */
  nested: string[];
  rules: string;
  /** git with our rules, for what is ignored. */
  ignore: { env: NodeJS.ProcessEnv; excludesFile: string };
}

/** Lists of an older kind are not gone on with. */
const kind = 'outer rules count, too';

const nothing: State = { rules: '', lists: {}, seed: null };

/**
 * Files that the user's git tracks though ignore rules match them (`git add -f`). They are the workspace's like any other, but
 * `git status` shows only those that our own index has. git is asked when an index of the user's or the rules changed, and
 * the answer is kept on disk: a command line starts anew each time.
 */
export class TrackedIgnored {
  private state: State | null = null;
  private absent: { base: string; lists: State['lists']; paths: string[] } | null = null;

  constructor(
    private readonly root: string,
    private readonly scan: string,
    private readonly trees: Trees,
  ) {}

  /** The index with this stamp was taken over as a whole. */
  seeded(stamp: string, tree: string): void {
    this.write({ ...this.read(), seed: { stamp, tree } });
  }

  /** Those that a tree does not have. */
  async absentFrom(base: string | null, question: TrackedQuestion): Promise<string[]> {
    const lists = await this.find(base, question);
    if (base !== null && this.absent?.base === base && this.absent.lists === lists) return this.absent.paths;
    const all = [...new Set(Object.values(lists).flatMap(({ paths }) => paths))];
    if (base === null || all.length === 0) return all;
    await this.trees.warm(base, all);
    const paths: string[] = [];
    for (const path of all) if (!(await this.trees.fileAt(base, path))) paths.push(path);
    this.absent = { base, lists, paths };
    return paths;
  }

  private async find(
    base: string | null,
    { index, nested, ignore, ...more }: TrackedQuestion,
  ): Promise<State['lists']> {
    const state = this.read();
    const rules = `${kind}\n${more.rules}`;
    const stamps = new Map<string, string>();
    const top = index === null ? '-' : stampOf(index);
    if (state.seed?.stamp !== top || state.seed.tree !== base) stamps.set('', top);
    for (const folder of nested) stamps.set(folder, stampOfNested(this.root, folder));
    const isOpen = (folder: string): boolean =>
      stamps.get(folder) !== '-' && (state.rules !== rules || state.lists[folder]?.stamp !== stamps.get(folder));
    const open = [...stamps.keys()].filter(isOpen);
    if (open.length === 0) return state.lists;
    const lists: State['lists'] = {};
    const inNested = await this.ignoredInNested(open, ignore);
    for (const [folder, stamp] of stamps) {
      const known = state.lists[folder];
      const asked = open.includes(folder);
      const paths = asked ? (inNested.get(folder) ?? (await this.trackedIgnored(folder))) : known?.paths;
      if (paths) lists[folder] = { stamp, paths };
      // What git cannot tell now it is asked again.
      else if (known) lists[folder] = { stamp: '', paths: known.paths };
    }
    this.write({ ...state, rules, lists });
    return lists;
  }

  /** Rules outside of a nested repository leave files out that it tracks: its own git knows nothing of these, ours is asked. */
  private async ignoredInNested(
    open: string[],
    { env, excludesFile }: TrackedQuestion['ignore'],
  ): Promise<Map<string, string[]>> {
    const lists = new Map<string, string[]>();
    for (const folder of open) {
      const tracked = folder === '' ? null : await this.listed(folder, ['-c']);
      if (tracked) lists.set(folder, tracked);
    }
    const all = [...lists.values()].flat();
    if (all.length === 0) return lists;
    const result = await runGit(
      [...safeFlags, '-c', `core.excludesFile=${excludesFile}`, 'check-ignore', '--no-index', '-z', '--stdin'],
      {
        cwd: this.root,
        env,
        input: Buffer.concat(all.flatMap((path) => [encodePath(`./${path}`), Buffer.from([0])])),
        accept: [1, 128],
      },
    );
    // One path that git does not look at (beyond a link) ends it for all: what each repository's own rules say is asked then.
    if (result.code === 128) return new Map();
    const ignored = new Set(splitNul(result.stdout).map((path) => decodePath(path.subarray(2))));
    return new Map([...lists].map(([folder, paths]) => [folder, paths.filter((path) => ignored.has(path))]));
  }

  private trackedIgnored(folder: string): Promise<string[] | null> {
    return this.listed(folder, ['-ci', '--exclude-standard']);
  }

  /** null where git cannot tell. */
  private async listed(folder: string, which: string[]): Promise<string[] | null> {
    const cwd = fsPath(this.root, folder);
    if (typeof cwd !== 'string') return null; // no process can be started there
    const result = await readingObjects(nestedRepo(this.root, folder), this.scan, (env) =>
      runGit([...quietFlags, 'ls-files', ...which, '-z'], { cwd, env, accept: [128] }),
    );
    if (result.code !== 0) return null;
    const prefix = folder === '' ? '' : `${folder}/`;
    return [...new Set(splitNul(result.stdout).map((path) => prefix + decodePath(path)))];
  }

  private get file(): string {
    return join(this.scan, 'tracked.json');
  }

  private read(): State {
    if (this.state) return this.state;
    let found: Partial<State> | null;
    try {
      found = readJson(this.file) as Partial<State> | null;
    } catch {
      found = null; // damaged: git is asked again
    }
    return (this.state = { ...nothing, ...found });
  }

  private write(state: State): void {
    this.state = state;
    makeFolder(this.scan);
    const draft = join(this.scan, `new-${process.pid}-${randomBytes(4).toString('hex')}`);
    writeFileSync(draft, JSON.stringify(state));
    renameSync(draft, this.file);
  }
}

/** The stamp of its index: submodules and linked worktrees have it elsewhere. */
function stampOfNested(root: string, folder: string): string {
  const git = gitFolderOf(root, folder);
  return git === null ? '-' : stampOf(join(git, 'index'));
}
