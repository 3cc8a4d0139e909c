/**
 * Which copy of the plugin looks after a folder. It may be installed for the project and for the user, and be loaded twice: the first one does the
 * work, and when it is taken away another one goes on.
 */
const owners = shared<string>('opencode-checkpoints');
const told = shared<Map<string, number>>('opencode-checkpoints/told');
const waiting = shared<Map<string, () => void>>('opencode-checkpoints/waiting');

/** Copies share nothing but the process. */
function shared<T>(name: string): Map<string, T> {
  const all = globalThis as Record<symbol, unknown>;
  return (all[Symbol.for(name)] ??= new Map<string, T>()) as Map<string, T>;
}

/** When OpenCode ends, all copies go at once: nobody takes over for that moment. */
const takeOverMs = 500;

export function claim(directory: string, copy: string): boolean {
  const owner = owners.get(directory) ?? copy;
  owners.set(directory, owner);
  return owner === copy;
}

export function release(directory: string, copy: string): void {
  if (owners.get(directory) !== copy) return;
  owners.delete(directory);
  const next = waiting.get(directory)?.values().next();
  if (next && !next.done) next.value();
}

/** `begin` is called when the folder is free, unless the returned function was called before. */
export function waitFor(directory: string, copy: string, begin: () => void): () => void {
  const queue = waiting.get(directory) ?? new Map<string, () => void>();
  waiting.set(directory, queue);
  let timer: NodeJS.Timeout | undefined;
  queue.set(copy, () => {
    timer = setTimeout(() => {
      queue.delete(copy);
      if (claim(directory, copy)) begin();
    }, takeOverMs);
    timer.unref();
  });
  return () => {
    queue.delete(copy);
    clearTimeout(timer);
  };
}

/** What was told of a folder's store, and how often it was met: a copy that goes on, or the same one loaded anew, does not begin to tell it again. */
export function toldOf(directory: string): Map<string, number> {
  const known = told.get(directory) ?? new Map<string, number>();
  told.set(directory, known);
  return known;
}
