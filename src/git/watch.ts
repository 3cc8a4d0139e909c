import { watch, type FSWatcher } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from './folders';

/** One call soon after any process created, changed, packed or deleted a checkpoint. */
export function watchRefs(gitDir: string, listener: () => void, onError: (error: unknown) => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const soon = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      listener();
    }, 80);
    timer.unref();
  };
  const watchers: FSWatcher[] = [];
  const add = (path: string, only?: RegExp): void => {
    try {
      makeFolder(path);
      const watcher = watch(path, { persistent: false }, (_event, name) => {
        if (name && (name.endsWith('.lock') || (only && !only.test(name)))) return;
        soon();
      });
      watcher.on('error', onError);
      watchers.push(watcher);
    } catch (error) {
      onError(error);
    }
  };
  add(join(gitDir, 'refs', 'checkpoints'));
  add(gitDir, /^packed-refs$/);
  // Every fetch ends with a new `refs/sync`: one file to watch, however many origins there are.
  add(join(gitDir, 'refs'), /^sync$/);
  return () => {
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  };
}
