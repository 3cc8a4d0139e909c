/** Arithmetic of a list whose rows all have one height. */
export interface Viewport {
  scrollTop: number;
  height: number;
  rowHeight: number;
  count: number;
}

/** Rows to draw: [start, end), some more than can be seen so that a quick flick shows no hole. */
export function visibleSlice(view: Viewport, overscan: number): { start: number; end: number } {
  const { scrollTop, height, rowHeight, count } = view;
  const first = Math.floor(Math.max(0, scrollTop) / rowHeight);
  const last = Math.ceil((Math.max(0, scrollTop) + height) / rowHeight);
  const end = Math.min(count, last + overscan);
  return { start: Math.max(0, Math.min(first - overscan, end)), end };
}

export function maxScroll({ height, rowHeight, count }: Viewport): number {
  return Math.max(0, count * rowHeight - height);
}

/** The least scrolling that shows the row whole; `inset` is covered by something at the top. */
export function scrollToShow(view: Viewport, index: number, inset: number): number {
  const top = index * view.rowHeight;
  const bottom = top + view.rowHeight;
  if (top - inset < view.scrollTop) return Math.max(0, top - inset);
  if (bottom > view.scrollTop + view.height) return Math.min(maxScroll(view), bottom - view.height);
  return view.scrollTop;
}

/** Far jumps put the row a third down: there is something to see above it. */
export function scrollToReveal(view: Viewport, index: number, inset: number): number {
  const near = scrollToShow(view, index, inset);
  if (Math.abs(near - view.scrollTop) <= view.height) return near;
  const wanted = index * view.rowHeight - view.height / 3;
  return Math.min(maxScroll(view), Math.max(0, wanted));
}

/** How far Page Up and Page Down go: what is seen, less one row to hold on to. */
export function pageStep({ height, rowHeight }: Viewport): number {
  return Math.max(1, Math.floor(height / rowHeight) - 2);
}
