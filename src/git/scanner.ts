import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  existsSync,
  linkSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname as hostOf } from 'node:os';
import { join } from 'node:path';
import type { PathReason } from '../core/model';
import { FileReader } from './file-reader';
import { makeFolder } from './folders';
import { knownShapes, withAllTrees } from './index-trees';
import { rawAttributes, storeConfig, type Layout } from './layout';
import type { HashName } from './pack-writer';
import { encodePath, fsPath } from './path-bytes';
import { isAlive } from './process-identity';
import { isMissing } from './refs';
import { runGit, safeFlags, storeEnv } from './run';
import { goneMark, nestedName, parseStatus, treeMark, warnings } from './status-rows';
import { modes, type Leaf, type TreeEntry } from './tree-format';

/** A few forgotten trees cost each look less than finding them out costs once. */
const forgottenLimit = 500;

export interface ScanOutput {
  /** The tree of the index the scan compared with; null: there was none, everything is new. */
  base: string | null;
  added: string[];
  changed: string[];
  deleted: string[];
  nested: string[];
  unreadable: PathReason[];
  /** Files of the index that git passed over. */
  unseen: PathReason[];
}

export interface ScanSources {
  /** A commit whose tree is near the index, so that git has little to say about it. */
  head: string | null;
  excludesFile: string;
  excludePatterns: string[];
}

/**
 * Finds what changed on disk with `git status` on a private index: stat cache and untracked cache make it fast,
 * and since the index carries its own tree's name (the marker), any published index is right, however old.
 */
export class Scanner {
  private readonly dir: string;
  private prepared = false;
  /** What the last look found marked as gone in its index. */
  private gone: string[] = [];
  /** The last look's index is not published yet. */
  private held: { readSince: number; sure: boolean } | null = null;
  /** Changes taken in since the index knew all trees; not known at first. */
  private forgotten = Infinity;
  /** Names the rules that decide what is out: an index made under other rules is not used. */
  rules = '';

  constructor(
    private readonly root: string,
    private readonly layout: Layout,
    private readonly algorithm: HashName,
  ) {
    this.dir = join(layout.scan, `${process.pid}-${randomBytes(4).toString('hex')}`);
  }

  get published(): string {
    return join(this.layout.scan, 'index');
  }

  private prepare(sources: ScanSources): void {
    if (!this.prepared || !existsSync(this.dir)) {
      sweepDead(this.layout.scan);
      makeFolder(join(this.dir, 'info'));
      makeFolder(join(this.dir, 'refs'));
      writeFileSync(join(this.dir, 'config'), `${storeConfig(this.algorithm, false)}${anyName}`);
      writeFileSync(join(this.dir, 'info', 'attributes'), rawAttributes);
      this.prepared = true;
    }
    writeFileSync(join(this.dir, 'HEAD'), sources.head ? `${sources.head}\n` : 'ref: refs/heads/none\n');
    const exclude = sources.excludePatterns.map((p) => `${p}\n`).join('');
    const path = join(this.dir, 'info', 'exclude');
    // Rewriting it would make git drop its untracked cache.
    if (!existsSync(path) || readFileSync(path, 'utf8') !== exclude) writeFileSync(path, exclude);
  }

  /** A private index that shares the published one's inode: git replaces index files, it never writes into them. */
  private takeIndex(): void {
    this.clear();
    try {
      copyOrLink(this.published, join(this.dir, 'index'));
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  private clear(): void {
    const own = join(this.dir, 'index');
    rmSync(own, { force: true });
    rmSync(`${own}.lock`, { force: true });
  }

  /** null, and it is forgotten, when the published index says nothing that can be built on. */
  async scan(sources: ScanSources, signal?: AbortSignal): Promise<ScanOutput | null> {
    this.prepare(sources);
    this.takeIndex();
    // git replaces the file when it is done, and does not look at the checksum itself. It works meanwhile.
    const open = openIfThere(join(this.dir, 'index'));
    const looking = this.look(sources, Date.now(), signal);
    const isWhole = open === null || isWholeIndex(open, this.algorithm);
    const found = await looking;
    if (isWhole) return found;
    this.discard();
    return null;
  }

  /** Without an index: everything is new. */
  async scanAll(sources: ScanSources, signal?: AbortSignal): Promise<ScanOutput> {
    this.prepare(sources);
    this.clear();
    return (await this.look(sources, Date.now(), signal))!;
  }

  /**
   * With an index that is not proved yet: git looks at the files meanwhile. null, and nothing is kept, when `proved`
   * says that it was not right. With `hold` it is not published before it is released or has caught up.
   */
  async tryScan(
    sources: ScanSources,
    start: { index: Buffer; readSince: number; proved: () => Promise<boolean>; hold: boolean },
    signal?: AbortSignal,
  ): Promise<ScanOutput | null> {
    this.prepare(sources);
    this.clear();
    const own = join(this.dir, 'index');
    writeFileSync(own, start.index);
    backdate(own, start.readSince);
    return this.look(sources, start.readSince, signal, start);
  }

  private async look(
    sources: ScanSources,
    startedAt: number,
    signal?: AbortSignal,
    { proved, hold }: { proved?: () => Promise<boolean>; hold?: boolean } = {},
  ): Promise<ScanOutput | null> {
    const own = join(this.dir, 'index');
    const built = existsSync(own);
    const nested: string[] = [];
    for (let round = 0; ; round++) {
      const result = await this.status(sources, signal);
      const rows = parseStatus(result.stdout, this.rules);
      if (rows.base === null && built) {
        // Without its marker, or made under other rules.
        this.discard();
        return null;
      }
      // git does not show a repository in the place of a file or link that the index has.
      const replaced = [...rows.deleted, ...rows.retyped];
      const swapped = repositoriesAmong(this.root, replaced);
      const found = [...rows.repositories.filter((path) => !nested.includes(path)), ...swapped];
      if (found.length === 0 || round > 50) {
        if (proved && !(await proved())) return null;
        this.gone = rows.gone;
        // What could not be read leaves nothing in git's caches that may be trusted later.
        const { unseen, ...said } = warnings(result.stderr);
        const unreadable = [...said.unreadable, ...said.nested.filter(({ path }) => isFolder(this.root, path))];
        const sure = unreadable.length + unseen.length === 0;
        this.held = hold ? { readSince: startedAt, sure } : null;
        if (hold) backdate(own, startedAt);
        else if (sure) this.publish(startedAt);
        return {
          base: rows.base,
          added: rows.added,
          changed: [...rows.changed, ...rows.retyped],
          deleted: [...rows.deleted, ...rows.gone],
          nested: [...new Set([...rows.nested, ...nested])],
          unreadable: [...unreadable, ...rows.repositories.map(unwalkable)],
          unseen,
        };
      }
      nested.push(...found);
      const blob = this.algorithm === 'sha1' ? emptyBlob.sha1 : emptyBlob.sha256;
      // With an entry below its name a file leaves the index, but not the tree that the index stands for.
      const above = new Set(found.flatMap(withParents));
      const gone = replaced.filter((path) => above.has(path)).map((path) => goneMark + path);
      const names = [...found.map((path) => `${path}/${nestedName}`), ...gone];
      // The untracked cache still has them as one entry each; it is made anew by the next round.
      await this.editIndex(
        names.map((name) => [name, { mode: modes.file, oid: blob }]),
        ['--no-untracked-cache'],
      );
    }
  }

  private status(sources: ScanSources, signal?: AbortSignal): Promise<{ stdout: Buffer; stderr: string }> {
    const flags = [...safeFlags, '-c', `core.excludesFile=${sources.excludesFile}`, '-c', 'core.untrackedCache=true'];
    return runGit([...flags, 'status', '--porcelain', '-z', '--no-renames', '--ignore-submodules=all'], {
      cwd: this.root,
      env: this.environment(),
      signal,
    });
  }

  /** git on the workspace's files with our rules, for questions about ignored paths. */
  environment(): NodeJS.ProcessEnv {
    return storeEnv({
      GIT_DIR: this.dir,
      GIT_WORK_TREE: this.root,
      GIT_OBJECT_DIRECTORY: this.layout.objects,
      GIT_OPTIONAL_LOCKS: '1', // it is our own index: let git keep its caches in it
    });
  }

  private async editIndex(rows: Array<[string, Leaf | null]>, options: string[] = []): Promise<void> {
    const zero = '0'.repeat(this.algorithm === 'sha1' ? 40 : 64);
    const parts: Buffer[] = [];
    for (const [path, leaf] of rows)
      parts.push(
        Buffer.from(`${leaf ? leaf.mode.toString(8) : '0'} ${leaf?.oid ?? zero}\t`),
        encodePath(path),
        Buffer.from([0]),
      );
    await runGit([...safeFlags, 'update-index', ...options, '-z', '--index-info'], {
      cwd: this.root,
      env: this.environment(),
      input: Buffer.concat(parts),
    });
  }

  /** Takes the changes into the index, so that the next scan has less to read again. False: it cannot have them, and is forgotten. */
  async absorb(
    base: string,
    tree: string,
    changes: Map<string, Leaf | null>,
    entries: (tree: string) => Promise<readonly TreeEntry[]>,
  ): Promise<boolean> {
    if ([...changes].some(([path, leaf]) => isRefused(path, leaf))) {
      this.discard();
      return false;
    }
    const blob = this.algorithm === 'sha1' ? emptyBlob.sha1 : emptyBlob.sha256;
    // Removals first: a file may have become a folder, or a folder a file.
    const rows: Array<[string, Leaf | null]> = [...changes].filter(([, leaf]) => leaf === null);
    rows.push([this.mark(base), null], ...this.gone.map((path): [string, null] => [goneMark + path, null]));
    rows.push(...[...changes].filter(([, leaf]) => leaf !== null));
    rows.push([this.mark(tree), { mode: modes.file, oid: blob }]);
    const { mtimeMs } = statSync(join(this.dir, 'index'));
    await this.editIndex(rows);
    this.gone = [];
    this.forgotten += changes.size;
    if (this.forgotten >= forgottenLimit) await this.completeTrees(tree, entries);
    this.publish(mtimeMs);
    return true;
  }

  /** The marker is the one entry that the tree does not have; where there are others, git finds the trees out by reading. */
  private async completeTrees(tree: string, entries: (tree: string) => Promise<readonly TreeEntry[]>): Promise<void> {
    const own = join(this.dir, 'index');
    this.forgotten = 0;
    const complete = await withAllTrees(readFileSync(own), tree, { entries, extra: 1, algorithm: this.algorithm });
    if (!complete) return;
    const draft = `${own}.new`;
    writeFileSync(draft, complete);
    renameSync(draft, own);
  }

  /** The folders of trees that the published index knows. */
  shapes(): Map<string, Map<string, string>> {
    try {
      return knownShapes(readFileSync(this.published), this.algorithm === 'sha1' ? 20 : 32);
    } catch (error) {
      if (isMissing(error)) return new Map();
      throw error;
    }
  }

  /** The name of the marker entry for a tree. */
  mark(tree: string): string {
    return `${treeMark}${tree}-${this.rules}`;
  }

  /** Publishes an index made here (by a seed or a first capture) from what was read since `readSince`. */
  install(index: Buffer, readSince: number): void {
    makeFolder(this.layout.scan);
    const draft = join(this.layout.scan, `new-${process.pid}-${randomBytes(4).toString('hex')}`);
    writeFileSync(draft, index);
    backdate(draft, readSince);
    renameSync(draft, this.published);
  }

  /** The index that was held back knows all that it must. */
  release(): void {
    if (this.held?.sure) this.publish(this.held.readSince);
    this.held = null;
  }

  private publish(readSince: number): void {
    const own = join(this.dir, 'index');
    try {
      if (existsSync(this.published) && statSync(own).ino === statSync(this.published).ino) return;
      backdate(own, readSince);
      // Linked, not moved: `absorb` goes on from it.
      const draft = join(this.layout.scan, `new-${process.pid}-${randomBytes(4).toString('hex')}`);
      linkOrCopy(own, draft, readSince);
      renameSync(draft, this.published);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  /** Forgets the index: the next scan starts from the user's repository or from nothing. */
  discard(): void {
    rmSync(this.published, { force: true });
  }

  close(): void {
    // Where nothing can be seen (a closed folder, a file in the place of the store) nothing was made either.
    if (existsSync(this.dir)) rmSync(this.dir, { recursive: true, force: true });
    this.prepared = false;
  }
}

function openIfThere(path: string): number | null {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** Ends with the checksum of all that is before it. Closes it. */
function isWholeIndex(fd: number, algorithm: HashName): boolean {
  try {
    const data = readFileSync(fd);
    const end = data.length - (algorithm === 'sha1' ? 20 : 32);
    return end > 0 && createHash(algorithm).update(data.subarray(0, end)).digest().equals(data.subarray(end));
  } catch {
    return false; // the disk does not give it back
  } finally {
    closeSync(fd);
  }
}

/** A link has taken the place of one that is not: nothing is closed then. */
function isFolder(root: string, path: string): boolean {
  try {
    return new FileReader(root, 0).isRealFolder(path);
  } catch {
    return true; // nobody can tell
  }
}

function repositoriesAmong(root: string, paths: string[]): string[] {
  const reader = new FileReader(root, 0);
  return paths.filter((path) => {
    try {
      return reader.isRealFolder(path) && existsSync(fsPath(root, `${path}/.git`));
    } catch {
      return false; // whoever reads the path meets the failure again, and tells it
    }
  });
}

/** Names that mean git's own folder elsewhere are taken like any other: nothing is ever checked out from this index. */
const anyName = '[core]\n\tprotectNTFS = false\n\tprotectHFS = false\n';

/** Passed over by git without an error when it edits an index, whatever its configuration. */
const isRefused = (path: string, leaf: Leaf | null): boolean =>
  /(^|\/)\.git(\/|$)/i.test(path) || (leaf?.mode === modes.link && /(^|\/)\.gitmodules$/i.test(path));

/** A path and the folders that it lies in. */
function withParents(path: string): string[] {
  const parts = path.split('/');
  return parts.map((_, i) => parts.slice(0, i + 1).join('/'));
}

function copyOrLink(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if (isMissing(error)) throw error;
    const { mtimeMs } = statSync(from);
    copyFileSync(from, to);
    // Not later than the original, else git trusts entries it must check again ("racy git").
    utimesSync(to, mtimeMs / 1000 - 1, Math.floor(mtimeMs / 1000) - 1);
  }
}

/**
 * git compares times by the second, and trusts an entry only if the index is younger than the file ("racy git").
 * A file that changes again within the second in which it was read, keeping its size, would be missed: an index
 * dated before its reading began makes git compare the content of every such file.
 */
function backdate(path: string, readSince: number): void {
  const second = Math.floor(readSince / 1000) - 1;
  utimesSync(path, second, second);
}

function linkOrCopy(from: string, to: string, readSince: number): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if (isMissing(error)) throw error;
    copyFileSync(from, to);
    backdate(to, readSince);
  }
}

export const emptyBlob = {
  sha1: 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391',
  sha256: '473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813',
};

const unwalkable = (path: string): PathReason => ({ path, reason: 'nested repository that could not be entered' });

/** Scan folders of processes that ended without cleaning up. */
export function sweepDead(scan: string): void {
  let names: string[];
  try {
    names = readdirSync(scan);
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  for (const name of names) {
    const pid = /^(?:new-)?(\d+)-[0-9a-f]+$/.exec(name)?.[1];
    if (!pid || Number(pid) === process.pid) continue;
    if (!isAlive({ pid: Number(pid), host: hostOf(), start: '' }, 0))
      rmSync(join(scan, name), { recursive: true, force: true });
  }
}
