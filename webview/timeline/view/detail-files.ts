import { html, nothing, type TemplateResult } from 'lit';
import type { Change, ChangeStatus } from '../../../src/core/model';
import type { ChangeTotals, TimelineAction, TimelineDetails } from '../../../src/protocol/timeline';
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

type Button = [icon: string, title: string, run: TimelineAction];

/** One list of changed files, and what its rows lead to. */
interface FileList {
  id: string;
  heading: string;
  /** In place of the number. */
  note?: string;
  changes: readonly Change[];
  totals: ChangeTotals;
  since: string;
  open: (change: Change) => TimelineAction;
  openAll: TimelineAction;
  /** The row's buttons, by icon. */
  actions: (change: Change) => Button[];
}

/** What changed up to a checkpoint; of a prompt first what its turn did. */
export function filesSection(details: TimelineDetails, context: FilesContext): TemplateResult {
  const { checkpoint, totals, turn } = details;
  if (checkpoint.trigger !== 'turn' || checkpoint.turn === null) return fileList(changesBefore(details), context);
  return html`${turn === null ? openTurn(checkpoint.id, context.act) : fileList(changesOfTurn(checkpoint.id, turn), context)}
  ${totals.files === 0 ? nothing : fileList(changesBefore(details), context)}`;
}

function changesBefore({ checkpoint, changes, totals, previous, wholeTurn }: TimelineDetails): FileList {
  const { id, trigger, files } = checkpoint;
  // Nothing to compare the oldest one with: what is listed is what it holds.
  const oldest = previous === null;
  const changed = wholeTurn
    ? 'Changed in this turn'
    : trigger === 'turn'
      ? 'Changed before the prompt'
      : 'Changed files';
  const since = wholeTurn ? 'the prompt' : 'the previous checkpoint';
  const number = plural(totals.files, 'file');
  const list = { id: 'files', heading: oldest ? 'All files' : changed, changes, totals, since };
  return {
    ...list,
    ...(oldest ? { note: `${number}, ${files.only ? 'imported' : 'the oldest checkpoint'}` } : {}),
    open: ({ path, from }) => ({ type: 'openDiff', id, path, ...(from ? { from } : {}), against: 'previous' }),
    openAll: { type: 'comparePrevious', id },
    actions: ({ path, status }) => [
      compareWorking(id, path),
      // A file that this checkpoint no longer has is brought back from the one before.
      ...(status === 'deleted' && previous !== null
        ? [bringBack(previous, path)]
        : [openFile(path), ['discard', 'Restore This File', restoreOf(id, path)] satisfies Button]),
    ],
  };
}

function changesOfTurn(id: string, { changes, totals }: NonNullable<TimelineDetails['turn']>): FileList {
  return {
    id: 'turn-files',
    heading: 'Changed in this turn',
    changes,
    totals,
    since: 'the prompt',
    open: ({ path, from }) => ({ type: 'openDiff', id, path, ...(from ? { from } : {}), against: 'turn' }),
    openAll: { type: 'compareTurn', id },
    actions: ({ path, from, status }) => [
      ...(from ? [] : [compareWorking(id, path)]),
      ...(status === 'deleted'
        ? [bringBack(id, path)]
        : [
            openFile(path),
            ['discard', 'Restore This File as Before the Prompt', restoreOf(id, path, from)] satisfies Button,
          ]),
    ],
  };
}

const compareWorking = (id: string, path: string): Button => [
  'compare-changes',
  'Compare with Working File',
  { type: 'openDiff', id, path, against: 'working' },
];
const openFile = (path: string): Button => ['go-to-file', 'Open File', { type: 'openFile', path }];
const bringBack = (id: string, path: string): Button => ['discard', 'Restore This File', restoreOf(id, path)];

/** A renamed file comes back under its old name and goes under its new one. */
const restoreOf = (id: string, path: string, from?: string): TimelineAction => ({
  type: 'restore',
  id,
  scope: ['files'],
  paths: from ? [from, path] : [path],
});

/** The agent is at work, or was cut off: what has changed since can be looked at all the same. */
function openTurn(id: string, act: FilesContext['act']): TemplateResult {
  return html`<section class="block" aria-labelledby="turn-files-heading">
    <h3 id="turn-files-heading">
      Changed in this turn <span class="block-note">it has not ended with a change yet</span>
    </h3>
    <button class="link" @click=${() => act({ type: 'compareTurn', id })}>Show what changed since the prompt</button>
  </section>`;
}

function fileList(list: FileList, context: FilesContext): TemplateResult {
  const { id, heading, note, changes, totals, since } = list;
  const shown = context.showAll ? changes : changes.slice(0, firstLook);
  const largest = Math.max(1, ...changes.map((change) => change.additions + change.deletions));
  const beyond = totals.files - changes.length;
  const number = totals.files === 0 ? `none since ${since}` : plural(totals.files, 'file');
  return html`<section class="block" aria-labelledby="${id}-heading">
    <h3 id="${id}-heading">
      ${heading}
      <span class="block-note">
        ${note ?? number}
        ${totals.additions > 0 ? html`<span class="added">+${count(totals.additions)}</span>` : nothing}
        ${totals.deletions > 0 ? html`<span class="deleted">−${count(totals.deletions)}</span>` : nothing}
      </span>
    </h3>
    ${
      changes.length === 0
        ? nothing
        : html`<ul class="files">
            ${shown.map((change) => fileRow(change, list, largest, context.act))}
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
        ? html`<button class="link" @click=${() => context.act(list.openAll)}>
            ${count(beyond)} more: open them all in the editor
          </button>`
        : nothing
    }
  </section>`;
}

function fileRow(
  change: Change,
  list: Pick<FileList, 'since' | 'open' | 'actions'>,
  largest: number,
  act: FilesContext['act'],
): TemplateResult {
  const { path, from, status, additions, deletions } = change;
  const { folder, name } = splitPath(path);
  const { letter, label } = letters[status];
  // Lines that cannot be counted.
  const word = change.damaged ? 'damaged' : change.binary ? 'binary' : null;
  const numbers = word ?? `${plural(additions, 'line')} added, ${count(deletions)} removed`;
  return html`<li class="file change-${status}">
    <button
      class="file-open"
      title="${from ? `${from} → ${path}` : path}
Open changes since ${list.since}"
      @click=${() => act(list.open(change))}
    >
      <span class="file-letter" aria-hidden="true">${letter}</span>
      <span class="file-name">${name}</span>
      <span class="file-folder">${folder}</span>
      <span class="unseen">${from ? `${label} from ${from}` : label}, ${numbers}. Open changes</span>
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
      ${list.actions(change).map(
        ([icon, title, run]) =>
          html`<button class="icon-button" title=${title} aria-label="${title}: ${path}" @click=${() => act(run)}>
            <span class="codicon codicon-${icon}"></span>
          </button>`,
      )}
    </span>
  </li>`;
}

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
