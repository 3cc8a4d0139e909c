import type { ListFilter } from '../core/api';
import { type Trigger, triggers } from '../core/model';
import { parseMoment, parseUntil } from '../protocol/moments';

/** "fix login trigger:turn file:src/*.ts since:2d session:ses_1": words search, the rest narrows, by the words of the timeline's filter. */
export interface Query extends ListFilter {
  /** Words that look like a filter but are none. */
  unknown: string[];
}

const isTrigger = (text: string): text is Trigger => (triggers as readonly string[]).includes(text);

export const parseQuery = (text: string, now: number): Query => {
  const query: Query = { unknown: [] };
  const words: string[] = [];
  for (const word of text.match(/\S+:"[^"]*"|"[^"]*"|\S+/g) ?? []) {
    const [, key, quoted] = /^(trigger|file|session|since|after|until|before):(.+)$/.exec(word) ?? [];
    const value = quoted?.replace(/^"|"$/g, '');
    if (key === undefined || value === undefined || value === '') words.push(word.replace(/^"|"$/g, ''));
    else if (key === 'trigger' && isTrigger(value)) query.trigger = value;
    else if (key === 'file') query.path = value;
    else if (key === 'session') query.session = value;
    else {
      const at = key === 'trigger' ? null : key === 'until' ? parseUntil(value, now) : parseMoment(value, now);
      if (at === null) query.unknown.push(word);
      else if (key === 'since' || key === 'after') query.since = new Date(at).toISOString();
      else query.until = new Date(key === 'before' ? at - 1 : at).toISOString();
    }
  }
  if (words.length > 0) query.search = words.join(' ');
  return query;
};
