import { html, LitElement, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { keyName } from '../model/keys';
import type { MenuEntry } from '../model/menu';
import { isMac } from './platform';

type Item = Extract<MenuEntry, { kind: 'item' }>;

/** A context menu for mouse and keyboard: arrows, Home, End, first letters, Escape; focus goes back where it was. */
@customElement('timeline-menu')
export class TimelineMenu extends LitElement {
  @state() private entries: readonly MenuEntry[] = [];
  @state() private active = 0;
  private onRun: (item: Item) => void = () => undefined;
  private returnTo: HTMLElement | null = null;

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  get isOpen(): boolean {
    return this.entries.length > 0;
  }

  async open(entries: readonly MenuEntry[], at: { x: number; y: number }, onRun: (item: Item) => void): Promise<void> {
    this.returnTo = document.activeElement instanceof HTMLElement ? document.activeElement : null;
    this.entries = entries;
    this.active = 0;
    this.onRun = onRun;
    await this.updateComplete;
    const menu = this.querySelector<HTMLElement>('.menu');
    if (!menu) return;
    const { width, height } = menu.getBoundingClientRect();
    const x = Math.max(4, Math.min(at.x, window.innerWidth - width - 4));
    const y = at.y + height + 4 <= window.innerHeight ? at.y : Math.max(4, window.innerHeight - height - 4);
    menu.style.setProperty('left', `${x}px`);
    menu.style.setProperty('top', `${y}px`);
    this.focusActive();
  }

  close(): void {
    if (!this.isOpen) return;
    this.entries = [];
    this.returnTo?.focus();
  }

  protected override render(): TemplateResult {
    if (!this.isOpen) return html``;
    let index = -1;
    return html`<div class="menu-backdrop" @pointerdown=${this.dismiss} @contextmenu=${this.dismiss}></div>
      <div class="menu" role="menu" aria-label="Checkpoint actions" @keydown=${this.onKey}>
        ${this.entries.map((entry) => {
          if (entry.kind === 'separator') return html`<div class="menu-separator" role="separator"></div>`;
          const at = ++index;
          return html`<div
            class="menu-item"
            role="menuitem"
            tabindex=${at === this.active ? 0 : -1}
            @click=${() => this.run(entry)}
            @pointermove=${(event: PointerEvent) => this.hover(event, at)}
          >
            <span class="codicon codicon-${entry.icon}" aria-hidden="true"></span>
            <span class="menu-label">${entry.label}</span>
            <span class="menu-hint" aria-hidden="true">${keyName(entry.hint ?? '', isMac)}</span>
          </div>`;
        })}
      </div>`;
  }

  private get items(): Item[] {
    return this.entries.filter((entry) => entry.kind === 'item');
  }

  private readonly dismiss = (event: Event): void => {
    event.preventDefault();
    this.close();
  };

  private readonly onKey = (event: KeyboardEvent): void => {
    const { items } = this;
    const item = items[this.active];
    const step: Record<string, number> = {
      ArrowDown: (this.active + 1) % items.length,
      ArrowUp: (this.active - 1 + items.length) % items.length,
      Home: 0,
      End: items.length - 1,
    };
    const target = step[event.key];
    if (target !== undefined) this.activate(target);
    else if ((event.key === 'Enter' || event.key === ' ') && item) this.run(item);
    else if (event.key === 'Escape' || event.key === 'Tab') this.close();
    else if (event.key.length === 1) this.jump(event.key.toLowerCase());
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  /** To the next item that begins with the letter. */
  private jump(letter: string): void {
    const { items, active } = this;
    for (let step = 1; step <= items.length; step++) {
      const index = (active + step) % items.length;
      if (items[index]?.label.toLowerCase().startsWith(letter)) return this.activate(index);
    }
  }

  /** A menu that opens under a pointer at rest must not follow it. */
  private hover({ movementX, movementY }: PointerEvent, index: number): void {
    if (index !== this.active && (movementX !== 0 || movementY !== 0)) this.activate(index);
  }

  private activate(index: number): void {
    this.active = index;
    void this.updateComplete.then(() => this.focusActive());
  }

  private focusActive(): void {
    this.querySelectorAll<HTMLElement>('.menu-item')[this.active]?.focus();
  }

  private run(item: Item): void {
    this.close();
    this.onRun(item);
  }
}
