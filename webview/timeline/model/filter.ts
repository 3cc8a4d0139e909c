import type { Trigger } from '../../../src/core/model';
import type { FindQuery, TimelineRow, TimelineSession } from '../../../src/protocol/timeline';
import { isIt, isValueOf, isValues, type IsValue } from '../../../src/protocol/is-words';
import { parseMoment, parseUntil } from '../../../src/protocol/moments';
import { triggers } from '../../../src/protocol/trigger-names';

/**
 * The filter field's language: words (all must match), "quoted words", and `key:value` with an optional `-` in front.
 * trigger:tool,turn  session:login (or none)  file:src/auth  before:yesterday  after:2h (or since:)  until:today  is:pinned
 */
export const suggestedKeys = ['trigger', 'session', 'file', 'before', 'after', 'is'] as const;
/** Also the words of the command Search. */
export const filterKeys = [...suggestedKeys, 'since', 'until'] as const;
export type FilterKey = (typeof filterKeys)[number];

export type Term = { not: boolean } & (
  | { kind: 'text'; text: string }
  | { kind: 'trigger'; triggers: Trigger[] }
  | { kind: 'session'; text: string }
  | { kind: 'file'; text: string }
  | { kind: 'before' | 'after'; t: number }
  | { kind: 'is'; value: IsValue }
);

export interface Filter {
  terms: Term[];
  /** What could not be understood, for people. */
  problems: string[];
}

export interface Token {
  text: string;
  start: number;
  end: number;
}

/** Split at spaces outside of quotes; an unclosed quote reaches to the end. */
export function tokenize(query: string): Token[] {
  const tokens: Token[] = [];
  for (const match of query.matchAll(/(?:[^\s"]|"[^"]*(?:"|$))+/g))
    tokens.push({ text: match[0], start: match.index, end: match.index + match[0].length });
  return tokens;
}

export function parseFilter(query: string, now: number): Filter {
  const filter: Filter = { terms: [], problems: [] };
  for (const { text } of tokenize(query)) {
    const not = text.length > 1 && text.startsWith('-');
    const body = not ? text.slice(1) : text;
    const colon = body.indexOf(':');
    const key = filterKeys.find((candidate) => candidate === body.slice(0, Math.max(0, colon)).toLowerCase());
    const value = unquote(key ? body.slice(colon + 1) : body);
    if (value === '') continue;
    const term = key ? keyed(key, value, not, now) : ({ not, kind: 'text', text: value.toLowerCase() } as const);
    if (typeof term === 'string') filter.problems.push(term);
    else filter.terms.push(term);
  }
  return filter;
}

function keyed(key: FilterKey, value: string, not: boolean, now: number): Term | string {
  switch (key) {
    case 'trigger': {
      const names = value.toLowerCase().split(',').filter(Boolean);
      // A half-typed name already filters: "trigger:to" is tool.
      const found = triggers.filter((trigger) => names.some((name) => trigger.startsWith(name)));
      return found.length > 0 ? { not, kind: key, triggers: found } : `There is no trigger “${value}”.`;
    }
    case 'is': {
      const found = isValueOf(value);
      return found ? { not, kind: key, value: found } : `“is:” takes ${isValues.join(', ')}.`;
    }
    case 'before':
    case 'until':
    case 'after':
    case 'since': {
      const t = key === 'until' ? parseUntil(value, now) : parseMoment(value, now);
      if (t === null) return `“${value}” is no time. Try 2025-11-14, 09:30, yesterday or 2h.`;
      if (key === 'until') return { not, kind: 'before', t: t + 1 };
      return { not, kind: key === 'since' ? 'after' : key, t };
    }
    case 'session':
    case 'file':
      return { not, kind: key, text: value.toLowerCase() };
  }
}

const unquote = (text: string): string => text.replaceAll('"', '');

export interface MatchContext {
  sessions: ReadonlyMap<string, TimelineSession>;
  /** Answers of the host, by `findKey`: ids of the checkpoints whose prompts, descriptions or paths match. */
  found: ReadonlyMap<string, ReadonlySet<string>>;
}

export function matches(filter: Filter, row: TimelineRow, context: MatchContext): boolean {
  return filter.terms.every((term) => matchesTerm(term, row, context) !== term.not);
}

function matchesTerm(term: Term, row: TimelineRow, { sessions, found }: MatchContext): boolean {
  switch (term.kind) {
    case 'text':
      return (
        row.title.toLowerCase().includes(term.text) ||
        row.id.startsWith(term.text) ||
        Boolean(row.origin?.toLowerCase().includes(term.text)) ||
        sessionMatches(term.text, row, sessions) ||
        Boolean(found.get(findKey({ text: term.text }))?.has(row.id))
      );
    case 'trigger':
      return term.triggers.includes(row.trigger);
    case 'session':
      return term.text === 'none' ? row.session === undefined : sessionMatches(term.text, row, sessions);
    case 'file':
      return Boolean(found.get(findKey({ file: term.text }))?.has(row.id));
    case 'before':
      return row.t < term.t;
    case 'after':
      return row.t >= term.t;
    case 'is':
      return isIt(term.value, row);
  }
}

function sessionMatches(text: string, row: TimelineRow, sessions: ReadonlyMap<string, TimelineSession>): boolean {
  if (row.session === undefined) return false;
  if (row.session.toLowerCase() === text) return true;
  return Boolean(sessions.get(row.session)?.title?.toLowerCase().includes(text));
}

/** The questions of a filter that only the host can answer; a single letter is not worth asking. */
export function hostQueries(filter: Filter): FindQuery[] {
  return filter.terms.flatMap((term): FindQuery[] => {
    if (term.kind === 'file') return [{ file: term.text }];
    return term.kind === 'text' && term.text.length > 1 ? [{ text: term.text }] : [];
  });
}

export const findKey = ({ text, file }: FindQuery): string => (file === undefined ? `text:${text}` : `file:${file}`);
