import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { keyed } from 'lit/directives/keyed.js';
import { Caller } from '../../../src/protocol/caller';
import {
  timelineTimeouts,
  type TimelineAction,
  type TimelineEvent,
  type TimelineMethods,
  type TimelineRow,
} from '../../../src/protocol/timeline';
import type { PageHost } from '../host';
import { TimeFormat } from '../model/dates';
import { compareInOrder, menuFor, menuOf, type MenuEntry } from '../model/menu';
import { readPageState } from '../model/page-state';
import { TimelineStore } from '../model/store';
import { compareBar } from './compare-bar';
import './detail';
import type { TimelineDetail } from './detail';
import './filter-field';
import type { TimelineFilter } from './filter-field';
import { FocusKeeper } from './focus-keeper';
import { helpPanel } from './help';
import './list';
import type { ListEvent, TimelineList } from './list';
import './menu';
import type { TimelineMenu } from './menu';
import './sash';
import {
  emptyState,
  errorState,
  loadingState,
  noFolderState,
  noticeBar,
  nothingFoundState,
  staleBar,
  underWay,
} from './states';
import './tooltip';
import type { TimelineTooltip } from './tooltip';

const wideFrom = 640;
/** Lower than this, list and details cannot both be read: the details then come only when asked for, in the list's place. */
const lowUpTo = 280;
const saveDelay = 150;
/** How often "5 minutes ago" and "Today" are looked at again. */
const minute = 60_000;

/** The whole page: toolbar, list, details, and what floats above them. */
@customElement('checkpoints-timeline')
export class CheckpointsTimeline extends LitElement {
  @state() private change = 0;
  @state() private size = { width: 0, height: 0 };
  @state() private help = false;
  /** In a low view: the details stand where the list was. */
  @state() private instead = false;
  private store: TimelineStore | null = null;
  private started = false;
  private readonly time = new TimeFormat();
  private saveTimer: ReturnType<typeof setTimeout> | undefined;
  private readonly resize = new ResizeObserver(([entry]) => {
    if (entry) this.size = { width: entry.contentRect.width, height: entry.contentRect.height };
  });

  /** The focus came before the list. */
  private listAwaited = false;
  private readonly focusKeeper = new FocusKeeper(this, (wasInDetail) => {
    const detail = wasInDetail || this.instead ? this.find<TimelineDetail>('timeline-detail') : null;
    const list = detail ?? this.find<TimelineList>('timeline-list');
    // While rows are about to come the list is waited for: the filter would open its suggestions over them.
    const isLoading = !this.store?.window;
    this.listAwaited = list === null && isLoading;
    this.giveFocus(list ?? (isLoading ? null : this.find<TimelineFilter>('timeline-filter')));
  });

  /** It may be so new that nothing is in it yet. */
  private giveFocus(next: LitElement | null): void {
    void next?.updateComplete.then(() => document.activeElement === document.body && next.focus());
  }

  private focusAwaited(): void {
    const list = this.listAwaited ? this.find<TimelineList>('timeline-list') : null;
    if (list === null) return;
    this.listAwaited = false;
    if (document.hasFocus()) this.giveFocus(list);
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  connect(host: PageHost): void {
    const caller = new Caller<TimelineMethods, TimelineEvent>(host.port, {
      timeouts: timelineTimeouts,
      page: crypto.randomUUID(),
    });
    const save = (): void => {
      clearTimeout(this.saveTimer);
      if (this.store) host.writeState(this.store.state);
    };
    const store = new TimelineStore(caller, readPageState(host.readState()), {
      onChange: () => this.change++,
      save: () => {
        clearTimeout(this.saveTimer);
        this.saveTimer = setTimeout(save, saveDelay);
      },
      answered: () => document.hasFocus() || this.focusKeeper.restore(),
    });
    this.store = store;
    // VS Code destroys a hidden page without a word; these two come first.
    window.addEventListener('pagehide', save);
    document.addEventListener('visibilitychange', () => document.visibilityState === 'hidden' && save());
    // VS Code moves the focus into the frame, not to anything in it.
    window.addEventListener('focus', () => document.activeElement === document.body && this.focusKeeper.restore());
    setInterval(() => this.change++, minute);
    void store.load();
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.resize.observe(this);
    this.focusKeeper.start();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.resize.disconnect();
    this.focusKeeper.stop();
  }

  private find<T extends HTMLElement>(tag: string): T | null {
    return this.querySelector<T>(tag);
  }

  private get beside(): boolean {
    return this.size.width >= wideFrom;
  }

  private get low(): boolean {
    return !this.beside && this.size.height < lowUpTo;
  }

  /** The details' size and its bounds: the list keeps room to be read. */
  private pane(): { value: number; min: number; max: number } {
    const { width, height } = this.size;
    const barHeight = this.store?.state.marks.length ? 72 : 0;
    const wanted = (this.beside ? this.store?.state.beside : this.store?.state.below) ?? 0;
    const [min, max] = this.beside ? [260, Math.max(260, width - 300)] : [120, Math.max(120, height - 200 - barHeight)];
    return { value: Math.min(max, Math.max(min, wanted)), min, max };
  }

  protected override willUpdate(): void {
    if (!this.low) this.instead = false;
  }

  protected override render(): TemplateResult {
    const { store } = this;
    if (!store) return html`${loadingState()}`;
    const { window: data } = store;
    const wanted = this.low ? this.instead : store.state.detail;
    const showDetail = wanted && store.data.rows.length > 0 && (this.beside || store.selected !== null);
    const over = this.low && showDetail;
    // Where nothing could be loaded there is nothing to filter, and nothing can be made.
    const bare = data?.workspace === null || (!data && store.failure !== null);
    return html`<main
        class="page ${this.beside ? 'beside' : over ? 'instead' : 'below'} ${this.size.height < lowUpTo ? 'low' : ''}"
      >
        ${bare ? nothing : this.toolbar(store)} ${noticeBar(data?.notices ?? [], this.act)}
        ${store.failure && store.window ? staleBar(store.failure.message, () => store.retry()) : nothing}
        <div class="panes">
          <div class="main" ?inert=${over}>
            <div class="stage">${this.main(store)} ${underWay(data?.operation ?? null)}</div>
            ${compareBar(store, this.compareMarks)}
          </div>
          ${showDetail ? this.detailPane(store) : nothing}
        </div>
        ${this.help ? helpPanel(() => this.closeHelp()) : nothing}
        <timeline-tooltip></timeline-tooltip>
        <timeline-menu></timeline-menu>
      </main>
      <div class="live" role="status" aria-live="polite">
        ${keyed(store.announcement, html`<span>${store.announcement.text}</span>`)}
      </div>`;
  }

  private toolbar(store: TimelineStore): TemplateResult {
    const busy = store.loading || store.acting > 0 || Boolean(store.window?.operation);
    const button = (icon: string, title: string, run: () => void, spare = false): TemplateResult =>
      html`<button class="icon-button ${spare ? 'spare' : ''}" title=${title} aria-label=${title} @click=${run}>
        <span class="codicon codicon-${icon}"></span>
      </button>`;
    const workspaces = store.window?.workspaces ?? [];
    return html`<div class="toolbar">
      ${
        workspaces.length > 1
          ? html`<select
              class="workspace"
              aria-label="Folder"
              @change=${(event: Event) => store.setWorkspace((event.target as HTMLSelectElement).value)}
            >
              ${workspaces.map(
                ({ id, name }) => html`<option value=${id} ?selected=${id === store.state.workspace}>${name}</option>`,
              )}
            </select>`
          : nothing
      }
      <timeline-filter .store=${store} .change=${this.change} .onLeave=${this.focusList}></timeline-filter>
      ${button('add', 'Create Checkpoint', () => this.act({ type: 'create' }))}
      ${button('refresh', 'Refresh', () => void store.load(), true)}
      ${button('question', 'Legend and Keys', () => this.toggleHelp())}
      ${
        (this.low ? this.instead || store.selected === null : store.state.detail) || store.data.rows.length === 0
          ? nothing
          : button(this.beside ? 'layout-sidebar-right-off' : 'layout-panel-off', 'Show Details', () =>
              this.showDetail(store),
            )
      }
      <div class="progress ${busy ? 'busy' : ''}" role="progressbar" aria-label="Working" ?hidden=${!busy}></div>
    </div>`;
  }

  private main(store: TimelineStore): TemplateResult {
    if (!store.window) return store.failure ? errorState(store.failure, this.act, () => store.retry()) : loadingState();
    if (store.window.workspace === null) return noFolderState(this.act);
    if (store.data.rows.length === 0) return emptyState(this.act);
    if (store.view.shown.length === 0) return nothingFoundState(() => store.setFilter(''), store.finder.waiting > 0);
    return html`<timeline-list
      .store=${store}
      .time=${this.time}
      .change=${this.change}
      .emit=${this.onList}
    ></timeline-list>`;
  }

  private detailPane(store: TimelineStore): TemplateResult {
    const { value, min, max } = this.pane();
    return html`<timeline-sash
        .beside=${this.beside}
        .value=${value}
        .min=${min}
        .max=${max}
        .onMove=${this.onSash}
      ></timeline-sash>
      <timeline-detail
        .store=${store}
        .time=${this.time}
        .change=${this.change}
        .onMenu=${this.openMenu}
        .onClose=${this.closeDetail}
      ></timeline-detail>`;
  }

  protected override updated(): void {
    this.selectNewest();
    this.focusAwaited();
    this.find<TimelineDetail>('timeline-detail')?.style.setProperty('--size', `${this.pane().value}px`);
  }

  /** Once, and only where the details have a place of their own: an empty pane tells a newcomer nothing. */
  private selectNewest(): void {
    const { store } = this;
    if (this.started || !store?.window || this.size.width === 0) return;
    this.started = true;
    const newest = store.items().find((item) => item.kind === 'point');
    if (this.beside && newest && store.state.selected === null && store.state.scroll === null) store.select(newest.key);
  }

  private readonly onSash = (size: number): void => {
    this.store?.remember(this.beside ? { beside: size } : { below: size });
    this.requestUpdate();
  };

  private readonly act = (action: TimelineAction): void => {
    void this.store?.act(action);
  };

  private readonly focusList = (): void => this.find<TimelineList>('timeline-list')?.focus();

  private readonly compareMarks = (): void => {
    const [a, b] = this.store?.marked ?? [];
    if (a && b) this.act(compareInOrder(a, b));
  };

  private readonly closeDetail = (): void => {
    if (this.low) this.instead = false;
    else this.store?.setDetail(false);
    void this.updateComplete.then(this.focusList);
  };

  private showDetail(store: TimelineStore): void {
    this.instead = this.low;
    store.setDetail(true);
  }

  private toggleHelp(): void {
    this.help = !this.help;
    if (this.help) void this.updateComplete.then(() => this.querySelector<HTMLElement>('.help')?.focus());
  }

  private closeHelp(): void {
    this.help = false;
    this.focusList();
  }

  private readonly openMenu = (row: TimelineRow, at: { x: number; y: number }): void => {
    if (this.store) this.showMenu(this.store, menuFor(row, this.store.marked), at);
  };

  private showMenu(store: TimelineStore, entries: readonly MenuEntry[], at: { x: number; y: number }): void {
    void this.find<TimelineMenu>('timeline-menu')?.open(entries, at, ({ run }) => {
      if (run.type === 'mark') store.toggleMark(run.id, false);
      else if (run.type === 'fold') store.toggleFold(run.key, run.open);
      else this.act(run);
    });
  }

  private readonly onList = (event: ListEvent): void => {
    const { store } = this;
    if (!store) return;
    const tooltip = this.find<TimelineTooltip>('timeline-tooltip');
    switch (event.type) {
      case 'hover':
        return tooltip?.show(event.item, event.anchor, event.x, store.data, this.time);
      case 'unhover':
        return tooltip?.hide();
      case 'type':
        return this.find<TimelineFilter>('timeline-filter')?.type(event.text);
      case 'filter':
        return this.find<TimelineFilter>('timeline-filter')?.focus();
      case 'escape':
        return this.escape(store);
      case 'menu': {
        const item = store.item(event.key);
        tooltip?.hide();
        return item ? this.showMenu(store, menuOf(item, store.marked), event) : undefined;
      }
      case 'open-session':
        return this.act({ type: 'openSession', session: event.session });
      case 'enter':
        return this.enter(store);
      case 'compare-working':
        return this.act({ type: 'compareWorking', id: event.key });
      case 'delete':
        return this.act({ type: 'delete', ids: [event.key] });
      case 'copy':
        return this.act({ type: 'copyId', id: event.key });
      case 'rename':
      case 'restore':
        return this.act({ type: event.type, id: event.key });
    }
  };

  private enter(store: TimelineStore): void {
    if (store.marked.length === 2) return this.compareMarks();
    this.showDetail(store);
    void this.updateComplete.then(() => this.find<TimelineDetail>('timeline-detail')?.focus());
  }

  /** One thing at a time, the latest first. */
  private escape(store: TimelineStore): void {
    if (this.help) this.closeHelp();
    else if (store.state.marks.length > 0) store.clearMarks();
    else if (store.state.filter !== '') store.setFilter('');
    else if (store.state.detail && !this.beside && !this.low) store.setDetail(false);
  }
}
