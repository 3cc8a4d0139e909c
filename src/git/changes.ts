import { CheckpointsError } from '../core/errors';
import type { Change, ChangeStatus } from '../core/model';
import { splitNul } from './empty-folders';
import { describeFew } from './few-changes';
import { decodePath } from './path-bytes';
import { runGit, safeFlags, storeEnv } from './run';
import { covered, type TreeChange, type Trees } from './trees';

const patchLimit = 64 << 20;

/** So many changes are compared here; more are git's. */
const fewChanges = 400;

export interface ChangeSources {
  gitDir: string;
  trees: Trees;
  content: (oid: string) => Buffer | Promise<Buffer>;
  /** Which of them cannot be read, or are not what their name says. */
  unsound: (oids: string[]) => Promise<ReadonlySet<string>>;
}

/** Changes between two trees with line counts, renames found, and on request one patch of all of them. */
export async function describeChanges(
  sources: ChangeSources,
  from: string,
  to: string,
  options: { paths?: string[]; patch?: boolean },
): Promise<{ changes: Change[]; patch?: string }> {
  if (from === to) return options.patch ? { changes: [], patch: '' } : { changes: [] };
  try {
    return await describeSound(sources, from, to, options);
  } catch (error) {
    if (!CheckpointsError.is(error, 'store-broken') && !CheckpointsError.is(error, 'git-failed')) throw error;
    return describeWithLosses(sources, from, to, options, error);
  }
}

async function describeSound(
  sources: ChangeSources,
  from: string,
  to: string,
  options: { paths?: string[]; patch?: boolean },
): Promise<{ changes: Change[]; patch?: string }> {
  const paths = options.paths ?? [];
  const listed = async (): Promise<Change[]> =>
    (await compareHere(sources, from, to, paths)) ?? (await listByGit(sources.gitDir, from, to, paths));
  const [changes, patch] = await Promise.all([
    listed(),
    options.patch ? diffTree(sources.gitDir, from, to, paths, ['-p', '--binary']) : Promise.resolve(null),
  ]);
  return patch ? { changes, patch: decodePath(patch.subarray(0, patchLimit)) } : { changes };
}

/** One file whose content is lost must not hide the others: it is named, they are described. */
async function describeWithLosses(
  { gitDir, trees, content, unsound }: ChangeSources,
  from: string,
  to: string,
  options: { paths?: string[]; patch?: boolean },
  why: unknown,
): Promise<{ changes: Change[]; patch?: string }> {
  const paths = options.paths ?? [];
  const all = await trees.diff(from, to, paths);
  const sides = ({ before, after }: TreeChange): string[] => [before, after].flatMap((leaf) => leaf?.oid ?? []);
  const lost = await unsound([...new Set(all.flatMap(sides))]);
  if (lost.size === 0) throw why;
  const isLost = (change: TreeChange): boolean => sides(change).some((oid) => lost.has(oid));
  const except = all.filter(isLost).map(({ path }) => path);
  const rows = await listByGit(gitDir, from, to, paths, except);
  const known = new Map(rows.map((row) => [row.path, row]));
  const renamed = new Set(rows.flatMap((row) => row.from ?? []));
  const changes: Change[] = [];
  for (const change of all) {
    const { path, before, after } = change;
    if (renamed.has(path) && !known.has(path)) continue;
    const status: ChangeStatus = !before ? 'added' : !after ? 'deleted' : 'modified';
    const bare: Change = { path, status, additions: 0, deletions: 0, binary: false };
    if (isLost(change)) changes.push({ ...bare, damaged: true });
    // What lies where a lost file was, or is, git has left out with it.
    else changes.push(known.get(path) ?? (await describeFew([change], content))?.[0] ?? bare);
  }
  if (!options.patch) return { changes };
  const patch = await diffTree(gitDir, from, to, paths, ['-p', '--binary'], except);
  return { changes, patch: decodePath(patch.subarray(0, patchLimit)) };
}

/** What git would say, for a few changes that hold no riddles: many times faster than starting it. */
async function compareHere(
  { trees, content }: ChangeSources,
  from: string,
  to: string,
  paths: string[],
): Promise<Change[] | null> {
  if (from === trees.emptyTree || to === trees.emptyTree || paths.some((path) => path.endsWith('/'))) return null;
  const found = await trees.diffUpTo(fewChanges, from, to, paths);
  return found && describeFew(found, content);
}

async function listByGit(
  gitDir: string,
  from: string,
  to: string,
  paths: string[],
  except: string[] = [],
): Promise<Change[]> {
  const rows = parseListing(await diffTree(gitDir, from, to, paths, ['-z', '--raw', '--numstat'], except));
  return paths.some(isOdd) ? rows.filter(({ path }) => covered(path, paths)) : rows;
}

async function diffTree(
  gitDir: string,
  from: string,
  to: string,
  paths: string[],
  extra: string[],
  except: string[] = [],
): Promise<Buffer> {
  const specs = except.length > 0 ? pathspecsBut(paths, except) : pathspecs(paths);
  const flags = [...safeFlags, '-c', 'diff.renameLimit=2000', `--git-dir=${gitDir}`, ...specs.magic, 'diff-tree'];
  const common = ['-r', '-M', '--no-ext-diff', '--no-textconv', '--full-index'];
  const args = [...flags, ...common, ...extra, from, to, '--', ...specs.args];
  return (await runGit(args, { cwd: gitDir, env: storeEnv() })).stdout;
}

const isOdd = (path: string): boolean => /[\udc80-\udcff]/.test(path);

/** A program's arguments are text: a byte that is none is asked for as any one byte that is not ASCII. */
function pathspecs(paths: string[]): { magic: string[]; args: string[] } {
  if (!paths.some(isOdd)) return { magic: ['--literal-pathspecs'], args: paths };
  return { magic: ['--glob-pathspecs'], args: paths.flatMap(globsOf) };
}

function globsOf(path: string): string[] {
  const glob = path.replace(/[*?[\]\\]/g, '\\$&').replace(/[\udc80-\udcff]/g, '[!\x01-\x7f]');
  return glob === '' ? ['**'] : [glob, `${glob}/**`];
}

function pathspecsBut(paths: string[], except: string[]): { magic: string[]; args: string[] } {
  const spec = (path: string, magic: string): string[] =>
    isOdd(path) ? globsOf(path).map((glob) => `:(top,glob${magic})${glob}`) : [`:(top,literal${magic})${path}`];
  return {
    magic: [],
    args: [...paths.flatMap((path) => spec(path, '')), ...except.flatMap((path) => spec(path, ',exclude'))],
  };
}

const statuses: Record<string, ChangeStatus> = {
  A: 'added',
  M: 'modified',
  D: 'deleted',
  T: 'typechange',
  R: 'renamed',
};

/** `--raw --numstat -z`: all raw rows, then all counts, in the same order. */
function parseListing(data: Buffer): Change[] {
  const fields = splitNul(data);
  const changes: Change[] = [];
  const byPath = new Map<string, Change>();
  for (let i = 0; i < fields.length;) {
    const head = fields[i]!.toString('latin1');
    if (head.startsWith(':')) {
      const letter = head.split(' ')[4]![0]!;
      const renamed = letter === 'R' || letter === 'C';
      const path = decodePath(fields[i + (renamed ? 2 : 1)]!);
      const change: Change = {
        path,
        status: statuses[letter] ?? 'modified',
        additions: 0,
        deletions: 0,
        binary: false,
      };
      if (renamed) change.from = decodePath(fields[i + 1]!);
      changes.push(change);
      byPath.set(path, change);
      i += renamed ? 3 : 2;
    } else {
      const [added, deleted, name] = splitTabs(fields[i]!);
      // A rename has an empty name here, and both names in the fields that follow.
      const path = name!.length > 0 ? decodePath(name!) : decodePath(fields[i + 2]!);
      const change = byPath.get(path);
      if (change) {
        change.binary = added!.toString() === '-';
        change.additions = change.binary ? 0 : Number(added);
        change.deletions = change.binary ? 0 : Number(deleted);
      }
      i += name!.length > 0 ? 1 : 3;
    }
  }
  return changes;
}

function splitTabs(row: Buffer): [Buffer, Buffer, Buffer] {
  const first = row.indexOf(9);
  const second = row.indexOf(9, first + 1);
  return [row.subarray(0, first), row.subarray(first + 1, second), row.subarray(second + 1)];
}
