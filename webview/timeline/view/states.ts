import { html, nothing, type TemplateResult } from 'lit';
import '@vscode-elements/elements/dist/vscode-button/index.js';
import type { Failure } from '../../../src/protocol/envelope';
import type { Notice, NoticeAction, TimelineAction } from '../../../src/protocol/timeline';

type Act = (action: TimelineAction) => void;

export function loadingState(): TemplateResult {
  return html`<div class="state loading" role="status" aria-label="Loading checkpoints">
    ${Array.from(
      { length: 12 },
      (_, index) =>
        html`<div class="skeleton">
          <span class="bone dot"></span><span class="bone w${[60, 80, 45, 70, 55, 90][index % 6]}"></span>
        </div>`,
    )}
  </div>`;
}

function state(
  icon: string,
  title: string,
  text: TemplateResult | string,
  actions: TemplateResult | typeof nothing,
): TemplateResult {
  return html`<div class="state">
    <span class="state-icon codicon codicon-${icon}" aria-hidden="true"></span>
    <h2>${title}</h2>
    <p>${text}</p>
    <div class="state-actions">${actions}</div>
  </div>`;
}

export function errorState({ reason, message }: Failure, act: Act, onRetry: () => void): TemplateResult {
  // Nothing is wrong, and trying again would not help.
  if (reason === 'untrusted-folder')
    return state(
      'workspace-untrusted',
      'This folder is not trusted',
      'Checkpoints are made and shown here once you trust it.',
      html`<vscode-button @click=${() => act({ type: 'notice', action: 'manageTrust' })}>
        Manage Workspace Trust
      </vscode-button>`,
    );
  return html`<div role="alert">
    ${state(
      'error',
      'The timeline could not be loaded',
      message,
      html`<vscode-button @click=${onRetry}>Retry</vscode-button> ${wayOut(reason, act)}`,
    )}
  </div>`;
}

const waysOut: Record<string, { action: NoticeAction; label: string }> = {
  'store-broken': { action: 'runDoctor', label: 'Run Doctor' },
  'store-readonly': { action: 'openSettings', label: 'Open Settings' },
};

/** What the message tells to do, where it can be done from here. */
function wayOut(reason: string, act: Act): TemplateResult | typeof nothing {
  const found = waysOut[reason];
  if (!found) return nothing;
  const { action, label } = found;
  return html`<vscode-button secondary @click=${() => act({ type: 'notice', action })}>${label}</vscode-button>`;
}

export function noFolderState(act: Act): TemplateResult {
  return state(
    'folder-opened',
    'No folder is open',
    'Checkpoints belong to a folder. Open one to see its timeline.',
    html`<vscode-button @click=${() => act({ type: 'openFolder' })}>Open Folder</vscode-button>`,
  );
}

export function emptyState(act: Act): TemplateResult {
  return state(
    'history',
    'No checkpoints yet',
    'They appear here as the agent works: before each prompt and before each change. You can also make one now.',
    html`<vscode-button @click=${() => act({ type: 'create' })}>Create Checkpoint</vscode-button>`,
  );
}

export function nothingFoundState(onClear: () => void, searching: boolean): TemplateResult {
  return state(
    searching ? 'loading codicon-modifier-spin' : 'search',
    searching ? 'Searching…' : 'Nothing matches the filter',
    searching ? '' : html`Try fewer words, or <code>trigger:</code>, <code>file:</code>, <code>after:</code>.`,
    searching ? nothing : html`<vscode-button secondary @click=${onClear}>Clear Filter</vscode-button>`,
  );
}

export function underWay(operation: string | null): TemplateResult | typeof nothing {
  if (operation === null) return nothing;
  return html`<div class="operation" role="status">
    <span class="codicon codicon-loading codicon-modifier-spin" aria-hidden="true"></span><span>${operation}</span>
  </div>`;
}

const noticeIcons: Record<Notice['level'], string> = { info: 'info', warning: 'warning', error: 'error' };

export function noticeBar(notices: readonly Notice[], act: Act): TemplateResult | typeof nothing {
  if (notices.length === 0) return nothing;
  return html`<div class="notices">
    ${notices.map(({ level, text, action }) =>
      noticeRow(
        level,
        text,
        action &&
          html`<button class="link" @click=${() => act({ type: 'notice', action: action.id })}>
            ${action.label}
          </button>`,
      ),
    )}
  </div>`;
}

/** Rows are there, but the last refresh failed: said, not hidden, and nothing is taken away. */
export function staleBar(message: string, retry: () => void): TemplateResult {
  return html`<div class="notices" role="alert">
    ${noticeRow('error', `Not up to date: ${message}`, html`<button class="link" @click=${retry}>Retry</button>`)}
  </div>`;
}

/** In a low view the text is cut to one line, and its way out stays beside it. */
const noticeRow = (level: Notice['level'], text: string, wayOut?: TemplateResult): TemplateResult =>
  html`<div class="notice notice-${level}">
    <span class="codicon codicon-${noticeIcons[level]}" aria-hidden="true"></span>
    <span class="notice-body"><span class="notice-text" title=${text}>${text}</span> ${wayOut ?? nothing}</span>
  </div>`;
