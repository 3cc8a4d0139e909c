import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  writeSync,
  copyFileSync,
  readlinkSync,
  type Stats,
} from 'node:fs';
import { FileReader, parentOf } from './file-reader';
import { listFolder } from './list-folder';
import { ListedNames } from './names';
import { hashObject, type HashName } from './pack-writer';
import { fsPath } from './path-bytes';
import { isMissing } from './refs';
import { modes, type Leaf } from './tree-format';

/** What stands in the way of writing or deleting a path. */
export type Obstacle = 'link in the way' | 'file in the way' | 'folder in the way';

/**
 * Between looking at a folder and using it lies a moment anyway; a restore of thousands of files asks for each only once in this time.
 * The way to a very deep one takes longer to look at than that: it is believed for as long as the look took.
 */
const believedMs = 10;

type Owner = Pick<Stats, 'uid' | 'gid'>;

/** Where the new file lies, where the one that is there goes first (or null), and what the new one may be called on its way. */
export interface Places {
  staged: string;
  aside: string | null;
  beside: string;
}

/** Changes the user's files: only by rename and unlink, never through a link, never more than asked. */
export class WorkingFiles {
  private reader: FileReader;
  /** What was changed since is not known to it. */
  private listed: ListedNames | null = null;
  private believedUntil = -1;
  private readonly scratch = Buffer.allocUnsafeSlow(1 << 16);
  /** Permissions and owner that staged files were found to get, by kind. */
  private readonly given = new Map<number, Stats>();

  constructor(
    private readonly root: string,
    private readonly algorithm: HashName,
    /** These may answer to each other's names: each is there only where its folder lists it so. */
    private readonly ambiguous: ReadonlySet<string> = new Set(),
  ) {
    this.reader = this.newReader();
  }

  private newReader(): FileReader {
    return new FileReader(this.root, Number.MAX_SAFE_INTEGER, { buffer: (size) => this.scratchOf(size) });
  }

  /** Contents are only hashed here: thousands of them need not be memory that is cleaned up in the midst of a restore. */
  private scratchOf(size: number): Buffer {
    return size <= this.scratch.length ? this.scratch.subarray(0, size) : Buffer.allocUnsafe(size);
  }

  /** Folders that were found to be no links are believed for a moment, or until we make one. `folder` is the one that is asked for. */
  private looking(folder: string): FileReader {
    const begun = performance.now();
    if (begun <= this.believedUntil) return this.reader;
    this.reader = this.newReader();
    this.listed = null;
    try {
      this.reader.wayTo(folder);
    } catch {
      // Not remembered, so whoever asks for it meets it again, and tells.
    }
    const done = performance.now();
    this.believedUntil = done + Math.max(believedMs, done - begun);
    return this.reader;
  }

  private forget(): void {
    this.believedUntil = -1;
  }

  /** The file or link at a path as a leaf; null when nothing (or only a folder) is there. */
  leafAt(path: string): Leaf | null | 'unreadable' {
    const found = this.looking(parentOf(path)).read(path);
    if (found.kind !== 'missing' && this.ambiguous.has(path)) {
      this.listed ??= new ListedNames(this.root);
      if (!this.listed.has(path)) return null;
    }
    if (found.kind === 'file' || found.kind === 'link')
      return { mode: found.mode, oid: hashObject('blob', found.data, this.algorithm) };
    return found.kind === 'missing' || found.kind === 'folder' ? null : 'unreadable';
  }

  /** Writes content under a temporary name on the same volume. */
  stage(to: string, mode: number, data: Uint8Array, sync: boolean): void {
    if (mode === modes.link) {
      symlinkSync(Buffer.from(data), to);
      return;
    }
    // As any program makes a file: what others may do with it is the user's choice.
    const fd = openSync(to, 'wx', mode === modes.executable ? 0o777 : 0o666);
    try {
      if (!this.given.has(mode)) this.given.set(mode, fstatSync(fd));
      for (let at = 0; at < data.length;) at += writeSync(fd, data, at);
      if (sync) fsyncSync(fd);
    } catch (error) {
      // The system names no path when writing fails, but whose disk is full matters.
      throw Object.assign(error as NodeJS.ErrnoException, { path: to });
    } finally {
      closeSync(fd);
    }
  }

  /**
   * Renames a staged file to its place. Returns what stands in the way instead of forcing it. With `aside`, what was there is
   * moved there first: for thousands of files that is many times faster than replacing them, at the price of a moment
   * in which nothing is there. `beside` is a path of ours in the same folder, for another volume.
   */
  place({ staged, aside, beside }: Places, path: string, mode: number): Obstacle | null {
    this.listed = null;
    const blocked = this.makeParents(path);
    if (blocked) return blocked;
    const target = fsPath(this.root, path);
    let existing;
    try {
      existing = lstatSync(target);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
    if (existing?.isDirectory()) {
      // Only folders that hold nothing (but empty folders) may make room for a file.
      if (!removeEmptyTree(target)) return 'folder in the way';
      this.forget();
    } else if (mode !== modes.link) this.fit(staged, mode, existing?.isFile() ? existing : null, parentOf(path));
    const moved = aside !== null && existing !== undefined && !existing.isDirectory() && moveAside(target, aside);
    try {
      renameSync(staged, target);
    } catch (error) {
      if (moved) renameSync(aside, target);
      if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
      this.placeAcross(staged, fsPath(this.root, beside), target, mode);
    }
    return null;
  }

  /** Gives a staged file what the one in its place has, besides the executable bit; a new one what its folder passes on. */
  private fit(staged: string, mode: number, existing: Stats | null, folder: string): void {
    const given = this.given.get(mode);
    if (!given) return;
    if (existing === null) {
      const { mode: bits, gid } = lstatSync(fsPath(this.root, folder));
      if ((bits & passesGroupOn) !== 0 && gid !== given.gid) handOver(staged, given, { uid: given.uid, gid });
      return;
    }
    if (existing.uid !== given.uid || existing.gid !== given.gid) handOver(staged, given, existing);
    const bits = existing.mode & 0o777;
    const isExecutable = (bits & 0o100) !== 0;
    const wanted = mode !== modes.executable ? bits & ~0o111 : isExecutable ? bits : bits | ((bits & 0o444) >> 2);
    if (wanted !== (given.mode & 0o777)) chmodSync(staged, wanted);
  }

  /** Takes back what `place` moved aside, where it died before the new file was there. */
  putBack(aside: string, path: string): void {
    if (this.makeParents(path) === null) renameSync(aside, fsPath(this.root, path));
  }

  /** A volume mounted inside the workspace: a copy beside the target, then a rename there. `sync -f` would not reach it. */
  private placeAcross(staged: string, beside: string | Buffer, target: string | Buffer, mode: number): void {
    rmSync(beside, { force: true }); // left by a death in this restore
    try {
      if (mode === modes.link) symlinkSync(readlinkSync(staged, { encoding: 'buffer' }), beside);
      else {
        copyFileSync(staged, beside, constants.COPYFILE_EXCL);
        const [to, is] = [lstatSync(staged), lstatSync(beside)];
        if (to.uid !== is.uid || to.gid !== is.gid) handOver(beside, is, to);
        syncFile(beside);
      }
      renameSync(beside, target);
    } catch (error) {
      rmSync(beside, { force: true });
      throw error;
    }
    rmSync(staged, { force: true });
  }

  /** Every folder on the way must be a real folder inside the root; missing ones are made. */
  private makeParents(path: string): Obstacle | null {
    const parent = parentOf(path);
    if (this.looking(parent).isRealFolder(parent)) return null;
    this.forget();
    const parts = parent.split('/').filter(Boolean);
    let at = '';
    for (const part of parts) {
      at = at ? `${at}/${part}` : part;
      const full = fsPath(this.root, at);
      try {
        const stat = lstatSync(full);
        if (stat.isSymbolicLink()) return 'link in the way';
        if (!stat.isDirectory()) return 'file in the way';
      } catch (error) {
        if (!isMissing(error)) throw error;
        mkdirSync(full);
      }
    }
    return null;
  }

  makeFolder(path: string): Obstacle | null {
    return this.makeParents(`${path}/x`);
  }

  delete(path: string, aside: string | null = null): void {
    this.listed = null;
    if (this.wayTo(parentOf(path)) === 'blocked') return;
    try {
      const target = fsPath(this.root, path);
      if (aside === null || !moveAside(target, aside)) unlinkSync(target);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  private wayTo(folder: string): ReturnType<FileReader['wayTo']> {
    return this.looking(folder).wayTo(folder);
  }

  /** Removes a folder if nothing is in it; anything else stays. True: it is gone, by us or before. */
  removeIfEmpty(path: string): boolean {
    if (path === '') return false;
    const way = this.wayTo(path);
    if (way !== 'real') return way === 'missing';
    try {
      rmdirSync(fsPath(this.root, path));
      this.reader.forgetFolder(path);
      return true;
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'EBUSY') return false;
      if (isMissing(error)) return true;
      throw error;
    }
  }
}

/** The bit of a folder by which what is made in it belongs to its group. */
const passesGroupOn = 0o2000;

/** As far as it is allowed: who may not give a file away may still choose among his groups. Else it is ours, as whatever a program writes anew. */
function handOver(path: string | Buffer, is: Owner, to: Owner): void {
  for (const { uid, gid } of [to, { uid: is.uid, gid: to.gid }])
    try {
      return chownSync(path, uid, gid);
    } catch {
      // Then less of it, or nothing: no reason not to restore the content.
    }
}

function syncFile(path: string | Buffer): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** False on another volume: nothing was moved then. */
function moveAside(target: string | Buffer, aside: string): boolean {
  try {
    renameSync(target, aside);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    return false;
  }
}

/** True when the folder held nothing but empty folders, and is gone. */
function removeEmptyTree(folder: string | Buffer): boolean {
  const entries = listFolder(folder);
  if (entries.some((entry) => !entry.isFolder)) return false;
  const base = Buffer.isBuffer(folder) ? folder : Buffer.from(folder);
  for (const entry of entries) if (!removeEmptyTree(Buffer.concat([base, Buffer.from('/'), entry.name]))) return false;
  rmdirSync(folder);
  return true;
}
