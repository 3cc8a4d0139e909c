import type { ListFilter } from './api';
import type { Checkpoint } from './model';

/** `list` without an index: the same answers, word by word, for the hosts that have none. */
export function matches(checkpoint: Checkpoint, filter: ListFilter): boolean {
  if (filter.session !== undefined && checkpoint.session?.id !== filter.session) return false;
  if (filter.trigger !== undefined && checkpoint.trigger !== filter.trigger) return false;
  if (filter.since !== undefined && checkpoint.createdAt < filter.since) return false;
  if (filter.until !== undefined && checkpoint.createdAt > filter.until) return false;
  if (filter.path !== undefined && !checkpoint.files.paths.some((path) => isOrLiesIn(path, filter.path!))) return false;
  return filter.search === undefined || contains(checkpoint, filter.search);
}

function isOrLiesIn(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

/** Every word of the search begins a word of the text; what has no letters or digits is looked for as it stands. */
function contains(checkpoint: Checkpoint, search: string): boolean {
  const text = [
    checkpoint.name,
    checkpoint.title,
    checkpoint.description,
    checkpoint.turn?.prompt,
    ...checkpoint.files.paths,
  ]
    .filter((part) => part)
    .join('\n');
  const words = wordsOf(text);
  return search
    .split(/\s+/u)
    .filter(Boolean)
    .every((term) => {
      const wanted = wordsOf(term);
      return wanted.length === 0
        ? text.includes(term)
        : wanted.every((start) => words.some((word) => word.startsWith(start)));
    });
}

function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
}
