import type { ListFilter } from '../core/api';
import { type Checkpoint, type Trigger, triggers } from '../core/model';
import { isIt, isValueOf, type IsValue } from '../protocol/is-words';
import { parseMoment, parseUntil } from '../protocol/moments';
import { toRow } from '../protocol/rows';
import { pathMatcher } from './path-match';

/** "fix login trigger:turn file:src/*.ts since:2d session:login is:pinned": words search, the rest narrows, by the words of the timeline's filter. */
export interface Query extends ListFilter {
  is?: IsValue[];
  /** Words that look like a filter but are none. */
  unknown: string[];
}

const isTrigger = (text: string): text is Trigger => (triggers as readonly string[]).includes(text);

export const parseQuery = (text: string, now: number): Query => {
  const query: Query = { unknown: [] };
  const words: string[] = [];
  for (const word of text.match(/\S+:"[^"]*"|"[^"]*"|\S+/g) ?? []) {
    const [, key, quoted] = /^(trigger|file|session|is|since|after|until|before):(.+)$/.exec(word) ?? [];
    const value = quoted?.replace(/^"|"$/g, '');
    if (key === undefined || value === undefined || value === '') words.push(word.replace(/^"|"$/g, ''));
    else if (key === 'trigger' && isTrigger(value)) query.trigger = value;
    else if (key === 'file') query.path = value;
    else if (key === 'session') query.session = value;
    else if (key === 'is') {
      const is = isValueOf(value);
      if (is === undefined) query.unknown.push(word);
      else query.is = [...(query.is ?? []), is];
    } else {
      const at = key === 'trigger' ? null : key === 'until' ? parseUntil(value, now) : parseMoment(value, now);
      if (at === null) query.unknown.push(word);
      else if (key === 'since' || key === 'after') query.since = new Date(at).toISOString();
      else query.until = new Date(key === 'before' ? at - 1 : at).toISOString();
    }
  }
  if (words.length > 0) query.search = words.join(' ');
  return query;
};

/** `paths` are those that its row stands for, where they are others than its record's. */
type Matcher = (checkpoint: Checkpoint, paths?: readonly string[]) => boolean;

/** What the index cannot be asked: a part of a path or of a session's title, and what a checkpoint is. Null: nothing of that. */
export const matcherOf = ({ path, session, is = [] }: Query): Matcher | null => {
  if (path === undefined && session === undefined && is.length === 0) return null;
  const touches = path === undefined ? null : pathMatcher(path);
  return (checkpoint, paths = checkpoint.files.paths) =>
    (touches === null || paths.some(touches)) &&
    (session === undefined || isOf(session, checkpoint)) &&
    is.every((value) => isIt(value, toRow(checkpoint)));
};

const isOf = (text: string, { session }: Checkpoint): boolean => {
  if (text.toLowerCase() === 'none') return session === null;
  if (session === null) return false;
  return session.id === text || (session.title ?? '').toLowerCase().includes(text.toLowerCase());
};
