/** The view's texts that depend on figures. Pure. */
import { ago, full, messages, percent, short, shrinking } from '../../figures';
import type { Call, EditLine, Item, Marker, Usage } from '../messages';
import type { MarkerRow, MessageRow } from './rows';

const ROLES = { user: 'you', assistant: 'assistant', system: 'system' } as const;

const PARTS: Readonly<Record<string, string>> = {
  system_prompt: 'system',
  tools: 'tools',
  memory: 'memory',
  messages: 'messages',
  tool_results: 'tool results',
  summary: 'summary',
  overhead: 'hidden by provider',
};

const EDITS: Readonly<Record<string, string>> = {
  compaction: 'Compacted',
  clear_tool_uses: 'Cleared old tool results',
  clear_thinking: 'Cleared older thinking',
  duplicate_reads: 'Replaced repeated file reads',
  shorten: 'Shortened long contents',
  drop: 'Left out the oldest messages',
};

export function roleWord(role: Item['role']): string {
  return ROLES[role];
}

/** Returns the name of a part of the breakdown: `tool_results` → `tool results`. */
export function partWord(part: string): string {
  return PARTS[part] ?? part.replaceAll('_', ' ');
}

export function editWord(edit: EditLine): string {
  return EDITS[edit.kind] ?? edit.kind.replaceAll('_', ' ');
}

/** Returns `124K of 200K, compacts at 162K`. */
export function gaugeWords(usage: Usage): string {
  if (usage.size === null) return `${short(usage.used)} tokens, limit unknown`;
  const mark = usage.compactAt === null ? '' : `, compacts at ${short(usage.compactAt)}`;
  return `${short(usage.used)} of ${short(usage.size)}${mark}`;
}

export function sourceWords(usage: Usage, now: number): string {
  if (usage.source === 'reported') return `reported by the provider${usage.reportedAt === null ? '' : ` ${ago(usage.reportedAt, now)}`}`;
  if (usage.source === 'stale') return `stale: ${messages(usage.pendingMessages)} since the last report`;
  return usage.errorShare === null ? 'estimated' : `estimated, ±${Math.max(1, Math.round(usage.errorShare * 100))} %`;
}

/** Returns a word for a level other than normal, since colour alone is not enough. */
export function levelWord(usage: Usage): string {
  if (usage.level === 'warning') return 'Nearly full';
  return usage.level === 'critical' ? 'Due for compaction' : '';
}

/** Returns the parts of `Compacted #1 · 2 hours ago · 150K → 28K · automatic`. */
export function markerWords(marker: Marker, now: number): readonly string[] {
  return [ago(marker.timestamp, now), shrinking(marker.before, marker.after), marker.trigger].filter((word) => word !== '');
}

/** Returns `Brings back 44 messages, 122K tokens; the context will be at 98 %.` */
export function undoWords(marker: Marker, usage: Usage | undefined): string {
  const tokens = Math.max(0, marker.before - marker.after);
  const back = `Brings back ${messages(marker.messagesArchived)}, ${short(tokens)} tokens`;
  if (!usage || usage.size === null) return `${back}.`;
  const then = usage.used + tokens;
  const again = usage.compactAt !== null && then >= usage.compactAt ? ' That is beyond the mark: the next message compacts it again.' : '';
  return `${back}; the context will be at ${percent(then, usage.size)} %.${again}`;
}

/** Returns the state of a tool call. It is empty after success, which the result shows. */
export function callWord({ status }: Call): string {
  switch (status) {
    case 'pending':
      return 'waits';
    case 'in_progress':
      return 'runs…';
    case 'failed':
      return '✗ failed';
    case 'completed':
      return '';
  }
}

/** Returns the label of an open row for screen readers. */
export function openLabel(row: MessageRow | MarkerRow, now: number): string {
  if (row.kind === 'marker') return `Compaction ${row.marker.number}, ${markerWords(row.marker, now).join(', ')}`;
  const tokens = row.live ? 'being written' : row.item.archived ? 'archived' : `${full(row.tokens)} tokens`;
  const parts = [`${roleWord(row.item.role)}: ${itemText(row.item).slice(0, 200)}`, tokens, row.pinned ? 'pinned' : ''];
  return parts.filter((word) => word !== '').join(', ');
}

/** Returns a message as one line. */
export function itemText(item: Item): string {
  return item.parts.map(partText).join(' ').replace(/\s+/g, ' ').trim();
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
