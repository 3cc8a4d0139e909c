import type { SqlValue } from 'sql.js';
import { searchColumns } from './schema';

export interface Condition {
  sql: string;
  values: SqlValue[];
}

/** Written without spaces between words: a word index knows only the beginning of a whole run of them. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const word = /[\p{L}\p{N}]/u;
/** What the query language of full-text search gives a meaning to, even between quotes. */
const special = /["*^\0]/g;

/**
 * What a person typed as conditions that must all hold. Each word matches the beginning of a word, and something like `src/a.ts`
 * the words of it in a row. Nothing typed is ever an operator. What the word index cannot find (symbols, emoji, scripts without spaces) is
 * looked for as it stands.
 */
export function searchConditions(text: string): Condition[] {
  const phrases: string[] = [];
  const conditions: Condition[] = [];
  for (const term of text.normalize('NFC').split(/\s+/u)) {
    if (term === '') continue;
    if (/^cp_[0-9a-z]{4,}$/i.test(term)) conditions.push(idPrefix(term.toLowerCase()));
    else if (word.test(term) && !unspaced.test(term) && !/[\u{10000}-\u{10FFFF}]/u.test(term))
      phrases.push(`"${term.replace(special, ' ').trim()}*"`);
    else conditions.push(substring(term));
  }
  if (phrases.length > 0)
    conditions.unshift({
      // The plus keeps SQLite reading newest first and asking "is it among them": sorting ten thousand hits to show fifty is slow.
      sql: '+seq IN (SELECT docid FROM search WHERE search MATCH ?)',
      values: [phrases.join(' ')],
    });
  return conditions;
}

/**
 * Checkpoints that may have changed the path or something below it: `paths` is JSON, so the text is compared as it is written there, after
 * the word index narrowed the search down.
 */
export function pathConditions(path: string): Condition[] {
  const text = JSON.stringify(path).slice(1, -1);
  const conditions: Condition[] = [{ sql: 'instr(paths, ?) > 0', values: [text] }];
  if (/[A-Za-z0-9]/.test(text))
    conditions.unshift({
      sql: '+seq IN (SELECT docid FROM search WHERE paths MATCH ?)',
      values: [`"${text.replace(special, ' ')}"`],
    });
  return conditions;
}

function idPrefix(prefix: string): Condition {
  return { sql: 'id >= ? AND id < ?', values: [prefix, `${prefix}~`] };
}

function substring(term: string): Condition {
  // `paths` is JSON: the term is looked for as it is written there, unless JSON itself is full of it.
  const columns = searchColumns.filter((column) => column !== 'paths' || !/^[[\],]+$/.test(term));
  const written = JSON.stringify(term).slice(1, -1);
  return {
    sql: columns.map((column) => `${column} LIKE ? ESCAPE '\\'`).join(' OR '),
    values: columns.map((column) => `%${(column === 'paths' ? written : term).replace(/[\\%_]/g, '\\$&')}%`),
  };
}
