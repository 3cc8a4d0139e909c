import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { facetLetters } from '../../../src/protocol/timeline';
import type { TimeFormat } from '../model/dates';
import type { PointItem } from '../model/layout';
import { changedFiles, sessionTitle, stateText } from '../model/texts';
import { statusNames } from '../../../src/protocol/task-names';
import { triggerLabel } from '../../../src/protocol/trigger-names';
import type { RowData } from '../model/view-data';
import { pointIcon } from './points';

const facetNames: Array<[keyof typeof facetLetters, string, string]> = [
  ['files', 'files', 'Files'],
  ['conversation', 'comment-discussion', 'Conversation'],
  ['task', 'tasklist', 'Task'],
  ['git', 'git-commit', 'Git'],
];

const delay = 500;

/** The card beside the pointer. For the eye only: rows say the same in words, and the detail pane more. */
@customElement('timeline-tooltip')
export class TimelineTooltip extends LitElement {
  @state() private card: TemplateResult | typeof nothing = nothing;
  private timer: ReturnType<typeof setTimeout> | undefined;

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  show(item: PointItem, anchor: DOMRect, pointerX: number, data: RowData, time: TimeFormat): void {
    clearTimeout(this.timer);
    this.card = nothing;
    this.timer = setTimeout(() => {
      this.card = card(item, data, time);
      void this.updateComplete.then(() => this.place(anchor, pointerX));
    }, delay);
  }

  hide(): void {
    clearTimeout(this.timer);
    this.card = nothing;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.hide();
  }

  protected override render(): TemplateResult {
    return html`${this.card}`;
  }

  /** Below the row, above it where there is no room. */
  private place(anchor: DOMRect, pointerX: number): void {
    const element = this.querySelector<HTMLElement>('.tooltip');
    if (!element) return;
    const { width, height } = element.getBoundingClientRect();
    const x = Math.max(6, Math.min(pointerX + 12, window.innerWidth - width - 6));
    const below = anchor.bottom + 6;
    const y = below + height + 6 <= window.innerHeight ? below : Math.max(6, anchor.top - height - 6);
    element.style.setProperty('left', `${x}px`);
    element.style.setProperty('top', `${y}px`);
    element.classList.add('placed');
  }
}

function card({ row, session, status }: PointItem, data: RowData, time: TimeFormat): TemplateResult {
  const tone = session === null ? null : (data.tones.get(session) ?? 0);
  const state = session === null ? undefined : data.sessions.get(session)?.state;
  return html`<div class="tooltip" aria-hidden="true">
    <div class="tooltip-head">
      ${pointIcon({ trigger: row.trigger, tone, status: row.status })}
      <span>${triggerLabel(row.trigger, row.origin)}</span>
      <span class="tooltip-ago">${time.ago(row.t, Date.now())}</span>
    </div>
    <div class="tooltip-title" dir="auto">${row.title}</div>
    <div class="tooltip-line">
      <span class="codicon codicon-comment-discussion"></span>${sessionTitle(session, data)}${
        row.turn === undefined ? nothing : html`<span class="muted"> · turn ${row.turn}</span>`
      }${state ? html`<span class="muted"> · ${stateText[state]}</span>` : nothing}
    </div>
    <div class="tooltip-line"><span class="codicon codicon-files"></span>${changedFiles(row)}</div>
    ${
      status
        ? html`<div class="tooltip-line">
            <span class="codicon codicon-tasklist"></span>${
              status.from ? `${statusNames[status.from]} → ` : ''
            }${statusNames[status.to]}
          </div>`
        : nothing
    }
    ${
      row.origin
        ? html`<div class="tooltip-line"><span class="codicon codicon-cloud-download"></span>${row.origin}</div>`
        : nothing
    }
    <div class="tooltip-facets">
      ${facetNames
        .filter(([facet]) => row.facets.includes(facetLetters[facet]))
        .map(([, icon, label]) => html`<span><span class="codicon codicon-${icon}"></span>${label}</span>`)}
      <span class="tooltip-time">${time.full(row.t)}</span>
    </div>
  </div>`;
}
