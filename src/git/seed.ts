import { existsSync, linkSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import type { Exclusions } from './exclusions';
import { foldersOfAll, parseCacheTree, topOf, withoutTop } from './cache-tree';
import { makeFolder } from './folders';
import { formatIndex, insertEntry, parseIndex, plainEntry, plainIndex, statSize, type IndexEntry } from './index-file';
import type { Layout } from './layout';
import { hashObject, PackWriter, type HashName } from './pack-writer';
import { decodePath, encodePath } from './path-bytes';
import { isMissing } from './refs';
import { runGit, safeFlags, storeEnv, userEnv } from './run';
import { emptyBlob } from './scanner';
import { modes } from './tree-format';
import type { Trees } from './trees';
import { readingObjects } from './user-objects';
import type { UserRepo } from './user-repo';

/** An index that git can look with. */
export interface SeedIndex {
  tree: string;
  /** When the user's git wrote its index. */
  readSince: number;
  /** The scanner's index; `mark` is the name of its marker entry. */
  finish(mark: string): Buffer;
}

export interface Seed extends SeedIndex {
  files: number;
  /** Has every file that the user's index names, but for what is always out. */
  whole: boolean;
}

export interface UnprovedSeed extends Seed {
  /** It is what was guessed. */
  isGuess: boolean;
  /**
   * Whether every entry is the bytes on disk, and its trees are in the store; else the seed of which that is true.
   * Until then the index may be looked at, but not kept. To be called once.
   */
  prove(): Promise<Seed | 'as it is'>;
}

/** The user's index as it is, and what is most often made of it. */
export interface SeedSource {
  data: Buffer;
  readSince: number;
  /**
   * Nothing is left out and git knows the tree of every folder: then neither trees nor entries have to be made. Whether it is so only `seed` knows,
   * which has to look at every entry; git need not wait for that.
   */
  guess: (SeedIndex & { files: number; treeExtension: Buffer }) | null;
}

/** null: start from nothing. */
export function readSeed(repo: UserRepo, layout: Layout, algorithm: HashName): SeedSource | null {
  if (repo.objectFormat !== algorithm || !existsSync(repo.index)) return null;
  const readSince = statSync(repo.index).mtimeMs;
  const data = readFileSync(repo.index);
  const guess = guessOf(data, algorithm);
  if (!guess) return { data, readSince, guess };
  return borrowObjects(repo.objects, layout.borrowed) ? { data, readSince, guess: { ...guess, readSince } } : null;
}

function guessOf(data: Buffer, algorithm: HashName): Omit<NonNullable<SeedSource['guess']>, 'readSince'> | null {
  const oidBytes = algorithm === 'sha1' ? 20 : 32;
  let plain;
  try {
    plain = plainIndex(data, oidBytes);
  } catch {
    return null; // damaged: whoever parses it finds out
  }
  const treeExtension = plain?.extensions.get('TREE');
  const top = treeExtension && topOf(treeExtension, oidBytes);
  if (!plain || !top || top.files !== plain.count) return null;
  const finish = (mark: string): Buffer => {
    const entry = plainEntry(mark, emptyBlob[algorithm]);
    return insertEntry(data, plain, entry, withoutTop(treeExtension, oidBytes), algorithm);
  };
  return { tree: top.oid, files: top.files, treeExtension, finish };
}

/**
 * Builds on what the user's repository already knows: its objects are hard-linked (they survive the user's own
 * gc, cost no space and are never written to), its index tells which files need not be read. Whatever might make
 * an entry differ from the bytes on disk is left for git to read again. null: start from nothing.
 */
export function seed(
  { data: source, readSince, guess }: SeedSource,
  repo: UserRepo,
  layout: Layout,
  algorithm: HashName,
  trees: Trees,
  exclusions: Exclusions,
  maxFileSize: number,
): UnprovedSeed | null {
  const oidBytes = algorithm === 'sha1' ? 20 : 32;
  let parsed;
  try {
    parsed = parseIndex(source, oidBytes);
  } catch {
    return null; // an index of a kind we do not know: read the files instead
  }
  if (parsed.extensions.has('link') || parsed.extensions.has('sdir')) return null;
  if (!guess && !borrowObjects(repo.objects, layout.borrowed)) return null;

  const entries: IndexEntry[] = [];
  let wanted = 0;
  for (const entry of parsed.entries) {
    const plain = entry.mode === modes.file || entry.mode === modes.executable || entry.mode === modes.link;
    if (!plain || exclusions.why(entry.path)) continue;
    wanted += 1;
    if (entry.flags === 0 && statSize(source, entry) <= maxFileSize) entries.push(entry);
  }
  const build = (): { seed: Seed; made: Map<string, Buffer> } => {
    // The user's index is in git's order already.
    const { root: tree, trees: made } = trees.build(entries, (data) => hashObject('tree', data, algorithm));
    const finish = (mark: string): Buffer =>
      formatIndex([...entries, plainEntry(mark, emptyBlob[algorithm])], algorithm, source, { oids: true });
    const whole = entries.length === wanted;
    return { seed: { tree, files: entries.length, whole, readSince, finish }, made };
  };
  const asItIs = guess && entries.length === parsed.entries.length ? adopt(guess, oidBytes) : null;
  if (asItIs) trees.prime(asItIs.folders);
  const first = asItIs ? { ...asItIs, made: null } : build();
  const prove = async (): Promise<Seed | 'as it is'> => {
    const folders = [...(first.made ?? asItIs!.folders).keys()];
    const { doubted, missing } = await audit(repo, layout, entries, source, folders);
    if (!doubted && (missing.length === 0 || first.made)) {
      await keepTrees(layout, first.made, missing, algorithm);
      return 'as it is';
    }
    const second = build();
    await keepTrees(layout, second.made, await absent(layout, [...second.made.keys()]), algorithm);
    return second.seed;
  };
  return { ...first.seed, isGuess: asItIs !== null, prove };
}

/** null where git does not know the tree of every folder. */
function adopt(
  { treeExtension, ...guess }: NonNullable<SeedSource['guess']>,
  oidBytes: number,
): { seed: Seed; folders: Map<string, Map<string, string>> } | null {
  const top = parseCacheTree(treeExtension, oidBytes, decodePath);
  return top && { seed: { ...guess, whole: true }, folders: foldersOfAll(top) };
}

/** Most of them are the trees of the user's last commit, and so borrowed already. */
async function keepTrees(
  layout: Layout,
  made: Map<string, Buffer> | null,
  missing: string[],
  algorithm: HashName,
): Promise<void> {
  const writer = new PackWriter(layout.objects, algorithm);
  for (const oid of missing) {
    const data = made?.get(oid);
    if (data) writer.add('tree', data, oid);
    if (writer.full) await writer.flush();
  }
  await writer.flush();
}

async function absent(layout: Layout, oids: string[]): Promise<string[]> {
  const sizes = await objectSizes(layout, oids);
  return oids.filter((_, i) => sizes[i] === null);
}

/**
 * An index entry whose file has another size than its blob was converted on checkout (line ends, keywords,
 * encodings); one with a filter may be converted without changing size. Both are read again as raw bytes; so
 * is an entry whose blob we do not have (a partial clone). Changes `entries`, and tells whether it did; and which of
 * these trees are not in the store.
 */
async function audit(
  repo: UserRepo,
  layout: Layout,
  entries: IndexEntry[],
  source: Buffer,
  trees: string[],
): Promise<{ doubted: boolean; missing: string[] }> {
  const oids = [...entries.map((entry) => entry.oid), ...trees];
  const [sizes, filtered] = await Promise.all([objectSizes(layout, oids), filteredPaths(repo, layout, entries)]);
  const treesLost = trees.filter((_, i) => sizes[entries.length + i] === null);
  const missing: IndexEntry[] = [];
  let doubted = false;
  for (const [i, entry] of entries.entries()) {
    const size = sizes[i];
    if (size === null || size === undefined) missing.push(entry);
    else if (statSize(source, entry) !== size % 2 ** 32 || filtered.has(entry.path)) {
      entry.statAt = -1;
      doubted = true;
    }
  }
  if (missing.length > 0) {
    const lost = new Set(missing);
    const rest = entries.filter((entry) => !lost.has(entry));
    entries.length = 0;
    for (const entry of rest) entries.push(entry);
  }
  return { doubted: doubted || missing.length > 0, missing: treesLost };
}

/** null for what the store does not have. */
async function objectSizes(layout: Layout, oids: string[]): Promise<Array<number | null>> {
  const result = await runGit(
    [...safeFlags, `--git-dir=${layout.gitDir}`, 'cat-file', '--batch-check=%(objectsize)', '--buffer'],
    { cwd: layout.gitDir, env: storeEnv(), input: oids.map((oid) => `${oid}\n`).join('') },
  );
  return sizesIn(result.stdout, oids.length);
}

/** One line each: a number, or that it is missing. */
function sizesIn(lines: Buffer, count: number): Array<number | null> {
  const sizes = new Array<number | null>(count).fill(null);
  for (let at = 0, i = 0; i < count && at < lines.length; i += 1, at += 1) {
    let size: number | null = 0;
    for (; at < lines.length && lines[at] !== 10; at += 1) {
      const digit = lines[at]! - 48;
      size = size === null || digit < 0 || digit > 9 ? null : size * 10 + digit;
    }
    sizes[i] = size;
  }
  return sizes;
}

/** Paths with a `filter` attribute; asked only where some attributes file speaks of filters. */
async function filteredPaths(repo: UserRepo, { scan }: Layout, entries: IndexEntry[]): Promise<Set<string>> {
  const result = await runGit(['-c', 'safe.directory=*', 'config', '--get-regexp', '^filter\\.'], {
    cwd: repo.commonDir,
    env: userEnv(),
    accept: [1, 128],
  });
  // No filter is configured: then nothing was filtered on its way to the disk.
  if (result.stdout.length === 0) return new Set();
  const input = Buffer.concat(entries.flatMap((entry) => [encodePath(entry.path), Buffer.from([0])]));
  const args = [
    '-c',
    'safe.directory=*',
    `--git-dir=${repo.gitDir}`,
    'check-attr',
    '-z',
    '--stdin',
    '--cached',
    'filter',
  ];
  const attributes = await readingObjects({ ...repo, gitDir: null, top: repo.gitDir }, scan, (env) =>
    runGit(args, { cwd: repo.gitDir, env: { ...env, GIT_INDEX_FILE: repo.index }, input, accept: [128] }),
  );
  // When git cannot tell, every file is read again.
  if (attributes.code !== 0) return new Set(entries.map((entry) => entry.path));
  const fields = attributes.stdout.toString('latin1').split('\0');
  const out = new Set<string>();
  for (let i = 0; i + 2 < fields.length; i += 3)
    if (fields[i + 2] !== 'unspecified' && fields[i + 2] !== 'unset') {
      const path = entries[i / 3]?.path;
      if (path !== undefined) out.add(path);
    }
  return out;
}

/** Hard links, like `git clone --local`. False when the volume has none: then nothing is borrowed. */
export function borrowObjects(from: string, to: string, seen = new Set<string>()): boolean {
  if (seen.has(from)) return true;
  seen.add(from);
  for (const folder of listOr(from)) {
    if (folder !== 'pack' && !/^[0-9a-f]{2}$/.test(folder)) continue;
    makeFolder(join(to, folder));
    // A pack's index makes it visible: it comes last.
    const names = listOr(join(from, folder)).sort((a, b) => rank(a) - rank(b));
    for (const name of names) {
      if (!/^(pack-.*\.(pack|idx|rev)|[0-9a-f]{38,62})$/.test(name)) continue;
      try {
        linkSync(join(from, folder, name), join(to, folder, name));
      } catch (error) {
        const code = (error as NodeJS.ErrnoException).code;
        if (code !== 'EEXIST' && code !== 'ENOENT') return false;
      }
    }
  }
  for (const other of alternatesOf(from)) if (!borrowObjects(other, to, seen)) return false;
  return true;
}

const rank = (name: string): number => (name.endsWith('.pack') ? 0 : name.endsWith('.rev') ? 1 : 2);

function alternatesOf(objects: string): string[] {
  let text: string;
  try {
    text = readFileSync(join(objects, 'info', 'alternates'), 'utf8');
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
  return text
    .split('\n')
    .filter((line) => line && !line.startsWith('#'))
    .map((line) => (isAbsolute(line) ? line : resolve(objects, line)));
}

function listOr(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
