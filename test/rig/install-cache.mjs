// The cache of large test tools: where it is, and how a tool gets into it whole or not at all.
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { homedir, hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const HEARTBEAT_MS = 5_000;
const STALE_MS = 60_000;

/** Outside the checkout, so that clones share it and `git clean` keeps it. */
export function cacheRoot(env = process.env) {
  if (env.OPENCODE_CHECKPOINTS_CACHE) return resolve(env.OPENCODE_CHECKPOINTS_CACHE);
  return join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'opencode-checkpoints-dev');
}

/**
 * Fills `folder` by `fill(temporary)`: beside it first, renamed into place when complete. A killed
 * install leaves only a temporary folder, which the next one removes.
 */
export async function installOnce(folder, isComplete, fill) {
  if (isComplete()) return false;
  await mkdir(dirname(folder), { recursive: true });
  const release = await lock(`${folder}.lock`);
  try {
    if (isComplete()) return false;
    await removeLeftovers(folder);
    const temporary = `${folder}.tmp-${process.pid}-${randomUUID().slice(0, 8)}`;
    await mkdir(temporary, { recursive: true });
    try {
      await fill(temporary);
    } catch (error) {
      await rm(temporary, { recursive: true, force: true });
      throw error;
    }
    await rm(folder, { recursive: true, force: true });
    await rename(temporary, folder);
    return true;
  } finally {
    await release();
  }
}

async function removeLeftovers(folder) {
  const parent = dirname(folder);
  const prefix = `${folder.slice(parent.length + 1)}.tmp-`;
  for (const name of await readdir(parent))
    if (name.startsWith(prefix)) await rm(join(parent, name), { recursive: true, force: true });
}

/** Waits for the lock; one whose owner is dead, or that has had no heartbeat for a minute, is taken over. */
export async function lock(file, { pollMs = 500, staleMs = STALE_MS } = {}) {
  const token = JSON.stringify({ pid: process.pid, host: hostname(), token: randomUUID() });
  for (let waited = false; ; waited = true) {
    try {
      await writeFile(file, token, { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (await takeOver(file, staleMs)) continue;
    if (!waited) process.stderr.write(`Waiting for another install to finish (${file})\n`);
    await new Promise((done) => setTimeout(done, pollMs));
  }
  const beat = setInterval(() => {
    const now = new Date();
    // The lock may just have been released or taken over; the next heartbeat or the release will notice.
    utimes(file, now, now).catch(() => undefined);
  }, HEARTBEAT_MS);
  beat.unref();
  return async () => {
    clearInterval(beat);
    if (existsSync(file) && (await readFile(file, 'utf8')) === token) await rm(file, { force: true });
  };
}

async function takeOver(file, staleMs) {
  let content;
  let age;
  try {
    [content, age] = [await readFile(file, 'utf8'), Date.now() - (await stat(file)).mtimeMs];
  } catch (error) {
    if (error.code === 'ENOENT') return true;
    throw error;
  }
  if (age < staleMs && ownerMayLive(content, age)) return false;
  // Renaming first lets only one of several waiters win. Should a fresh lock have come between, it is put back.
  const aside = `${file}.stale-${randomUUID().slice(0, 8)}`;
  try {
    await rename(file, aside);
  } catch (error) {
    if (error.code === 'ENOENT') return true;
    throw error;
  }
  const taken = await readFile(aside, 'utf8');
  if (taken !== content && !existsSync(file)) await rename(aside, file);
  else await rm(aside, { force: true });
  return taken === content;
}

function ownerMayLive(content, age) {
  let owner;
  try {
    owner = JSON.parse(content);
  } catch (error) {
    // Being written this moment, or cut off by a crash: a few seconds tell.
    if (error instanceof SyntaxError) return age < HEARTBEAT_MS;
    throw error;
  }
  if (owner.host !== hostname()) return true;
  try {
    process.kill(owner.pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
