const words: Record<string, string> = {
  uncertain: 'not known as it was then',
  yours: 'with your changes',
  'maybe yours': 'maybe with your changes',
};

/** Why a path is left out of a checkpoint, or left alone by a restore, as people say it; some reasons have another one in brackets. */
export const reasonInWords = (reason: string): string =>
  (Object.hasOwn(words, reason) ? words[reason] : undefined) ?? reason.replace(/\btoo-large\b/g, 'too large');
