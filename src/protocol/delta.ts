import type { TimelineReply, TimelineRow, TimelineWindow } from './timeline';

/**
 * While an agent works, the timeline changes every second by one row out of thousands. The host remembers what a page
 * has and answers with the difference; whenever it is not sure, with everything.
 */
export class WindowSender {
  #revision: number | null = null;
  #workspace: string | null = null;
  #sent = new Map<string, string>();

  reset(): void {
    this.#revision = null;
    this.#sent = new Map();
  }

  reply(window: TimelineWindow, known: number | null): TimelineReply {
    const next = new Map(window.rows.map((row) => [row.id, JSON.stringify(row)]));
    const base = this.#revision;
    const before = this.#sent;
    const same = base !== null && base === known && this.#workspace === window.workspace;
    this.#revision = window.revision;
    this.#workspace = window.workspace;
    this.#sent = next;
    if (!same) return { kind: 'full', ...window };
    const { rows, ...frame } = window;
    const changed = rows.filter((row) => before.get(row.id) !== next.get(row.id));
    const removed = [...before.keys()].filter((id) => !next.has(id));
    return { kind: 'delta', base, changed, removed, ...frame };
  }
}

/** The page's side; null when the difference is to something the page does not have, so that it must ask for all. */
export function applyReply(current: TimelineWindow | null, reply: TimelineReply): TimelineWindow | null {
  if (reply.kind === 'full') {
    const { kind: _, ...window } = reply;
    return window;
  }
  if (!current || current.revision !== reply.base) return null;
  const { kind: _, base: _base, changed, removed, ...frame } = reply;
  // Every answer is a new copy; what says the same stays the same, for all rows are laid out anew when it changes.
  if (JSON.stringify(frame.sessions) === JSON.stringify(current.sessions)) frame.sessions = current.sessions;
  if (changed.length === 0 && removed.length === 0) return { ...frame, rows: current.rows };
  const gone = new Set([...removed, ...changed.map((row) => row.id)]);
  const rows = [...current.rows.filter((row) => !gone.has(row.id)), ...changed].sort(newestRowFirst);
  return { ...frame, rows };
}

function newestRowFirst(a: TimelineRow, b: TimelineRow): number {
  return b.t - a.t || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);
}
