import * as vscode from 'vscode';
import { unlessCancelled } from '../core/cancelling';
import { views } from './ids';
import { number, withoutLinks } from './labels';

export interface Step {
  done: number;
  /** null while nobody knows. */
  total: number | null;
  /** What is done now. */
  what?: string;
}

export interface Running {
  signal: AbortSignal;
  report(progress: Step): void;
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
  let last: Step | undefined;
  let show: ((progress: Step) => void) | undefined;
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
    const options = { location: vscode.ProgressLocation.Notification, title: withoutLinks(title), cancellable };
    vscode.window.withProgress(options, async (progress, token) => {
      token.onCancellationRequested(() => controller.abort());
      let shown = 0;
      show = ({ done, total, what }) => {
        const counted = total !== null && total > 0;
        const message = [what ?? '', counted ? `${number(done)} of ${number(total)}` : '']
          .filter((part) => part !== '')
          .join(', ');
        const percent = counted ? (done / total) * 100 : shown;
        // A bar does not go back: a second part of the work begins where the first one ended.
        progress.report({ message, increment: Math.max(0, percent - shown) });
        shown = Math.max(shown, percent);
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
  withCancel(title, ({ signal }) => unlessCancelled(work(), signal));

/** For what must not stop half way. */
export const withProgress = <T>(title: string, work: () => Promise<T>): Promise<T> => withCancel(title, work, false);
