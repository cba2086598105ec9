/** The status item's tooltip as Markdown: a pure function of the figures. */
import { bar } from './bar';
import { compactWord, isCopy, original } from './copies';
import { ago, full, messages, money, percent, short } from './figures';
import type { CallsLeft, EditInfo, UsageMeta } from './protocol.gen';
import type { UsageState } from './session';

const KINDS: Readonly<Record<string, string>> = {
  system_prompt: 'system prompt',
  tools: 'tools',
  memory: 'memory',
  messages: 'messages',
  tool_results: 'tool results',
  summary: 'summary',
  overhead: 'hidden',
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
  return [
    `**${escapeMarkdown(usage.title || 'Untitled session')}** · ${escapeMarkdown(usage.modelName || 'model unknown')}`,
    gauge(usage),
    breakdown(usage),
    basisLines(usage.meta).map(escapeMarkdown).join('  \n'),
    [sourceLine(usage, now), lastEditLine(lastEdit, now), costLine(usage)].filter(Boolean).join('  \n'),
    links(usage),
  ].filter(Boolean).join('\n\n');
}

/** Returns how the window and the place of compaction are known, and what is left, one line each. */
export function basisLines(meta: UsageMeta): readonly string[] {
  const { window, threshold, callsLeft } = meta;
  const due = callsLeft?.high === 0 ? 'Compacts with the next call of the model' : '';
  const calls = due || (callsLeft && `About ${messagesOf(callsLeft)} until it compacts`);
  const copy = meta.followed
    ? `${original(meta)}, read while it continues; Ullage changes nothing in it`
    : isCopy(meta) ? `A copy of ${original(meta)}; compacting it here changes only the copy` : '';
  return [
    window && `Window: ${window.basis}`,
    window?.contradiction && `But ${window.contradiction}`,
    threshold && `Compaction: ${threshold.basis}${threshold.times > 0 ? ` (${threshold.times}×)` : ''}`,
    ...meta.remarks.map((remark) => remark.text),
    calls,
    copy,
  ].filter((line): line is string => Boolean(line));
}

function messagesOf({ low, mean, high }: CallsLeft): string {
  const calls = mean === 1 ? '1 call' : `${mean} calls`;
  return low === high ? `${calls} of the model` : `${calls} of the model (${low} to ${high})`;
}

function gauge({ used, size, meta }: UsageState): string {
  if (size === null) return `${full(used)} tokens; the model's limit is unknown, so nothing is compacted by itself.`;
  const near = meta.source === 'reported' ? '' : '~';
  const line = `\`${bar(used, size, meta.compactAt)}\` ${near}${percent(used, size)}% of the window`;
  const compacts = meta.compactAt === null ? '' : `compacts at ${short(meta.compactAt)} (${percent(meta.compactAt, size)}%)`;
  return `${line}\n\n${[`${full(used)} of ${full(size)} tokens`, compacts].filter(Boolean).join(' · ')}`;
}

function breakdown({ used, meta }: UsageState): string {
  const parts = Object.entries<number>({ ...meta.breakdown })
    .filter(([, tokens]) => tokens > 0)
    .sort(([, a], [, b]) => b - a);
  const rows = parts.map(
    ([kind, tokens]) => `| ${KINDS[kind] ?? kind} | ${full(tokens)} | ${percent(tokens, used)}% | \`${bar(tokens, used, null, 8)}\` |`,
  );
  return rows.length > 0 ? ['| | tokens | | |', '|:--|--:|--:|:--|', ...rows].join('\n') : 'Empty.';
}

/** Describes the source of the figure. */
export function sourceLine({ meta }: UsageState, now: number): string {
  const asOf = meta.asOf === null ? '' : `, as of ${ago(meta.asOf, now)}`;
  if (meta.source === 'stale') return `Reported by the provider, and ${messages(meta.pendingMessages)} counted since${asOf}`;
  if (meta.source === 'reported')
    return meta.reportedAt ? `Reported by the provider ${ago(meta.reportedAt, now)}` : 'Reported by the provider';
  return meta.errorShare === null ? `Estimated${asOf}` : `Estimated, ±${Math.max(1, Math.round(100 * meta.errorShare))} %${asOf}`;
}

function lastEditLine(edit: EditInfo | undefined, now: number): string {
  if (!edit) return '';
  const what = edit.kind === 'compaction' ? 'Compacted' : 'Cleared';
  const saved = edit.tokensSaved > 0 ? `, saved ${short(edit.tokensSaved)}` : '';
  return `${what} ${ago(edit.timestamp, now)} (${edit.trigger})${saved}`;
}

/** Escapes dollar signs, because Markdown reads two of them as a formula. */
function costLine({ cost }: UsageState): string {
  return cost ? `Cost so far ${escapeMarkdown(money(cost))}, by list prices` : '';
}

function links(usage: UsageState): string {
  const commands = [
    `[${compactWord(usage.meta)}](command:ullage.compactContext)`,
    ...(usage.meta.followed ? [] : ['[Preview](command:ullage.previewCompaction)']),
    '[Show context](command:ullage.showContext)',
  ];
  if (usage.size === null) commands.push('[Set the limit](command:ullage.setWindow)');
  return commands.join(' · ');
}

/** Escapes foreign text, which must not become links, images or commands. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_{}[\]()#+\-.!|<>~&$]/g, '\\$&').replace(/\s+/g, ' ');
}
