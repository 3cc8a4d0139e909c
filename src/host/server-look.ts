import * as vscode from 'vscode';
import type { Workspaces } from './workspaces';

/** A terminal needs a moment until its server listens. */
const patience = 5000;
/** Coming back to the window is a good moment to look again, but not each time. */
export const lookAgainAfter = 30_000;

/**
 * When to look for a server that somebody else runs: a folder came or went, a terminal was opened, the window is in front again, or
 * the server that was followed is lost. One look at a time; none starts anything.
 */
export class ServerLook implements vscode.Disposable {
  private readonly subscriptions: vscode.Disposable[];
  private next: { at: number; timer: NodeJS.Timeout } | undefined;
  private lookedAt = 0;
  private looking: Promise<void> | undefined;
  private again = false;

  constructor(
    workspaces: Pick<Workspaces, 'onDidChangeRoots'>,
    private readonly work: () => Promise<void>,
    private readonly failed: (error: unknown) => void,
  ) {
    this.subscriptions = [
      workspaces.onDidChangeRoots(() => this.now()),
      vscode.window.onDidOpenTerminal(() => this.later()),
      vscode.window.onDidChangeWindowState(({ focused }) => {
        if (focused && Date.now() - this.lookedAt > lookAgainAfter) this.now();
      }),
    ];
  }

  /** What changed while a look was under way is looked at by one more. */
  now(): void {
    this.lookedAt = Date.now();
    if (this.looking !== undefined) {
      this.again = true;
      return;
    }
    this.looking = this.work()
      .catch(this.failed)
      .finally(() => {
        this.looking = undefined;
        if (!this.again) return;
        this.again = false;
        this.now();
      });
  }

  /** Of two the sooner one stays. */
  later(wait = patience): void {
    const at = Date.now() + wait;
    if (this.next !== undefined && this.next.at <= at && this.next.at > Date.now()) return;
    clearTimeout(this.next?.timer);
    this.next = { at, timer: setTimeout(() => this.now(), wait) };
  }

  dispose(): void {
    clearTimeout(this.next?.timer);
    this.again = false;
    vscode.Disposable.from(...this.subscriptions).dispose();
  }
}
