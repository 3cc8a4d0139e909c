import type { SessionEvent } from '../core/sessions';

export interface Taken {
  touched: ReadonlyMap<string, number>;
  deleted: ReadonlySet<string>;
  /** They were not dealt with: the next run has them again. */
  giveBack(): void;
}

/** What events said since the last run. */
export class Noticed {
  private touched = new Map<string, number>();
  private deleted = new Set<string>();

  /** Whether it matters to a backup. */
  add(event: SessionEvent): boolean {
    if (event.type === 'lost' || event.type === 'busy') return false;
    // Something may have happened unseen: the list tells.
    if (event.type === 'connected' || event.type === 'gap') return true;
    if (event.type === 'session' && event.change === 'deleted') {
      this.deleted.add(event.session);
      this.touched.delete(event.session);
    } else this.touched.set(event.session, Date.now());
    return true;
  }

  take(): Taken {
    const { touched, deleted } = this;
    this.touched = new Map();
    this.deleted = new Set();
    return {
      touched,
      deleted,
      giveBack: () => {
        this.touched = new Map([...touched, ...this.touched]);
        this.deleted = new Set([...deleted, ...this.deleted]);
      },
    };
  }
}
