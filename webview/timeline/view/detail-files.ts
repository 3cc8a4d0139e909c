import { html, nothing, type TemplateResult } from 'lit';
import type { Change, ChangeStatus } from '../../../src/core/model';
import type { TimelineAction, TimelineDetails } from '../../../src/protocol/timeline';
import { count, plural, splitPath } from '../model/texts';

const letters: Record<ChangeStatus, { letter: string; label: string }> = {
  added: { letter: 'A', label: 'added' },
  modified: { letter: 'M', label: 'modified' },
  deleted: { letter: 'D', label: 'deleted' },
  typechange: { letter: 'T', label: 'type changed' },
  renamed: { letter: 'R', label: 'renamed' },
};

const firstLook = 100;

export interface FilesContext {
  act: (action: TimelineAction) => void;
  showAll: boolean;
  onShowAll: () => void;
}

export function filesSection(details: TimelineDetails, context: FilesContext): TemplateResult {
  const { changes, totals, checkpoint, previous } = details;
  // Nothing to compare the oldest one with: what is listed is what it holds.
  const oldest = previous === null;
  const shown = context.showAll ? changes : changes.slice(0, firstLook);
  const largest = Math.max(1, ...changes.map((change) => change.additions + change.deletions));
  const beyond = totals.files - changes.length;
  return html`<section class="block" aria-labelledby="files-heading">
    <h3 id="files-heading">
      ${oldest ? 'All files' : 'Changed files'}
      <span class="block-note">
        ${totals.files === 0 && !oldest ? 'none since the previous checkpoint' : plural(totals.files, 'file')}${
          oldest ? (checkpoint.files.only ? ', imported' : ', the oldest checkpoint') : ''
        }
        ${totals.additions > 0 ? html`<span class="added">+${count(totals.additions)}</span>` : nothing}
        ${totals.deletions > 0 ? html`<span class="deleted">−${count(totals.deletions)}</span>` : nothing}
      </span>
    </h3>
    ${
      changes.length === 0
        ? nothing
        : html`<ul class="files">
            ${shown.map((change) => fileRow(change, details, largest, context.act))}
          </ul>`
    }
    ${
      shown.length < changes.length
        ? html`<button class="link" @click=${context.onShowAll}>
            Show ${count(changes.length - shown.length)} more
          </button>`
        : nothing
    }
    ${
      beyond > 0 && shown.length === changes.length
        ? html`<button class="link" @click=${() => context.act({ type: 'comparePrevious', id: checkpoint.id })}>
            ${count(beyond)} more: open them all in the editor
          </button>`
        : nothing
    }
  </section>`;
}

function fileRow(
  change: Change,
  { checkpoint: { id }, previous }: TimelineDetails,
  largest: number,
  act: FilesContext['act'],
): TemplateResult {
  const { path, from, status, additions, deletions } = change;
  const { folder, name } = splitPath(path);
  const { letter, label } = letters[status];
  // Lines that cannot be counted.
  const word = change.damaged ? 'damaged' : change.binary ? 'binary' : null;
  const numbers = word ?? `${plural(additions, 'line')} added, ${count(deletions)} removed`;
  const action = (icon: string, title: string, run: TimelineAction): TemplateResult =>
    html`<button class="icon-button" title=${title} aria-label="${title}: ${path}" @click=${() => act(run)}>
      <span class="codicon codicon-${icon}"></span>
    </button>`;
  return html`<li class="file change-${status}">
    <button
      class="file-open"
      title="${from ? `${from} → ${path}` : path}
Open changes since the previous checkpoint"
      @click=${() => act({ type: 'openDiff', id, path, ...(from ? { from } : {}), against: 'previous' })}
    >
      <span class="file-letter" aria-hidden="true">${letter}</span>
      <span class="file-name">${name}</span>
      <span class="file-folder">${folder}</span>
      <span class="unseen">${label}, ${numbers}. Open changes</span>
      ${
        word !== null
          ? html`<span class="file-binary" aria-hidden="true">${word}</span>`
          : html`<span class="file-numbers" aria-hidden="true">
              ${additions > 0 ? html`<span class="added">+${count(additions)}</span>` : nothing}
              ${deletions > 0 ? html`<span class="deleted">−${count(deletions)}</span>` : nothing}
            </span>`
      }
      ${word !== null ? nothing : changeBar(additions, deletions, largest)}
    </button>
    <span class="file-actions">
      ${action('compare-changes', 'Compare with working file', { type: 'openDiff', id, path, against: 'working' })}
      ${
        // A file that this checkpoint no longer has is brought back from the one before.
        status === 'deleted' && previous !== null
          ? action('discard', 'Bring this file back…', restoreOf(previous, path))
          : [
              action('go-to-file', 'Open file', { type: 'openFile', path }),
              action('discard', 'Restore this file…', restoreOf(id, path)),
            ]
      }
    </span>
  </li>`;
}

const restoreOf = (id: string, path: string): TimelineAction => ({
  type: 'restore',
  id,
  scope: ['files'],
  paths: [path],
});

/** Length by the logarithm, so that one generated file does not flatten all others; never less than can be seen. */
function changeBar(additions: number, deletions: number, largest: number): TemplateResult {
  const total = additions + deletions;
  const length = total === 0 ? 0 : Math.max(4, Math.round((Math.log1p(total) / Math.log1p(largest)) * 40));
  const green = total === 0 ? 0 : Math.round((additions / total) * length);
  const split = additions > 0 && deletions > 0 ? Math.min(length - 2, Math.max(2, green)) : green;
  return html`<svg class="file-bar" width="40" height="8" aria-hidden="true">
    <rect class="bar-track" width="40" height="8" rx="2"></rect>
    <rect class="bar-added" width=${split} height="8" rx="2"></rect>
    <rect class="bar-deleted" x=${split} width=${length - split} height="8" rx="2"></rect>
  </svg>`;
}
