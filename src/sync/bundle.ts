import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, openSync, readSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { CheckpointsError } from '../core/errors';
import type { SyncOptions } from '../core/sync';
import { syncFile } from '../git/sync-file';
import { isMissing } from '../git/refs';
import { runGit, safeFlags, storeEnv } from '../git/run';
import type { Scratch } from './scratch';
import { otherNames, speak, type Address } from './transport';
import { parseRefLines, wireRefs, type WireRef } from './wire';

const patience = 30 * 60_000;

/** Writes all refs of the scratch repository to one file, under another name first. Returns its size. */
export async function writeBundle(scratch: Scratch, path: string, options: SyncOptions): Promise<number> {
  if (!existsSync(dirname(path)))
    throw new CheckpointsError('invalid-argument', `${dirname(path)}: there is no such folder.`);
  if (existsSync(path) && !isBundle(headOf(path)))
    throw new CheckpointsError('invalid-argument', `${path} is there already, and is not a bundle.`);
  const temporary = `${path}.tmp-${process.pid}-${randomBytes(6).toString('hex')}`;
  try {
    options.onProgress?.({ phase: 'sending', done: 0, total: null });
    await runGit([...safeFlags, `--git-dir=${scratch.gitDir}`, 'bundle', 'create', '-q', temporary, '--all'], {
      cwd: scratch.gitDir,
      env: storeEnv(),
      signal: options.signal,
      timeoutMs: patience,
    });
    syncFile(temporary);
    renameSync(temporary, path);
    return statSync(path).size;
  } finally {
    rmSync(temporary, { force: true });
    rmSync(`${temporary}.lock`, { force: true });
  }
}

/** Unpacks a bundle into the scratch repository, examined by git, and tells what is in it. */
export async function listBundle(
  scratch: Scratch,
  path: string,
  signal: AbortSignal | undefined,
): Promise<{ refs: WireRef[]; strange: string[] }> {
  const head = headOf(path);
  if (!isBundle(head)) throw bad(path, 'it is not a bundle of checkpoints');
  if (/^@object-format=sha256$/m.test(head) !== (scratch.format === 'sha256')) throw bad(path, otherNames);
  const address: Address = { url: path, shown: path };
  const options = { gitDir: scratch.gitDir, interactive: false, signal };
  let listed: { refs: WireRef[]; strange: string[] };
  try {
    const { stdout } = await speak(['ls-remote', '--refs', '--', path], address, options);
    listed = parseRefLines(stdout);
    if (listed.refs.length > 0)
      await speak(['fetch', '--no-tags', '--no-write-fetch-head', '--stdin', '--', path], address, {
        ...options,
        input: `+${wireRefs}*:refs/in/*\n`,
      });
  } catch (error) {
    if (!CheckpointsError.is(error, 'remote-failed')) throw error;
    const needs = /lacks these prerequisite|prerequisite commits/i.test(String(error.details?.['stderr'] ?? ''));
    throw bad(path, needs ? 'it leans on commits that are not in it' : 'it is damaged or cut off', error);
  }
  if (listed.refs.length === 0) throw bad(path, 'it is a git bundle, but no checkpoint is in it');
  return listed;
}

const isBundle = (head: string): boolean => /^# v[23] git bundle\n/.test(head);

/** Its first lines; nothing of what is no file. */
function headOf(path: string): string {
  const head = Buffer.alloc(200);
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch (error) {
    if (isMissing(error)) throw new CheckpointsError('invalid-argument', `${path}: there is no such file.`);
    throw error;
  }
  try {
    if (!statSync(path).isFile()) return '';
    return head.toString('latin1', 0, readSync(fd, head, 0, head.length, 0));
  } finally {
    closeSync(fd);
  }
}

function bad(path: string, why: string, cause?: unknown): CheckpointsError {
  return new CheckpointsError('invalid-argument', `${path} cannot be imported: ${why}.`, { cause });
}
