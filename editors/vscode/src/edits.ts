/** Edits as users see them, and what undoing one brings back. Pure functions. */
import * as l10n from '@vscode/l10n';

import { ago, full, inPercent, messages, short, triggerWord } from './figures';
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
  compaction: l10n.t('Compaction'),
  clear_tool_uses: l10n.t('Clearing of old tool results'),
  clear_thinking: l10n.t('Clearing of older thinking'),
  duplicate_reads: l10n.t('Clearing of repeated reads'),
  drop: l10n.t('Dropping of the oldest messages'),
  rewind: l10n.t('Going back to an earlier message'),
  shorten: l10n.t('Shortening of large parts'),
};

/** Describes an edit: `Compaction (automatic), 2 hours ago`. */
export function describeEdit({ kind, timestamp, trigger }: EditInfo, now: number): string {
  return l10n.t({ message: '{0} ({1}), {2}', args: [KINDS[kind] ?? kind, triggerWord(trigger), ago(timestamp, now)], comment: ['An edit, what triggered it, and its age: Compaction (automatic), 2 hours ago.'] });
}

/** Describes undoing edits: `Brings back 44 messages, 122K tokens; the context will be at 98%.` */
export function bringsBack(steps: readonly UndoStep[], archived: number, used: number, size: number | null): string {
  const tokens = steps.reduce((sum, step) => sum + step.tokens, 0);
  const after = used + tokens;
  const back = archived > 0 ? l10n.t('{0}, {1} tokens', messages(archived), short(tokens)) : l10n.t('{0} tokens', short(tokens));
  const then = size === null ? l10n.t('{0} tokens', full(after)) : l10n.t('{0} ({1} of {2})', inPercent(after, size), short(after), short(size));
  return l10n.t('Brings back {0}; the context will be at {1}.', back, then);
}

/** Counts the messages that these edits' markers archived. */
export function archivedBehind(steps: readonly UndoStep[], entries: readonly Entry[]): number {
  const markers = new Set(steps.map((step) => `${step.edit.id}-marker`));
  const blocks = entries.filter((entry) => markers.has(entry.message.id)).flatMap((entry) => entry.message.content);
  return blocks.reduce((sum, block) => sum + (block.type === 'context_compaction' ? block.messages_archived : 0), 0);
}
