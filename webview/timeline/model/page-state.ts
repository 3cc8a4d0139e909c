/** What a person would miss if it were gone after hiding the view. JSON, kept by VS Code. */
export interface PageState {
  version: 1;
  workspace: string | null;
  filter: string;
  selected: string | null;
  marks: string[];
  /** The first row in sight and how far it is scrolled out; null at the very top, where new ones appear. */
  scroll: { key: string; offset: number } | null;
  detail: boolean;
  /** Size of the detail pane in pixels: beside the list, and below it. */
  beside: number;
  below: number;
  open: string[];
}

export const initialState: PageState = {
  version: 1,
  workspace: null,
  filter: '',
  selected: null,
  marks: [],
  scroll: null,
  detail: true,
  beside: 400,
  below: 320,
  open: [],
};

/** A state of an older or newer version, or a broken one, is as good as none: field by field. */
export function readPageState(value: unknown): PageState {
  const state = structuredClone(initialState);
  if (typeof value !== 'object' || value === null || (value as { version?: unknown }).version !== 1) return state;
  const saved = value as Record<string, unknown>;
  const texts = (list: unknown): string[] | null =>
    Array.isArray(list) ? list.filter((entry) => typeof entry === 'string') : null;
  if (typeof saved['workspace'] === 'string') state.workspace = saved['workspace'];
  if (typeof saved['filter'] === 'string') state.filter = saved['filter'];
  if (typeof saved['selected'] === 'string') state.selected = saved['selected'];
  state.marks = texts(saved['marks'])?.slice(0, 2) ?? state.marks;
  state.open = texts(saved['open']) ?? state.open;
  if (typeof saved['detail'] === 'boolean') state.detail = saved['detail'];
  if (typeof saved['beside'] === 'number') state.beside = saved['beside'];
  if (typeof saved['below'] === 'number') state.below = saved['below'];
  const scroll = saved['scroll'];
  if (typeof scroll === 'object' && scroll !== null && 'key' in scroll && 'offset' in scroll) {
    const { key, offset } = scroll;
    if (typeof key === 'string' && typeof offset === 'number') state.scroll = { key, offset };
  }
  return state;
}
