/** How figures, times, names and messages are said to users, and foreign text in VS Code's labels, which take parts of it for more than text. Pure: in English in the same forms as the server, else as the display language has them. */
import * as l10n from '@vscode/l10n';

import { language } from './language';
import type { CacheMiss, Cost, Entry, FollowedConversation, GoodMoment, IdleCompaction, Message, PromptCache, RateLimit, UsageMeta } from './protocol.gen';

const WORDS: Readonly<Record<string, string>> = { user: l10n.t('you'), assistant: l10n.t('assistant'), system: l10n.t('system'), agent: l10n.t('agent'), tool: l10n.t('tool result') };

/** Returns the word for who speaks: `you`, `assistant`, `system`, `agent` for an agent's program that writes as the user, and `tool result`. */
export function speaker(role: string): string {
  return WORDS[role] ?? role;
}

type Kept = Pick<UsageMeta, 'managedBy' | 'agent'> & { readonly followed: unknown };

export function isCopy({ managedBy }: Pick<Kept, 'managedBy'>): boolean {
  return managedBy === 'agent';
}

/** Returns what the actions that compact are called. */
export function compactWord(kept: Kept): string {
  if (kept.followed) return l10n.t('Compact…');
  return isCopy(kept) ? l10n.t('Compact this copy') : l10n.t('Compact now');
}

/** Returns whose conversation the session is a copy of, `Claude Code’s conversation`. */
export function original({ agent }: Pick<Kept, 'agent'>): string {
  return agent ? l10n.t('{0}’s conversation', agent) : l10n.t('another program’s conversation');
}

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

/** Formats a time of day: `14:32`. */
function timeOfDay(at: number): string {
  return new Date(at).toLocaleTimeString(language(), { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
}

/** Formats an amount of US dollars in cents: `$1.90`. */
function dollars(amount: number): string {
  if (amount > 0 && amount < 0.005) return l10n.t('under $0.01');
  return `$${amount.toLocaleString(language(), { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

/**
 * Returns how long the provider still keeps the last prompt, in the fewest words: `warm 23 min`, or `cold`. One that promises
 * nothing may keep it longer than it did before, so that nothing is said after that time.
 */
export function warm(cache: PromptCache | null, now: number): string {
  if (cache === null) return '';
  if (cache.until > now) return l10n.t({ message: 'warm {0} min', args: [Math.max(1, Math.floor((cache.until - now) / 60_000))], comment: ['For so many minutes the provider still keeps the prompt in its cache, so that the next one is cheap.'] });
  return cache.source === 'promised' ? l10n.t('cold') : '';
}

/** US dollars and tokens that no user does anything about. */
const [LITTLE, FEW_TOKENS] = [0.05, 1_000];

/** Returns until when the last prompt is kept, and what the next one costs until then and after it. */
export function nextPrompt({ until, source, tokens, warm: cheap, cold }: PromptCache, now: number): string {
  const isPromised = source === 'promised';
  const isWarm = now < until;
  const kept = isWarm
    ? isPromised ? l10n.t('warm until {0}', timeOfDay(until)) : l10n.t('warm at least until {0}', timeOfDay(until))
    : isPromised ? l10n.t('cold') : l10n.t('perhaps cold');
  if (cold !== null && cold < LITTLE) return kept;
  if (cheap === null || cold === null) return l10n.t({ message: '{0}: {1} tokens', args: [kept, short(tokens)], comment: ['How long a prompt is kept, and how large it is: warm until 14:32: 45K tokens.'] });
  return isWarm
    ? l10n.t('{0}; the next prompt costs {1} until then, {2} after it', kept, dollars(cheap), dollars(cold))
    : l10n.t('{0}; the next prompt costs {1} ({2} while it is warm)', kept, dollars(cold), dollars(cheap));
}

const MISSES: Readonly<Record<CacheMiss['cause'], string>> = {
  idle: l10n.t('after a pause'),
  compaction: l10n.t('after a compaction'),
  model: l10n.t('because another model answered'),
  messages: l10n.t('because earlier messages were changed or left out'),
  prefix: l10n.t("because the prompt's beginning changed: system prompt, tools or settings"),
};

/** What is known of the clock of a conversation. A row that an earlier version of the server has written lacks the last two. */
export type Clock = Pick<FollowedConversation, 'idle' | 'cache'> & Partial<Pick<FollowedConversation, 'moment' | 'rateLimits'>>;

/** Returns what a new session costs beside one of `used` tokens, and which work has ended. */
export function goodMoment({ work, tokens, cost }: GoodMoment, used: number, cache: PromptCache | null, now: number): string {
  const begins = l10n.t('good moment: a new session begins with {0} in place of {1}', short(tokens), short(used));
  const left = (cache?.until ?? 0) - now;
  const here = left > 0 ? cache?.warm : cache?.cold;
  const there = cost == null || here == null ? '' : l10n.t('; the next prompt costs {0} there, {1} here', dollars(cost), dollars(here));
  const then = there && left > 0 && cache?.cold != null ? l10n.t(', in {0} min {1}', Math.max(1, Math.floor(left / 60_000)), dollars(cache.cold)) : '';
  return `${begins}${there}${then}${l10n.t(': “{0}” is committed and nothing is open', oneLine(work))}`;
}

/** Returns how much is used of the limits whose times have not ended: `limits: 5h 42%, 7d 80%`. */
function limitsLine(limits: readonly RateLimit[], now: number): readonly string[] {
  const present = limits.filter(({ until }) => until === null || now < until);
  return present.length === 0 ? [] : [l10n.t('limits: {0}', present.map(({ name, percent: used }) => `${name} ${inPercent(used, 100)}`).join(', '))];
}

/** Returns what is known of the clock of a conversation of `used` tokens, one line each. */
export function clockLines({ idle, cache, moment, rateLimits = [] }: Clock, used: number | null, now: number): readonly string[] {
  const { miss = null } = cache ?? {};
  return [
    ...(moment && used !== null ? [goodMoment(moment, used, cache, now)] : []),
    ...(idle && idle.at > now ? [idles(idle)] : []),
    ...(cache ? [nextPrompt(cache, now)] : []),
    ...(miss && miss.tokens >= FEW_TOKENS ? [l10n.t({ message: '{0} tokens were last paid in full again {1}', args: [short(miss.tokens), MISSES[miss.cause]], comment: ['What was not in the cache, and why: 45K tokens were last paid in full again after a pause.'] })] : []),
    ...limitsLine(rateLimits, now),
  ];
}

/** Returns the words for a compaction that the agent will make because the conversation idles. */
export function idles({ at, setting }: IdleCompaction): string {
  return l10n.t('compacts by itself at {0} because it idles ({1} in its settings stops that)', timeOfDay(at), setting);
}

/** Milliseconds before a compaction because a conversation idles in which it is announced: time enough to come back. */
export const ANNOUNCED = 600_000;

/** Returns the same in the fewest words, once it is near, else an empty string. */
export function idlesSoon(idle: IdleCompaction | null, now: number): string {
  const left = (idle?.at ?? 0) - now;
  return idle && left > 0 && left <= ANNOUNCED ? l10n.t('idle: compacts at {0}', timeOfDay(idle.at)) : '';
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

/** Returns text that a label shows as it is. A label draws `$(name)` as an icon. */
export function asLabel(text: string): string {
  return text.replaceAll('$(', '\\$(');
}

/**
 * Returns text that a message or a progress bar shows as it is. It would take `[text](command:name)` for a link, and run
 * the command on a click. The word joiner that prevents it is not seen.
 */
export function asMessage(text: string): string {
  return text.replaceAll('](', ']\u2060(');
}

/** Tags with a joint in their names (`<command-name>`, `<system_reminder>`), by which programs wrap what they add. */
const TAG = /<\/?[a-z]+(?:[-_][a-z]+)+>/g;
const FENCE = /^\s*(?:`{3,}|~{3,})[^\n]*$/gm;
/** What a terminal takes for a colour. Agents keep their own output with it. */
// eslint-disable-next-line no-control-regex
const COLOUR = /\u001b\[[0-?]*[ -/]*[@-~]/g;
const RULES: readonly (readonly [RegExp, string])[] = [
  [COLOUR, ''],
  [TAG, ' '],
  [FENCE, ''],
  // The line under a table's head, and the bars between its cells.
  [/^ *\|?(?: *:?-+:? *\|)+ *(?::?-+:? *)?$/gm, ''],
  [/^ *\|(.*)\| *$/gm, '$1'],
  // Headings, quotes and rules at the beginning of a line.
  [/^\s{0,3}(?:#{1,6}\s+|>\s?|(?:[-*_]\s*){3,}$)/gm, ''],
  [/!?\[([^\]\n]*)\]\([^)\s]*\)/g, '$1'],
  [/(\*\*|__)(?=\S)([^\n]*?\S)\1/g, '$2'],
  [/(^|[^\w*])\*(?=\S)([^*\n]*?\S)\*(?![\w*])/g, '$1$2'],
  [/(`+)([^`\n]+)\1/g, '$2'],
];

/** Returns the text without Markdown's signs and without wrapping tags. Lines stay lines. */
export function plainText(text: string): string {
  const plain = RULES.reduce((left, [pattern, by]) => left.replace(pattern, by), text);
  return plain.replace(/[^\S\n]+$/gm, '').replace(/^ (?=\S)/gm, '').replace(/\n{2,}/g, '\n').trim();
}

type Block = Message['content'][number];

/** Returns the whole message as Markdown. */
export function messageMarkdown(message: Message): string {
  return message.content.map(blockText).join('\n\n');
}

/** Returns the word for who speaks, or that the message has results of tools. */
function speakerOf({ message, byAgent }: Entry): string {
  if (message.content.some((block) => block.type === 'tool_result')) return l10n.t('tool result');
  return speaker(byAgent ? 'agent' : message.role);
}

/** Returns `#12 assistant`. What an edit put into the context has no number, because it is not in the transcript. */
export function entryName(entry: Entry): string {
  const { message, index, inserted } = entry;
  if (!inserted) return `${numberOf(index)} ${speakerOf(entry)}`;
  return message.content.some((block) => block.type === 'context_compaction') ? l10n.t('summary') : l10n.t('notice');
}

/** Returns `#12 assistant  first words…`. */
export function messageLine(entry: Entry, length = 80): string {
  return `${entryName(entry)}  ${messageStart(entry.message, length)}`;
}

/** Returns the beginning of the message on one line. */
export function messageStart(message: Message, length: number): string {
  return oneLine(plainText(messageMarkdown(message)), length);
}

function blockText(block: Block): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'thinking':
      return `> ${block.thinking.replaceAll('\n', '\n> ')}`;
    case 'tool_use':
      return [`⚒ ${block.name}`, ...Object.entries(block.input).map(argument)].join('\n');
    case 'tool_result':
      return (block.content ?? []).map(blockText).join('\n');
    case 'image':
      return `[${l10n.t('image')}]`;
    case 'resource':
      return `[${block.uri}]\n${block.text ?? ''}`;
    case 'context_compaction':
      return `◈ ${l10n.t('Compacted #{0}', block.compaction_number)}\n${block.summary}`;
  }
}

/** Returns text as it is, so that its lines can be read, and anything else as JSON. */
function argument([name, value]: readonly [string, unknown]): string {
  return `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`;
}
