/** The view's texts that depend on figures. Pure. */
import { isCopy, original } from '../../copies';
import { ago, full, messages, percent, short, shrinking } from '../../figures';
import { plainText } from '../../plainText';
import { speaker } from '../../speaker';
import type { Call, EditLine, Item, Marker, Usage } from '../messages';
import type { MarkerRow, MessageRow } from './rows';

const PARTS: Readonly<Record<string, string>> = {
  system_prompt: 'system',
  tools: 'tools',
  memory: 'memory',
  messages: 'messages',
  tool_results: 'tool results',
  summary: 'summary',
  overhead: 'hidden',
};

const EDITS: Readonly<Record<string, string>> = {
  compaction: 'Compacted',
  clear_tool_uses: 'Cleared old tool results',
  clear_thinking: 'Cleared older thinking',
  duplicate_reads: 'Replaced repeated file reads',
  shorten: 'Shortened long contents',
  drop: 'Left out the oldest messages',
  rewind: 'Went back to an earlier message',
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
  if (usage.size === null) return `${short(usage.used)} tokens, limit unknown`;
  const mark = usage.compactAt === null ? '' : `, compacts at ${percent(usage.compactAt, usage.size)}%`;
  return `${short(usage.used)} of ${short(usage.size)}${mark}`;
}

/** Returns whose conversation the session is a copy of, or an empty string. What an agent has is named below the list. */
function copyWords(usage: Usage): string {
  if (usage.followed) return '';
  return isCopy(usage) ? `a copy of ${original(usage)}, ` : '';
}

/** Says what Ullage will not do with a conversation that an agent has, and what is possible instead. */
export function readOnlyWords({ agent }: Usage): string {
  const name = agent || 'Another program';
  return `${name} has this conversation. Ullage only reads it: nothing is asked, pinned, edited or undone here. Compact it in ${agent || 'that program'}, or fork it.`;
}

/** Returns how the figure is known, and the moment of which it speaks, if that is known. */
export function sourceParts(usage: Usage): { readonly words: string; readonly at: number | null } {
  const copy = copyWords(usage);
  const asOf = usage.asOf === null ? '' : ', as of';
  if (usage.source === 'reported') return { words: `${copy}reported`, at: usage.reportedAt };
  if (usage.source === 'stale') return { words: `${copy}reported, and ${messages(usage.pendingMessages)} counted since${asOf}`, at: usage.asOf };
  const band = usage.errorShare === null ? '' : `, ±${Math.max(1, Math.round(usage.errorShare * 100))} %`;
  return { words: `${copy}estimated${band}${asOf}`, at: usage.asOf };
}

/** Returns what is known of the window and of the place of compaction, one line each. */
export function evidence({ basis }: Usage): string {
  return basis.join('\n');
}

/** Returns a word for a level other than normal, since colour alone is not enough. */
export function levelWord(usage: Usage): string {
  if (usage.size !== null && usage.used > usage.size) return 'Over the window';
  if (usage.level === 'warning') return 'Nearly full';
  return usage.level === 'critical' ? 'Due for compaction' : '';
}

/** Returns the parts of `Compacted #1 · 2 hours ago · 150K → 28K · automatic` after the age. */
export function markerWords(marker: Marker): readonly string[] {
  return [sizes(marker), marker.trigger].filter((word) => word !== '');
}

/** Returns the sizes that are known. A transcript of another program says at most the size before. */
function sizes({ before, after }: Marker): string {
  if (before === 0) return '';
  return after === 0 ? `from ${short(before)}` : shrinking(before, after);
}

/** Returns `Brings back 44 messages, 122K tokens; the context will be at 98 %.` */
export function undoWords(marker: Marker, usage: Usage | undefined): string {
  const tokens = Math.max(0, marker.before - marker.after);
  const back = `Brings back ${messages(marker.messagesArchived)}, ${short(tokens)} tokens`;
  if (!usage || usage.size === null) return `${back}.`;
  const then = usage.used + tokens;
  const again = usage.managedBy === 'ullage' && usage.compactAt !== null && then >= usage.compactAt ? ' That is beyond the mark: the next message compacts it again.' : '';
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
  if (row.kind === 'marker') return [`Compaction ${row.marker.number}`, ago(row.marker.timestamp, now), ...markerWords(row.marker)].join(', ');
  const tokens = row.live === 'broken' ? 'broken off' : row.live ? 'being written' : row.item.archived ? 'archived' : `${full(row.tokens)} tokens`;
  const parts = [`${speaker(row.item.role)}: ${itemText(row.item).slice(0, 200)}`, tokens, row.pinned ? 'pinned' : ''];
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
