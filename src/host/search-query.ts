import type { ListFilter } from '../core/api';
import { type Trigger, triggers } from '../core/model';

/** "fix login trigger:turn file:src/*.ts since:2d session:ses_1": words search, the rest narrows. */
export interface Query extends ListFilter {
  /** Words that look like a filter but are none. */
  unknown: string[];
}

const ages: Record<string, number> = { h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 };

const time = (text: string, now: number): string | undefined => {
  const age = /^(\d+)([hdw])$/.exec(text);
  if (age !== null) return new Date(now - Number(age[1]) * (ages[age[2] ?? ''] ?? 0)).toISOString();
  const parsed = Date.parse(text);
  return Number.isNaN(parsed) ? undefined : new Date(parsed).toISOString();
};

const isTrigger = (text: string): text is Trigger => (triggers as readonly string[]).includes(text);

export const parseQuery = (text: string, now: number): Query => {
  const query: Query = { unknown: [] };
  const words: string[] = [];
  for (const word of text.match(/\S+:"[^"]*"|"[^"]*"|\S+/g) ?? []) {
    const [, key, quoted] = /^(trigger|file|session|since|until):(.+)$/.exec(word) ?? [];
    const value = quoted?.replace(/^"|"$/g, '');
    if (key === undefined || value === undefined || value === '') words.push(word.replace(/^"|"$/g, ''));
    else if (key === 'trigger' && isTrigger(value)) query.trigger = value;
    else if (key === 'file') query.path = value;
    else if (key === 'session') query.session = value;
    else {
      const at = key === 'trigger' ? undefined : time(value, now);
      if (at === undefined) query.unknown.push(word);
      else if (key === 'since') query.since = at;
      else query.until = at;
    }
  }
  if (words.length > 0) query.search = words.join(' ');
  return query;
};
