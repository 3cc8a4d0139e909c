import type { Trigger } from '../../../src/core/model';
import { isValues } from '../../../src/protocol/is-words';
import type { TimelineSession } from '../../../src/protocol/timeline';
import { filterKeys, suggestedKeys, tokenize, type FilterKey } from './filter';
import { triggerLabel, triggers } from '../../../src/protocol/trigger-names';

/** One line of the type-ahead list: what it is, and what the field holds once it is taken. */
export interface Suggestion {
  label: string;
  hint: string;
  /** Draws the trigger's own point beside it. */
  trigger?: Trigger;
  value: string;
  caret: number;
}

const keyHints: Record<(typeof suggestedKeys)[number], string> = {
  trigger: 'what made it',
  session: 'title of a session, or none',
  file: 'a changed file',
  before: 'a date or time',
  after: 'a date or time',
  is: 'pinned, named…',
};

const moments: Array<[string, string]> = [
  ['today', 'since midnight'],
  ['yesterday', 'the day before'],
  ['1h', 'an hour ago'],
  ['1d', 'a day ago'],
  ['1w', 'a week ago'],
];

export function suggest(query: string, caret: number, context: { sessions: Iterable<TimelineSession> }): Suggestion[] {
  const token = tokenize(query).find(({ start, end }) => start <= caret && caret <= end) ?? {
    text: '',
    start: caret,
    end: caret,
  };
  const typed = query.slice(token.start, caret);
  const minus = typed.startsWith('-') ? '-' : '';
  const body = typed.slice(minus.length);
  const colon = body.indexOf(':');
  const take = (text: string, more: boolean): Pick<Suggestion, 'value' | 'caret'> => {
    const inserted = `${minus}${text}${more ? '' : ' '}`;
    const rest = query.slice(token.end).trimStart();
    const gap = more && rest !== '' ? ' ' : '';
    return { value: query.slice(0, token.start) + inserted + gap + rest, caret: token.start + inserted.length };
  };
  if (colon < 0) {
    const start = body.toLowerCase();
    return suggestedKeys
      .filter((key) => key.startsWith(start))
      .map((key) => ({ label: `${key}:`, hint: keyHints[key], ...take(`${key}:`, true) }));
  }
  const key = filterKeys.find((candidate) => candidate === body.slice(0, colon).toLowerCase());
  if (!key) return [];
  const value = body
    .slice(colon + 1)
    .replaceAll('"', '')
    .toLowerCase();
  return values(key, value, context).map(({ text, hint, trigger }) => ({
    label: text,
    hint,
    ...(trigger ? { trigger } : {}),
    ...take(`${key}:${/\s/.test(text) ? `"${text}"` : text}`, false),
  }));
}

interface Value {
  text: string;
  hint: string;
  trigger?: Trigger;
}

function values(key: FilterKey, typed: string, { sessions }: { sessions: Iterable<TimelineSession> }): Value[] {
  switch (key) {
    case 'trigger':
      return triggers
        .filter((trigger) => trigger.startsWith(typed))
        .map((trigger) => ({ text: trigger, hint: triggerLabel(trigger).toLowerCase(), trigger }));
    case 'is':
      return isValues.filter((value) => value.startsWith(typed)).map((text) => ({ text, hint: '' }));
    case 'before':
    case 'until':
    case 'after':
    case 'since':
      return moments.filter(([text]) => text.startsWith(typed)).map(([text, hint]) => ({ text, hint }));
    case 'session': {
      const titles = [...new Set([...sessions].flatMap(({ title }) => (title ? [title] : [])))];
      const found = titles.filter((title) => title.toLowerCase().includes(typed)).slice(0, 8);
      const none = 'none'.startsWith(typed) ? [{ text: 'none', hint: 'without a session' }] : [];
      return [...found.map((text) => ({ text, hint: '' })), ...none];
    }
    case 'file':
      return [];
  }
}
