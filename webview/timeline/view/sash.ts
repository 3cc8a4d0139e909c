import { html, LitElement, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';

const step = 24;

/** The bar between list and details: dragged, or moved by arrow keys. `value` is the size of the details. */
@customElement('timeline-sash')
export class TimelineSash extends LitElement {
  @property({ type: Boolean }) beside = true;
  @property({ type: Number }) value = 0;
  @property({ type: Number }) min = 0;
  @property({ type: Number }) max = 0;
  @property({ attribute: false }) onMove: (size: number) => void = () => undefined;

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  protected override render(): TemplateResult {
    return html`<div
      class="sash ${this.beside ? 'vertical' : 'horizontal'}"
      role="separator"
      tabindex="0"
      aria-label="Size of the details"
      aria-orientation=${this.beside ? 'vertical' : 'horizontal'}
      aria-valuenow=${Math.round(this.value)}
      aria-valuemin=${Math.round(this.min)}
      aria-valuemax=${Math.round(this.max)}
      @pointerdown=${this.onDown}
      @keydown=${this.onKey}
    ></div>`;
  }

  private readonly onDown = (down: PointerEvent): void => {
    const sash = down.currentTarget;
    if (!(sash instanceof HTMLElement) || down.button !== 0) return;
    const from = this.beside ? down.clientX : down.clientY;
    const size = this.value;
    sash.setPointerCapture(down.pointerId);
    const move = (event: PointerEvent): void => {
      this.set(size + from - (this.beside ? event.clientX : event.clientY));
    };
    sash.addEventListener('pointermove', move);
    sash.addEventListener('lostpointercapture', () => sash.removeEventListener('pointermove', move), { once: true });
    down.preventDefault();
  };

  private readonly onKey = (event: KeyboardEvent): void => {
    const grow = this.beside ? 'ArrowLeft' : 'ArrowUp';
    const shrink = this.beside ? 'ArrowRight' : 'ArrowDown';
    if (event.key === grow) this.set(this.value + step);
    else if (event.key === shrink) this.set(this.value - step);
    else if (event.key === 'Home') this.set(this.min);
    else if (event.key === 'End') this.set(this.max);
    else return;
    event.preventDefault();
  };

  private set(size: number): void {
    this.onMove(Math.min(this.max, Math.max(this.min, size)));
  }
}
