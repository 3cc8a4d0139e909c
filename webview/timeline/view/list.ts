import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { guard } from 'lit/directives/guard.js';
import { repeat } from 'lit/directives/repeat.js';
import { dayOf, type TimeFormat } from '../model/dates';
import { keyIntent, type Intent } from '../model/keys';
import { sharing, type DayItem, type LaneItem, type Layout, type PointItem } from '../model/layout';
import type { TimelineStore } from '../model/store';
import { pageStep, scrollToReveal, visibleSlice, type Viewport } from '../model/virtual';
import { drawLanes, geometry } from './lane-drawing';
import { dayRow, itemId, rowTemplate, type RowContext } from './row';

const rowHeight = 26;
const overscan = 8;

/** What the list leaves to the page around it. */
export type ListEvent =
  | { type: 'compare-working' | 'enter' | 'rename' | 'delete' | 'copy' | 'restore'; key: string }
  | { type: 'open-session'; session: string }
  | { type: 'menu'; key: string; x: number; y: number }
  | { type: 'hover'; item: PointItem; anchor: DOMRect; x: number }
  | { type: 'type'; text: string }
  | { type: 'unhover' | 'filter' | 'escape' };

/** The virtualised list: one scroll area, rows of one height, a graph drawn for the rows in sight. */
@customElement('timeline-list')
export class TimelineList extends LitElement {
  @property({ attribute: false }) store!: TimelineStore;
  @property({ attribute: false }) time!: TimeFormat;
  @property({ attribute: false }) emit: (event: ListEvent) => void = () => undefined;
  /** Counts the store's changes: Lit compares it to know when to draw. */
  @property({ type: Number }) change = 0;

  private drawn: Layout | null = null;
  /** The row whose card is shown or about to be, and where it stands. */
  private hovered: { key: string; y: number } | null = null;
  private pointer = { x: -1, y: -1 };
  private revealed: object | null = null;
  /** Read from the DOM only when told that they changed: asking in between would make the browser lay out twice a frame. */
  private top = 0;
  private height = 0;
  private width = 0;
  private start = 0;
  private readonly resize = new ResizeObserver(([entry]) => {
    const { height = 0, width = 0 } = entry?.contentRect ?? {};
    const seen = this.selectionInSight();
    Object.assign(this, { height, width });
    // What takes room from below, the comparison or the details, must not cover the row one works on.
    if (seen && this.store.state.selected !== null) this.bringIntoView(this.store.state.selected);
    this.requestUpdate();
  });

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.resize.observe(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.resize.disconnect();
  }

  override focus(): void {
    this.scroller?.focus({ preventScroll: true });
  }

  /** Where a menu opened by keyboard belongs: at the selected row. */
  get selectedRect(): DOMRect | null {
    return this.querySelector('.row.selected')?.getBoundingClientRect() ?? null;
  }

  private get scroller(): HTMLElement | null {
    return this.querySelector<HTMLElement>('.list');
  }

  private get viewport(): Viewport {
    return {
      scrollTop: this.top,
      height: this.height || this.clientHeight,
      rowHeight,
      count: this.store.items().length,
    };
  }

  protected override render(): TemplateResult {
    const { store, time } = this;
    const { layout } = store.view;
    const { start, end } = visibleSlice(this.viewport, overscan);
    this.start = start;
    const { selected, marks } = store.state;
    const g = geometry(layout.columns, rowHeight, this.width || this.clientWidth);
    const context: RowContext = {
      data: store.data,
      time,
      now: Date.now(),
      selected: store.selected?.key ?? null,
      marks,
      fresh: store.fresh,
      sharing: this.sharingIn(layout, g.columns),
      onInline: this.onInline,
    };
    const active = selected === null ? -1 : (layout.where.get(selected) ?? -1);
    const activeItem = active >= start && active < end ? layout.items[active] : undefined;
    const sticky = this.stickyDay(layout);
    return html`<div
        class="list"
        role="tree"
        tabindex="0"
        aria-label="Checkpoints"
        aria-multiselectable="true"
        aria-activedescendant=${activeItem ? itemId(activeItem.key) : nothing}
        @scroll=${this.onScroll}
        @keydown=${this.onKey}
        @click=${this.onClick}
        @dblclick=${this.onDoubleClick}
        @contextmenu=${this.onContextMenu}
        @pointermove=${this.onHover}
        @pointerleave=${this.onLeave}
      >
        <div class="list-space" role="presentation">
          <div class="list-slice" role="presentation">
            ${repeat(
              layout.items.slice(start, end),
              (item) => item.key,
              (item) =>
                guard(
                  [
                    item,
                    context.data,
                    dayOf(context.now),
                    item.key === context.selected,
                    marks,
                    store.fresh,
                    context.sharing,
                  ],
                  () => rowTemplate(item, context),
                ),
            )}
            <svg
              class="lanes"
              aria-hidden="true"
              width=${g.width}
              height=${(end - start) * rowHeight}
              viewBox="0 ${start * rowHeight} ${g.width} ${(end - start) * rowHeight}"
            >
              ${drawLanes({ layout, start, end, geometry: g, tones: store.data.tones, selected: context.selected })}
            </svg>
          </div>
        </div>
      </div>
      ${sticky ? html`<div class="sticky">${dayRow(sticky, context)}</div>` : nothing}`;
  }

  private shared?: { layout: Layout; columns: number; keys: ReadonlySet<string> };

  private sharingIn(layout: Layout, columns: number): ReadonlySet<string> {
    if (this.shared?.layout !== layout || this.shared.columns !== columns)
      this.shared = { layout, columns, keys: sharing(layout, columns) };
    return this.shared.keys;
  }

  protected override updated(): void {
    const { store } = this;
    const { layout } = store.view;
    const { start } = this;
    const g = geometry(layout.columns, rowHeight, this.width || this.clientWidth);
    const space = this.querySelector<HTMLElement>('.list-space');
    space?.style.setProperty('height', `${layout.items.length * rowHeight}px`);
    this.querySelector<HTMLElement>('.list-slice')?.style.setProperty(
      'transform',
      `translateY(${start * rowHeight}px)`,
    );
    this.style.setProperty('--gutter', `${g.width}px`);
    if (this.drawn !== layout) {
      this.drawn = layout;
      this.holdStill(layout);
      this.leaveMoved();
    }
    if (store.revealed && this.revealed !== store.revealed) {
      this.revealed = store.revealed;
      this.bringIntoView(store.revealed.id);
    }
  }

  /** New rows above must not push away what a person reads; at the very top they are welcome. */
  private holdStill(layout: Layout): void {
    const { scroller } = this;
    const { scroll, selected } = this.store.state;
    if (!scroller) return;
    const index = scroll ? layout.where.get(scroll.key) : undefined;
    if (scroll && index !== undefined) this.jump(index * rowHeight - scroll.offset);
    else if (scroll === null) {
      const filtered = this.store.view.filter.terms.length > 0;
      if (filtered && selected !== null && layout.where.has(selected)) this.bringIntoView(selected);
      else this.jump(0);
    }
    // A list that became shorter was clamped by the browser.
    this.top = scroller.scrollTop;
    this.requestUpdate();
  }

  private jump(top: number): void {
    const { scroller } = this;
    if (!scroller) return;
    if (Math.abs(this.top - top) > 0.5) scroller.scrollTop = top;
    // The browser may have clamped it.
    this.top = scroller.scrollTop;
    this.rememberPlace();
  }

  private bringIntoView(key: string): void {
    const index = this.store.view.layout.where.get(key);
    if (index !== undefined) this.jump(scrollToReveal(this.viewport, index, rowHeight));
  }

  private selectionInSight(): boolean {
    const { selected } = this.store.state;
    const index = selected === null ? undefined : this.store.view.layout.where.get(selected);
    if (index === undefined || this.height === 0) return false;
    const top = index * rowHeight - this.top;
    return top >= 0 && top + rowHeight <= this.height;
  }

  private stickyDay({ items }: Layout): DayItem | null {
    const { scrollTop } = this.viewport;
    if (scrollTop <= 0) return null;
    for (let i = Math.min(items.length - 1, Math.floor(scrollTop / rowHeight)); i >= 0; i--) {
      const item = items[i];
      if (item?.kind === 'day') return item;
    }
    return null;
  }

  private readonly onScroll = (): void => {
    this.top = this.scroller?.scrollTop ?? 0;
    this.rememberPlace();
    this.leaveMoved();
    this.requestUpdate();
  };

  private rememberPlace(): void {
    const { items } = this.store.view.layout;
    const { scrollTop } = this.viewport;
    let index = Math.floor(scrollTop / rowHeight);
    while (items[index]?.kind === 'day') index++;
    const first = items[index];
    const scroll = scrollTop > 0 && first ? { key: first.key, offset: index * rowHeight - scrollTop } : null;
    this.store.remember({ scroll });
  }

  private itemOf(event: Event): LaneItem | null {
    const row = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-key]') : null;
    return this.store.item(row?.dataset['key'] ?? null);
  }

  private readonly onClick = (event: MouseEvent): void => {
    const item = this.itemOf(event);
    this.emit({ type: 'unhover' });
    if (!item) return;
    if (item.kind === 'fold') {
      this.store.select(item.key);
      // The second click of a double click would close it again.
      if (event.detail < 2) this.store.toggleFold(item.key, !item.open);
    } else if (item.kind === 'point' && (event.ctrlKey || event.metaKey)) this.store.toggleMark(item.key, true);
    else this.store.select(item.key);
  };

  private readonly onDoubleClick = (event: MouseEvent): void => {
    const item = this.itemOf(event);
    const plain = !event.ctrlKey && !event.metaKey;
    if (item?.kind === 'session') this.emit({ type: 'open-session', session: item.session });
    if (item?.kind === 'point' && plain) this.emit({ type: 'compare-working', key: item.key });
  };

  private readonly onContextMenu = (event: MouseEvent): void => {
    event.preventDefault();
    const item = this.itemOf(event);
    if (!item) return;
    this.store.select(item.key);
    this.emit({ type: 'menu', key: item.key, x: event.clientX, y: event.clientY });
  };

  /** Rows that move under a pointer at rest, by a key or while one scrolls, are not pointed at. */
  private readonly onHover = (event: PointerEvent): void => {
    const rests = event.clientX === this.pointer.x && event.clientY === this.pointer.y;
    this.pointer = { x: event.clientX, y: event.clientY };
    if (event.pointerType === 'touch' || rests) return;
    const row = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-key]') : null;
    const item = this.itemOf(event);
    const onButton = event.target instanceof Element && event.target.closest('button');
    if (!row || item?.kind !== 'point' || onButton) return this.onLeave();
    if (item.key === this.hovered?.key) return;
    this.hovered = { key: item.key, y: this.placeOf(item.key) };
    this.emit({ type: 'hover', item, anchor: row.getBoundingClientRect(), x: event.clientX });
  };

  private readonly onLeave = (): void => {
    this.hovered = null;
    this.emit({ type: 'unhover' });
  };

  /** A card stays with its row: also when the list is scrolled to keep that one where it is. */
  private leaveMoved(): void {
    if (this.hovered === null || this.placeOf(this.hovered.key) === this.hovered.y) return;
    this.hovered = null;
    this.emit({ type: 'unhover' });
  }

  private placeOf(key: string): number {
    return (this.store.view.layout.where.get(key) ?? -1) * rowHeight - this.top;
  }

  private readonly onInline = (event: Event, key: string, what: 'restore' | 'compare'): void => {
    event.stopPropagation();
    this.store.select(key);
    this.emit({ type: what === 'restore' ? 'restore' : 'compare-working', key });
  };

  private readonly onKey = (event: KeyboardEvent): void => {
    const intent = keyIntent(event);
    if (!intent) return;
    event.preventDefault();
    this.emit({ type: 'unhover' });
    this.follow(intent);
  };

  private follow(intent: Intent): void {
    const { store } = this;
    const item = store.selected;
    switch (intent.do) {
      case 'move':
        return this.step(intent.by);
      case 'page':
        return this.step(intent.by * pageStep(this.viewport));
      case 'first':
        return this.step(-Infinity);
      case 'last':
        return this.step(Infinity);
      case 'open':
        if (item?.kind !== 'fold') return;
        return item.open ? this.step(1) : store.toggleFold(item.key, true);
      case 'close':
        return this.closeFold(item);
      case 'filter':
      case 'escape':
        return this.emit({ type: intent.do });
      case 'type':
        return this.emit({ type: 'type', text: intent.text });
      default:
        if (item) this.act(intent.do, item);
    }
  }

  private act(
    what: Exclude<Intent['do'], 'move' | 'page' | 'first' | 'last' | 'open' | 'close' | 'filter' | 'escape' | 'type'>,
    item: LaneItem,
  ): void {
    const { store } = this;
    const { key } = item;
    if (what === 'menu') {
      this.bringIntoView(key);
      const at = this.selectedRect ?? this.getBoundingClientRect();
      return this.emit({ type: 'menu', key, x: at.left + 40, y: at.bottom });
    }
    if (item.kind === 'fold') {
      if (what === 'enter' || what === 'mark') store.toggleFold(key, !item.open);
      return;
    }
    if (item.kind === 'session') {
      if (what === 'enter') this.emit({ type: 'enter', key });
      return;
    }
    if (what === 'mark') store.toggleMark(key, false);
    else if (what === 'compare') this.emit({ type: 'compare-working', key });
    else this.emit({ type: what, key });
  }

  private closeFold(item: LaneItem | null): void {
    if (item?.kind === 'fold' && item.open) this.store.toggleFold(item.key, false);
    else if (item?.kind === 'point' && item.level === 2) {
      const { items, where } = this.store.view.layout;
      for (let i = where.get(item.key) ?? 0; i >= 0; i--) {
        const above = items[i];
        if (above?.kind === 'fold' && above.rows.includes(item.row)) return this.go(i);
      }
    }
  }

  /** By so many rows, days not counted; without a selection from the first row in sight. */
  private step(by: number): void {
    const { items, where } = this.store.view.layout;
    const stops = items.flatMap((item, index) => (item.kind === 'day' ? [] : [index]));
    const { selected } = this.store.state;
    const current = selected === null ? undefined : where.get(selected);
    const here = current === undefined ? -1 : stops.indexOf(current);
    const first = stops.findIndex((index) => index >= Math.floor(this.viewport.scrollTop / rowHeight));
    const target = here < 0 && Number.isFinite(by) ? Math.max(0, first) : here + by;
    const index = stops[Math.min(stops.length - 1, Math.max(0, target))];
    if (index !== undefined) this.go(index);
  }

  private go(index: number): void {
    const item = this.store.view.layout.items[index];
    if (!item || item.kind === 'day') return;
    this.store.select(item.key);
    // The first row of all shows its day, too.
    this.jump(index <= 1 ? 0 : scrollToReveal(this.viewport, index, rowHeight));
  }
}
