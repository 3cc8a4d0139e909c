import { html, nothing, type TemplateResult } from 'lit';
import '@vscode-elements/elements/dist/vscode-button/index.js';
import { keyName } from '../model/keys';
import type { TimelineStore } from '../model/store';
import { isMac } from './platform';

/** Appears with the first mark and says what is missing; with the second it compares. */
export function compareBar(store: TimelineStore, onCompare: () => void): TemplateResult | typeof nothing {
  const [a, b] = store.state.marks.flatMap((id) => store.data.byId.get(id) ?? []);
  if (!a) return nothing;
  const side = (letter: string, title: string): TemplateResult =>
    html`<span class="compare-side" title=${title}
      ><span class="mark-letter">${letter}</span><span class="compare-title" dir="auto">${title}</span></span
    >`;
  return html`<div class="compare-bar" role="group" aria-label="Compare two checkpoints">
    <div class="compare-sides">
      ${side('A', a.title)}
      ${b ? side('B', b.title) : html`<span class="compare-hint">${keyName('Ctrl+click', isMac)} or Space marks the second</span>`}
    </div>
    ${b ? html`<vscode-button @click=${onCompare}>Compare A with B</vscode-button>` : nothing}
    <button class="icon-button" aria-label="Clear Marks" title="Clear (Escape)" @click=${() => store.clearMarks()}>
      <span class="codicon codicon-close"></span>
    </button>
  </div>`;
}
