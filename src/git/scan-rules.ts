import { readFileSync } from 'node:fs';
import type { Exclusions } from './exclusions';
import { isMissing } from './refs';
import { stampOf } from './user-facts';
import type { UserRepo } from './user-repo';

/** What a scan leaves out. */
export interface Rules {
  excludesFile: string;
  excludePatterns: string[];
  /** Names them all: while it stays the same, so do they. */
  ignoring: string;
}

export function rulesOf(repo: UserRepo | null, excludesFile: string, exclusions: Exclusions): Rules {
  const excludePatterns = [...excludeLines(repo?.infoExclude), ...exclusions.folderPatterns];
  return {
    excludesFile,
    excludePatterns,
    ignoring: [excludesFile, stampOf(excludesFile), ...excludePatterns].join('\n'),
  };
}

export function excludeLines(path: string | undefined): string[] {
  if (!path) return [];
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
