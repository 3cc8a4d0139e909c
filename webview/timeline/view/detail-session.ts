import { html, nothing, type TemplateResult } from 'lit';
import type { TimelineAction, TimelineRow } from '../../../src/protocol/timeline';
import type { TimeFormat } from '../model/dates';
import type { SessionItem } from '../model/layout';
import type { TimelineStore } from '../model/store';
import { nothingYet, sessionTitle, stateText } from '../model/texts';
import { pointIcon } from './points';

interface Context {
  store: TimelineStore;
  time: TimeFormat;
  act: (action: TimelineAction) => void;
  onClose: () => void;
}

/** A fork in which nothing was done yet: where it comes from, and the way to it. */
export function sessionDetail(item: SessionItem, context: Context): TemplateResult {
  const { store, time, act, onClose } = context;
  const { data } = store;
  const session = data.sessions.get(item.session);
  const from = session?.forkedFrom ? data.byId.get(session.forkedFrom) : undefined;
  const origin = session?.parent ?? from?.session ?? null;
  return html`<header class="detail-head">
      <div class="detail-kind">
        <span class="codicon codicon-repo-forked" aria-hidden="true"></span>
        <span>${origin === null ? 'Fork' : `Fork of ${sessionTitle(origin, data)}`}</span>
        <span class="spring"></span>
        <button class="icon-button" title="Close Details" aria-label="Close Details" @click=${onClose}>
          <span class="codicon codicon-close"></span>
        </button>
      </div>
      <h2 dir="auto">${sessionTitle(item.session, data)}</h2>
      <p class="detail-when">
        <time datetime=${new Date(item.t).toISOString()} title=${time.full(item.t)}>
          ${time.day(item.t, Date.now())}, ${time.clock(item.t)}
        </time>
        <span class="muted">${session?.state ? stateText[session.state] : nothingYet}</span>
      </p>
      <div class="detail-actions">
        <vscode-button @click=${() => act({ type: 'openSession', session: item.session })}>Open Session</vscode-button>
      </div>
    </header>
    <div class="detail-body">${from ? forkedAt(from, context) : nothing}</div>`;
}

function forkedAt(from: TimelineRow, { store, time }: Context): TemplateResult {
  const tone = from.session === undefined ? null : (store.data.tones.get(from.session) ?? 0);
  return html`<section class="block" aria-labelledby="forked-heading">
    <h3 id="forked-heading">Forked at</h3>
    <ul class="fold-list">
      <li>
        <button class="fold-entry" @click=${() => store.reveal(from.id)}>
          ${pointIcon({ trigger: from.trigger, tone })}
          <span class="title" dir="auto">${from.title}</span><span class="time">${time.clock(from.t)}</span>
        </button>
      </li>
    </ul>
  </section>`;
}
