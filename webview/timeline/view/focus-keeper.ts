/**
 * A button that did its work often goes away with what it was about, and the browser then leaves the focus nowhere: the next
 * key would do nothing. `home` says where the focus goes instead, told what had it.
 */
export class FocusKeeper {
  private held: Element | null = null;
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

  private readonly note = ({ target }: FocusEvent): void => {
    this.held = target instanceof Element ? target : null;
    this.wasInDetail = this.held?.closest('timeline-detail') !== null;
  };

  private look(): void {
    if (!this.held || this.held.isConnected || document.activeElement !== document.body) return;
    this.held = null;
    this.home(this.wasInDetail);
  }
}
