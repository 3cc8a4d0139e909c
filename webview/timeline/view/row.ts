import { html, nothing, type TemplateResult } from 'lit';
import { classMap } from 'lit/directives/class-map.js';
import type { TimeFormat } from '../model/dates';
import type { DayItem, FoldItem, Item, LaneItem, PointItem, SessionItem } from '../model/layout';
import { hasFiles } from '../model/menu';
import { count, describeItem, nothingYet, plural, sessionIcon, sessionTitle, statusIcon } from '../model/texts';
import { statusNames } from '../../../src/protocol/task-names';
import type { TimelineRow } from '../../../src/protocol/timeline';
import type { RowData } from '../model/view-data';
import { toneClass } from './points';

export interface RowContext {
  data: RowData;
  time: TimeFormat;
  now: number;
  selected: string | null;
  marks: readonly string[];
  /** Came in just now: shown by a short glow. */
  fresh: ReadonlySet<string>;
  /** Rows in a lane of several sessions: these say whose they are. */
  sharing: ReadonlySet<string>;
  onInline: (event: Event, key: string, what: 'restore' | 'compare') => void;
}

/** Ids are used by aria-activedescendant: no spaces, whatever a session is called. */
export const itemId = (key: string): string => `item-${encodeURIComponent(key)}`;

export function rowTemplate(item: Item, context: RowContext): TemplateResult {
  if (item.kind === 'day') return dayRow(item, context);
  if (item.kind === 'session') return sessionRow(item, context);
  return item.kind === 'fold' ? foldRow(item, context) : pointRow(item, context);
}

export function dayRow(item: DayItem, { time, now }: Pick<RowContext, 'time' | 'now'>): TemplateResult {
  return html`<div class="row day" aria-hidden="true">
    <span class="gutter"></span>
    <span class="day-name">${time.day(item.t, now)}</span>
    <span class="day-rule"></span>
    <span class="day-count">${item.count > 0 ? count(item.count) : ''}</span>
  </div>`;
}

/** Where a fork begins; its name is all there is to it. */
function sessionRow(item: SessionItem, context: RowContext): TemplateResult {
  const { data, time, now, selected } = context;
  return html`<div
    class=${classMap({ row: true, begun: true, selected: item.key === selected })}
    id=${itemId(item.key)}
    data-key=${item.key}
    role="treeitem"
    aria-level="1"
    aria-selected=${item.key === selected}
    aria-posinset=${item.position}
    aria-setsize=${item.size}
  >
    <span class="gutter"></span>
    ${headLabel(item, context)}
    <span class="unseen">${sessionTitle(item.session, data)}, ${describeItem(item, data, time, now)}</span>
    <span class="preview">${nothingYet}</span>
    <span class="tail" aria-hidden="true"><span class="time">${time.clock(item.t)}</span></span>
  </div>`;
}

function foldRow(item: FoldItem, context: RowContext): TemplateResult {
  const { data, time, now, selected } = context;
  const titles = [...new Set(item.rows.map((row) => row.title))].slice(0, 6).join(' · ');
  const newest = item.rows[0]?.t ?? 0;
  return html`<div
    class=${classMap({ row: true, fold: true, selected: item.key === selected })}
    id=${itemId(item.key)}
    data-key=${item.key}
    role="treeitem"
    aria-level="1"
    aria-expanded=${item.open}
    aria-selected=${item.key === selected}
    aria-posinset=${item.position}
    aria-setsize=${item.size}
  >
    <span class="gutter"></span>
    <span class="twistie codicon codicon-chevron-${item.open ? 'down' : 'right'}" aria-hidden="true"></span>
    <span class="title">${plural(item.rows.length, 'tool call')}</span>
    <span class="unseen">, ${describeItem(item, data, time, now)}</span>
    <span class="preview" aria-hidden="true">${item.open ? '' : titles}</span>
    ${headLabel(item, context)}
    <span class="tail" aria-hidden="true"><span class="time">${time.clock(newest)}</span></span>
  </div>`;
}

function pointRow(item: PointItem, context: RowContext): TemplateResult {
  const { data, time, now, selected, marks, fresh, onInline } = context;
  const { row, status, key } = item;
  const mark = marks.indexOf(key);
  return html`<div
    class=${classMap({
      row: true,
      [`by-${row.trigger}`]: true,
      nested: item.level === 2,
      named: row.named ?? false,
      selected: key === selected,
      marked: mark >= 0,
      fresh: fresh.has(key),
    })}
    id=${itemId(key)}
    data-key=${key}
    role="treeitem"
    aria-level=${item.level}
    aria-selected=${key === selected || mark >= 0}
    aria-posinset=${item.position}
    aria-setsize=${item.size}
  >
    <span class="gutter"></span>
    ${mark >= 0 ? html`<span class="mark-letter" aria-hidden="true">${mark === 0 ? 'A' : 'B'}</span>` : nothing}
    <span class="title" dir="auto">${row.title}</span>
    <span class="unseen">, ${describeItem(item, data, time, now)}</span>
    ${row.pinned ? html`<span class="badge codicon codicon-pinned" aria-hidden="true"></span>` : nothing}
    ${
      row.subagent
        ? html`<span class="badge codicon codicon-type-hierarchy-sub" title="By a sub-agent" aria-hidden="true"></span>`
        : nothing
    }
    ${row.partial ? html`<span class="badge warn codicon codicon-warning" aria-hidden="true"></span>` : nothing}
    ${row.origin ? html`<span class="badge codicon codicon-cloud-download" aria-hidden="true"></span>` : nothing}
    ${
      status
        ? html`<span class="chip status status-${status.to}" aria-hidden="true">
            <span class="codicon codicon-${statusIcon[status.to]}"></span>${statusNames[status.to]}
          </span>`
        : nothing
    }
    ${headLabel(item, context)}
    <span class="tail" aria-hidden="true">
      <span class="inline">
        ${
          hasFiles(row)
            ? html`<button
                tabindex="-1"
                title="Compare with Working Files"
                @click=${(e: Event) => onInline(e, key, 'compare')}
              >
                <span class="codicon codicon-compare-changes"></span>
              </button>`
            : nothing
        }
        <button tabindex="-1" title="Restore Checkpoint…" @click=${(e: Event) => onInline(e, key, 'restore')}>
          <span class="codicon codicon-discard"></span>
        </button>
      </span>
      ${fileCounts(row)}
      <span class="time">${time.clock(row.t)}</span>
    </span>
  </div>`;
}

/** The session's name at its newest point, and wherever its lane is that of others, too, in its colour. */
function headLabel(item: LaneItem, { data, sharing }: RowContext): TemplateResult | typeof nothing {
  if (item.session === null || !(item.head || sharing.has(item.key))) return nothing;
  const session = data.sessions.get(item.session);
  return html`<span
    aria-hidden="true"
    class="chip session ${toneClass(data.tones.get(item.session) ?? 0)} ${session?.state === 'deleted' ? 'gone' : ''}"
  >
    <span class="codicon codicon-${sessionIcon(item.session, data)}"></span
    ><span class="chip-text" dir="auto">${sessionTitle(item.session, data)}</span>
  </span>`;
}

function fileCounts({ changes, turnFiles }: TimelineRow): TemplateResult | typeof nothing {
  if (turnFiles !== undefined)
    return html`<span class="counts"><span class="in-all">${plural(turnFiles, 'file')}</span></span>`;
  if (!changes) return nothing;
  const [added, modified, deleted] = changes;
  return html`<span class="counts">
    ${added > 0 ? html`<span class="added">+${count(added)}</span>` : nothing}
    ${modified > 0 ? html`<span class="modified">~${count(modified)}</span>` : nothing}
    ${deleted > 0 ? html`<span class="deleted">−${count(deleted)}</span>` : nothing}
  </span>`;
}
