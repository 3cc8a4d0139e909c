/**
 * Text for people: one line, bounded, never cut through a character. "Characters" are code points everywhere in this
 * product: two hundred emoji are two hundred characters.
 */

/** Line breaks (also Unicode's own) and control characters. */
const controls = /[\p{Cc}\u2028\u2029]/u;
/** Overrides that make a line read differently from what it is. Joiners and marks stay: emoji and scripts need them. */
const bidi = /[\u202A-\u202E\u2066-\u2069]/u;
const everyBreak = /[\p{Cc}\u2028\u2029\s]+/gu;
const everyBidi = /[\u202A-\u202E\u2066-\u2069]/gu;
/** With the `u` flag only a surrogate without its partner matches. */
const everyLoneSurrogate = /\p{Surrogate}/gu;

/** What a person's editor wrote: those of Windows put a byte order mark before it. */
export function parseJson(text: string): unknown {
  return JSON.parse(text.replace(/^\uFEFF/, ''));
}

/** Made when something has to be cut: making it takes ten milliseconds of every start. */
let segmenter: Intl.Segmenter | null = null;

export function characterCount(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** The first `max` characters. Does not split a surrogate pair. */
export function clampCharacters(text: string, max: number): string {
  if (text.length <= max) return text;
  let units = 0;
  let count = 0;
  for (const character of text) {
    if (count === max) return text.slice(0, units);
    units += character.length;
    count++;
  }
  return text;
}

/** At most `max` characters, the last one an ellipsis if anything was cut; cut between graphemes. */
export function shorten(text: string, max: number): string {
  if (text.length <= max || characterCount(text) <= max) return text;
  // A grapheme may be long (marks piled on one letter): look only at what can still fit.
  const head = clampCharacters(text, max + 1);
  let kept = '';
  let count = 0;
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  for (const { segment } of segmenter.segment(head)) {
    const size = characterCount(segment);
    if (count + size > max - 1) break;
    kept += segment;
    count += size;
  }
  return `${(kept === '' ? clampCharacters(text, max - 1) : kept).trimEnd()}…`;
}

/** One line: runs of white space and control characters become one space, text-direction overrides vanish. */
export function oneLine(text: string): string {
  return wellFormed(text).replace(everyBidi, '').replace(everyBreak, ' ').trim();
}

/** The first line that says anything. */
export function firstLine(text: string): string {
  for (const line of text.split(/[\r\n\u2028\u2029\u0085\v\f]+/u)) {
    const clean = oneLine(line);
    if (clean !== '') return clean;
  }
  return '';
}

/** Half a surrogate pair cannot be written as UTF-8: it becomes the replacement character. */
export function wellFormed(text: string): string {
  return text.replace(everyLoneSurrogate, '\uFFFD');
}

/** What keeps a text from being one honest line, or null. */
export function lineProblem(text: string): 'control' | 'direction' | 'malformed' | null {
  if (controls.test(text)) return 'control';
  if (bidi.test(text)) return 'direction';
  return wellFormed(text) === text ? null : 'malformed';
}

/** Messages come with or without a full stop. */
export const asSentence = (text: string): string => (/[.!?…:]$/.test(text.trim()) ? text.trim() : `${text.trim()}.`);
