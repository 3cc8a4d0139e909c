import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { live } from 'lit/directives/live.js';
import type { TimelineStore } from '../model/store';
import { suggest, type Suggestion } from '../model/suggest';
import { count } from '../model/texts';
import { pointIcon } from './points';

/** The filter with its type-ahead list: an input that is a combobox, since a field inside a shadow root could not name its list. */
@customElement('timeline-filter')
export class TimelineFilter extends LitElement {
  @property({ attribute: false }) store!: TimelineStore;
  /** Leave the field for the list. */
  @property({ attribute: false }) onLeave: () => void = () => undefined;
  @property({ type: Number }) change = 0;
  @state() private suggestions: Suggestion[] = [];
  @state() private active = -1;

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  private get input(): HTMLInputElement | null {
    return this.querySelector('input');
  }

  override focus(): void {
    this.input?.focus();
    this.input?.select();
  }

  /** What was typed on the list goes on here, behind what is there already. */
  type(text: string): void {
    const { filter } = this.store.state;
    const value = filter === '' || filter.endsWith(' ') || filter.endsWith(':') ? filter + text : `${filter} ${text}`;
    this.store.setFilter(value);
    void this.updateComplete.then(() => {
      this.input?.focus();
      this.input?.setSelectionRange(value.length, value.length);
      this.offer();
    });
  }

  protected override render(): TemplateResult {
    const { state: page, view, data, finder } = this.store;
    const filtering = view.filter.terms.length > 0;
    const [problem] = view.filter.problems;
    const expanded = this.suggestions.length > 0;
    return html`<div class="filter ${problem ? 'invalid' : ''}">
      <span
        class="codicon ${finder.waiting > 0 ? 'codicon-loading codicon-modifier-spin' : 'codicon-filter'}"
        aria-hidden="true"
      ></span>
      <input
        type="text"
        role="combobox"
        spellcheck="false"
        autocomplete="off"
        placeholder="Filter (/)"
        aria-label="Filter checkpoints by text, trigger, session, file or time"
        aria-autocomplete="list"
        aria-controls="filter-suggestions"
        aria-expanded=${expanded}
        aria-activedescendant=${expanded && this.active >= 0 ? `suggestion-${this.active}` : nothing}
        aria-invalid=${problem ? 'true' : nothing}
        .value=${live(page.filter)}
        @input=${this.onInput}
        @keydown=${this.onKey}
        @click=${this.offer}
        @focus=${this.offer}
        @blur=${this.dismiss}
      />
      ${
        filtering
          ? html`<span class="filter-count" aria-hidden="true"
              >${count(view.shown.length)}<span class="of"> of ${count(data.rows.length)}</span></span
            >`
          : nothing
      }
      ${
        page.filter === ''
          ? nothing
          : html`<button class="icon-button" aria-label="Clear Filter" title="Clear (Escape)" @click=${this.clear}>
              <span class="codicon codicon-close"></span>
            </button>`
      }
      ${problem ? html`<div class="filter-problem">${problem}</div>` : nothing}
      <div class="suggestions" id="filter-suggestions" role="listbox" aria-label="Suggestions" ?hidden=${!expanded}>
        ${this.suggestions.map(
          (suggestion, index) =>
            html`<div
              class="suggestion ${index === this.active ? 'active' : ''}"
              id="suggestion-${index}"
              role="option"
              aria-selected=${index === this.active}
              @pointerdown=${(event: Event) => this.pick(event, suggestion)}
            >
              ${suggestion.trigger ? pointIcon({ trigger: suggestion.trigger, tone: 0 }) : nothing}
              <span class="suggestion-label">${suggestion.label}</span>
              <span class="suggestion-hint">${suggestion.hint}</span>
            </div>`,
        )}
      </div>
    </div>`;
  }

  private readonly onInput = (): void => {
    this.store.setFilter(this.input?.value ?? '');
    this.offer();
  };

  private readonly offer = (): void => {
    const { input, store } = this;
    if (!input) return;
    const caret = input.selectionStart ?? input.value.length;
    this.suggestions = suggest(input.value, caret, { sessions: store.data.sessions.values() });
    this.active = -1;
  };

  private readonly dismiss = (): void => {
    this.suggestions = [];
    this.active = -1;
  };

  private readonly clear = (): void => {
    this.store.setFilter('');
    this.input?.focus();
  };

  private readonly onKey = (event: KeyboardEvent): void => {
    const { suggestions } = this;
    const chosen = suggestions[this.active];
    if (event.key === 'ArrowDown' && suggestions.length > 0) this.active = (this.active + 1) % suggestions.length;
    else if (event.key === 'ArrowUp' && suggestions.length > 0)
      this.active = (Math.max(this.active, 0) - 1 + suggestions.length) % suggestions.length;
    else if ((event.key === 'Enter' || event.key === 'Tab') && chosen) this.take(chosen);
    else if (event.key === 'Enter' || event.key === 'ArrowDown') this.onLeave();
    else if (event.key === 'Escape') this.escape();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  /** First the list, then the text, then the field. */
  private escape(): void {
    if (this.suggestions.length > 0 && this.store.state.filter !== '') this.dismiss();
    else if (this.store.state.filter !== '') this.store.setFilter('');
    else this.onLeave();
  }

  private pick(event: Event, suggestion: Suggestion): void {
    event.preventDefault();
    this.take(suggestion);
  }

  private take({ value, caret }: Suggestion): void {
    this.store.setFilter(value);
    void this.updateComplete.then(() => {
      this.input?.setSelectionRange(caret, caret);
      this.offer();
    });
  }
}
