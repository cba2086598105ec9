/** The figures as Markdown, for the status item's tooltip and for the chat: pure functions. */
import * as l10n from '@vscode/l10n';

import { compactWord, isCopy, original } from './words';
import { ago, full, inPercent, messages, money, short, triggerWord } from './figures';
import type { CallsLeft, EditInfo, UsageMeta } from './protocol.gen';
import type { UsageState } from './session';

const KINDS: Readonly<Record<string, string>> = {
  system_prompt: l10n.t('system prompt'),
  tools: l10n.t('tools'),
  memory: l10n.t('memory'),
  messages: l10n.t('messages'),
  tool_results: l10n.t('tool results'),
  summary: l10n.t('summary'),
  overhead: l10n.t('hidden'),
};

/** The commands that the tooltip links to. Its Markdown may run no others. */
export const LINKED_COMMANDS: readonly string[] = [
  'ullage.compactContext',
  'ullage.previewCompaction',
  'ullage.showContext',
  'ullage.setWindow',
  'ullage.showAgents',
];

export function tooltipMarkdown(usage: UsageState, lastEdit: EditInfo | undefined, now: number): string {
  return [head(usage), breakdown(usage, true), ...basis(usage, lastEdit, now), links(usage)].filter(Boolean).join('\n\n');
}

/** Returns the figures for the chat, whose column is narrow, and in whose Markdown no command may run. */
export function figuresMarkdown(usage: UsageState, now: number): string {
  return [head(usage), breakdown(usage, false), ...basis(usage, undefined, now)].filter(Boolean).join('\n\n');
}

function head(usage: UsageState): string {
  return [
    `**${escapeMarkdown(usage.title || l10n.t('Untitled session'))}** · ${escapeMarkdown(usage.modelName || l10n.t('model unknown'))}`,
    gauge(usage),
  ].join('\n\n');
}

/** Returns how the figures are known, and what else is: the last edit and the cost. */
function basis(usage: UsageState, lastEdit: EditInfo | undefined, now: number): readonly string[] {
  return [
    basisLines(usage.meta).map(escapeMarkdown).join('  \n'),
    [sourceLine(usage, now), lastEditLine(lastEdit, now), costLine(usage)].filter(Boolean).join('  \n'),
  ];
}

/** Returns how the window and the place of compaction are known, and what is left, one line each. */
export function basisLines(meta: UsageMeta): readonly string[] {
  const { window, threshold, callsLeft } = meta;
  const due = callsLeft?.high === 0 ? l10n.t('Compacts with the next call of the model') : '';
  const calls = due || (callsLeft && l10n.t('About {0} until it compacts', callsOf(callsLeft)));
  const copy = meta.followed
    ? l10n.t('{0}, read while it continues; Ullage changes nothing in it', original(meta))
    : isCopy(meta) ? l10n.t('A copy of {0}; compacting it here changes only the copy', original(meta)) : '';
  return [
    window && l10n.t('Window: {0}', window.basis),
    window?.contradiction && l10n.t('But {0}', window.contradiction),
    threshold && `${l10n.t('Compaction: {0}', threshold.basis)}${threshold.times > 0 ? ` (${threshold.times}×)` : ''}`,
    ...meta.remarks.map((remark) => remark.text),
    calls,
    copy,
  ].filter((line): line is string => Boolean(line));
}

function callsOf({ low, mean, high }: CallsLeft): string {
  if (low === high) return mean === 1 ? l10n.t('1 call of the model') : l10n.t('{0} calls of the model', mean);
  return mean === 1 ? l10n.t('1 call of the model ({0} to {1})', low, high) : l10n.t('{0} calls of the model ({1} to {2})', mean, low, high);
}

function gauge({ used, size, meta }: UsageState): string {
  if (size === null) return l10n.t("{0} tokens; the model's limit is unknown, so nothing is compacted by itself.", full(used));
  const near = meta.source === 'reported' ? '' : '~';
  const line = `\`${bar(used, size, meta.compactAt)}\` ${l10n.t('{0} of the window', near + inPercent(used, size))}`;
  const compacts = meta.compactAt === null ? '' : l10n.t('compacts at {0} ({1})', short(meta.compactAt), inPercent(meta.compactAt, size));
  return `${line}\n\n${[l10n.t('{0} of {1} tokens', full(used), full(size)), compacts].filter(Boolean).join(' · ')}`;
}

function breakdown({ used, meta }: UsageState, withBars: boolean): string {
  const parts = Object.entries<number>({ ...meta.breakdown })
    .filter(([, tokens]) => tokens > 0)
    .sort(([, a], [, b]) => b - a);
  const rows = parts.map(
    ([kind, tokens]) => `| ${KINDS[kind] ?? kind} | ${full(tokens)} | ${inPercent(tokens, used)} |${withBars ? ` \`${bar(tokens, used, null, 8)}\` |` : ''}`,
  );
  const [empty, left] = withBars ? [' |', ':--|'] : ['', ''];
  return rows.length > 0 ? [`| | ${l10n.t('tokens')} | |${empty}`, `|:--|--:|--:|${left}`, ...rows].join('\n') : l10n.t('Empty.');
}

/** Describes the source of the figure. */
export function sourceLine({ meta }: UsageState, now: number): string {
  if (meta.source === 'reported') return meta.reportedAt ? l10n.t('Reported by the provider {0}', ago(meta.reportedAt, now)) : l10n.t('Reported by the provider');
  const words = sourceWords(meta);
  return meta.asOf === null ? words : l10n.t({ message: '{0}, as of {1}', args: [words, ago(meta.asOf, now)], comment: ['Where a figure comes from, and the moment of which it speaks.'] });
}

function sourceWords({ source, pendingMessages, errorShare }: UsageMeta): string {
  if (source === 'stale') return l10n.t('Reported by the provider, and {0} counted since', messages(pendingMessages));
  return errorShare === null ? l10n.t('Estimated') : l10n.t('Estimated, ±{0}', inPercent(Math.max(0.01, errorShare), 1));
}

function lastEditLine(edit: EditInfo | undefined, now: number): string {
  if (!edit) return '';
  const [age, trigger] = [ago(edit.timestamp, now), triggerWord(edit.trigger)];
  const what = edit.kind === 'compaction' ? l10n.t('Compacted {0} ({1})', age, trigger) : l10n.t('Cleared {0} ({1})', age, trigger);
  return edit.tokensSaved > 0 ? l10n.t('{0}, saved {1}', what, short(edit.tokensSaved)) : what;
}

/** Escapes dollar signs, because Markdown reads two of them as a formula. */
function costLine({ cost }: UsageState): string {
  return cost ? l10n.t('Cost so far {0}, by list prices', escapeMarkdown(money(cost))) : '';
}

function links(usage: UsageState): string {
  const commands = [
    `[${compactWord(usage.meta)}](command:ullage.compactContext)`,
    ...(usage.meta.followed ? [] : [`[${l10n.t('Preview')}](command:ullage.previewCompaction)`]),
    `[${l10n.t('Show context')}](command:ullage.showContext)`,
  ];
  if (usage.size === null) commands.push(`[${l10n.t('Set the limit')}](command:ullage.setWindow)`);
  return commands.join(' · ');
}

/** Escapes foreign text, which must not become links, images or commands. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_{}[\]()#+\-.!|<>~&$]/g, '\\$&').replace(/\s+/g, ' ');
}

/** Cells of the bar in the tooltip. */
export const CELLS = 20;

/** Returns a bar of `cells` cells with `used` of `size` filled, and `┊` at the compaction threshold: `▓▓▓▓▓░░░┊░░`. */
export function bar(used: number, size: number, compactAt: number | null, cells = CELLS): string {
  const filled = toCells(used, size, cells);
  const blocks = '▓'.repeat(filled) + '░'.repeat(cells - filled);
  if (compactAt === null) return blocks;
  const mark = toCells(compactAt, size, cells);
  return `${blocks.slice(0, mark)}┊${blocks.slice(mark)}`;
}

function toCells(part: number, whole: number, cells: number): number {
  return Math.min(cells, Math.max(0, Math.round((cells * part) / Math.max(1, whole))));
}
