import { CheckpointsError } from '../core/errors';
import { incomplete } from './missing';
import { runGit, safeFlags, storeEnv } from './run';
import type { GitStore } from './store';

/** Bytes that only these commits need. Those that have lost something count nothing: git does not get through them. */
export async function ownBytes(store: GitStore, commits: string[], others: string[]): Promise<number> {
  const { gitDir } = store.layout;
  const broken = store.checkpoints.incomplete;
  const known = ['refs/base', 'refs/scan'].map((ref) => store.refsOf.read(ref)).filter((oid) => oid !== null);
  const count = (): Promise<number> => {
    const [own, rest] = [commits, [...others, ...known]].map((some) => some.filter((commit) => !broken.has(commit)));
    return counted(gitDir, own!, rest!);
  };
  try {
    return await count();
  } catch (error) {
    if (!CheckpointsError.is(error, 'store-broken') && !CheckpointsError.is(error, 'git-failed')) throw error;
    const found = await incomplete(gitDir, [...commits, ...others, ...known]);
    if (found.length === 0) throw error;
    for (const commit of found) broken.add(commit);
    return count();
  }
}

async function counted(gitDir: string, commits: string[], others: string[]): Promise<number> {
  if (commits.length === 0) return 0;
  // Checkpoints have no parents: only by their trees does git see what they share.
  const lines = [...commits, ...others.map((oid) => `^${oid}^{tree}`)];
  const input = lines.map((line) => `${line}\n`).join('');
  const ask = ['rev-list', '--objects', '--disk-usage', '--stdin'];
  const { stdout } = await runGit([...safeFlags, `--git-dir=${gitDir}`, ...ask], {
    cwd: gitDir,
    env: storeEnv(),
    input,
  });
  return Number(stdout.toString('latin1').trim()) || 0;
}
