import * as vscode from 'vscode';
import { CheckpointsError } from '../core/errors';
import { views } from './ids';

export interface Running {
  signal: AbortSignal;
  report(progress: { done: number; total: number }): void;
}

/** Short operations only show in the view and the status bar; after this a notification with Cancel appears. */
const patience = 1000;

/** Runs something that may take long. */
export const withCancel = async <T>(
  title: string,
  work: (running: Running) => Promise<T>,
  cancellable = true,
): Promise<T> => {
  const controller = new AbortController();
  let last: { done: number; total: number } | undefined;
  let show: ((progress: { done: number; total: number }) => void) | undefined;
  const result = work({
    signal: controller.signal,
    report: (progress) => {
      last = progress;
      show?.(progress);
    },
  });
  const settled = result.then(
    () => undefined,
    () => undefined,
  );
  const timer = setTimeout(() => {
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable };
    vscode.window.withProgress(options, async (progress, token) => {
      token.onCancellationRequested(() => controller.abort());
      let shown = 0;
      show = ({ done, total }) => {
        const percent = total === 0 ? 0 : (done / total) * 100;
        progress.report({ message: `${done} of ${total}`, increment: percent - shown });
        shown = percent;
      };
      if (last !== undefined) show(last);
      await settled;
    });
  }, patience);
  try {
    return await vscode.window.withProgress({ location: { viewId: views.tree } }, () => result);
  } finally {
    clearTimeout(timer);
  }
};

/** For what only reads: cancelling stops the waiting, and what still runs has no effect. */
export const withPatience = <T>(title: string, work: () => Promise<T>): Promise<T> =>
  withCancel(title, ({ signal }) => {
    const cancelled = new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => reject(new CheckpointsError('cancelled', ''))),
    );
    return Promise.race([work(), cancelled]);
  });

/** For what must not stop half way. */
export const withProgress = <T>(title: string, work: () => Promise<T>): Promise<T> => withCancel(title, work, false);
