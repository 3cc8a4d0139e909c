import { html, type TemplateResult } from 'lit';
import { keyHelp, keyName } from '../model/keys';
import { triggerLabel, triggers } from '../../../src/protocol/trigger-names';
import { isMac } from './platform';
import { foldIcon, pointIcon } from './points';

/** The legend: what shapes and keys mean. */
export function helpPanel(onClose: () => void): TemplateResult {
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') onClose();
  };
  return html`<div class="help" role="dialog" aria-label="Legend and Keys" tabindex="-1" @keydown=${onKey}>
    <div class="help-head">
      <h2>Legend</h2>
      <button class="icon-button" aria-label="Close Legend" title="Close (Escape)" @click=${onClose}>
        <span class="codicon codicon-close"></span>
      </button>
    </div>
    <ul class="help-points">
      ${triggers.map(
        (trigger) =>
          html`<li>${pointIcon({ trigger, tone: 0, status: 'in_progress' })}<span>${triggerLabel(trigger)}</span></li>`,
      )}
      <li>${pointIcon({ trigger: 'turn', tone: 0, ring: true })}<span>Named or pinned</span></li>
      <li>${foldIcon(0)}<span>Several tool calls</span></li>
      <li class="help-counts">
        <span class="counts" aria-hidden="true">
          <span class="added">+1</span><span class="modified">~2</span><span class="deleted">−3</span>
        </span>
        <span>Files added, modified, deleted</span>
      </li>
    </ul>
    <h2>Keys</h2>
    <dl class="help-keys">
      ${keyHelp.map(
        ([keys, what]) =>
          html`<dt><kbd>${keyName(keys, isMac)}</kbd></dt>
            <dd>${keyName(what, isMac)}</dd>`,
      )}
    </dl>
  </div>`;
}
