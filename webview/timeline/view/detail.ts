import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import '@vscode-elements/elements/dist/vscode-button/index.js';
import type { Checkpoint } from '../../../src/core/model';
import type { TimelineAction, TimelineDetails, TimelineRow } from '../../../src/protocol/timeline';
import type { TimeFormat } from '../model/dates';
import type { FoldItem } from '../model/layout';
import { hasFiles } from '../model/menu';
import type { TimelineStore } from '../model/store';
import { plural, sessionIcon, sessionTitle, stateText } from '../model/texts';
import { triggerLabel } from '../../../src/protocol/trigger-names';
import { causeBlock, facets, idLine, promptBlock, warnings } from './detail-facts';
import { filesSection } from './detail-files';
import { sessionDetail } from './detail-session';
import { taskSection } from './detail-task';
import { pointIcon, toneClass } from './points';

/** Everything about the selected checkpoint, and everything one can do with it. */
@customElement('timeline-detail')
export class TimelineDetail extends LitElement {
  @property({ attribute: false }) store!: TimelineStore;
  @property({ attribute: false }) time!: TimeFormat;
  @property({ attribute: false }) onMenu: (row: TimelineRow, at: { x: number; y: number }) => void = () => undefined;
  @property({ attribute: false }) onClose: () => void = () => undefined;
  @property({ type: Number }) change = 0;
  @state() private showAll: string | null = null;

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override focus(): void {
    this.querySelector<HTMLElement>('.detail')?.focus();
  }

  protected override render(): TemplateResult {
    return html`<section class="detail" aria-label="Details" tabindex="-1" @keydown=${this.onKey}>
      ${this.content()}
    </section>`;
  }

  private content(): TemplateResult {
    const { store } = this;
    const item = store.selected;
    if (item?.kind === 'fold') return this.fold(item);
    if (item?.kind === 'session')
      return sessionDetail(item, {
        store,
        time: this.time,
        act: (action) => this.act(action),
        onClose: () => this.onClose(),
      });
    const row = item?.row;
    if (!row) return this.emptyHint();
    const { details, detailsFailure } = store;
    return html`${this.head(row, details?.checkpoint ?? null)}
      <div class="detail-body">
        ${
          detailsFailure
            ? html`<div class="detail-error" role="alert">
                <p>${detailsFailure.message}</p>
                <vscode-button secondary @click=${() => store.retryDetails()}>Retry</vscode-button>
              </div>`
            : details
              ? this.body(details)
              : html`<div class="detail-loading" aria-hidden="true">
                  ${[80, 55, 90, 70, 60].map((width) => html`<span class="bone w${width}"></span>`)}
                </div>`
        }
      </div>`;
  }

  private emptyHint(): TemplateResult {
    return html`<div class="detail-hint">
      <span class="codicon codicon-git-commit" aria-hidden="true"></span>
      <p>Select a checkpoint to see what changed, and to go back to it.</p>
    </div>`;
  }

  private head(row: TimelineRow, checkpoint: Checkpoint | null): TemplateResult {
    const { store, time } = this;
    const session = row.session ?? null;
    const tone = session === null ? null : (store.data.tones.get(session) ?? 0);
    const state = session === null ? undefined : store.data.sessions.get(session)?.state;
    const button = (icon: string, title: string, run: () => void): TemplateResult =>
      html`<button class="icon-button" title=${title} aria-label=${title} @click=${run}>
        <span class="codicon codicon-${icon}"></span>
      </button>`;
    const act = (action: TimelineAction) => () => this.act(action);
    const { id, pinned } = row;
    return html`<header class="detail-head">
      <div class="detail-kind">
        ${pointIcon({ trigger: row.trigger, tone, status: row.status, ring: Boolean(row.pinned ?? row.named) })}
        <span>${triggerLabel(row.trigger, row.origin)}</span>
        <span class="spring"></span>
        ${button(pinned ? 'pinned' : 'pin', pinned ? 'Unpin' : 'Pin', act({ type: 'pin', id, pinned: !pinned }))}
        ${button('edit', 'Rename…', act({ type: 'rename', id }))}
        <button
          class="icon-button"
          title="More Actions"
          aria-label="More Actions"
          aria-haspopup="menu"
          @click=${(event: Event) => this.openMenu(event, row)}
        >
          <span class="codicon codicon-ellipsis"></span>
        </button>
        ${button('close', 'Close Details', () => this.onClose())}
      </div>
      <h2 dir="auto" class=${row.named ? 'named' : ''}>${checkpoint?.title ?? row.title}</h2>
      <p class="detail-when">
        <time datetime=${new Date(row.t).toISOString()} title=${time.full(row.t)}>
          ${time.day(row.t, Date.now())}, ${time.clock(row.t)}
        </time>
        <span class="muted">${time.ago(row.t, Date.now())}</span>
        ${
          session === null
            ? nothing
            : html`<button
                class="chip session ${toneClass(tone)} ${state === 'deleted' ? 'gone' : ''}"
                title=${state === 'deleted' ? `Session: ${stateText.deleted}` : 'Open Session'}
                aria-label="Open Session: ${sessionTitle(session, store.data)}"
                @click=${act({ type: 'openSession', session })}
              >
                <span class="codicon codicon-${sessionIcon(session, store.data)}" aria-hidden="true"></span
                ><span class="chip-text" dir="auto">${sessionTitle(session, store.data)}</span>
              </button>`
        }
      </p>
      <div class="detail-actions">
        <vscode-button @click=${act({ type: 'restore', id })}>Restore…</vscode-button>
        ${
          hasFiles(row)
            ? html`<vscode-button
                secondary
                title="Compare with Working Files"
                @click=${act({ type: 'compareWorking', id })}
                >Compare</vscode-button
              >`
            : nothing
        }
        ${
          row.facets.includes('c')
            ? html`<vscode-button secondary title="Fork Session Here" @click=${act({ type: 'fork', id })}
                >Fork</vscode-button
              >`
            : nothing
        }
      </div>
    </header>`;
  }

  private body(details: TimelineDetails): TemplateResult {
    const { checkpoint } = details;
    return html`${checkpoint.description ? html`<p class="description" dir="auto">${checkpoint.description}</p>` : nothing}
    ${facets(details)} ${warnings(checkpoint)} ${promptBlock(checkpoint)}
    ${causeBlock(checkpoint, (id) => this.store.reveal(id))}
    ${filesSection(details, {
      act: (action) => this.act(action),
      showAll: this.showAll === checkpoint.id,
      onShowAll: () => (this.showAll = checkpoint.id),
    })}
    ${taskSection(details)} ${metadata(checkpoint)} ${idLine(checkpoint.id, (action) => this.act(action))}`;
  }

  private fold(item: FoldItem): TemplateResult {
    const { store, time } = this;
    const tone = item.session === null ? null : (store.data.tones.get(item.session) ?? 0);
    return html`<header class="detail-head">
        <div class="detail-kind">
          <span>One turn</span><span class="spring"></span>
          <button class="icon-button" title="Close Details" aria-label="Close Details" @click=${() => this.onClose()}>
            <span class="codicon codicon-close"></span>
          </button>
        </div>
        <h2>${plural(item.rows.length, 'tool call')}</h2>
        <p class="detail-when muted">${sessionTitle(item.session, store.data)}, turn ${item.rows[0]?.turn ?? ''}</p>
      </header>
      <div class="detail-body">
        <ul class="fold-list">
          ${item.rows.map(
            (row) =>
              html`<li>
                <button class="fold-entry" @click=${() => store.reveal(row.id)}>
                  ${pointIcon({ trigger: row.trigger, tone })}
                  <span class="title" dir="auto">${row.title}</span><span class="time">${time.clock(row.t)}</span>
                </button>
              </li>`,
          )}
        </ul>
      </div>`;
  }

  private act(action: TimelineAction): void {
    void this.store.act(action);
  }

  private openMenu(event: Event, row: TimelineRow): void {
    const at = event.currentTarget instanceof Element ? event.currentTarget.getBoundingClientRect() : null;
    if (at) this.onMenu(row, { x: at.right - 220, y: at.bottom + 2 });
  }

  private readonly onKey = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    this.onClose();
  };
}

function metadata({ metadata: fields }: Checkpoint): TemplateResult | typeof nothing {
  const entries = Object.entries(fields);
  if (entries.length === 0) return nothing;
  return html`<details class="metadata">
    <summary>Metadata</summary>
    <dl>
      ${entries.map(
        ([key, value]) =>
          html`<dt>${key}</dt>
            <dd>${typeof value === 'string' ? value : JSON.stringify(value)}</dd>`,
      )}
    </dl>
  </details>`;
}
