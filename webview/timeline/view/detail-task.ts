import { html, nothing, type TemplateResult } from 'lit';
import type { TaskState, TaskStatus } from '../../../src/core/model';
import { listNames, statusNames, textNames } from '../../../src/protocol/task-names';
import type { TaskChange } from '../../../src/protocol/task-changes';
import type { TimelineDetails } from '../../../src/protocol/timeline';
import { statusIcon } from '../model/texts';

const labels: Record<string, string> = { ...textNames, ...listNames, status: 'Status' };

const lists: Array<[key: 'currentPlan' | 'completedSteps' | 'nextSteps' | 'blockers' | 'notes', icon: string]> = [
  ['completedSteps', 'check'],
  ['currentPlan', 'list-ordered'],
  ['nextSteps', 'circle-large'],
  ['blockers', 'error'],
  ['notes', 'note'],
];

const isStatus = (value: unknown): value is TaskStatus => typeof value === 'string' && value in statusNames;

function statusChip(status: TaskStatus): TemplateResult {
  return html`<span class="chip status status-${status}"
    ><span class="codicon codicon-${statusIcon[status]}" aria-hidden="true"></span>${statusNames[status]}</span
  >`;
}

export function taskSection({ checkpoint, taskChanges, taskIsNew }: TimelineDetails): TemplateResult | typeof nothing {
  const { task } = checkpoint;
  if (!task && taskChanges.length === 0) return nothing;
  return html`<section class="block" aria-labelledby="task-heading">
    <h3 id="task-heading">
      Task ${task?.status ? statusChip(task.status) : nothing}
      ${taskIsNew ? html`<span class="block-note">new here</span>` : nothing}
    </h3>
    ${
      taskChanges.length > 0
        ? html`<div class="task-changes" role="group" aria-label="What changed in the task">
            ${taskChanges.map(changeTemplate)}
          </div>`
        : nothing
    }
    ${task ? taskBody(task, taskChanges) : html`<p class="muted">There is no task at this point.</p>`}
  </section>`;
}

function taskBody(task: TaskState, changes: readonly TaskChange[]): TemplateResult {
  const isNew = (field: string, entry: string): boolean =>
    changes.some((change) => change.field === field && change.kind === 'list' && change.added.includes(entry));
  return html`<div class="task">
    ${task.title ? html`<p class="task-title" dir="auto">${task.title}</p>` : nothing}
    ${task.objective ? html`<p class="task-text" dir="auto">${task.objective}</p>` : nothing}
    ${task.summary && task.summary !== task.objective ? html`<p class="task-text muted" dir="auto">${task.summary}</p>` : nothing}
    ${lists.map(([key, icon]) => {
      const entries = task[key] ?? [];
      if (entries.length === 0) return nothing;
      return html`<h4>${labels[key]}</h4>
        <ul class="task-list task-${key}">
          ${entries.map(
            (entry) =>
              html`<li class=${isNew(key, entry) ? 'new' : ''}>
                <span class="codicon codicon-${icon}" aria-hidden="true"></span><span dir="auto">${entry}</span>
              </li>`,
          )}
        </ul>`;
    })}
  </div>`;
}

/** What is new is marked in the lists themselves; here is the rest: other words, and what went away. */
function changeTemplate(change: TaskChange): TemplateResult | typeof nothing {
  const label = labels[change.field] ?? change.field;
  if (change.kind === 'list')
    return html`<div class="task-change">
      <span class="task-field">${label}</span>
      <span class="task-lines">
        ${change.added.map((text) => html`<ins dir="auto">${text}</ins>`)}
        ${change.removed.map((text) => html`<del dir="auto">${text}</del>`)}
      </span>
    </div>`;
  const { from, to } = change;
  if (change.field === 'status')
    return html`<div class="task-change">
      <span class="task-field">${label}</span>
      <span class="task-arrow">
        ${isStatus(from) ? statusChip(from) : html`<span class="muted">none</span>`}
        <span class="codicon codicon-arrow-right" role="img" aria-label="became"></span>
        ${isStatus(to) ? statusChip(to) : html`<span class="muted">none</span>`}
      </span>
    </div>`;
  return html`<div class="task-change">
    <span class="task-field">${label}</span>
    <span class="task-lines">
      ${to === null ? nothing : html`<ins dir="auto">${to}</ins>`}
      ${from === null ? nothing : html`<del dir="auto">${from}</del>`}
    </span>
  </div>`;
}
