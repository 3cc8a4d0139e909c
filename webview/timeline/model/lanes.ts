/** A session's stretch of the list, top is newest. `parent` is undefined for a lane that hangs on nothing. */
export interface Span {
  session: string | null;
  top: number;
  bottom: number;
  /** Item of the parent's lane it branched off at, below `bottom`. */
  fork: number | null;
  parent: string | null | undefined;
  /** It branched off something that is not shown. */
  orphan: boolean;
}

export interface LaneLine {
  session: string | null;
  column: number;
  top: number;
  /** The last item of its own. */
  bottom: number;
  /** The item where it bends into `parentColumn`. */
  fork: number | null;
  parentColumn: number;
  orphan: boolean;
}

/**
 * The first free column from the left for each lane; a fork right of what it branched off, so that time flows from the
 * trunk outwards. Checkpoints of no session have the leftmost column to themselves.
 */
export function assignColumns(spans: readonly Span[]): {
  lines: LaneLine[];
  columns: number;
  columnOf: ReadonlyMap<string | null, number>;
} {
  const columnOf = new Map<string | null, number>();
  const taken: Array<Array<{ top: number; bottom: number }>> = [];
  const base = spans.some((span) => span.session === null) ? 1 : 0;

  const place = (span: Span): void => {
    const bottom = span.fork ?? span.bottom;
    const from = typeof span.parent === 'string' ? (columnOf.get(span.parent) ?? base) + 1 : base;
    let column = span.session === null ? 0 : from;
    while (taken[column]?.some((other) => other.top <= bottom && span.top <= other.bottom)) column++;
    (taken[column] ??= []).push({ top: span.top, bottom });
    columnOf.set(span.session, column);
  };
  for (const span of parentsFirst(spans)) place(span);

  const lines = spans.map(({ session, top, bottom, fork, parent, orphan }) => ({
    session,
    top,
    bottom,
    fork,
    orphan: orphan && fork === null,
    column: columnOf.get(session) ?? 0,
    parentColumn: parent === undefined ? 0 : (columnOf.get(parent) ?? 0),
  }));
  return { lines, columns: Math.max(1, taken.length), columnOf };
}

function parentsFirst(spans: readonly Span[]): Span[] {
  const bySession = new Map(spans.map((span) => [span.session, span]));
  const done = new Set<Span>();
  const order: Span[] = [];
  const visit = (span: Span): void => {
    if (done.has(span)) return;
    // Marked before its parent is visited: records that name each other as parents must not loop.
    done.add(span);
    const parent = typeof span.parent === 'string' ? bySession.get(span.parent) : undefined;
    if (parent) visit(parent);
    order.push(span);
  };
  for (const span of [...spans].sort((a, b) => b.bottom - a.bottom)) visit(span);
  return order;
}
