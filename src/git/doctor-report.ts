import { lstatSync, readFileSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import { writeFileDurably } from './durable';
import { makeFolder } from './folders';
import { isMissing } from './refs';
import type { GitStore } from './store';

/** Tells a problem; `mend` is called where mending is wanted, and may say that it is none. */
export type Report = (reason: string, message: string, mend?: () => Mended | Promise<Mended>) => Promise<void>;
type Mended = void | 'not mended';

/** What is damaged is kept where nothing reads it. */
export function keepAside(store: Pick<GitStore, 'folder'>, name: string, content: string | Buffer): void {
  writeFileDurably(join(asideIn(store), `${name}-${Date.now()}`), content);
}

export function moveAside(store: Pick<GitStore, 'folder'>, path: string): void {
  renameSync(path, join(asideIn(store), `${basename(path)}-${Date.now()}`));
}

function asideIn({ folder }: Pick<GitStore, 'folder'>): string {
  const path = join(folder, 'damaged');
  if (whatIsAt(path) === 'other') renameSync(path, `${path}-${Date.now()}`);
  makeFolder(path);
  return path;
}

/** What lies there, itself and not where it leads to. */
export function whatIsAt(path: string): 'folder' | 'other' | 'nothing' {
  try {
    return lstatSync(path).isDirectory() ? 'folder' : 'other';
  } catch (error) {
    if (isMissing(error)) return 'nothing';
    throw error;
  }
}

export function readOr(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}
