import { existsSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { isInside } from './belonging';
import type { Offer } from './offers';

/** Where that plugin wrote, the most likely first. OpenCode's own old folder comes last: it is no backup, but has the same layout. */
function s4Places(env: NodeJS.ProcessEnv = process.env, home = homedir()): string[] {
  return [
    ...(env['OPENCODE_BACKUP_PATH'] ? [env['OPENCODE_BACKUP_PATH']] : []),
    path.join(home, 'Library', 'CloudStorage', 'GoogleDrive', 'My Drive', 'opencode-sessions'),
    path.join(home, 'Google Drive', 'opencode-sessions'),
    path.join(home, '.local', 'share', 'opencode', 'storage'),
    ...(env['LOCALAPPDATA'] ? [path.join(env['LOCALAPPDATA'], 'opencode', 'storage')] : []),
  ];
}

export function s4Default(env?: NodeJS.ProcessEnv, home?: string): string | null {
  return s4Places(env, home).find(isOldBackup) ?? null;
}

/** The JSON folders of an older OpenCode, not a backup of ours. */
function isOldBackup(folder: string): boolean {
  return existsSync(path.join(folder, 'session')) && existsSync(path.join(folder, 'message'));
}

/** Sessions of this workspace in a backup. OpenCode's own folder is not offered: an OpenCode that still uses it has them. */
export async function findOldSessions(root: string, env?: NodeJS.ProcessEnv, home?: string): Promise<Offer | null> {
  const place = s4Places(env, home).find((folder) => isOldBackup(folder) && path.basename(folder) !== 'storage');
  if (place === undefined) return null;
  let count = 0;
  for (const project of await names(path.join(place, 'session')))
    for (const name of await names(path.join(place, 'session', project)))
      if (name.endsWith('.json') && (await worksIn(path.join(place, 'session', project, name), root))) count++;
  return { from: 's4', path: place, count };
}

async function names(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
}

async function worksIn(file: string, root: string): Promise<boolean> {
  try {
    const { directory } = JSON.parse(await readFile(file, 'utf8')) as { directory?: unknown };
    return typeof directory === 'string' && isInside(directory, root);
  } catch (error) {
    // Damaged ones are named when the import is made.
    if (error instanceof SyntaxError || error instanceof TypeError) return false;
    throw error;
  }
}
