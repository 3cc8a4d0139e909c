import { runGit, userEnv } from '../git/run';

export interface NamedRemote {
  name: string;
  /** Without a password. */
  url: string;
}

/** The remotes of the user's repository, only read. None: it has none, or there is no repository. */
export async function listRemotes(root: string): Promise<NamedRemote[]> {
  const quiet = ['-c', 'safe.directory=*', '-c', 'core.fsmonitor=false'];
  const result = await runGit([...quiet, 'config', '-z', '--get-regexp', '^remote\\..*\\.url$'], {
    cwd: root,
    env: userEnv(),
    accept: [1, 128],
  });
  if (result.code !== 0) return [];
  const found = new Map<string, NamedRemote>();
  for (const row of result.stdout.toString('utf8').split('\0')) {
    const [key = '', url = ''] = row.split('\n');
    const name = /^remote\.(.+)\.url$/.exec(key)?.[1];
    // The first address is the one that is fetched from.
    if (name !== undefined && !found.has(name))
      found.set(name, { name, url: url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, '$1') });
  }
  return [...found.values()];
}
