import { startOfDay } from '../../../src/protocol/moments';

/** Times as people read them. `now` and the locale come in, so that tests can hold them still. */

/** Local calendar day, for grouping. */
export function dayOf(t: number): string {
  const date = new Date(t);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

export class TimeFormat {
  readonly #clock: Intl.DateTimeFormat;
  readonly #weekday: Intl.DateTimeFormat;
  readonly #date: Intl.DateTimeFormat;
  readonly #full: Intl.DateTimeFormat;
  readonly #relative: Intl.RelativeTimeFormat;
  readonly #exact: Intl.RelativeTimeFormat;

  constructor(locale?: string) {
    this.#clock = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
    this.#weekday = new Intl.DateTimeFormat(locale, { weekday: 'long', day: 'numeric', month: 'long' });
    this.#date = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'long', year: 'numeric' });
    this.#full = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' });
    this.#relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
    this.#exact = new Intl.RelativeTimeFormat(locale, { numeric: 'always' });
  }

  clock(t: number): string {
    return this.#clock.format(t);
  }

  full(t: number): string {
    return this.#full.format(t);
  }

  /** "Today", "Yesterday", "Friday, 14 November", and with the year once it is another one. */
  day(t: number, now: number): string {
    const days = Math.round((startOfDay(now) - startOfDay(t)) / 86_400_000);
    if (days === 0 || days === 1) return capital(this.#relative.format(-days, 'day'));
    const sameYear = new Date(t).getFullYear() === new Date(now).getFullYear();
    return (sameYear ? this.#weekday : this.#date).format(t);
  }

  /** Whole units that have passed, as in the tree and the status bar beside it. */
  ago(t: number, now: number): string {
    const seconds = Math.round((now - t) / 1000);
    const steps: Array<[Intl.RelativeTimeFormatUnit, number]> = [
      ['minute', 60],
      ['hour', 3600],
      ['day', 86_400],
      ['month', 2_629_800],
      ['year', 31_557_600],
    ];
    // Clocks of other machines run ahead; a checkpoint is never in the future.
    const step = steps.findLast(([, length]) => seconds >= length);
    if (step === undefined) return this.#relative.format(0, 'second');
    const [unit, size] = step;
    return this.#exact.format(-Math.floor(seconds / size), unit);
  }
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
