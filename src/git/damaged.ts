import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ObjectReader } from './object-reader';
import { runGit, safeFlags, storeEnv } from './run';
import { unsound } from './secure';
import type { GitStore } from './store';

/** Objects that are there and cannot be read, or are not what their name says. Borrowed ones are the user's repository's. */
export async function damagedObjects(store: GitStore): Promise<Set<string>> {
  const suspects = [...looseObjects(store), ...(await damagedPacks(store)).flat()];
  if (suspects.length === 0) return new Set();
  const reader = new ObjectReader(store.layout.gitDir);
  return unsound(reader, suspects, store.file.objectFormat).finally(() => reader.close());
}

function looseObjects({ layout: { objects } }: GitStore): string[] {
  const folders = namesIn(objects).filter((name) => /^[0-9a-f]{2}$/.test(name));
  return folders.flatMap((folder) => readdirSync(join(objects, folder)).map((rest) => folder + rest));
}

/** A folder that is gone holds nothing; what is missing by that is told for each checkpoint. */
function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** All that is in packs that do not pass git's own look. */
async function damagedPacks({ layout: { gitDir, objects } }: GitStore): Promise<string[][]> {
  const folder = join(objects, 'pack');
  const names = namesIn(folder).filter((name) => name.endsWith('.idx'));
  const options = { cwd: gitDir, env: storeEnv(), accept: [1, 128], timeoutMs: 600_000 };
  const isSound = async (some: string[]): Promise<boolean> => {
    const paths = some.map((name) => join(folder, name));
    return (await runGit([...safeFlags, `--git-dir=${gitDir}`, 'verify-pack', ...paths], options)).code === 0;
  };
  if (names.length === 0 || (await isSound(names))) return [];
  const out: string[][] = [];
  for (const name of names) {
    // Gone meanwhile: another process has put its objects into a larger one.
    if ((await isSound([name])) || !existsSync(join(folder, name))) continue;
    const input = readFileSync(join(folder, name));
    const { stdout } = await runGit([...safeFlags, `--git-dir=${gitDir}`, 'show-index'], { ...options, input });
    out.push([...stdout.toString('latin1').matchAll(/^\d+ ([0-9a-f]+)/gm)].map((match) => match[1]!));
  }
  return out;
}

/** The refs that need any of these, with what they name. */
export async function neededBy(store: GitStore, lost: ReadonlySet<string>): Promise<Map<string, string>> {
  const { gitDir } = store.layout;
  const out = new Map<string, string>();
  if (lost.size === 0) return out;
  for (const [name, commit] of store.refsOf.list('refs/')) {
    const { stdout, stderr } = await runGit(
      [...safeFlags, `--git-dir=${gitDir}`, 'rev-list', '--objects', '--no-walk', '--no-object-names', commit],
      { cwd: gitDir, env: storeEnv(), accept: [1, 128], timeoutMs: 600_000 },
    );
    // A damaged commit or folder ends it with its name.
    const met = `${stdout.toString('latin1')}\n${stderr}`.match(/\b[0-9a-f]{40,64}\b/g) ?? [];
    if (met.some((oid) => lost.has(oid))) out.set(name.replace(/^checkpoints\//, ''), commit);
  }
  return out;
}
