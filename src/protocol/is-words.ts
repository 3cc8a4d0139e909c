import type { TimelineRow } from './timeline';

/** What `is:` takes, in the timeline's filter and in the command Search. */
export const isValues = ['pinned', 'named', 'fetched', 'partial'] as const;
export type IsValue = (typeof isValues)[number];

/** A half-typed word already filters: "is:pin" is pinned. */
export const isValueOf = (typed: string): IsValue | undefined =>
  isValues.find((candidate) => candidate.startsWith(typed.toLowerCase()));

export function isIt(value: IsValue, row: TimelineRow): boolean {
  if (value === 'fetched') return row.origin !== undefined;
  return row[value] === true;
}
