/**
 * What an answer must be to be read. Only what is read is looked at: a newer OpenCode may say more. Something between us and the server,
 * or another version of it, may say anything at all.
 */
export interface Shape<T> {
  /** For people: "a list of sessions". */
  what: string;
  fits(value: unknown): value is T;
}

export type Fields = Record<string, unknown>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isText = (value: unknown): value is string => typeof value === 'string';

export const isNumber = (value: unknown): value is number => typeof value === 'number';

export const isListOf = (value: unknown, one: (item: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every((item) => one(item));

/** Both generations leave out what they do not know, or say null. */
export const isAbsentOr = (value: unknown, is: (value: unknown) => boolean): boolean =>
  value === undefined || value === null || is(value);

export function shape<T>(what: string, fits: (value: unknown) => boolean): Shape<T> {
  return { what, fits: (value): value is T => fits(value) };
}

export function listOf<T>(what: string, one: Shape<T>): Shape<T[]> {
  return shape(what, (value) => isListOf(value, (item) => one.fits(item)));
}

/** Sessions by their ids, for instance. */
export const anyFields: Shape<Fields> = shape('an object', isFields);

export const texts: Shape<string[]> = shape('a list of names', (value) => isListOf(value, isText));
