/** Edits as users see them, and what undoing one brings back. Pure functions. */
import { ago, full, messages, percent, short } from './figures';
import type { EditInfo, Entry } from './protocol.gen';

/** An edit with the smaller edits that were made, and are undone, together with it. */
export interface UndoStep {
  readonly edit: EditInfo;
  readonly tokens: number;
}

/** Returns the edits in force, newest first. */
export function undoSteps(edits: readonly EditInfo[]): readonly UndoStep[] {
  const inForce = edits.filter((edit) => !edit.reverted);
  return inForce
    .filter((edit) => !edit.partOf)
    .map((edit) => {
      const parts = inForce.filter((other) => other.id === edit.id || other.partOf === edit.id);
      return { edit, tokens: parts.reduce((sum, part) => sum + part.tokensSaved, 0) };
    })
    .reverse();
}

const KINDS: Readonly<Record<string, string>> = {
  compaction: 'compaction',
  clear_tool_uses: 'clearing of old tool results',
  clear_thinking: 'clearing of older thinking',
  duplicate_reads: 'clearing of repeated reads',
  drop: 'dropping of the oldest messages',
  rewind: 'going back to an earlier message',
  shorten: 'shortening of large parts',
};

/** Describes an edit: `automatic compaction, 2 hours ago`. */
export function describeEdit({ kind, timestamp, trigger }: EditInfo, now: number): string {
  return `${trigger} ${KINDS[kind] ?? kind}, ${ago(timestamp, now)}`;
}

/** Describes undoing edits: `Brings back 44 messages, 122K tokens; the context will be at 98 %.` */
export function bringsBack(steps: readonly UndoStep[], archived: number, used: number, size: number | null): string {
  const tokens = steps.reduce((sum, step) => sum + step.tokens, 0);
  const what = archived > 0 ? `${messages(archived)}, ` : '';
  const after = used + tokens;
  const then = size === null ? `${full(after)} tokens` : `${percent(after, size)} % (${short(after)} of ${short(size)})`;
  return `Brings back ${what}${short(tokens)} tokens; the context will be at ${then}.`;
}

/** Counts the messages that these edits' markers archived. */
export function archivedBehind(steps: readonly UndoStep[], entries: readonly Entry[]): number {
  const markers = new Set(steps.map((step) => `${step.edit.id}-marker`));
  const blocks = entries.filter((entry) => markers.has(entry.message.id)).flatMap((entry) => entry.message.content);
  return blocks.reduce((sum, block) => sum + (block.type === 'context_compaction' ? block.messages_archived : 0), 0);
}
