import { runGit, safeFlags, storeEnv, type GitOutput } from './run';

/** Those of the commits that need what is not there, or cannot be read. Looks at halves: where little is missing, it is found soon. */
export async function incomplete(gitDir: string, commits: readonly string[]): Promise<string[]> {
  if (commits.length === 0 || (await missingBelow(gitDir, commits)) === null) return [];
  if (commits.length === 1) return [...commits];
  const middle = commits.length >> 1;
  return [
    ...(await incomplete(gitDir, commits.slice(0, middle))),
    ...(await incomplete(gitDir, commits.slice(middle))),
  ];
}

/** Whether everything the commits need is there; says what is not. Content is not read. */
export async function missingBelow(gitDir: string, commits: readonly string[]): Promise<string | null> {
  const { code, stdout, stderr } = await needs(gitDir, commits);
  if (code !== 0) return stderr.trim().split('\n')[0] ?? 'unreadable';
  const missing = stdout.toString('latin1').match(/^\?[0-9a-f]+/gm);
  return missing ? `${missing.length} ${missing.length === 1 ? 'object' : 'objects'}` : null;
}

/** What they need and is not there, as far as git gets with each. */
export async function missingOf(gitDir: string, commits: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  for (const commit of commits)
    for (const [, oid] of (await needs(gitDir, [commit])).stdout.toString('latin1').matchAll(/^\?([0-9a-f]+)/gm))
      found.add(oid!);
  return [...found];
}

/** What they need and is not there has a question mark. */
function needs(gitDir: string, commits: readonly string[]): Promise<GitOutput> {
  const args = ['rev-list', '--objects', '--no-walk', '--missing=print', '--quiet', '--stdin'];
  return runGit([...safeFlags, `--git-dir=${gitDir}`, ...args], {
    cwd: gitDir,
    env: storeEnv(),
    accept: [1, 128],
    timeoutMs: 600_000,
    input: commits.map((commit) => `${commit}\n`).join(''),
  });
}
