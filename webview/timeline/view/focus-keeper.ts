/**
 * Gives the focus back where the browser leaves it nowhere, so that the next key does something: after a button went away with
 * what it was about, and after VS Code had it for a dialog (it returns it to the frame around the page, not to what had it).
 * `home` takes it when what had it is gone.
 */
export class FocusKeeper {
  private held: HTMLElement | null = null;
  private wasInDetail = false;
  private readonly observer = new MutationObserver(() => this.look());

  constructor(
    private readonly page: HTMLElement,
    private readonly home: (wasInDetail: boolean) => void,
  ) {}

  start(): void {
    this.page.addEventListener('focusin', this.note);
    this.observer.observe(this.page, { childList: true, subtree: true });
  }

  stop(): void {
    this.page.removeEventListener('focusin', this.note);
    this.observer.disconnect();
  }

  restore(): void {
    // A field opens its suggestions: those would come between the pointer and what is about to be clicked.
    if (this.held?.isConnected && !(this.held instanceof HTMLInputElement)) this.held.focus({ preventScroll: true });
    else this.home(this.wasInDetail);
  }

  private readonly note = ({ target }: FocusEvent): void => {
    this.held = target instanceof HTMLElement ? target : null;
    this.wasInDetail = this.held?.closest('timeline-detail') !== null;
  };

  private look(): void {
    if (!this.held || this.held.isConnected || document.activeElement !== document.body) return;
    this.held = null;
    this.home(this.wasInDetail);
  }
}
