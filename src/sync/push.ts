import { CheckpointsError } from '../core/errors';
import type { Scratch } from './scratch';
import { receivingSide, speak, type Address } from './transport';
import { headRef, parseRefLines, wireRefs, type WireRef } from './wire';

export interface PushJob {
  scratch: Scratch;
  address: Address;
  origin: string;
  interactive: boolean;
  signal?: AbortSignal;
  onProgress?: (done: number, total: number) => void;
  /** Told where the last refusal named a lock: a push that died over there may have left it. */
  onLocked?: (lock: string) => void;
}

/** One ref of our part of the remote: what it is there now (null: nothing), and what it shall be (null: gone). */
export interface RefMove {
  ref: string;
  from: string | null;
  to: string | null;
}

/** What our part of the remote holds. */
export async function lookAt(job: PushJob, pattern = `${wireRefs}${job.origin}/*`): Promise<WireRef[]> {
  const { scratch, address, interactive, signal } = job;
  const { stdout } = await speak(['ls-remote', '--refs', '--', address.url, pattern], address, {
    gitDir: scratch.gitDir,
    interactive,
    signal,
  });
  return parseRefLines(stdout).refs;
}

/** Command lines have an end, on Windows soon. */
const lineLength = process.platform === 'win32' ? 20_000 : 100_000;

/**
 * Moves refs by compare and swap. `head` gives the commit that goes with what is then there: it makes git see what the remote
 * has already. Returns false when somebody else was faster: then look again.
 */
export async function pushRefs(
  job: PushJob,
  present: readonly WireRef[],
  moves: readonly RefMove[],
  head: (refs: ReadonlyMap<string, string>) => Promise<string | null>,
): Promise<boolean> {
  const now = new Map(present.map(({ ref, oid }) => [ref, oid]));
  const top = headRef(job.origin);
  for (const batch of batches(moves)) {
    const next = new Map(now);
    for (const { ref, to } of batch) if (to) next.set(ref, to);
    for (const { ref, to } of batch) if (!to) next.delete(ref);
    next.delete(top);
    const commit = await head(next);
    const all = [...batch, { ref: top, from: now.get(top) ?? null, to: commit }].filter(({ from, to }) => from !== to);
    if (!(await pushBatch(job, all))) return false;
    now.clear();
    for (const [ref, oid] of next) now.set(ref, oid);
    if (commit) now.set(top, commit);
  }
  return true;
}

function* batches(moves: readonly RefMove[]): Generator<RefMove[]> {
  let batch: RefMove[] = [];
  let length = 0;
  for (const move of moves) {
    const size = 2 * move.ref.length + 140;
    if (batch.length > 0 && length + size > lineLength) {
      yield batch;
      batch = [];
      length = 0;
    }
    batch.push(move);
    length += size;
  }
  if (batch.length > 0) yield batch;
}

async function pushBatch(job: PushJob, moves: RefMove[]): Promise<boolean> {
  if (moves.length === 0) return true;
  const { scratch, address, interactive, signal, onProgress } = job;
  const leases = moves.map(({ ref, from }) => `--force-with-lease=${ref}:${from ?? ''}`);
  const specs = moves.map(({ ref, to }) => `${to ?? ''}:${ref}`);
  const { code, stdout, stderr } = await speak(
    [
      ...['push', '--porcelain', '--progress', '--no-verify', '--no-signed'],
      ...(await receivingSide(address)),
      ...[...leases, '--', address.url, ...specs],
    ],
    address,
    {
      gitDir: scratch.gitDir,
      interactive,
      signal,
      accept: [1],
      onProgress: (what, done, total) => {
        if (what.startsWith('Writing')) onProgress?.(done, total);
      },
    },
  );
  if (code === 0) return true;
  const refused = stdout.split('\n').filter((line) => line.startsWith('!'));
  // Deleting what is gone already is no failure; it comes out right when one looks again.
  const raced =
    /stale info|remote ref does not exist|failed to (update|lock) ref|cannot lock ref|reference already exists/i;
  if (refused.length > 0 && refused.every((line) => raced.test(line))) {
    const lock = /Unable to create '(.+\.lock)': File exists/.exec(stderr)?.[1];
    if (lock !== undefined) job.onLocked?.(lock);
    return false;
  }
  const why = (refused[0]?.split('\t')[2] ?? stderr.trim().split('\n').slice(-3).join(' ')).slice(0, 500);
  throw new CheckpointsError('remote-failed', `${address.shown} refused it: ${why}`, {
    details: { refused: refused.slice(0, 20) },
  });
}
