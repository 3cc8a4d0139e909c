const units: ReadonlyArray<[Intl.RelativeTimeFormatUnit, number]> = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];

/** "5 min. ago" (narrow: "5m ago"), "yesterday", and a plain date once "ago" says little. In the user's language. */
export const relativeTime = (
  iso: string,
  now: number,
  language: string,
  style: Intl.RelativeTimeFormatStyle = 'short',
): string => {
  const seconds = Math.round((now - Date.parse(iso)) / 1000);
  // Clocks of other machines run ahead; a checkpoint is never in the future.
  if (seconds < 60) return new Intl.RelativeTimeFormat(language, { numeric: 'auto' }).format(0, 'second');
  if (seconds > 30 * 86_400) return new Intl.DateTimeFormat(language, { dateStyle: 'medium' }).format(new Date(iso));
  const [unit, size] = units.find(([, length]) => seconds >= length) ?? ['minute', 60];
  return new Intl.RelativeTimeFormat(language, { numeric: 'auto', style }).format(-Math.floor(seconds / size), unit);
};

/** For the status bar, where every character counts: "now", "5m", "3h", "2d". */
export const shortAge = (iso: string, now: number): string => {
  const seconds = Math.max(0, Math.round((now - Date.parse(iso)) / 1000));
  if (seconds < 60) return 'now';
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
};

export const fullTime = (iso: string, language: string): string =>
  new Intl.DateTimeFormat(language, { dateStyle: 'full', timeStyle: 'medium' }).format(new Date(iso));
