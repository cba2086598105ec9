/** Formats figures for users, in the same forms as the server. */

import type { Cost } from './protocol.gen';

/** Formats tokens where there is little room: `950`, `4.2K`, `58K`, `1.2M`. */
export function short(tokens: number): string {
  if (tokens < 1_000) return String(tokens);
  if (tokens < 9_950) return `${oneDigit(tokens / 1_000)}K`;
  if (tokens < 999_500) return `${Math.round(tokens / 1_000)}K`;
  return `${oneDigit(tokens / 1_000_000)}M`;
}

/** Formats tokens where there is room: `58,432`. */
export function full(tokens: number): string {
  return tokens.toLocaleString('en-US');
}

/** Returns a share in whole per cent, or an empty string if the whole is 0. */
export function percent(part: number, whole: number): number {
  return whole > 0 ? Math.round((100 * part) / whole) : 0;
}

/** Formats a cost: `$0.042`, `$12.30`; other currencies by their names. */
export function money({ amount, currency }: Cost): string {
  const digits = amount.toFixed(amount < 1 ? 3 : 2);
  return currency === 'USD' ? `$${digits}` : `${digits} ${currency}`;
}

/** Formats an edit's effect on the context's size: `164K → 31K`. */
export function shrinking(before: number, after: number): string {
  return `${short(before)} → ${short(after)}`;
}

/** Formats a number of messages: `1 message`, `45 messages`. */
export function messages(count: number): string {
  return count === 1 ? '1 message' : `${full(count)} messages`;
}

/** Returns the name of a message for users, `#86`. They count from 1, as in summaries and on the command line; the wire's index is from 0. */
export function numberOf(index: number): string {
  return `#${index + 1}`;
}

/** Milliseconds of each unit; a month and a year are those of the calendar on average. */
const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 31_556_952_000],
  ['month', 2_629_746_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
];
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'always' });

/** Formats how long ago a time in Unix milliseconds was: `12 seconds ago`, `2 hours ago`. */
export function ago(then: number, now: number): string {
  const elapsed = Math.max(0, now - then);
  if (elapsed < 5_000) return 'just now';
  const [unit, length] = UNITS.find(([, each]) => elapsed >= each) ?? ['second', 1_000];
  return RELATIVE.format(-Math.floor(elapsed / length), unit);
}

/** Shortens text to one line of at most `length` characters. */
export function oneLine(text: string, length = 100): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`;
}

function oneDigit(value: number): string {
  return value.toFixed(1).replace(/\.0$/, '');
}
