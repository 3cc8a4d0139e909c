import { html, nothing, type TemplateResult } from 'lit';
import type { Checkpoint, PathReason } from '../../../src/core/model';
import { statusNames } from '../../../src/protocol/task-names';
import type { TimelineAction, TimelineDetails } from '../../../src/protocol/timeline';
import { count, money, plural, short } from '../model/texts';

/** The four facets, also the ones that are missing: one sees at once what can come back. */
export function facets({ checkpoint, previous, totals, wholeTurn }: TimelineDetails): TemplateResult {
  const { files, session, task, git } = checkpoint;
  const facet = (icon: string, name: string, value: string | null, missing: string): TemplateResult =>
    html`<li class="facet ${value === null ? 'missing' : ''}" title=${name}>
      <span class="codicon codicon-${icon}" aria-hidden="true"></span>
      <span class="facet-name">${name}</span>
      <span class="facet-value">${value ?? missing}</span>
    </li>`;
  const changed = wholeTurn ? totals.files : files.added + files.modified + files.deleted;
  const content =
    previous === null ? plural(totals.files, 'file') : changed > 0 ? `${count(changed)} changed` : 'unchanged';
  const commit = git?.commit?.slice(0, 7);
  return html`<ul class="facets" aria-label="What this checkpoint holds">
    ${facet('files', 'Files', files.only?.length !== 0 ? content : null, 'none')}
    ${facet('comment-discussion', 'Conversation', session && plural(session.messageCount, 'message'), 'none')}
    ${facet('tasklist', 'Task', task && (task.status ? statusNames[task.status] : 'saved'), 'none')}
    ${facet(
      'git-commit',
      'Git',
      git && `${git.branch ?? 'detached'}${commit ? ` · ${commit}` : ''}${git.dirty ? ' + changes' : ''}`,
      'no repository',
    )}
  </ul>`;
}

export function promptBlock({ turn }: Checkpoint): TemplateResult | typeof nothing {
  if (!turn) return nothing;
  const facts = [
    turn.agent && { icon: 'person', text: turn.agent, label: 'Agent' },
    turn.model && { icon: 'sparkle', text: turn.model, label: 'Model' },
    turn.tokens !== null && { icon: 'symbol-numeric', text: `${short(turn.tokens)} tokens`, label: 'Tokens' },
    turn.cost !== null && { icon: 'credit-card', text: money(turn.cost), label: 'Cost' },
  ].filter((fact) => fact !== false && fact !== null && fact !== '');
  return html`<section class="block" aria-labelledby="prompt-heading">
    <h3 id="prompt-heading">Prompt <span class="block-note">turn ${turn.number}</span></h3>
    ${turn.prompt ? html`<blockquote class="prompt" dir="auto">${turn.prompt}</blockquote>` : nothing}
    ${
      facts.length > 0
        ? html`<ul class="facts">
            ${facts.map(
              ({ icon, text, label }) =>
                html`<li title=${label}>
                  <span class="codicon codicon-${icon}" role="img" aria-label=${label}></span>${text}
                </li>`,
            )}
          </ul>`
        : nothing
    }
  </section>`;
}

/** Why it was made, when that is more than its title says. */
export function causeBlock({ cause, restore, metadata }: Checkpoint, select: (id: string) => void): TemplateResult {
  return html`${
    cause
      ? html`<section class="block" aria-labelledby="cause-heading">
          <h3 id="cause-heading">
            Before <code>${cause.tool}</code> ${
              typeof metadata['subagent'] === 'string' ? html`<span class="block-note">of a sub-agent</span>` : nothing
            }
          </h3>
          ${
            cause.paths.length > 0
              ? html`<ul class="paths">
                  ${cause.paths.slice(0, 10).map((path) => html`<li>${path}</li>`)}
                  ${cause.paths.length > 10 ? html`<li class="muted">and ${count(cause.paths.length - 10)} more</li>` : nothing}
                </ul>`
              : nothing
          }
        </section>`
      : nothing
  }
  ${
    restore
      ? html`<section class="block" aria-labelledby="restore-heading">
          <h3 id="restore-heading">What followed: ${restore.operation.replace('-', ' ')}</h3>
          <p>
            ${plural(restore.restored, 'file')} written, ${count(restore.deleted)} deleted, ${count(restore.kept)} kept
            ${
              restore.target === null
                ? nothing
                : html`<button class="link" @click=${() => restore.target && select(restore.target)}>
                    Show the checkpoint it went to
                  </button>`
            }
          </p>
        </section>`
      : nothing
  }`;
}

/** What a person must know before trusting it. */
export function warnings({ files, origin }: Checkpoint): TemplateResult {
  const list = (title: string, paths: readonly PathReason[], icon: string): TemplateResult | typeof nothing =>
    paths.length === 0
      ? nothing
      : html`<details class="warning">
          <summary><span class="codicon codicon-${icon}" aria-hidden="true"></span>${title}</summary>
          <ul class="paths">
            ${paths.slice(0, 50).map(({ path, reason }) => html`<li>${path} <span class="muted">${reason}</span></li>`)}
          </ul>
        </details>`;
  return html`${list(`${plural(files.partial.length, 'path')} could not be read`, files.partial, 'warning')}
  ${list(`${plural(files.skipped.length, 'path')} left out`, files.skipped, 'info')}
  ${
    origin
      ? html`<p class="origin">
          <span class="codicon codicon-cloud-download" aria-hidden="true"></span>From ${origin.user} on
          ${origin.machine}
        </p>`
      : nothing
  }`;
}

export function idLine(id: string, act: (action: TimelineAction) => void): TemplateResult {
  return html`<p class="id-line">
    <code>${id}</code>
    <button class="icon-button" title="Copy Id" aria-label="Copy Id" @click=${() => act({ type: 'copyId', id })}>
      <span class="codicon codicon-copy"></span>
    </button>
  </p>`;
}
