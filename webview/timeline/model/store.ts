import type { Caller } from '../../../src/protocol/caller';
import { applyReply } from '../../../src/protocol/delta';
import { toFailure, type Failure } from '../../../src/protocol/envelope';
import type {
  TimelineAction,
  TimelineDetails,
  TimelineEvent,
  TimelineMethods,
  TimelineRow,
  TimelineWindow,
} from '../../../src/protocol/timeline';
import { hostQueries, parseFilter } from './filter';
import { Finder } from './finder';
import { foldKey, sessionKey, type Item, type LaneItem } from './layout';
import type { PageState } from './page-state';
import { filteredData, rowData, type FilteredData, type RowData } from './view-data';

export type TimelineCaller = Caller<TimelineMethods, TimelineEvent>;

const freshFor = 2000;
/** Done the moment a question is answered, and nothing is opened for them. */
const brief: ReadonlySet<TimelineAction['type']> = new Set(['delete', 'rename', 'describe']);
const nothing = rowData({ rows: [], sessions: [] });

export interface StoreHooks {
  onChange: () => void;
  save: () => void;
  /** A question of the host's was answered: the page has the word again. */
  answered: () => void;
}

/** The page's data and what a person did with it. No DOM: views read it and are told when to look again. */
export class TimelineStore {
  window: TimelineWindow | null = null;
  /** Of the last load; rows that were there before stay on the screen. */
  failure: Failure | null = null;
  loading = true;
  details: TimelineDetails | null = null;
  detailsFailure: Failure | null = null;
  /** Actions the host has not finished. */
  acting = 0;
  /** For screen readers; a new object each time, so that the same words are said again. */
  announcement: { text: string } = { text: '' };
  /** Came in by the last answers, for a moment. */
  fresh: ReadonlySet<string> = new Set();
  /** Asks the list to scroll there; a new object for each wish. */
  revealed: { id: string } | null = null;
  data: RowData = nothing;
  view: FilteredData;
  readonly state: PageState;
  readonly finder: Finder;

  readonly #caller: TimelineCaller;
  readonly #onChange: () => void;
  readonly #save: () => void;
  readonly #answered: () => void;
  readonly #open: Set<string>;
  #running = false;
  #refetch = false;
  #detailsAbort = new AbortController();
  #detailsTimer: ReturnType<typeof setTimeout> | undefined;
  #freshTimer: ReturnType<typeof setTimeout> | undefined;
  #reveal: string | null = null;

  constructor(caller: TimelineCaller, state: PageState, hooks: StoreHooks) {
    this.#caller = caller;
    this.#onChange = hooks.onChange;
    this.#save = hooks.save;
    this.#answered = hooks.answered;
    this.state = state;
    this.#open = new Set(state.open);
    this.finder = new Finder(
      async (query, signal) => (await caller.call('find', { workspace: this.state.workspace, query }, { signal })).ids,
      (failure) => this.#foundMore(failure),
    );
    this.view = this.#derive();
    caller.onEvent((event) => {
      if (event.type === 'changed') void this.load();
      else this.revealIn(event.workspace, event.type === 'reveal' ? event.id : sessionKey(event.session));
    });
  }

  // Loading

  /** One at a time: what changes meanwhile is fetched by one more round, however often it changed. */
  async load(): Promise<void> {
    if (this.#running) {
      this.#refetch = true;
      return;
    }
    this.#running = true;
    this.loading = true;
    this.#onChange();
    do {
      this.#refetch = false;
      // Also after a failure: what changed meanwhile may be what it failed of.
      this.failure = await this.#fetch().then(() => null, toFailure);
    } while (this.#refetch);
    if (this.failure) this.announce(`The timeline could not be loaded. ${this.failure.message}`);
    this.#running = false;
    this.loading = false;
    this.#onChange();
  }

  retry(): void {
    this.#caller.hello();
    void this.load();
  }

  async #fetch(): Promise<void> {
    const { workspace } = this.state;
    const known = this.window?.revision ?? null;
    const reply = await this.#caller.call('timeline', { workspace, known });
    const next =
      applyReply(this.window, reply) ??
      applyReply(null, await this.#caller.call('timeline', { workspace, known: null }));
    if (!next) throw new Error('The host answered with changes to something else.');
    // Another folder was asked for meanwhile: this answer is about the wrong one.
    if (workspace !== this.state.workspace) this.#refetch = true;
    else this.#receive(next);
  }

  #receive(next: TimelineWindow): void {
    const before = this.window;
    const version = this.#selectedVersion();
    const place = this.state.selected === null ? undefined : this.view.layout.where.get(this.state.selected);
    this.window = next;
    this.state.workspace = next.workspace;
    if (before?.rows !== next.rows || before.sessions !== next.sessions) {
      this.data = rowData(next);
      this.state.marks = this.state.marks.filter((id) => this.data.byId.has(id));
      this.finder.expire();
      this.finder.want(hostQueries(this.view.filter), 0);
      this.view = this.#derive();
      if (before && place !== undefined) this.#keepPlace(place);
      if (before && before.workspace === next.workspace) this.#announceNew(before, next);
    }
    const wanted = this.#reveal;
    this.#reveal = null;
    if (wanted !== null && this.#has(wanted)) this.reveal(wanted);
    else if (version !== this.#selectedVersion() || this.#detailsAreOld()) this.#loadDetails(0);
    this.#changed();
  }

  /** The selected one was deleted: its neighbour takes over, so that a keyboard does not start from the top again. */
  #keepPlace(place: number): void {
    const { items, where } = this.view.layout;
    if (this.state.selected === null || where.has(this.state.selected)) return;
    const near = items.slice(place).find((item) => item.kind !== 'day');
    const last = items.findLast((item) => item.kind !== 'day');
    this.state.selected = (near ?? last)?.key ?? null;
  }

  #selectedVersion(): string | undefined {
    return this.state.selected === null ? undefined : this.data.byId.get(this.state.selected)?.v;
  }

  #announceNew(before: TimelineWindow, next: TimelineWindow): void {
    const known = new Set(before.rows.map((row) => row.id));
    const fresh = next.rows.filter((row) => !known.has(row.id));
    if (fresh.length === 0) return;
    this.fresh = new Set([...this.fresh, ...fresh.map((row) => row.id)]);
    clearTimeout(this.#freshTimer);
    this.#freshTimer = setTimeout(() => (this.fresh = new Set()), freshFor);
    // An agent at work makes one before each call: to hear of each would leave one no peace.
    const worthAWord = fresh.filter(({ trigger }) => trigger !== 'tool');
    if (worthAWord.length > 1) this.announce(`${worthAWord.length} new checkpoints.`);
    else if (worthAWord[0]) this.announce(`New checkpoint: ${worthAWord[0].title}`);
  }

  setWorkspace(id: string): void {
    if (id === this.state.workspace) return;
    Object.assign(this.state, { workspace: id, selected: null, marks: [], scroll: null });
    this.window = null;
    this.data = nothing;
    this.view = this.#derive();
    void this.load();
  }

  // Filter

  setFilter(text: string): void {
    this.state.filter = text;
    this.state.scroll = null;
    this.finder.want(hostQueries(parseFilter(text, Date.now())), 150);
    this.view = this.#derive();
    this.#announceCount();
    this.#changed();
  }

  #foundMore(failure: unknown): void {
    if (failure) this.announce(`The search failed. ${toFailure(failure).message}`);
    this.view = this.#derive();
    this.#announceCount();
    this.#changed();
  }

  #announceCount(): void {
    const { filter, shown } = this.view;
    if (filter.problems[0]) this.announce(filter.problems[0]);
    else if (filter.terms.length > 0) this.announce(`${shown.length} of ${this.data.rows.length} checkpoints.`);
    else this.announce('All checkpoints.');
  }

  #derive(): FilteredData {
    const now = Date.now();
    return filteredData(this.data, this.state.filter, now, this.#open, this.finder?.found ?? new Map());
  }

  // Selection

  get selected(): LaneItem | null {
    return this.item(this.state.selected);
  }

  item(key: string | null): LaneItem | null {
    const index = key === null ? undefined : this.view.layout.where.get(key);
    const item = index === undefined ? undefined : this.view.layout.items[index];
    return item && item.kind !== 'day' ? item : null;
  }

  select(key: string | null): void {
    if (key === this.state.selected) return;
    this.state.selected = key;
    this.#loadDetails(80);
    this.#changed();
  }

  /** Another view asks for one, maybe of another folder than the one that is shown. */
  revealIn(workspace: string, id: string): void {
    if (workspace === this.state.workspace) return this.reveal(id);
    this.#reveal = id;
    this.setWorkspace(workspace);
  }

  #has(key: string): boolean {
    return this.data.byId.has(key) || this.#begun(key) || this.#newestOf(key) !== undefined;
  }

  #begun(key: string): boolean {
    return [...this.data.sessions.values()].some(({ id, begun }) => begun !== undefined && sessionKey(id) === key);
  }

  #newestOf(key: string): TimelineRow | undefined {
    return this.data.rows.find(({ session }) => session !== undefined && sessionKey(session) === key);
  }

  /** A session's newest checkpoint, or its beginning. */
  #revealSession(key: string): void {
    const newest = this.#newestOf(key);
    if (newest) return this.reveal(newest.id);
    this.state.filter = '';
    this.view = this.#derive();
    this.revealed = { id: key };
    this.select(key);
  }

  /** Shows a checkpoint (or a session) wherever it hides: in a fold, behind a filter, or not loaded yet. */
  reveal(id: string): void {
    const row = this.data.byId.get(id);
    if (!row && this.#has(id)) return this.#revealSession(id);
    if (!row) {
      this.#reveal = id;
      void this.load();
      return;
    }
    const fold = foldKey(row);
    if (fold !== null) this.#open.add(fold);
    if (!this.view.shown.includes(row)) this.state.filter = '';
    this.view = this.#derive();
    this.state.selected = id;
    this.state.detail = true;
    this.details = null;
    this.#loadDetails(0);
    this.revealed = { id };
    this.#changed();
  }

  toggleFold(key: string, open: boolean): void {
    if (this.#open.has(key) === open) return;
    if (open) this.#open.add(key);
    else this.#open.delete(key);
    const row = this.state.selected === null ? undefined : this.data.byId.get(this.state.selected);
    // The selection never vanishes into a closed fold: it becomes the fold.
    if (!open && row && foldKey(row) === key) this.state.selected = key;
    this.view = this.#derive();
    this.#loadDetails(80);
    this.#changed();
  }

  /** The first mark is the selection unless it is the one marked: click, then Ctrl+click, marks both. */
  toggleMark(id: string, withSelection: boolean): void {
    const { marks, selected } = this.state;
    if (marks.includes(id)) this.state.marks = marks.filter((mark) => mark !== id);
    else if (
      marks.length === 0 &&
      withSelection &&
      selected !== null &&
      selected !== id &&
      this.data.byId.has(selected)
    )
      this.state.marks = [selected, id];
    else this.state.marks = [...marks, id].slice(-2);
    const [a, b] = this.marked;
    if (a && b) this.announce(`Ready to compare ${a.title} with ${b.title}. Press Enter to compare.`);
    else if (a) this.announce(`${a.title} is marked. Mark another one to compare.`);
    else this.announce('Nothing is marked.');
    this.#changed();
  }

  clearMarks(): void {
    this.state.marks = [];
    this.announce('Nothing is marked.');
    this.#changed();
  }

  /** Older first. */
  get marked(): TimelineRow[] {
    const rows = this.state.marks.flatMap((id) => this.data.byId.get(id) ?? []);
    return rows.sort((a, b) => a.t - b.t);
  }

  setDetail(open: boolean): void {
    this.state.detail = open;
    this.#loadDetails(0);
    this.#changed();
  }

  remember(change: Partial<PageState>): void {
    Object.assign(this.state, change);
    this.#save();
  }

  // Details

  #loadDetails(delay: number): void {
    clearTimeout(this.#detailsTimer);
    this.#detailsAbort.abort();
    this.detailsFailure = null;
    const id = this.state.selected;
    if (this.details && this.details.checkpoint.id !== id) this.details = null;
    if (id === null || !this.data.byId.has(id) || !this.state.detail) return;
    this.#detailsAbort = new AbortController();
    const { signal } = this.#detailsAbort;
    this.#detailsTimer = setTimeout(() => void this.#fetchDetails(id, signal), delay);
  }

  async #fetchDetails(id: string, signal: AbortSignal): Promise<void> {
    try {
      const details = await this.#caller.call('details', { workspace: this.state.workspace, id }, { signal });
      if (signal.aborted) return;
      this.details = details;
    } catch (error) {
      if (signal.aborted) return;
      this.detailsFailure = toFailure(error);
    }
    this.#onChange();
  }

  /** Also when what they are compared with was deleted, and while a turn may have ended since. */
  #detailsAreOld(): boolean {
    if (this.details === null) return true;
    const { previous, turn, checkpoint } = this.details;
    if (turn === null && checkpoint.trigger === 'turn') return true;
    return [previous, turn?.end ?? null].some((id) => id !== null && !this.data.byId.has(id));
  }

  retryDetails(): void {
    this.#loadDetails(0);
    this.#onChange();
  }

  // Actions

  async act(action: TimelineAction): Promise<void> {
    this.acting++;
    this.#onChange();
    try {
      const { outcome } = await this.#caller.call('act', { workspace: this.state.workspace, action });
      if (outcome === 'done') this.announce('Done.');
      if (outcome === 'cancelled' || brief.has(action.type)) this.#answered();
    } catch (error) {
      // The host shows the error with its way out; here it is only said.
      this.announce(`That failed. ${toFailure(error).message}`);
    } finally {
      this.acting--;
      this.#onChange();
    }
  }

  announce(text: string): void {
    this.announcement = { text };
  }

  items(): readonly Item[] {
    return this.view.layout.items;
  }

  #changed(): void {
    this.state.open = [...this.#open];
    this.#save();
    this.#onChange();
  }
}
