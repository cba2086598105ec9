/** The view's texts that depend on figures. Pure. */
import * as l10n from '@vscode/l10n';

import { ago, full, inPercent, isCopy, messages, original, plainText, short, shrinking, speaker, triggerWord } from '../../words';
import type { EditLine, Item, Marker, Usage } from '../messages';
import type { MarkerRow, MessageRow } from './transcript';

const PARTS: Readonly<Record<string, string>> = {
  system_prompt: l10n.t('system'),
  tools: l10n.t('tools'),
  memory: l10n.t('memory'),
  messages: l10n.t('messages'),
  tool_results: l10n.t('tool results'),
  summary: l10n.t('summary'),
  overhead: l10n.t('hidden'),
};

const EDITS: Readonly<Record<string, string>> = {
  compaction: l10n.t('Compacted'),
  clear_tool_uses: l10n.t('Cleared old tool results'),
  clear_thinking: l10n.t('Cleared older thinking'),
  duplicate_reads: l10n.t('Replaced repeated file reads'),
  shorten: l10n.t('Shortened long contents'),
  drop: l10n.t('Left out the oldest messages'),
  rewind: l10n.t('Went back to an earlier message'),
};

/** Returns the name of a part of the breakdown: `tool_results` → `tool results`. */
export function partWord(part: string): string {
  return PARTS[part] ?? part.replaceAll('_', ' ');
}

export function editWord(edit: EditLine): string {
  return EDITS[edit.kind] ?? edit.kind.replaceAll('_', ' ');
}

/** Returns `124K of 200K, compacts at 81%`. Both shares are of the window. */
export function gaugeWords(usage: Usage): string {
  const { used, size, compactAt } = usage;
  if (size === null) return l10n.t('{0} tokens, limit unknown', short(used));
  if (compactAt === null) return l10n.t('{0} of {1}', short(used), short(size));
  return l10n.t('{0} of {1}, compacts at {2}', short(used), short(size), inPercent(compactAt, size));
}

/** Says that an agent has the conversation, so that nothing of what Ullage does with its own is offered. */
export function readOnlyWords({ agent }: Usage): string {
  return agent ? l10n.t('{0} has this conversation. Ullage only reads it.', agent) : l10n.t('Another program has this conversation. Ullage only reads it.');
}

/** Returns how the figure is known, and the moment of which it speaks, if that is known, with a text for its age. */
export function sourceParts(usage: Usage): { readonly words: string; readonly at: number | null; readonly aged: (age: string) => string } {
  const words = sourceWords(usage);
  // What an agent has is named below the list.
  const whose = !usage.followed && isCopy(usage) ? l10n.t('a copy of {0}, {1}', original(usage), words) : words;
  if (usage.source === 'reported') return { words: whose, at: usage.reportedAt, aged: (age) => l10n.t({ message: '{0} {1}', args: [whose, age], comment: ['Where a figure comes from, and its age: reported 2 hours ago.'] }) };
  return { words: whose, at: usage.asOf, aged: (age) => l10n.t({ message: '{0}, as of {1}', args: [whose, age], comment: ['Where a figure comes from, and the moment of which it speaks.'] }) };
}

function sourceWords({ source, pendingMessages, errorShare }: Usage): string {
  if (source === 'reported') return l10n.t('reported');
  if (source === 'stale') return l10n.t('reported, and {0} counted since', messages(pendingMessages));
  return errorShare === null ? l10n.t('estimated') : l10n.t('estimated, ±{0}', inPercent(Math.max(0.01, errorShare), 1));
}

/** Returns what is known of the window and of the place of compaction, one line each. */
export function evidence({ basis }: Usage): string {
  return basis.join('\n');
}

/** Returns a word for a level other than normal, since colour alone is not enough. */
export function levelWord(usage: Usage): string {
  if (usage.size !== null && usage.used > usage.size) return l10n.t('Over the window');
  if (usage.level === 'warning') return l10n.t('Nearly full');
  return usage.level === 'critical' ? l10n.t('Due for compaction') : '';
}

/** Returns the parts of `Compacted #1 · 2 hours ago · 150K → 28K · automatic` after the age. */
export function markerWords(marker: Marker): readonly string[] {
  return [sizes(marker), triggerWord(marker.trigger)].filter((word) => word !== '');
}

/** Returns the sizes that are known. A transcript of another program says at most the size before. */
function sizes({ before, after }: Marker): string {
  if (before === 0) return '';
  return after === 0 ? l10n.t('from {0}', short(before)) : shrinking(before, after);
}

/** Returns `Brings back 44 messages, 122K tokens; the context will be at 98%.` */
export function undoWords(marker: Marker, usage: Usage | undefined): string {
  const tokens = Math.max(0, marker.before - marker.after);
  const back = l10n.t('{0}, {1} tokens', messages(marker.messagesArchived), short(tokens));
  if (!usage || usage.size === null) return l10n.t('Brings back {0}.', back);
  const then = usage.used + tokens;
  const words = l10n.t('Brings back {0}; the context will be at {1}.', back, inPercent(then, usage.size));
  const isAgain = usage.managedBy === 'ullage' && usage.compactAt !== null && then >= usage.compactAt;
  return isAgain ? `${words} ${l10n.t('That is beyond the mark: the next message compacts it again.')}` : words;
}

/** Returns the label of an open row for screen readers. */
export function openLabel(row: MessageRow | MarkerRow, now: number): string {
  if (row.kind === 'marker') return [l10n.t('Compaction {0}', row.marker.number), ago(row.marker.timestamp, now), ...markerWords(row.marker)].join(', ');
  const tokens = row.item.archived ? l10n.t('archived') : l10n.t('{0} tokens', full(row.tokens));
  const parts = [`${speaker(row.item.role)}: ${itemText(row.item).slice(0, 200)}`, tokens, row.pinned ? l10n.t('pinned') : ''];
  return parts.filter((word) => word !== '').join(', ');
}

/** Returns a message as one line. */
export function itemText(item: Item): string {
  return plainText(item.parts.map(partText).join(' ')).replace(/\s+/g, ' ').trim();
}

function partText(part: Item['parts'][number]): string {
  if (part.kind === 'tool_use') return `${part.name} ${part.argument}`;
  if (part.kind === 'image') return part.label;
  if (part.kind === 'resource') return part.label;
  return part.text;
}

/** Returns the most useful line of a tool's output: for a failure the last line about it, otherwise the first line. */
export function outcomeLine(text: string, failed: boolean): string {
  const lines = text.split('\n').map((line) => line.trim()).filter((line) => line !== '');
  const telling = failed ? lines.findLast((line) => /\b(fail|failed|error|exception|not found|denied)/i.test(line)) : undefined;
  return telling ?? lines[0] ?? '';
}
