import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runGit, safeFlags, storeEnv } from './run';

/** Three-way merge of one file; null when both sides changed the same place. */
export async function mergeTexts(
  folder: string,
  ours: Uint8Array,
  base: Uint8Array,
  theirs: Uint8Array,
): Promise<Uint8Array | null> {
  if (Buffer.compare(ours, base) === 0) return theirs;
  if (Buffer.compare(theirs, base) === 0 || Buffer.compare(ours, theirs) === 0) return ours;
  if ([ours, base, theirs].some((data) => data.subarray(0, 8000).includes(0))) return null;
  const dir = mkdtempSync(join(folder, `merge-${process.pid}-`));
  try {
    const files = [ours, base, theirs].map((data, i) => {
      const path = join(dir, String(i));
      writeFileSync(path, data);
      return path;
    });
    // Exit code: the number of conflicts, at most 127.
    const conflicts = Array.from({ length: 127 }, (_, i) => i + 1);
    const result = await runGit([...safeFlags, 'merge-file', '-p', '-q', ...files], {
      cwd: dir,
      env: storeEnv(),
      accept: conflicts,
    });
    return result.code === 0 ? result.stdout : null;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
