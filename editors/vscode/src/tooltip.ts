/** The status item's tooltip as Markdown: a pure function of the figures. */
import { bar } from './bar';
import { ago, full, messages, money, percent, short } from './figures';
import type { EditInfo } from './protocol.gen';
import type { UsageState } from './session';

const KINDS: Readonly<Record<string, string>> = {
  system_prompt: 'system prompt',
  tools: 'tools',
  memory: 'memory',
  messages: 'messages',
  tool_results: 'tool results',
  summary: 'summary',
  overhead: 'overhead',
};

/** The commands that the tooltip links to. Its Markdown may run no others. */
export const LINKED_COMMANDS: readonly string[] = [
  'ullage.compactContext',
  'ullage.previewCompaction',
  'ullage.showContext',
  'ullage.setWindow',
];

export function tooltipMarkdown(usage: UsageState, lastEdit: EditInfo | undefined, now: number): string {
  return [
    `**${escapeMarkdown(usage.title || 'Untitled session')}** · ${escapeMarkdown(usage.meta.model || 'model unknown')}`,
    gauge(usage),
    breakdown(usage),
    [sourceLine(usage, now), lastEditLine(lastEdit, now), costLine(usage)].filter(Boolean).join('  \n'),
    links(usage),
  ].join('\n\n');
}

function gauge({ used, size, meta }: UsageState): string {
  if (size === null) return `${full(used)} tokens; the model's limit is unknown, so nothing is compacted by itself.`;
  const near = meta.source === 'estimated' ? '~' : '';
  const line = `\`${bar(used, size, meta.compactAt)}\` ${near}${percent(used, size)}% of the window`;
  const usable = meta.usable === null ? '' : `${percent(used, meta.usable)}% of the ${full(meta.usable)} usable`;
  const compacts = meta.compactAt === null ? '' : `compacts at ${short(meta.compactAt)}`;
  return `${line}\n\n${[`${full(used)} of ${full(size)} tokens`, usable, compacts].filter(Boolean).join(' · ')}`;
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
  if (meta.source === 'stale') return `Stale: ${messages(meta.pendingMessages)} since the last report`;
  if (meta.source === 'reported')
    return meta.reportedAt ? `Reported by the provider ${ago(meta.reportedAt, now)}` : 'Reported by the provider';
  return meta.errorShare === null ? 'Estimated' : `Estimated, ±${Math.max(1, Math.round(100 * meta.errorShare))} %`;
}

function lastEditLine(edit: EditInfo | undefined, now: number): string {
  if (!edit) return '';
  const what = edit.kind === 'compaction' ? 'Compacted' : 'Cleared';
  return `${what} ${ago(edit.timestamp, now)} (${edit.trigger}), saved ${short(edit.tokensSaved)}`;
}

/** Escapes dollar signs, because Markdown reads two of them as a formula, and `$(` as an icon. */
function costLine({ cost }: UsageState): string {
  return cost ? `Cost so far ${escapeMarkdown(money(cost))}, by list prices` : '';
}

function links(usage: UsageState): string {
  const commands = [
    '[Compact now](command:ullage.compactContext)',
    '[Preview](command:ullage.previewCompaction)',
    '[Show context](command:ullage.showContext)',
  ];
  if (usage.size === null) commands.push('[Set the limit](command:ullage.setWindow)');
  return commands.join(' · ');
}

/** Escapes foreign text, which must not become links, images or commands. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_{}[\]()#+\-.!|<>~&$]/g, '\\$&').replace(/\s+/g, ' ');
}
