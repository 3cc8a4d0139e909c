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

/** Every word of the search begins a word of the text. */
function contains(checkpoint: Checkpoint, search: string): boolean {
  const text = [
    checkpoint.name,
    checkpoint.title,
    checkpoint.description,
    checkpoint.turn?.prompt,
    ...checkpoint.files.paths,
  ];
  const words = wordsOf(text.filter((part) => part).join(' '));
  return wordsOf(search).every((wanted) => words.some((word) => word.startsWith(wanted)));
}

function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
}
