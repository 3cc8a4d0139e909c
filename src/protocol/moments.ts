/** Times as people type them, in every field that searches. `now` comes in, so that tests can hold it still. */

const units: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** `2025-11-14`, `2025-11-14T09:30`, `09:30` (today), `today`, `yesterday`, `45m`, `2h`, `3d`, `1w` (ago). */
export function parseMoment(text: string, now: number): number | null {
  const ago = /^(\d{1,5})([mhdw])$/i.exec(text);
  if (ago) return now - Number(ago[1]) * (units[(ago[2] ?? '').toLowerCase()] ?? 0);
  if (/^today$/i.test(text)) return startOfDay(now);
  if (/^yesterday$/i.test(text)) return startOfDay(startOfDay(now) - 1);
  const clock = /^(\d{1,2}):(\d{2})$/.exec(text);
  if (clock) return valid(new Date(startOfDay(now)), Number(clock[1]), Number(clock[2]));
  const date = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2}))?$/.exec(text);
  if (!date) return null;
  const [year, month, day] = [Number(date[1]), Number(date[2]), Number(date[3])];
  const local = new Date(year, month - 1, day);
  if (local.getMonth() !== month - 1 || local.getDate() !== day) return null;
  return valid(local, Number(date[4] ?? 0), Number(date[5] ?? 0));
}

function valid(day: Date, hours: number, minutes: number): number | null {
  if (hours > 23 || minutes > 59) return null;
  return day.setHours(hours, minutes, 0, 0);
}

export const startOfDay = (t: number): number => new Date(t).setHours(0, 0, 0, 0);

/** The last moment that `until:2025-11-14` means: of a day its end, of a minute, too. */
export function parseUntil(text: string, now: number): number | null {
  const from = parseMoment(text, now);
  if (from === null) return null;
  if (/^(\d{4}-\d{2}-\d{2}|today|yesterday)$/i.test(text)) return endOfDay(from);
  return text.includes(':') ? from + 59_999 : from;
}

/** Not by a day's length: some have 23 or 25 hours. */
function endOfDay(start: number): number {
  const next = new Date(start);
  return next.setDate(next.getDate() + 1) - 1;
}
