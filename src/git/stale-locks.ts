import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { whatIsAt } from './doctor-report';
import { packedDraft } from './refs';

/** Locks are held for milliseconds; one that is minutes old belongs to nobody, nor does one of a time when the clock was ahead. */
const staleAfterMs = 60_000;

/** What processes that died left in git's way, or beside a ref that came to nothing and is never written again. */
export function staleLocks(gitDir: string): string[] {
  return lockFiles(gitDir).filter((path) => {
    const lock = statSync(path, { throwIfNoEntry: false }); // those of others come and go
    return lock && Math.abs(Date.now() - lock.mtimeMs) >= staleAfterMs;
  });
}

function lockFiles(folder: string): string[] {
  const out: string[] = [];
  if (whatIsAt(folder) !== 'folder') return out;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && entry.name !== 'objects') out.push(...lockFiles(path));
    else if (entry.name.endsWith('.lock') || entry.name === packedDraft) out.push(path);
  }
  return out;
}
