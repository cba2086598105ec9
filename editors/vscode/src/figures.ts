/** Formats figures for users: in English in the same forms as the server, else as the display language has them. */
import * as l10n from '@vscode/l10n';

import { language } from './language';
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
  return tokens.toLocaleString(language());
}

/** Returns a share in whole per cent, or 0 if the whole is 0. */
export function percent(part: number, whole: number): number {
  return whole > 0 ? Math.round((100 * part) / whole) : 0;
}

/** Formats a share in whole per cent: `46%`. */
export function inPercent(part: number, whole: number): string {
  return (percent(part, whole) / 100).toLocaleString(language(), { style: 'percent' });
}

/** Formats a cost: `$0.042`, `$12.30`; other currencies by their names. */
export function money({ amount, currency }: Cost): string {
  const places = amount < 1 ? 3 : 2;
  const digits = amount.toLocaleString(language(), { minimumFractionDigits: places, maximumFractionDigits: places, useGrouping: false });
  return currency === 'USD' ? `$${digits}` : `${digits} ${currency}`;
}

/** Formats an edit's effect on the context's size: `164K → 31K`. */
export function shrinking(before: number, after: number): string {
  return `${short(before)} → ${short(after)}`;
}

/** Formats a number of messages: `1 message`, `45 messages`. */
export function messages(count: number): string {
  return count === 1 ? l10n.t('1 message') : l10n.t('{0} messages', full(count));
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

const relative = new Map<string, Intl.RelativeTimeFormat>();

/** Returns the display language's own words for times. Making them is slow, and ages are written all the time. */
function relativeTime(): Intl.RelativeTimeFormat {
  const tag = language();
  let format = relative.get(tag);
  if (!format) relative.set(tag, (format = new Intl.RelativeTimeFormat(tag, { numeric: 'always' })));
  return format;
}

/** Formats how long ago a time in Unix milliseconds was: `12 seconds ago`, `2 hours ago`. */
export function ago(then: number, now: number): string {
  const elapsed = Math.max(0, now - then);
  if (elapsed < 5_000) return l10n.t('just now');
  const [unit, length] = UNITS.find(([, each]) => elapsed >= each) ?? ['second', 1_000];
  return relativeTime().format(-Math.floor(elapsed / length), unit);
}

/** Returns the word for what made an edit: `automatic`, `manual`. */
export function triggerWord(trigger: string): string {
  return trigger === 'automatic' ? l10n.t('automatic') : trigger === 'manual' ? l10n.t('manual') : trigger;
}

/** Joins names of which one is enough: `Claude Code or Codex`. */
export function anyOf(names: readonly string[]): string {
  return new Intl.ListFormat(language(), { type: 'disjunction' }).format(names);
}

/** Shortens text to one line of at most `length` characters. */
export function oneLine(text: string, length = 100): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`;
}

function oneDigit(value: number): string {
  return Number(value.toFixed(1)).toLocaleString(language());
}
