import type { Change, ChangeStatus } from '../core/model';
import { splitNul } from './empty-folders';
import { decodePath, encodePath } from './path-bytes';
import { runGit, safeFlags, storeEnv } from './run';

const patchLimit = 64 << 20;

/** Changes between two trees with line counts, renames found, and on request one patch of all of them. */
export async function describeChanges(
  gitDir: string,
  from: string,
  to: string,
  options: { paths?: string[]; patch?: boolean },
): Promise<{ changes: Change[]; patch?: string }> {
  if (from === to) return options.patch ? { changes: [], patch: '' } : { changes: [] };
  const flags = [
    ...safeFlags,
    '-c',
    'diff.renameLimit=2000',
    `--git-dir=${gitDir}`,
    '--literal-pathspecs',
    'diff-tree',
  ];
  const common = ['-r', '-M', '--no-ext-diff', '--no-textconv', '--full-index'];
  const tail = [from, to, '--', ...(options.paths ?? []).map((p) => encodePath(p).toString('utf8'))];
  const run = (extra: string[]): Promise<Buffer> =>
    runGit([...flags, ...common, ...extra, ...tail], { cwd: gitDir, env: storeEnv() }).then((r) => r.stdout);
  const [listing, patch] = await Promise.all([
    run(['-z', '--raw', '--numstat']),
    options.patch ? run(['-p', '--binary']) : Promise.resolve(null),
  ]);
  const changes = parseListing(listing);
  return patch ? { changes, patch: patch.subarray(0, patchLimit).toString('utf8') } : { changes };
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
