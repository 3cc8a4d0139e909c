import { readFileSync, readdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, normalize, parse } from 'node:path';
import { codeOf } from '../core/atomic-file';
import { environmentLayer, type Config } from '../core/config';
import { CheckpointsError } from '../core/errors';
import type { BackupStatus } from './api';
import { parseJsonc } from './jsonc';

export interface Destination {
  /** null: backup is off. */
  path: string | null;
  source: BackupStatus['source'];
  debug: boolean;
}

/**
 * Where sessions go. Only from what the user of this machine has set: a project's file must not send conversations anywhere, so neither its
 * `checkpoints.json` (config.ts sees to that) nor its `opencode.json` is asked. The environment beats files, as it does everywhere.
 */
export function destinationOf(config: Config, env: NodeJS.ProcessEnv = process.env): Destination {
  const block = sessionBackupBlock(env);
  const debug = config['backup.debug'] || env['OPENCODE_BACKUP_DEBUG'] === 'true' || block?.debug === true;
  const fromEnvironment = environmentLayer(env)['backup.path'] ?? env['OPENCODE_BACKUP_PATH'];
  if (typeof fromEnvironment === 'string' && fromEnvironment !== '')
    return { path: absolute(fromEnvironment, env), source: 'environment', debug };
  if (config['backup.path'] !== '') return { path: absolute(config['backup.path'], env), source: 'setting', debug };
  if (typeof block?.backupPath === 'string' && block.backupPath !== '')
    return { path: absolute(block.backupPath, env), source: 'opencode.json', debug };
  return { path: null, source: null, debug };
}

const homeOf = (env: NodeJS.ProcessEnv): string => env['HOME'] || env['USERPROFILE'] || homedir();

export function absolute(path: string, env: NodeJS.ProcessEnv): string {
  const expanded = /^~(?=[/\\]|$)/.test(path) ? join(homeOf(env), path.slice(1)) : path;
  if (!isAbsolute(expanded))
    throw new CheckpointsError('invalid-argument', `The folder of a backup is an absolute path, not ${path}`);
  const whole = normalize(expanded);
  if (parse(whole).root === whole)
    throw new CheckpointsError('invalid-argument', `A whole drive is no folder for a backup: ${path}`);
  return whole.replace(/[/\\]+$/, '');
}

/** OpenCode itself drops this key: it was made up by an older backup plugin, whose users have it in their file. */
function sessionBackupBlock(env: NodeJS.ProcessEnv): { backupPath?: unknown; debug?: unknown } | null {
  const config = join(env['XDG_CONFIG_HOME'] || join(homeOf(env), '.config'), 'opencode');
  const folders = [...(env['OPENCODE_CONFIG_DIR'] ? [env['OPENCODE_CONFIG_DIR']] : []), config];
  const files = [
    ...(env['OPENCODE_CONFIG'] ? [env['OPENCODE_CONFIG']] : []),
    ...folders.flatMap((folder) =>
      ['opencode.jsonc', 'opencode.json', 'config.json'].map((name) => join(folder, name)),
    ),
  ];
  const texts = [env['OPENCODE_CONFIG_CONTENT'] ?? null, ...files.map(readText)];
  for (const text of texts) {
    const block = text === null ? null : (parseJsonc(text) as Record<string, unknown> | null)?.['session-backup'];
    if (typeof block === 'object' && block !== null) return block;
  }
  return null;
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'EISDIR'].includes(codeOf(error))) return null;
    throw error;
  }
}

const leaf = 'opencode-sessions';

/** Folders that cloud clients keep, as far as they are on this machine. */
export function suggestedFolders(env: NodeJS.ProcessEnv, platform: NodeJS.Platform = process.platform): string[] {
  const home = homeOf(env);
  const found: string[] = [];
  const offer = (...parts: string[]): void => {
    const folder = join(...parts);
    if (isFolder(folder)) found.push(join(folder, leaf));
  };
  const names = ['Google Drive', 'GoogleDrive', 'Dropbox', 'OneDrive', 'Nextcloud', 'ownCloud', 'pCloudDrive', 'MEGA'];
  if (platform === 'darwin') {
    const clouds = join(home, 'Library', 'CloudStorage');
    for (const name of namesIn(clouds)) offer(clouds, name, ...(name.startsWith('GoogleDrive') ? ['My Drive'] : []));
    offer(home, 'Library', 'Mobile Documents', 'com~apple~CloudDocs');
  }
  if (platform === 'win32' && env['OneDrive']) offer(env['OneDrive']);
  if (platform === 'win32') offer('G:\\', 'My Drive');
  for (const name of names) offer(home, name);
  return [...new Set(found)];
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'EPERM' || codeOf(error) === 'EACCES') return [];
    throw error;
  }
}
