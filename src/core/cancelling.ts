import { CheckpointsError } from './errors';

export function refuseCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new CheckpointsError('cancelled', 'Cancelled.');
}

/** For what only reads: cancelling stops the waiting, and what still runs has no effect. */
export async function unlessCancelled<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  let give = (): void => undefined;
  const cancelled = new Promise<never>((_, reject) => {
    give = () => reject(new CheckpointsError('cancelled', 'Cancelled.'));
    if (signal.aborted) give();
    else signal.addEventListener('abort', give, { once: true });
  });
  try {
    return await Promise.race([work, cancelled]);
  } finally {
    signal.removeEventListener('abort', give);
  }
}
